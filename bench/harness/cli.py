"""Command line of the benchmarks: build, measure in turns, report."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from harness import build, machine, report, signals
from harness.scenarios import SCENARIOS, measure
from harness.server import SERVERS, ServerFailure

DEFAULT_REPEATS = 3


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__)
    parser.add_argument(
        "suites",
        nargs="*",
        metavar="SUITE",
        help="ingest, query, redis, signals, or one scenario such as ingest.small (default: all)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to FILE")
    parser.add_argument(
        "--server",
        nargs="+",
        choices=list(SERVERS),
        default=list(SERVERS),
        help="servers to measure (default: all)",
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=DEFAULT_REPEATS,
        help="measurements of each server in each scenario, of which the median counts "
        "(default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    options.scenarios = [s for s in SCENARIOS if selected(s.name, options.suites)]
    options.signals = selected(signals.NAME, options.suites)
    if not (options.scenarios or options.signals) or options.repeats < 1:
        names = [s.name for s in SCENARIOS] + [signals.NAME]
        parser.error(f"nothing to measure; scenarios: {', '.join(names)}")
    return options


def selected(name: str, suites: list[str]) -> bool:
    return not suites or any(name == suite or name.startswith(f"{suite}.") for suite in suites)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    try:
        machine.raise_open_files()
        runs = {}
        if options.scenarios:
            build.build(options.server)
            captures = build.captures()
            runs = measure(options.scenarios, options.server, options.repeats, captures)
        if options.signals:
            build.BINARIES.mkdir(parents=True, exist_ok=True)
            runs[signals.NAME] = signals.measure(options.repeats)
    except (build.BuildFailure, ServerFailure, OSError, subprocess.SubprocessError) as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    figures = report.figures(runs)
    for name, value in figures.items():
        print(f"{name}={value:.6g}")
    bars = report.bars(figures)
    print()
    for bar in bars:
        print(bar)
    if options.json:
        document = {
            "machine": machine.describe(),
            "figures": figures,
            "bars": [bar.as_dict() for bar in bars],
            "runs": runs,
        }
        options.json.write_text(json.dumps(document, indent=2) + "\n")
    return 0
