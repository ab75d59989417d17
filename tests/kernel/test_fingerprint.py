"""Tests of fingerprints: which values have equal ones, different ones, or none."""

import datetime
import time

import numpy
import pandas
import pytest

from ratoon_kernel import fingerprint


def of(value):
    return fingerprint.fingerprint(value, time.process_time() + 60)


def test_fingerprints_never_change():
    assert of([1, "a", None, 2.5, {"k": (True, b"x")}]) == "24206dfe6574954b1218842ec9494e59"
    assert of(numpy.arange(4)) == "fb64db89d47519b1c2d145b63a5e311c"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        ([1], (1,)),
        ("a", b"a"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (numpy.arange(3), numpy.arange(3.0)),
        (numpy.zeros((2, 3)), numpy.zeros((3, 2))),
        (pandas.DataFrame({"a": [1]}), pandas.DataFrame({"b": [1]})),
        (pandas.Series([1, None], dtype="Int64"), pandas.Series([1, 0], dtype="Int64")),
    ],
)
def test_different_values_have_different_fingerprints(one, other):
    assert of(one) is not None
    assert of(other) is not None
    assert of(one) != of(other)


def test_equal_values_have_equal_fingerprints_whatever_they_share():
    inner = [1, 2]
    assert of([inner, inner]) == of([[1, 2], [1, 2]])
    assert of({3, 1, 2}) == of({2, 3, 1})
    assert of(numpy.arange(6).reshape(2, 3).T) == of(numpy.arange(6).reshape(2, 3).T.copy())
    frame = pandas.DataFrame({"a": ["x", None], "d": pandas.date_range("2020", periods=2)})
    assert of(frame) == of(frame.copy()) is not None


def test_an_unknown_object_has_no_fingerprint_and_runs_no_code():
    class Hostile:
        __slots__ = ("a",)

        def __eq__(self, other):
            raise AssertionError

        __hash__ = __repr__ = __reduce__ = __eq__

    assert of(Hostile()) is None
    assert of([Hostile()]) is None
    assert of(iter([1])) is None
    assert of(datetime.datetime.now) is not None


def test_fingerprints_of_objects_and_functions_depend_on_their_contents():
    def make(n):
        class C:
            def __init__(self):
                self.a = n

            def go(self):
                return n

        return C()

    assert of(make(1)) == of(make(1)) is not None
    assert of(make(1)) != of(make(2))
    assert of(lambda x: x) != of(lambda x: x + 1)


def test_one_unknown_column_leaves_the_others_their_fingerprints():
    frame = pandas.DataFrame({"a": [1, 2], "b": [iter([]), iter([])]})
    whole, is_sampled, columns = fingerprint.fingerprint_and_columns(
        frame, time.process_time() + 60
    )
    assert whole is None
    assert not is_sampled
    assert [one["fingerprint"] is not None for one in columns] == [True, False]


def test_large_arrays_are_sampled():
    large = numpy.zeros(fingerprint.MAX_WHOLE_BYTES + 1, dtype="uint8")
    one, is_sampled, _ = fingerprint.fingerprint_and_columns(large, time.process_time() + 60)
    assert is_sampled
    large[0] = 1
    assert of(large) != one


def test_there_is_no_fingerprint_after_the_deadline():
    assert fingerprint.fingerprint([1], time.process_time() - 1) is None


def test_arrays_and_frames_have_summaries():
    deadline = time.process_time() + 60
    array = numpy.array([1.0, 3.0, float("nan")])
    assert fingerprint.size_in_bytes(array) == 24
    assert fingerprint.summary(array, [], deadline) == {
        "kind": "array", "shape": [3], "dtype": "float64",
        "min": 1.0, "max": 3.0, "mean": 2.0, "nulls": 1,
    }  # fmt: skip
    told = fingerprint.summary(pandas.DataFrame({"a": [1], "b": ["x"]}), [], deadline)
    assert told["kind"] == "frame"
    assert [one["name"] for one in told["columns"]] == ["a", "b"]
    assert fingerprint.summary([1], [], deadline) is None
