"""Tests of the data form: encoding values, and decoding bytes that may be damaged."""

import collections
import datetime
import decimal
import pathlib
import random
import uuid

import numpy
import pandas
import pytest

from ratoon_kernel import data_form
from ratoon_kernel.data_decoder import Decoder
from ratoon_kernel.data_encoder import Encoder


def encoded(value, kept=None):
    kept = [] if kept is None else kept

    def keep(memory):
        kept.append(bytes(memoryview(memory).cast("B")))
        return len(kept) - 1

    return Encoder(keep).encode(value)


def decoded(data, kept=()):
    def fill(number, memory):
        memoryview(memory).cast("B")[:] = kept[number]

    return Decoder(fill, list(map(len, kept))).decode(bytes(data))


def round_trip(value):
    kept = []
    return decoded(encoded(value, kept).text, kept)


PLAIN = [
    1, -5, 2**40, -(2**70), 1.5, float("inf"), True, None, "é", "\udc80", b"b", bytearray(b"c"),
    (1, (2,)), {1}, frozenset("a"), 1j, ..., range(1, 9, 2), slice(1, None),
    datetime.datetime(2020, 1, 2, fold=1, tzinfo=datetime.UTC), datetime.date(1, 2, 3),
    datetime.time(1, 2), datetime.timedelta(-1, 5), decimal.Decimal("1.50"), uuid.UUID(int=7),
    pathlib.Path("/a"), collections.deque([1], 3), collections.OrderedDict(b=1),
    collections.Counter("aab"), collections.defaultdict(list, {1: [2]}), {(1, "a"): [None]},
    list(range(100)), [i / 3 for i in range(100)], list(map(str, range(100))), b"x" * 300_000,
    tuple(range(100)), set(map(str, range(100))), frozenset(range(100)), [2**70] * 100,
    ["a\0b"] * 100, ["\udc80"] * 100, ["a", 1] * 50, {str(i): i for i in range(100)},
    {i: i / 3 for i in range(100)}, {i: [i] for i in range(100)}, {True: 1, **dict.fromkeys("abc")},
    collections.deque(range(100)), collections.deque(range(100), 100),
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: type(value).__name__)
def test_plain_values_are_restored(value):
    back = round_trip(value)
    assert back == value
    assert type(back) is type(value)


def test_the_encoding_never_changes():
    value = {"a": [1, -3, 2.5, None, True], "b": ("é", b"x"), "c": {datetime.date(2020, 1, 2)}}
    assert bytes(encoded(value).text).hex() == (
        "83a1619501fdcb4004000000000000c0c3a16281d4520392a2c3a9c6000000017"
        "8a16381d452049181d4520893d300000000000007e40102"
    )


def test_shared_objects_stay_shared():
    loop = []
    loop += [loop, {"same": loop}]
    back = round_trip(loop)
    assert back[0] is back
    assert back[1]["same"] is back


def test_pieces_are_numbered_like_other_containers():
    words, numbers, table = set(map(str, range(50))), tuple(range(50)), dict(enumerate("ab" * 50))
    inner = [1]
    back = round_trip([words, numbers, table, inner, [words, numbers, table, inner]])
    assert all(one is other for one, other in zip(back[:4], back[4], strict=True))
    assert list(back[2]) == list(table)


def test_many_values_of_one_type_are_plain_and_others_are_refused_at_once(monkeypatch):
    monkeypatch.setattr(data_form, "MAX_COUNT", 1000)
    many = range(1001)
    for value in (set(many), dict.fromkeys(many, 1.5), list(map(str, many))):
        assert round_trip(value) == value
    mixed = dict.fromkeys(many, None)
    encoder = Encoder(len)
    with pytest.raises(data_form.NotPlain, match="too many parts"):
        encoder.encode([mixed])
    assert len(encoder.out) < 10


def test_values_that_are_not_plain_become_placeholders():
    back = round_trip([len, object(), {"a": open}])
    assert all(isinstance(one, data_form.Placeholder) for one in (back[0], back[1], back[2]["a"]))
    assert encoded(len).is_placeholder
    with pytest.raises(data_form.NotPlain):
        encoded({object(): 1})


@pytest.mark.parametrize(
    "value",
    [
        numpy.arange(5),
        numpy.arange(12.0).reshape(3, 4).T,
        numpy.arange(200_000),
        numpy.zeros(2, dtype=[("a", "i4"), ("b", "f8", (2,))]),
        numpy.empty((0, 3)),
    ],
    ids=["small", "by columns", "large", "records", "empty"],
)
def test_arrays_are_restored(value):
    back = round_trip(value)
    assert back.dtype == value.dtype
    assert back.flags.f_contiguous == value.flags.f_contiguous
    numpy.testing.assert_array_equal(back, value)


def test_numpy_scalars_are_restored_and_object_arrays_are_placeholders():
    assert round_trip(numpy.float32(2.5)).dtype == "float32"
    assert isinstance(round_trip(numpy.array([1, None], dtype=object)), data_form.Placeholder)


def test_data_frames_are_restored():
    frame = pandas.DataFrame(
        {
            "a": [1, 2],
            "b": ["x", None],
            "c": pandas.Categorical(["u", "v"]),
            "d": pandas.date_range("2020", periods=2, tz="Europe/Berlin"),
            "e": pandas.array([1, None], dtype="Int64"),
        },
        index=pandas.MultiIndex.from_tuples([(1, "p"), (2, "q")], names=["m", "n"]),
    )
    pandas.testing.assert_frame_equal(round_trip(frame), frame)
    pandas.testing.assert_series_equal(round_trip(frame["a"]), frame["a"])
    assert round_trip(pandas.RangeIndex(5)).equals(pandas.RangeIndex(5))


def test_arrow_tables_are_restored():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": [1, None], "b": ["x", "y"]})
    assert round_trip(table).equals(table)


def test_damaged_bytes_raise_no_other_error_than_malformed():
    text = bytes(encoded(PLAIN[:-1]).text)
    chance = random.Random(1)
    for _ in range(2000):
        damaged = bytearray(text)
        for _ in range(chance.choice([1, 1, 2, 5])):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            decoded(damaged)
        except data_form.Malformed:
            continue


def test_a_library_that_this_python_lacks_is_named():
    kept = []
    text = encoded(pandas.DataFrame({"a": [1, 2]}), kept).text

    def find(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    decoder = Decoder(lambda number, memory: None, [len(buffer) for buffer in kept], find)
    with pytest.raises(data_form.Malformed, match="it needs pandas, which this Python"):
        decoder.decode(bytes(text))


def test_a_range_index_of_huge_length_is_refused():
    index = b"\x81\xd4R\x16\x93\xa5range\xc0\x93\x00\xd3%s\x01"
    few, many = (index % n.to_bytes(8, "big") for n in (1, 10**15))
    column = b"\x91\x92\x91\x00\x91\x92\xa7objects\x91\x07"
    with pytest.raises(data_form.Malformed):
        decoded(b"\x81\xd4R\x14\x93" + many + few + column)


def test_keys_with_too_many_items_are_refused():
    nested = (1,)
    for _ in range(60):
        nested = (nested, nested)
    # Changes the bytes of a list with one item into a dictionary. The item becomes a key.
    data = b"\x81" + bytes(encoded([nested]).text)[1:] + b"\x01"
    with pytest.raises(data_form.Malformed, match="its keys have too many items"):
        decoded(data)
