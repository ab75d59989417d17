"""The bridge, with executors of this process, and what a worker knows without an agent."""

import io
import json
import os
import pickle
from concurrent.futures import Future, ThreadPoolExecutor

import cloudpickle
import pytest

import ratoon_worker
from ratoon_worker import bridge, engines

SUBMIT = {"do": "submit", "notebook": "0a", "task": "ff", "resources": {}}


class Direct:
    """An executor that runs a call at once."""

    def submit(self, work, *arguments):
        future = Future()
        try:
            future.set_result(work(*arguments))
        except BaseException as error:
            future.set_exception(error)
        return future


def told(monkeypatch, run, lines=(SUBMIT,), engine=None):
    """What the bridge says when `run` stands for `ratoon_worker.run`."""
    monkeypatch.setattr(ratoon_worker, "run", run)
    out = io.StringIO()
    made = bridge.Bridge(engine or engines.Engine(Direct()), "file:///store", out)
    for line in lines:
        made.handle(line)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_task_ends_is_refused_or_is_tried_again(monkeypatch):
    seen = []
    assert told(monkeypatch, lambda task: seen.append(task) or {"end": "stored", "why": ""}) == [
        {"event": "ended", "task": "ff"}
    ]
    assert seen == [{"store": "file:///store", "notebook": "0a", "task": "ff"}]
    refused = told(monkeypatch, lambda _: {"end": "refused", "why": "another Python"})
    assert refused == [{"event": "failed", "task": "ff", "why": "another Python"}]

    def fails(_):
        seen.append(None)
        raise OSError("no space")

    seen.clear()
    assert told(monkeypatch, fails) == [
        {"event": "failed", "task": "ff", "why": "OSError: no space"}
    ]
    assert len(seen) == engines.RETRIES


def test_a_worker_without_ratoon_refuses(monkeypatch, tmp_path):
    monkeypatch.setenv("RATOON_WORKER_DIR", str(tmp_path))
    monkeypatch.setattr(ratoon_worker, "_program", lambda: None)
    answer = ratoon_worker.run({"store": "file:///store", "notebook": "0a", "task": "ff"})
    assert answer["end"] == "refused" and "pip install ratoon" in answer["why"]


def test_a_task_travels_with_its_code():
    source = "def run(argument): return argument + 1"
    text = cloudpickle.dumps(engines.travelling())
    assert b"ratoon_worker.engines" not in text
    assert pickle.loads(text)(1, "run", source) == 2


def test_resources_that_an_engine_does_not_know_are_told(monkeypatch):
    (line,) = told(monkeypatch, lambda _: {}, [{**SUBMIT, "resources": {"gpus": 1}}])
    assert line["event"] == "failed" and "cannot be asked for gpus" in line["why"]


def test_a_cancelled_task_is_not_told_as_ended(monkeypatch):
    waiting = Future()

    class Never:
        def submit(self, *_):
            return waiting

    lines = [SUBMIT, {"do": "cancel", "task": "ff"}]
    assert told(monkeypatch, lambda _: {}, lines, engines.Engine(Never())) == []
    assert waiting.cancelled()


def test_a_probe_answers_with_both_environments(monkeypatch):
    (line,) = told(monkeypatch, lambda _: {}, [{"do": "probe"}])
    assert line["probe"] == line["own"]
    assert line["probe"]["packages"]["pytest"] == pytest.__version__


def test_engines_are_found_by_their_names():
    made = engines.connect("concurrent.futures:ThreadPoolExecutor")
    assert isinstance(made.executor, ThreadPoolExecutor) and made.slots() > 0
    made.executor.shutdown()
    for name in ("", "nothing", ":", "json:", "ftp://host"):
        with pytest.raises((ValueError, ModuleNotFoundError)):
            engines.connect(name)
    with pytest.raises(TypeError, match="no `submit`"):
        engines.connect("builtins:dict")


def test_sizes_have_units():
    assert [engines._bytes(size) for size in ("10", "2k", "16G", "1GiB", "3MB")] == [
        10,
        2048,
        16 << 30,
        1 << 30,
        3 << 20,
    ]
    for size in ("", "G", "1.5G", "x"):
        with pytest.raises(ValueError):
            engines._bytes(size)


def test_the_key_of_a_worker_has_the_id_that_the_server_knows(monkeypatch, tmp_path):
    monkeypatch.setenv("RATOON_WORKERS_KEY", "ab" * 32)
    assert ratoon_worker._key_id() == KEY_ID
    monkeypatch.delenv("RATOON_WORKERS_KEY")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert ratoon_worker._key_id() is None
    (tmp_path / "ratoon").mkdir()
    (tmp_path / "ratoon/workers-key").write_bytes(bytes.fromhex("ab" * 32))
    assert ratoon_worker._key_id() == KEY_ID


# The same id stands in the test of src/workers/letter.rs.
KEY_ID = "48b3720f"


def test_a_directory_that_others_can_read_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("RATOON_WORKER_DIR", str(tmp_path))
    directory = ratoon_worker._directory("file:///store")
    assert os.stat(directory).st_mode & 0o777 == 0o700
    assert directory != ratoon_worker._directory("file:///other")
    os.chmod(directory, 0o755)
    with pytest.raises(ratoon_worker.Refused, match="chmod 700"):
        ratoon_worker._directory("file:///store")
