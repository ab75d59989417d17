"""What the scenes have in common: machines, which are directories with a home and a key of their
own, and a real S3 server."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from ratoon_client import TOKEN, Program, Server, free_port

for _name in [name for name in os.environ if name.startswith(("AWS_", "RATOON_STORE"))]:
    del os.environ[_name]

RATOON = os.environ.get("RATOON_BIN") or str(HERE.parent.parent / "target/debug/ratoon")
# How long something may take before it counts as hanging.
PATIENCE = 120


def wait_for(what, is_there):
    """Waits until a function returns something true, and returns it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = is_there()
        if found:
            return found
        time.sleep(0.05)
    raise TimeoutError(f"this did not happen: {what}")


class Room:
    """A temporary directory. Use it as a context manager."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="ratoon-machines-"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class S3:
    """A real S3 server, whose buckets are directories. Use it as a context manager."""

    key, secret = "the-access-key", "the-secret-access-key"

    def __init__(self, room):
        self.root = room.path / "s3"
        (self.root / "bucket").mkdir(parents=True)
        self.port = free_port()
        self.log = open(room.path / "s3.log", "a")
        self.process = None

    @property
    def url(self):
        return f"s3://bucket/ratoon?endpoint=http://127.0.0.1:{self.port}"

    @property
    def objects(self):
        """The directory of the objects of the store."""
        return self.root / "bucket/ratoon"

    def credentials(self):
        return {"AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": self.secret}

    def start(self):
        rclone = pathlib.Path(sys.executable).parent / "rclone"
        command = [rclone, "serve", "s3", self.root, "--addr", f"127.0.0.1:{self.port}"]
        command += ["--auth-key", f"{self.key},{self.secret}", "--config", "/dev/null"]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        wait_for("the S3 server answers", self.answers)

    def answers(self):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=5)
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def stop(self):
        if self.process:
            # It waits for open connections when it is asked to stop.
            self.process.kill()
            self.process.wait()
            self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        self.log.close()


class Machine:
    """A machine: a home with an install's key, and a directory of notebooks."""

    def __init__(self, room, name):
        self.home = room.path / name
        self.directory = self.home / "notebooks"
        self.directory.mkdir(parents=True)

    def environment(self, **more):
        config = {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config")}
        return {**os.environ, **config, **more}

    def ratoon(self, *words, **environment):
        """Runs a command. Returns its exit code and what it has printed."""
        ended = subprocess.run(
            [RATOON, *map(str, words)],
            cwd=self.directory,
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return ended.returncode, ended.stdout + ended.stderr

    def server(self, *options, **environment):
        """A server on this machine. Use it as a context manager."""
        return MachineServer(self, options, self.environment(**environment))


class MachineServer(Program):
    """A server in the directory of a machine."""

    headers = Server.headers

    def __init__(self, machine, options, environment):
        python = os.environ.get("RATOON_TEST_PYTHON", sys.executable)
        command = [RATOON, "--bind", "{bind}", f"--token={TOKEN}", "--python", python]
        command += ["--dir", str(machine.directory), *options]
        super().__init__(command, **environment)
