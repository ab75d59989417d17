"""Tests of the rows of data frames, sorted and filtered."""

import json
import sys

import pytest

from ratoon_kernel import table

PANDAS = "import pandas as pd, numpy as np\n"
PEOPLE = """df = pd.DataFrame({
    "name": ["Ada", "bob", None, "Ada", "Eve"],
    "age": [36, 5, 70, 12, 41],
    "score": [0.5, np.nan, 1e20, 2.0, -1.25],
    "born": pd.to_datetime(["2001-05-06", "2020-01-01", None, "2012-03-04", "1984-12-31"]),
})
"""


@pytest.fixture
def asked(run, monkeypatch):
    """A function that returns the answer for `df` after the code ran."""
    monkeypatch.setattr(table, "_last", None)

    def of(code="", expression="df", **view):
        run(code)
        view = {
            "expression": expression,
            "sort": None,
            "filters": [],
            "offset": 0,
            "limit": 200,
            "form": "cells",
            "columns": None,
            "names": None,
            "summaries": False,
            **view,
        }
        return json.loads(table.page(json.dumps(view)))

    return of


@pytest.fixture
def found(asked):
    return lambda *of, **view: asked(*of, **view)["found"]


@pytest.fixture
def refused(asked):
    return lambda *of, **view: asked(*of, **view)["refused"]


def column(answer, at):
    return [row[at] for row in answer["rows"]]


def named(*filters):
    names = ["column", "is", "value"]
    return [dict(zip(names, one, strict=False)) for one in filters]


def test_a_page_has_columns_with_their_types_and_rows_as_texts(found):
    page = found(PANDAS + PEOPLE, offset=1, limit=2)
    assert [(one["name"], one["kind"], one["is_index"]) for one in page["columns"]] == [
        ("", "number", True),
        ("name", "text", False),
        ("age", "number", False),
        ("score", "number", False),
        ("born", "time", False),
    ]
    assert page["columns"][2]["dtype"] == "int64"
    assert page["columns"][4]["dtype"].startswith("datetime64[")
    assert page["rows"] == [
        ["1", "bob", "5", None, "2020-01-01"],
        ["2", None, "70", "1e+20", None],
    ]
    assert (page["total"], page["matching"], page["count"]) == (5, 5, 2)
    assert (page["columns_left_out"], page["summaries"], page["text"]) == (0, None, None)


@pytest.mark.parametrize(
    ("by", "descending", "rows"),
    [
        (2, False, "13042"),
        (2, True, "24031"),
        (1, False, "03412"),  # equal names keep their order, the missing name is last
        (1, True, "14032"),
        (3, True, "23041"),
        (4, False, "40312"),
        (0, True, "43210"),
    ],
)
def test_rows_are_sorted_and_missing_values_are_last(found, by, descending, rows):
    page = found(PANDAS + PEOPLE, sort={"column": by, "descending": descending})
    assert "".join(column(page, 0)) == rows


@pytest.mark.parametrize(
    ("filters", "rows"),
    [
        ([(1, "contains", "AD")], "03"),
        ([(1, "equal", "Ada")], "03"),
        ([(1, "unequal", "Ada")], "124"),
        ([(1, "missing")], "2"),
        ([(1, "present"), (2, "less", "40")], "013"),
        ([(2, "at_least", "36")], "024"),
        ([(2, "greater", "36.5")], "24"),
        ([(2, "contains", "1")], "34"),
        ([(3, "missing")], "1"),
        ([(3, "unequal", "2")], "0124"),
        ([(4, "greater", "2001-05-06")], "13"),
        ([(4, "at_most", "6 May 2001")], "04"),
        ([(4, "contains", "-01-")], "1"),
        ([(2, "greater", "1"), (2, "less", "1")], ""),
    ],
)
def test_rows_are_filtered(found, filters, rows):
    page = found(PANDAS + PEOPLE, filters=named(*filters), sort={"column": 0, "descending": False})
    assert "".join(column(page, 0)) == rows
    assert (page["matching"], page["total"]) == (len(rows), 5)


def test_large_integers_that_may_be_missing_are_compared_exactly(found):
    code = "import pandas as p\ndf = p.DataFrame({'n': p.array([2**53 + i for i in range(4)], 'Int64')})"
    answer = found(code, filters=named([1, "equal", str(2**53 + 1)]))
    assert column(answer, 1) == [str(2**53 + 1)]


def test_a_filter_that_fits_no_value_of_the_type_is_refused(refused):
    no = refused(PANDAS + PEOPLE, filters=named((2, "less", "old")))
    assert no["why"] == "the column age is compared with 'old', which is not a number"
    assert "date" in refused(filters=named((4, "less", "yesterday evening")))["why"]
    assert "no column 9" in refused(sort={"column": 9, "descending": False})["why"]


def test_values_of_several_types_have_an_order_and_can_be_filtered(found):
    code = "df = pd.DataFrame({'x': ['b', 2, None, 1.5, [3], 'a', True]})"
    page = found(PANDAS + code, sort={"column": 1, "descending": False})
    assert column(page, 1) == ["1.5", "2", "True", "[3]", "a", "b", None]
    assert column(found(filters=named((1, "greater", "1.7"))), 1)[0] == "b"
    assert column(found(filters=named((1, "equal", "true"))), 1) == ["True"]


def test_columns_may_have_equal_names_and_names_of_several_parts(found):
    code = """df = pd.DataFrame([[1, 2], [3, 0]], columns=['a', 'a'],
        index=pd.MultiIndex.from_tuples([('x', 1), ('y', 2)], names=['k', None]))"""
    page = found(PANDAS + code, sort={"column": 3, "descending": False})
    assert [one["name"] for one in page["columns"]] == ["k", "", "a", "a"]
    assert [one["is_index"] for one in page["columns"]] == [True, True, False, False]
    assert page["rows"] == [["y", "2", "3", "0"], ["x", "1", "1", "2"]]
    wide = "df = df.T.groupby(level=0).agg(['sum', 'max'])"
    assert found(wide, expression="df")["rows"]


@pytest.mark.parametrize(
    ("values", "texts", "ascending"),
    [
        ("pd.Categorical(['low', 'high', None], ['low', 'high'])", ["low", "high", None], "012"),
        ("pd.array([3, None, 1], 'Int64')", ["3", None, "1"], "201"),
        ("pd.array([True, None, False], 'boolean')", ["True", None, "False"], "201"),
        ("pd.to_timedelta([3, None, 1], 'h')", ["0 days 03:00:00", None, "0 days 01:00:00"], "201"),
        (
            "pd.to_datetime(['2024-01-02 03:00', None, '2024-01-01 00:00']).tz_localize('Asia/Tokyo')",
            ["2024-01-02 03:00:00+09:00", None, "2024-01-01 00:00:00+09:00"],
            "201",
        ),
        (
            "pd.period_range('2024-01', periods=3, freq='M')",
            ["2024-01", "2024-02", "2024-03"],
            "012",
        ),
        ("[2 + 1j, 1j, 3]", ["(2+1j)", "1j", "(3+0j)"], "021"),
        ("np.array([1.0, 3, 2], 'float32')", ["1.0", "3.0", "2.0"], "021"),
        ("[10 ** 30, 5, -(10 ** 30)]", ["1" + "0" * 30, "5", "-1" + "0" * 30], "210"),
        ("pd.arrays.SparseArray([0, 0, 1])", ["0", "0", "1"], "012"),
    ],
)
def test_special_types_are_shown_sorted_and_summarised(found, values, texts, ascending):
    page = found(PANDAS + f"df = pd.DataFrame({{'x': {values}}})", summaries=True)
    assert column(page, 1) == texts
    assert page["summaries"]["columns"][1]
    page = found(sort={"column": 1, "descending": False})
    assert "".join(column(page, 0)) == ascending


def test_a_time_with_a_zone_is_compared_in_its_zone(found):
    code = "df = pd.DataFrame({'x': pd.date_range('2024-01-01', periods=3, tz='Asia/Tokyo')})"
    page = found(PANDAS + code, filters=named((1, "at_least", "2024-01-02")))
    assert column(page, 0) == ["1", "2"]


def test_summaries_are_histograms_or_frequent_values_of_the_matching_rows(found):
    page = found(PANDAS + PEOPLE, summaries=True, filters=named((2, "less", "50")))
    index, name, age, score, born = page["summaries"]["columns"]
    assert index is None
    assert (name["distinct"], name["missing"]) == (3, 0)
    assert name["frequent"][0] == {"text": "Ada", "count": 2}
    assert (age["low"], age["high"], sum(age["bars"]), len(age["bars"])) == ("5", "41", 4, 20)
    assert (score["missing"], sum(score["bars"])) == (1, 3)
    assert (born["low"], born["high"]) == ("1984-12-31", "2020-01-01")
    assert page["summaries"]["sampled"] is None


def test_empty_frames_and_columns_without_values_are_tables(found):
    page = found(PANDAS + "df = pd.DataFrame({'a': [], 'b': []})", summaries=True)
    assert (page["rows"], page["total"]) == ([], 0)
    page = found("df = pd.DataFrame()", expression="df")
    assert page["total"] == 0
    page = found("nans = pd.DataFrame({'a': [np.nan, np.inf]})", expression="nans", summaries=True)
    assert column(page, 1) == [None, "inf"]


def test_csv_and_tsv_have_exact_values(found):
    page = found(
        PANDAS + PEOPLE + "df.loc[0, 'name'] = 'a \"b\",\\n'\ndf['age'] = 0.1 + 0.2", form="csv"
    )
    assert page["rows"] is None
    assert page["text"].splitlines()[:3] == [
        "name,age,score,born",
        '"a ""b"",',
        '",0.30000000000000004,0.5,2001-05-06',
    ]
    rest = found(form="tsv", offset=4)
    assert rest["text"] == "Eve\t0.30000000000000004\t-1.25\t1984-12-31\n", "no names of columns"
    assert found("ixed = df.set_index('name')", expression="ixed", form="csv")["text"].startswith(
        "name,"
    )


def test_some_columns_are_sent_without_names_for_copying(found):
    answer = found(PANDAS + PEOPLE, form="tsv", columns=[0, 2], names=False, limit=2)
    assert answer["text"] == "0\t36\n1\t5\n"
    assert found(columns=[1], limit=1)["rows"] == [["Ada"]]
    assert found(form="csv", columns=[1], names=True, offset=4)["text"] == "name\nEve\n"


def test_a_column_that_is_not_there_is_refused(refused):
    assert refused(PANDAS + PEOPLE, columns=[9])["why"] == (
        "there is no column 9: the table has 5 columns"
    )


def test_a_million_rows_are_sorted_filtered_and_summarised(found):
    code = """df = pd.DataFrame({
        'n': np.random.default_rng(1).permutation(1_000_000), 'half': np.arange(1_000_000) / 2})"""
    page = found(
        PANDAS + code, sort={"column": 1, "descending": True}, offset=999_998, summaries=True
    )
    assert column(page, 1) == ["1", "0"]
    assert page["summaries"]["sampled"] == 20_000
    half = page["summaries"]["columns"][2]
    assert (half["low"], half["high"]) == ("0.0", "499999.5"), "the ends are exact"
    page = found(filters=named((2, "less", "1.5")))
    assert (page["matching"], column(page, 2)) == (3, ["0.0", "0.5", "1.0"])


def test_answers_are_bounded(found):
    code = (
        "df = pd.DataFrame(np.zeros((3, 300)))\nlong = pd.DataFrame({'x': ['é' * 150_000] * 300})"
    )
    page = found(PANDAS + code)
    assert (len(page["columns"]), page["columns_left_out"]) == (200, 101)
    page = found(expression="long", limit=5000)
    assert len(page["rows"][0][1]) < 350
    page = found(expression="long", form="csv", limit=5000)
    assert 0 < page["count"] < 30
    assert len(page["text"]) < 3_000_000


def test_names_attributes_and_items_are_tables_and_nothing_else(found, refused):
    code = """class Box: pass
box = Box(); box.frames = {'a': [df, df.age]}; Out = {3: df.style}"""
    assert found(PANDAS + PEOPLE + code, expression=" box.frames['a'][-2] ")["total"] == 5
    assert found(expression="box.frames['a'][1]")["columns"][1]["name"] == "age"
    assert found(expression="Out[3]")["total"] == 5
    for call in [
        "df.pop('age')",
        "df[df.age > 1]",
        "[df][0]",
        "df.age + 1",
        "x := df",
        "df if",
        "",
    ]:
        assert refused(expression=call)["how"].startswith("give the name"), call
    assert "does not exist in this state (NameError: " in refused(expression="gone")["why"]
    assert "KeyError: 7" in refused(expression="Out[7]")["why"]
    assert "no DataFrame, Series or array, but a dict" in refused(expression="Out")["why"]


def test_polars_frames_are_tables(found):
    code = """import polars as pl, datetime
df = pl.concat([pl.DataFrame({'n': [3, None], 's': ['b', 'A']}), pl.DataFrame({'n': [1], 's': ['c']})],
    rechunk=False)
df = df.with_columns(d=pl.lit(datetime.date(2024, 1, 5)), f=pl.lit(float('nan')))"""
    page = found(code, sort={"column": 0, "descending": False}, summaries=True)
    assert page["rows"] == [
        ["1", "c", "2024-01-05", None],
        ["3", "b", "2024-01-05", None],
        [None, "A", "2024-01-05", None],
    ]
    assert [one["kind"] for one in page["columns"]] == ["number", "text", "time", "number"]
    assert page["columns"][0]["dtype"] == "Int64"
    summaries = page["summaries"]["columns"]
    assert (summaries[0]["low"], summaries[0]["high"], summaries[0]["missing"]) == ("1", "3", 1)
    assert summaries[1]["distinct"] == 3
    assert found(filters=named((0, "greater", "1")))["matching"] == 1
    assert found(filters=named((2, "equal", "2024-01-05")))["matching"] == 3
    assert found("one = df['s']", expression="one")["rows"] == [["b"], ["A"], ["c"]]


def test_methods_of_a_subclass_are_not_called(found):
    code = """class Hostile(pd.DataFrame):
    def __len__(self): raise SystemExit
    def __getitem__(self, key): raise SystemExit
    shape = property(lambda self: 1 / 0)
df = Hostile({'a': [1, 2]})"""
    assert found(PANDAS + code)["rows"] == [["0", "1"], ["1", "2"]]


def test_hostile_values_are_shown_by_name_or_refused_with_their_error(found, refused):
    code = """class Odd:
    def __repr__(self): raise SystemExit
    def __lt__(self, other): raise KeyboardInterrupt
df = pd.DataFrame({'x': [Odd(), Odd()]})"""
    assert column(found(PANDAS + code), 1) == ["<repr failed: SystemExit>"] * 2
    no = refused(sort={"column": 1, "descending": False})
    assert no["why"] == "reading it raised KeyboardInterrupt: "


def test_nothing_is_imported(asked, monkeypatch):
    for name in ("pandas", "polars"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    answer = asked("df = [1]")["refused"]
    assert "but a list" in answer["why"]
    assert "pandas" not in sys.modules
    assert "polars" not in sys.modules
