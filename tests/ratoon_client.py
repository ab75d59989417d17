"""A client that starts a real server and uses its REST API and its WebSocket. It needs only the
standard library.

It implements both protocols itself, with Nagle's algorithm off. So benchmarks measure the server
and not a client library, and tests do not rely on a library that tolerates errors.
"""

import base64
import http.client
import json
import os
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import uuid

TOKEN = "token-of-the-tests"


class Program:
    """An HTTP server that runs on a free port in its own temporary directory. Use it as a context
    manager.
    """

    # The headers and the query string of each request.
    headers = {}
    query = ""

    def __init__(self, command, **environment):
        """Replaces {bind} and {directory} in the words of the command, and starts it."""
        self.room = tempfile.mkdtemp(prefix="ratoon-test-")
        self.directory = os.path.join(self.room, "directory")
        os.mkdir(self.directory)
        self.port = free_port()
        self.log = open(os.path.join(self.room, "log"), "w+")
        known = {"bind": f"127.0.0.1:{self.port}", "directory": self.directory}
        self.command = [word.format(**known) for word in command]
        self.environment = {**os.environ, **environment}
        self.start()

    def start(self):
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            self.command,
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )

    def restart(self):
        """Kills the program with SIGKILL, and starts it again in the same directory and on the same
        port.
        """
        self.process.kill()
        self.process.wait()
        self.start()
        self.wait_until_it_answers()

    def __enter__(self):
        try:
            self.wait_until_it_answers()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.room, ignore_errors=True)

    def wait_until_it_answers(self, limit=120, pause=0.002):
        """Waits until the program answers a request. The limit is long, because the first start may
        install IPython."""
        while time.perf_counter() - self.started < limit:
            if self.process.poll() is not None:
                break
            try:
                return self.rest().get("/states")
            except OSError:
                time.sleep(pause)
        self.log.seek(0)
        raise RuntimeError(f"the server does not answer; it said:\n{self.log.read()}")

    def rest(self):
        return Rest(self)

    def processes(self):
        """Returns the process ids of the program and of all its descendants."""
        children = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as stat:
                    parent = int(stat.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(pid))
        found = [self.process.pid]
        for pid in found:
            found += children.get(pid, [])
        return found


class Server(Program):
    """A Ratoon server."""

    headers = {"Authorization": f"Bearer {TOKEN}"}

    def __init__(self, binary, python, *more, **environment):
        options = [
            "--bind",
            "{bind}",
            f"--token={TOKEN}",
            "--python",
            python,
            "--dir",
            "{directory}",
        ]
        super().__init__([binary, *options, *more], **environment)

    def socket(self):
        return Socket(self, self.notebook())

    def notebook(self):
        """Returns the name of the first notebook of the server."""
        names = self.rest().get("/api/notebooks")
        first = (names["notebooks"] if isinstance(names, dict) else names)[0]
        return first["name"] if isinstance(first, dict) else first


class Rest:
    """A persistent connection to a REST API."""

    def __init__(self, server, timeout=300):
        self.server = server
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)

    def answer(self, method, path, body=None):
        """Sends a request. Returns the status, and the body as text."""
        headers = self.server.headers
        if body is not None:
            headers = {**headers, "Content-Type": "application/json"}
            body = json.dumps(body)
        self.connection.request(method, path + self.server.query, body, headers)
        response = self.connection.getresponse()
        return response.status, response.read().decode(errors="replace")

    def ask(self, method, path, body=None):
        status, text = self.answer(method, path, body)
        if not 200 <= status < 300:
            raise RuntimeError(f"{method} {path}: {status} {text}")
        return json.loads(text)

    def get(self, path):
        return self.ask("GET", path)

    def run(self, code, state="initial", **more):
        """Runs a cell. Returns the answer of `POST /execute`."""
        return self.ask(
            "POST", "/execute", {"code": code, "exec_id": new_id(), "state_name": state, **more}
        )

    def close(self):
        self.connection.close()


class Socket:
    """A WebSocket connection to a notebook."""

    def __init__(self, server, notebook):
        self.wire = socket.create_connection(("127.0.0.1", server.port), timeout=300)
        self.wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        self.wire.sendall(
            f"GET /ws/{notebook} HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{server.port}\r\n"
            "Upgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            f"Authorization: Bearer {TOKEN}\r\n\r\n".encode()
        )
        self.buffer, self.at = b"", 0
        while b"\r\n\r\n" not in self.buffer:
            self.fill(1)
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(f"no WebSocket: {head.decode(errors='replace')}")
        self.asked = 0

    def fill(self, missing):
        # Joins all pieces at the end, because a message of many megabytes comes in many pieces.
        pieces = [self.buffer[self.at :]]
        while missing > 0:
            piece = self.wire.recv(max(missing, 1 << 16))
            if not piece:
                raise ConnectionError("the server closed the connection")
            pieces.append(piece)
            missing -= len(piece)
        self.buffer, self.at = b"".join(pieces), 0

    def take(self, count):
        missing = self.at + count - len(self.buffer)
        if missing > 0:
            self.fill(missing)
        self.at += count
        return self.buffer[self.at - count : self.at]

    def send(self, message, opcode=1):
        payload = message if isinstance(message, bytes) else json.dumps(message).encode()
        # Uses a mask of zeros, which is valid and leaves the payload unchanged.
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
        self.wire.sendall(head + bytes(4) + payload)

    def receive(self):
        """Returns the next message, parsed from JSON."""
        text = b""
        while True:
            first, size = self.take(2)
            if size == 126:
                (size,) = struct.unpack("!H", self.take(2))
            elif size == 127:
                (size,) = struct.unpack("!Q", self.take(8))
            payload = self.take(size)
            opcode = first & 0x0F
            if opcode == 8:
                raise ConnectionError(
                    f"the server closed the connection: {payload[2:].decode(errors='replace')}"
                )
            if opcode == 9:
                self.send(payload, opcode=10)
            elif opcode in (0, 1):
                text += payload
                if first & 0x80:
                    return json.loads(text)

    def ask(self, do, **what):
        """Sends a command. Returns the id that the reply will have."""
        self.asked += 1
        self.send({"id": self.asked, "do": do, **what})
        return self.asked

    def start(self, code, state="initial", **more):
        """Starts a run. Returns its `exec_id`."""
        exec_id = new_id()
        self.ask("run", exec_id=exec_id, code=code, on={"state": state}, **more)
        return exec_id

    def events(self):
        """Yields each event when it arrives."""
        while True:
            message = self.receive()
            if "event" in message:
                yield message
            elif message.get("kind") == "refused":
                raise RuntimeError(f"refused: {message}")

    def run(self, code, state="initial", **more):
        """Runs a cell. Returns its outputs, its new state and its error, like `Rest.run`."""
        exec_id = self.start(code, state, **more)
        outputs = []
        for event in self.events():
            if event.get("exec_id") != exec_id:
                continue
            if event["event"] == "output_added":
                add(outputs, event["output"])
            elif event["event"] == "run_ended":
                return {"output": outputs, "state_name": event["state"], "error": event["error"]}

    def wait_for_frozen(self, state):
        """Waits until the state has a frozen process."""
        for event in self.events():
            if event["event"] == "state_changed" and event["state"]["id"] == state:
                if event["state"]["living"] == "memory":
                    return

    def close(self):
        self.wire.close()


def add(outputs, item):
    """Adds an output to a list of outputs. Text of a stream is appended to the last output if that
    belongs to the same stream."""
    last = outputs[-1] if outputs else {}
    if item["output_type"] == "stream" and last.get("name") == item["name"]:
        last["text"] += item["text"]
    else:
        outputs.append(item)


def printed(answer):
    """Returns the text that a run wrote to standard output."""
    return "".join(item["text"] for item in answer["output"] if item.get("name") == "stdout")


def images(answer):
    """Returns the PNG images that a run displayed, as base64 text."""
    return [
        item["data"]["image/png"]
        for item in answer["output"]
        if "image/png" in item.get("data", {})
    ]


def new_id():
    return uuid.uuid4().hex


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
