"""Tests of the digests of variables, and of the groups of variables that share objects."""

import json
import os
import signal

import pytest

from ratoon_kernel import sharing


@pytest.fixture
def digests(run):
    """A function that runs code and returns the digests and groups of the variables."""

    def of(code):
        run(code)
        leave, clock = os._exit, signal.getsignal(signal.SIGALRM)
        try:
            return json.loads(sharing.digests())
        finally:
            os._exit = leave
            signal.signal(signal.SIGALRM, clock)

    return of


def test_equal_values_have_equal_digests(digests):
    hashes = digests("a = [1, {'x': 2}]; b = [1, {'x': 2}]; c = [1, {'x': 3}]")["hashes"]
    assert hashes["a"] == hashes["b"] != hashes["c"]


def test_names_that_share_an_object_are_a_group(digests):
    told = digests("a = [1]; b = (a, 2); c = [1]; text = 'x'; same = text")
    assert sorted(map(sorted, told["groups"])) == [["a", "b"], ["c"], ["same"], ["text"]]


def test_views_share_the_memory_of_their_array(digests):
    told = digests("import numpy as n\nwhole = n.arange(9); part = whole[2:4]; other = n.arange(9)")
    assert ["part", "whole"] in [sorted(group) for group in told["groups"]]
    assert ["other"] in told["groups"]


def test_windows_and_records_share_the_memory_of_their_array(digests):
    told = digests(
        "import numpy as n\nwhole = n.zeros(4)\n"
        "windows = n.lib.stride_tricks.sliding_window_view(whole, 2)\n"
        "records = n.zeros(3, dtype=[('x', int)]); record = records[0]"
    )
    groups = [sorted(group) for group in told["groups"]]
    assert ["whole", "windows"] in groups
    assert ["record", "records"] in groups


def test_a_value_that_cannot_be_pickled_has_no_digest(digests):
    hashes = digests("gen = (n for n in [1]); fine = [1]")["hashes"]
    assert hashes["gen"] is None
    assert hashes["fine"] is not None
