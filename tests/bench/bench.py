"""Measures Ratoon beside its peers and prints a table. See `run`, which prepares what this needs."""

import argparse
import json
import os
import platform
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import measures
import ratoon_client as ratoon
from measures import IPYKERNEL, REST, SNAPSHOT, WS

CONTESTANTS = [WS, REST, SNAPSHOT, IPYKERNEL]
NOT_HERE = """Not measured here: what a state on disk costs and how fast it comes back, as there is no store yet; the layout
of large graphs, which the page's tests measure."""


def machine():
    with open("/proc/loadavg") as file:
        load = file.read().split()[0]
    return {
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_at_start": float(load),
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def shown(value):
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def print_head():
    print(f"{'':46} {'unit':>5} " + " ".join(f"{name:>15}" for name in CONTESTANTS) + f" {'target':>8}")


def print_row(row):
    target = "" if row.target is None else f"{'≥' if row.at_least else '≤'} {row.target:g}"
    verdict = {None: "", True: "  hit", False: "  MISS"}[row.hit()]
    figures = " ".join(f"{shown(row.figure(name)):>15}" for name in CONTESTANTS)
    print(f"{row.what:46} {row.unit:>5} {figures} {target:>8}{verdict}", flush=True)


def main():
    names = [measure.__name__ for measure in measures.ALL]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", metavar="MEASURE", help=f"of: {', '.join(names)}; without: all")
    parser.add_argument("--json", help="where to write all samples")
    options = parser.parse_args()
    unknown = set(options.only) - set(names)
    if unknown:
        parser.error(f"there is no measure {', '.join(sorted(unknown))}; there are: {', '.join(names)}")

    result = {"machine": machine(), "rows": []}
    print(json.dumps(result["machine"]))
    print_head()
    for measure in measures.ALL:
        if options.only and measure.__name__ not in options.only:
            continue
        for row in measure(lambda: ratoon.Server(os.environ["RATOON_BIN"], sys.executable)):
            print_row(row)
            figures = {name: row.figure(name) for name in row.samples}
            result["rows"].append({**vars(row), "medians": figures, "hit": row.hit()})
    print(NOT_HERE)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(result, file, indent=1)
        print(f"All samples: {options.json}")


if __name__ == "__main__":
    main()
