"""What all scenes share: a server in an empty directory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TOKEN = "owner-token-of-the-doors"
RATOON = os.environ["RATOON_BIN"]


class Server:
    """A server that runs in a directory of its own."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        command = [RATOON, "--bind", "127.0.0.1:0", "--token", TOKEN, "--dir", str(directory)]
        command += ["--python", sys.executable, *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://[^/]+", line)
        assert found, f"the server does not start: {line!r}"
        self.url = found[0]

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Sends JSON with the owner's token, and returns the JSON of the answer."""
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def link(self, scope: str) -> str:
        """The token of a new share link."""
        return str(self.request("POST", "/api/links", {"scope": scope})["token"])

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.end()
