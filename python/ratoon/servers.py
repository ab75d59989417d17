"""Finds or starts a server, and sends requests to it."""

import fcntl
import http.client
import json
import os
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from .errors import RatoonError

PROGRAM = Path(__file__).resolve().parent / "ratoon"
UNUSED_SECONDS = 60
"""A server that a client started ends when nobody has used it for so long."""
REQUEST_TIMEOUT = 600.0
STARTED: list[subprocess.Popen[str]] = []
"""The servers that this process has started. They may outlive it."""


@dataclass(frozen=True, slots=True)
class Server:
    """The address of a server, and the token that opens it."""

    url: str
    token: str = field(repr=False)
    notebook: str = "main"
    """The notebook that the server was started with."""

    @classmethod
    def at(cls, url: str, token: str | None = None) -> "Server":
        """The server at an address. Without `token`, the address has it, as `ratoon` prints it."""
        parts = urlsplit(url)
        token = token or next(iter(parse_qs(parts.query).get("token", [])), None)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise RatoonError(f"use the address {url!r}", "it is no http address", HOW_URL)
        if token is None:
            why = "its token is missing"
            raise RatoonError(f"use the server {parts.netloc}", why, HOW_URL)
        base, _, name = parts.path.partition("/n/")
        return cls(
            f"{parts.scheme}://{parts.netloc}{base.rstrip('/')}", token, unquote(name) or "main"
        )

    @classmethod
    def from_environment(cls) -> "Server | None":
        """The server that `$RATOON_URL` and `$RATOON_TOKEN` name."""
        url = os.environ.get("RATOON_URL")
        return cls.at(url, os.environ.get("RATOON_TOKEN")) if url else None

    def page(self, notebook: str) -> str:
        """The address of a notebook's page, without the token."""
        return f"{self.url}/n/{quote(notebook, safe='')}"

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        timeout: float = REQUEST_TIMEOUT,
    ) -> bytes:
        """Sends a request, and returns the body of the answer. Blocks."""
        parts = urlsplit(self.url)
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}"}
        if data is not None:
            headers["Content-Type"] = content_type
        connection = connect(parts.scheme, parts.netloc, timeout)
        try:
            connection.request(method, parts.path + path, data, headers)
            response = connection.getresponse()
            answer = response.read()
        except OSError as error:
            raise self.unreachable(error) from error
        finally:
            connection.close()
        if not 200 <= response.status < 300:
            raise refusal(response.status, answer)
        return answer

    def unreachable(self, error: OSError) -> RatoonError:
        how = "start it with `ratoon`, or correct the address"
        return RatoonError(f"reach the server {self.url}", str(error), how, "unreachable")


HOW_URL = "give the address that `ratoon` prints: http://127.0.0.1:8080/n/main?token=…"


def connect(scheme: str, netloc: str, timeout: float) -> http.client.HTTPConnection:
    if scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(netloc, timeout=timeout, context=context)
    return http.client.HTTPConnection(netloc, timeout=timeout)


def refusal(status: int, answer: bytes) -> RatoonError:
    """The error for an answer with a status of 400 or above."""
    try:
        problem: Mapping[str, Any] = json.loads(answer)
    except ValueError:
        why = f"the answer has the status {status} and is no JSON"
        return RatoonError("use the server", why, "check the address and its proxy")
    # The route of commands answers with a reply instead.
    return RatoonError.from_problem(problem.get("error", problem))


def find_or_start(
    directory: str | os.PathLike[str] | None = None,
    notebook: str = "main",
    python: str | os.PathLike[str] | None = None,
) -> Server:
    """The user's server for a directory; starts one if there is none.

    `python` runs the cells of a server that is started: this Python by default. A started server
    ends when it was unused for a minute.
    """
    where = Path(directory or ".").resolve()
    files = data_directory() / "servers"
    files.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Two programs that begin at the same time start one server.
    with open(files / ".starting", "w", opener=private) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return find(where, notebook) or start(where, notebook, python)


def find(directory: Path, notebook: str = "main") -> Server | None:
    """A running server of this user for a directory: if there are several, the one that was started
    with the notebook, else the newest."""
    found: list[tuple[bool, float, Server]] = []
    for path in (data_directory() / "servers").glob("*.json"):
        described = read(path)
        if described is None or Path(described["dir"]) != directory:
            continue
        server = Server(described["url"], described["token"], described["notebook"])
        found.append((server.notebook == notebook, path.stat().st_mtime, server))
    for _, _, server in sorted(found, key=lambda each: each[:2], reverse=True):
        try:
            server.request("GET", "/health", timeout=10)
        except RatoonError:
            continue  # It is about to end, or does not answer.
        return server
    return None


def read(path: Path) -> dict[str, Any] | None:
    """The content of a server's file; null unless the server runs on this machine."""
    try:
        with open(path, opener=no_follow) as file:
            is_ours = os.fstat(file.fileno()).st_uid == os.geteuid()
            if not is_ours or not is_locked(file.fileno()):
                return None
            described = json.load(file)
    except (OSError, ValueError):
        return None
    return described if described.get("boot") == boot_id() else None


def is_locked(descriptor: int) -> bool:
    """Whether the server that wrote the file still runs: it then holds the lock on the file."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def start(directory: Path, notebook: str, python: str | os.PathLike[str] | None = None) -> Server:
    """Starts a server on a free port, and waits until it listens."""
    program = os.environ.get("RATOON_BIN") or str(PROGRAM)
    command = [program, "--bind", "127.0.0.1:0", "--dir", str(directory)]
    command += ["--python", str(python or sys.executable)]
    command += ["--exit-when-unused", str(UNUSED_SECONDS), "--", notebook]
    what = f"start a server for {directory}"
    with tempfile.TemporaryFile("w+") as log:
        try:
            # In a session of its own: Ctrl-C and the end of this program are not for it.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                env={**os.environ, "RATOON_INSTALLED_IN": sys.executable},
            )
        except OSError as error:
            how = "install ratoon again, or set RATOON_BIN to the program `ratoon`"
            raise RatoonError(what, f"{program}: {error.strerror}", how) from error
        assert process.stdout is not None
        with process.stdout as lines:
            line = lines.readline()
        if not line:
            process.wait()
            log.seek(0)
            why = log.read().strip() or f"it ended with the status {process.returncode}"
            raise RatoonError(what, why, "correct this, and try again")
    STARTED.append(process)
    return Server.at(line.split()[-1])


def data_directory() -> Path:
    """Ratoon's own data: the same place as the server's."""
    share = os.environ.get("XDG_DATA_HOME", "")
    return (Path(share) if os.path.isabs(share) else Path.home() / ".local/share") / "ratoon"


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def no_follow(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)
