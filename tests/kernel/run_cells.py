"""Runs cells in a process that is set up like a head, for tests that read what a cell sends and
leaves. Run as a script: reads JSON, a list of the arguments of `cells.run`, and writes a list of
{"ended", "sent"}, one for each cell."""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def run_cells(room, *cells):
    """Runs cells one after the other in a new process. Returns a list of {"ended", "sent"}."""
    ended = subprocess.run(
        [sys.executable, os.path.join(HERE, "run_cells.py")],
        input=json.dumps(cells),
        capture_output=True,
        text=True,
        cwd=room,
        env={**os.environ, "IPYTHONDIR": str(room)},
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def main():
    import two_roads

    channel = two_roads.Channel()
    own = sys.stdout
    two_roads.kernel_cells.boot(channel, None)
    two_roads.kernel_cells.settle()
    told = []
    for arguments in json.load(sys.stdin):
        del channel.sent[:]
        ended = json.loads(two_roads.kernel_cells.run(*arguments))
        told.append({"ended": ended, "sent": [list(one) for one in channel.sent]})
    own.write(json.dumps(told))
    own.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
