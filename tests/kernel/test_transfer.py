"""Tests of the transfer of variables between processes."""

import json
import os

import pytest

from ratoon_kernel import saving, transfer


@pytest.fixture
def sent(namespace, monkeypatch):
    """Sends variables into a pipe. Returns the end of the pipe that is read."""
    for guard in ("refuse_exits", "give_up_standstills"):
        assert callable(getattr(saving, guard))
        monkeypatch.setattr(transfer, guard, lambda: None)

    def send(**variables):
        namespace.update(variables)
        read, write = os.pipe()
        transfer.send(write, json.dumps({"names": list(variables)}))
        os.close(write)
        return read

    return send


def test_variables_arrive(sent):
    into = {}
    assert transfer.receive("s1", sent(x=[1, 2]), into, into) == {}
    assert into["x"] == [1, 2]


def test_objects_of_another_version_of_python_are_refused(sent, monkeypatch):
    read = sent(f=lambda: 42)
    monkeypatch.setattr(transfer, "_PYTHON", "3.99")
    with pytest.raises(transfer.TransferFailed, match=r"this cell in Python 3\.99"):
        transfer.receive("s1", read, {}, {})
