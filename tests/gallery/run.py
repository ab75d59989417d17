"""Runs real notebooks through the server: examples of scikit-learn's gallery, fetched at test time.

Each is run cell by cell, over REST and over the WebSocket; then a cell in its middle is changed and
run again, with all that follow, as a branch. Both ends must be what an ordinary Python session
prints and draws that ran the same cells from the beginning, and the first end must not have noticed
the second. Then the server is killed and started again: the branch is grown once more, from the
state in the middle as it comes from disk, and both ends are what they were.

usage: RATOON_BIN=… tests/gallery/run.py     with the Python of the tests' environment, which Ratoon
                                             uses as well
"""

import contextlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tarfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import ratoon_client as ratoon
import sdist

# Per example: what is changed, which picks the cell, and a variable that tells the two ends apart.
EXAMPLES = {
    "ensemble/plot_gradient_boosting_regression.py": (
        '"n_estimators": 500',
        '"n_estimators": 60',
        "mse",
    ),
    "cluster/plot_kmeans_digits.py": (
        "pca = PCA(n_components=n_digits)",
        "n_digits = 7\n\\g<0>",
        "n_digits",
    ),
    "inspection/plot_permutation_importance_multicollinear.py": (
        "fcluster(dist_linkage, 1,",
        "fcluster(dist_linkage, 0.3,",
        "len(selected_features)",
    ),
}
# One that is tried each time; the others with RATOON_TEST_ALL, which `tests/run nightly` sets.
SHORTEST = "cluster/plot_kmeans_digits.py"
# A cell that takes longer hangs: the slowest takes seven seconds on two busy cores.
SECONDS = 60
# Some examples leave numpy's generator as they find it; with a seed, every session draws the same
# numbers.
SEED = "import numpy\nnumpy.random.seed(20)\n"


def cells_of(source):
    first, *rest = re.split(r"^# %%.*\n", source, flags=re.MULTILINE)
    return [SEED + first, *rest]


def changed(cells, old, new):
    """The place of the one cell that has `old`, and the cells from there on, with it replaced."""
    places = [index for index, cell in enumerate(cells) if old in cell]
    assert len(places) == 1 and 0 < places[0] < len(cells) - 1, (
        f"{old!r} is in cells {places}, not in one in the middle"
    )
    branch = cells[places[0] :]
    branch[0] = re.sub(re.escape(old), new, branch[0])
    return places[0], branch


def plainly(cells):
    done = subprocess.run(
        [sys.executable, os.path.join(HERE, "plain.py")],
        input=json.dumps(cells),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def without_times(text):
    """Times of fits, which differ from run to run."""
    return re.sub(r"\d+\.\d+s\b", "TIME", text)


def grow(door, cells, state):
    """Runs cells in a line; answers what each gave, and the states they left."""
    given, states = [], []
    for cell in cells:
        answer = door.run(cell, state, timeout=SECONDS)
        assert answer["error"] is None, f"{answer['error']}\n{cell}"
        state = answer["state_name"]
        given.append(
            {"text": without_times(ratoon.printed(answer)), "figures": len(ratoon.images(answer))}
        )
        states.append(state)
    return given, states


def check(example, source, doors):
    old, new, telling = EXAMPLES[example]
    cells = cells_of(source)
    place, branch = changed(cells, old, new)
    truth = [{**cell, "text": without_times(cell["text"])} for cell in plainly(cells)]
    branch_truth = [
        {**c, "text": without_times(c["text"])} for c in plainly(cells[:place] + branch)
    ][place:]
    assert sum(cell["figures"] for cell in truth) > 0, "this example draws nothing"
    ends = {}
    # Opened when it is used: a socket that says nothing for 45 s is let go.
    for name, opened in doors.items():
        with contextlib.closing(opened()) as door:
            given, states = grow(door, cells, "initial")
            assert given == truth, f"{name}: {given}\nan ordinary session: {truth}"
            given, branch_states = grow(door, branch, states[place - 1])
            assert given == branch_truth, (
                f"{name}, the branch: {given}\nan ordinary session: {branch_truth}"
            )
            told = [
                ratoon.printed(door.run(f"print({telling})", end))
                for end in (states[-1], branch_states[-1])
            ]
            assert told[0] != told[1], f"{name}: both ends say {told[0]!r}"
            ends[name] = told
            print(
                f"ok   {example}, {name}: {len(cells)} cells, branch at {place + 1}, "
                f"{telling}: {told}",
                flush=True,
            )
    assert len({tuple(told) for told in ends.values()}) == 1, f"the doors differ: {ends}"
    return states[place - 1], branch, branch_truth, states[-1], telling, ends[name]


def check_again(door, example, found):
    """The same branch after the server was killed: from disk, and with the same end."""
    middle, branch, branch_truth, end, telling, told = found
    given, states = grow(door, branch, middle)
    assert given == branch_truth, f"after the restart: {given}\nan ordinary session: {branch_truth}"
    again = [ratoon.printed(door.run(f"print({telling})", state)) for state in (end, states[-1])]
    assert again == told, f"after the restart: {again}, before: {told}"
    print(f"ok   {example}, after kill -9: branch from the middle, {telling}: {again}", flush=True)


def saved(server):
    """Waits until every state has a checkpoint."""
    rest = server.rest()
    for _ in range(600):
        states = rest.get("/api/notebooks/main")["states"]
        if all(state["checkpoint"] or state["id"] == "initial" for state in states):
            return rest.close()
        time.sleep(0.1)
    raise RuntimeError(
        f"not saved: {[state['saving'] for state in states if not state['checkpoint']]}"
    )


def main():
    names = EXAMPLES if os.environ.get("RATOON_TEST_ALL") else [SHORTEST]
    version = importlib.metadata.version("scikit-learn")
    cache = os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ratoon-tests"
    )
    archive = sdist.fetch("scikit-learn", version, cache)
    with tarfile.open(archive) as tar:
        root = tar.next().name.split("/")[0]
        sources = {
            name: tar.extractfile(f"{root}/examples/{name}").read().decode() for name in names
        }
    failed, found = 0, {}
    with ratoon.Server(os.environ["RATOON_BIN"], sys.executable) as server:
        for name, source in sources.items():
            try:
                found[name] = check(name, source, {"REST": server.rest, "WebSocket": server.socket})
            except Exception as error:
                failed += 1
                print(f"FAIL {name}: {error}", flush=True)
        saved(server)
        server.restart()
        for name in found:
            door = server.rest()
            try:
                check_again(door, name, found[name])
            except Exception as error:
                failed += 1
                print(f"FAIL {name}: {error}", flush=True)
            finally:
                door.close()
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
