"""Runs real notebooks on a server: examples of scikit-learn's gallery, fetched at test time.

Runs the cells of each example, over REST and over the WebSocket. Then changes a cell in the middle,
and runs this cell and all later cells as a branch. The outputs of both lineages must be equal to
the outputs of an ordinary Python that runs the same cells from the beginning, and the branch must
not have changed the first lineage. The cells also run in two ways in one Python, by `plain_cells`
and only by IPython (tests/kernel/two_roads.py), with equal effects. Then kills the server, starts
it again, and runs the branch once more from the restored state in the middle. Both lineages must
still have the same values.

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

# For each example: the text to replace, which occurs in only one cell; its replacement; and an
# expression whose value differs between the two lineages.
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
# The example that always runs. The others run only with RATOON_TEST_ALL, which `tests/run nightly`
# sets.
SHORTEST = "cluster/plot_kmeans_digits.py"
# Time limit of a cell. The slowest cell takes seven seconds on two busy cores.
SECONDS = 60
# Runs before each example. Some examples do not seed numpy's generator, and all runs must draw the
# same numbers.
SEED = "import numpy\nnumpy.random.seed(20)\n"


def cells_of(source):
    first, *rest = re.split(r"^# %%.*\n", source, flags=re.MULTILINE)
    return [SEED + first, *rest]


def changed(cells, old, new):
    """Returns the index of the only cell that contains `old`, and the cells from there on, with
    `old` replaced by `new`."""
    places = [index for index, cell in enumerate(cells) if old in cell]
    assert len(places) == 1 and 0 < places[0] < len(cells) - 1, (
        f"{old!r} is in the cells {places}, but must be in one cell in the middle"
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


def check_both_ways(name, source):
    """Checks that the cells have the same effects by `plain_cells` as by IPython's `run_cell`."""
    done = subprocess.run(
        [sys.executable, os.path.join(HERE, "..", "kernel", "two_roads.py"), str(3 * SECONDS)],
        input=json.dumps([cells_of(source)]),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not found["differing"], found["differing"]
    assert found["plain"] > 0, "no cell was plain"
    print(
        f"ok   {name}, {found['plain'] // 2} of {found['cells'] // 2} cells both ways", flush=True
    )


def without_times(text):
    """Replaces the durations of fits, which differ between runs."""
    return re.sub(r"\d+\.\d+s\b", "TIME", text)


def grow(door, cells, state):
    """Runs cells one after the other. Returns the outputs of each cell and the new states."""
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
    assert sum(cell["figures"] for cell in truth) > 0, "this example draws no figure"
    ends = {}
    # Each connection is opened when it is used, because the server closes a WebSocket after 45 s
    # without messages.
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
    assert len({tuple(told) for told in ends.values()}) == 1, f"REST and WebSocket differ: {ends}"
    return states[place - 1], branch, branch_truth, states[-1], telling, ends[name]


def check_again(door, example, found):
    """Runs the branch again after the server was killed. The state from which it grows is restored
    from disk, and its outputs must be the same."""
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
                check_both_ways(name, source)
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
