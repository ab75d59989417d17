"""Tests libraries in branches and after restarts, and prints a table. Started by the script `run`.

Each row of the table tests one use of a library. A cell uses the library, and the same use is then
repeated in later cells, in three branches, and in three branches after the server was killed. Each
cell of the table shows the result:

    right    the output is the same as in plain IPython
    told     the output differs, and a warning of the state or a missing name in its checkpoint
             announced it
    refused  the server refused to run the cell, with an error that explains why
    WRONG    the output differs, and nothing announced it
    HANG     no answer came, although the processes were idle
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import sys
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import environments
import known
import rows
from harness import Result, try_row
from model import COLUMNS, Group, Row
from verdicts import FAULTS, Verdict

# If a cell takes longer than this, the table shows its seconds.
SLOW_SECONDS = 10


def shown(verdicts: list[Verdict]) -> str:
    words = [f"{v.word} {v.seconds:.0f}s" if v.seconds > SLOW_SECONDS else v.word for v in verdicts]
    return words[0] if len(set(words)) == 1 else " ".join(words) or "–"


def print_row(result: Result) -> None:
    cells = (shown(result.verdicts.get(column, [])) for column in COLUMNS)
    print(f"{result.row.name:38} " + " ".join(f"{cell:24}" for cell in cells).rstrip(), flush=True)
    if result.broken:
        print(f"    BROKEN: {result.broken}", flush=True)
    for column in COLUMNS:
        said = [
            f"{verdict.word}: {verdict.why}"
            for verdict in result.verdicts.get(column, [])
            if verdict.why
        ]
        for text, times in collections.Counter(said).items():
            print(f"    {column}, {f'{times} × ' if times > 1 else ''}{text}", flush=True)


def faults(result: Result) -> list[str]:
    """Returns the failures of a row, except those that known.py lists."""
    if result.broken:
        return [f"{result.row.name}: {result.broken}"]
    found = []
    for column, verdicts in result.verdicts.items():
        words = [v.word for v in verdicts if v.word in FAULTS]
        exception = known.known(result.row.name, column)
        if words and exception:
            print(f"    known: {exception.why} (docs/{exception.docs})")
        elif words:
            found.append(f"{result.row.name}, {column}: {' '.join(words)}")
    return found


def record(result: Result) -> dict[str, Any]:
    return {
        "row": result.row.name,
        "broken": result.broken,
        "state": vars(result.state) if result.state else None,
        **{column: [vars(v) for v in verdicts] for column, verdicts in result.verdicts.items()},
    }


def chosen(words: list[str]) -> list[tuple[Group, Row]]:
    names = {group.name for group in rows.GROUPS} | {
        row.name for group in rows.GROUPS for row in group.rows
    }
    unknown = [word for word in words if word not in names]
    if unknown:
        sys.exit(
            f"there is no {', '.join(unknown)}; groups: "
            f"{', '.join(g.name for g in rows.GROUPS)}; --list names rows"
        )
    return [
        (group, row)
        for group in rows.GROUPS
        for row in group.rows
        if not words or group.name in words or row.name in words
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("only", nargs="*", metavar="GROUP|ROW", help="default: all")
    parser.add_argument(
        "--list", action="store_true", help="print the names of groups and rows, and run nothing"
    )
    parser.add_argument(
        "--jobs", type=int, default=2, help="number of rows to run at once (default: 2)"
    )
    parser.add_argument("--json", help="the file to which all results are written")
    options = parser.parse_args()
    if options.list:
        for group in rows.GROUPS:
            print(f"{group.name}: {', '.join(row.name for row in group.rows)}")
        return 0
    wrong = known.stale({row.name for group in rows.GROUPS for row in group.rows})
    results: list[Result] = []
    wanted = chosen(options.only)
    pythons = {g.requirements: environments.python_of(g.requirements) for g, _ in wanted}
    print(f"{'':38} " + " ".join(f"{column:24}" for column in COLUMNS).rstrip())
    binary = os.environ["RATOON_BIN"]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(
            lambda of: try_row(of[1], binary, pythons[of[0].requirements]), wanted
        ):
            print_row(result)
            results.append(result)
            wrong += faults(result)
    if options.json:
        with open(options.json, "w") as file:
            json.dump([record(result) for result in results], file, indent=1)
    for fault in wrong:
        print(f"FAULT {fault}")
    print(f"rows: {len(results)}, faults: {len(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
