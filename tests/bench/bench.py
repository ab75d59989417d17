"""Compares Ratoon with its peers and prints tables. Started by the script `run`, which installs the
peers.
"""

import argparse
import json
import os
import platform
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import agent
import counts
import depth
import durable
import load
import measures
import page
import ratoon_client as ratoon
import sweep

# Groups of measures. The measures of a group have the same contestants and share a table.
GROUPS = {
    "counts": counts,
    "alive": measures,
    "durable": durable,
    "load": load,
    "depth": depth,
    "page": page,
    "sweep": sweep,
    "agent": agent,
}
NOT_HERE = "Not measured here: the layout of large graphs. The page's tests measure it."


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


def shown(value, unit):
    if value is None:
        return "–"
    if unit == "yes/no":
        return "yes" if value == 1 else "no"
    return (
        f"{value:.0f}"
        if abs(value) >= 100
        else f"{value:.1f}"
        if abs(value) >= 10
        else f"{value:.2f}"
    )


def print_head(contestants):
    print(
        f"{'':54} {'unit':>6} "
        + " ".join(f"{name:>15}" for name in contestants)
        + f" {'target':>8}"
    )


def print_row(row, contestants):
    target = "" if row.target is None else f"{'≥' if row.at_least else '≤'} {row.target:g}"
    verdict = {None: "", True: "  hit", False: "  MISS"}[row.hit()]
    figures = " ".join(f"{shown(row.figure(name), row.unit):>15}" for name in contestants)
    print(f"{row.what:54} {row.unit:>6} {figures} {target:>8}{verdict}", flush=True)


def start_ratoon(*options, python=sys.executable, **environment):
    return ratoon.Server(os.environ["RATOON_BIN"], python, *options, **environment)


def main():
    names = {measure.__name__: group for group, of in GROUPS.items() for measure in of.ALL}
    parser = argparse.ArgumentParser(description=__doc__)
    known = "; ".join(
        f"{group}: {', '.join(m.__name__ for m in of.ALL)}" for group, of in GROUPS.items()
    )
    parser.add_argument(
        "only",
        nargs="*",
        metavar="WHAT",
        help=f"a group, or a measure of a group ({known}); default: all",
    )
    parser.add_argument("--json", help="the file to which all samples are written")
    parser.add_argument(
        "--scale",
        type=float,
        default=1,
        help="a factor for sizes and counts of `durable`, `load`, `depth`, `page`, `sweep` and `agent`",
    )
    options = parser.parse_args()
    unknown = set(options.only) - set(names) - set(GROUPS)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {known}")
    is_wanted = {
        n
        for n, group in names.items()
        if not options.only or n in options.only or group in options.only
    }

    given = {"alive": start_ratoon, "counts": start_ratoon}
    given["durable"] = durable.Setup(
        start_ratoon, os.environ["RATOON_DURABLE_PYTHON"], options.scale
    )
    given["load"] = load.Setup(start_ratoon, options.scale)
    given["depth"] = depth.Setup(start_ratoon, options.scale)
    given["page"] = page.Setup(os.environ["RATOON_PAGE_PYTHON"], options.scale)
    given["sweep"] = sweep.Setup(start_ratoon, options.scale)
    given["agent"] = agent.Setup(start_ratoon, options.scale)
    result = {"machine": machine(), "scale": options.scale, "rows": []}
    print(json.dumps(result["machine"]))
    for group, of in GROUPS.items():
        wanted = [measure for measure in of.ALL if measure.__name__ in is_wanted]
        if wanted:
            print_head(of.CONTESTANTS)
        for measure in wanted:
            for row in measure(given[group]):
                print_row(row, of.CONTESTANTS)
                figures = {name: row.figure(name) for name in row.samples}
                result["rows"].append(
                    {"group": group, **vars(row), "medians": figures, "hit": row.hit()}
                )
    print(NOT_HERE)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(result, file, indent=1)
        print(f"All samples: {options.json}")


if __name__ == "__main__":
    main()
