"""`activescale simulate` of a test case, to be held against what the real controller did."""

import csv
import itertools
import json
import pathlib
import subprocess

from tests.e2e.harness import experiment, workloads
from tests.e2e.harness.experiment import Run, TestCase
from tests.e2e.harness.model import INBOUND
from tests.lib.activescale import BINARY

_STARTS_IN = "1s"  # what kwok takes to make a pod Ready


def timeline(
    case: TestCase, run: Run, flush_seconds: float, sync_seconds: float, folder: pathlib.Path
) -> list[tuple[float, int]]:
    """Replicas asked for as (moment, count), on the real run's clock.

    The phase of the controller's sync is no part of the model: it is the one at which the real
    replicas first changed.
    """
    start = _start(case, run)
    first = next(
        (s.t for s in run.timeline if s.t > run.targets[0][0] and s.spec > _before(run)), 0
    )
    folder.mkdir(parents=True, exist_ok=True)
    load, manifest, out = folder / "load.csv", folder / "hpa.json", folder / "timeline.csv"
    load.write_text(_load(case))
    metric = workloads.pods_metric(INBOUND, str(experiment.TARGET))
    hpa = workloads.hpa("sim", "web", [metric], experiment.MINIMUM, experiment.MAXIMUM)
    manifest.write_text(json.dumps(hpa))
    subprocess.run(
        [
            BINARY,
            "simulate",
            f"--hpa={manifest}",
            f"--load={load}",
            f"--latency={experiment.SERVICE_SECONDS}s",
            f"--warmup={experiment.SERVING_DELAY_SECONDS}s",
            f"--start={_STARTS_IN}",
            f"--flush={flush_seconds}s",
            f"--sync={sync_seconds}s",
            f"--phase={(first - start) % sync_seconds:.3f}",
            "--step=250ms",
            "--output=csv",
            f"--out={out}",
        ],
        check=True,
        timeout=60,
    )
    with out.open(encoding="ascii") as rows:
        return [(start + float(r["time"]), int(r["desired"])) for r in csv.DictReader(rows)]


def disagreements(
    run: Run, simulated: list[tuple[float, int]], slack_seconds: float, slack_replicas: int
) -> list[tuple[float, int, int, int]]:
    """Where the real count lies outside of the simulated ones within `slack_seconds` on both sides,
    by more than `slack_replicas`: (moment, real, least simulated, most simulated), at each change
    of the real workload."""
    found = []
    for state in run.timeline:
        if not run.targets[0][0] <= state.t <= run.end:
            continue
        near = [count for at, count in simulated if abs(at - state.t) <= slack_seconds]
        if near and not min(near) - slack_replicas <= state.spec <= max(near) + slack_replicas:
            found.append((round(state.t - run.targets[0][0], 1), state.spec, min(near), max(near)))
    return found


def _start(case: TestCase, run: Run) -> float:
    return run.targets[0][0] - case.rest[0]


def _before(run: Run) -> int:
    return [s.spec for s in run.timeline if s.t <= run.targets[0][0]][-1]


def _load(case: TestCase) -> str:
    steps = (case.rest, *case.steps)
    ends = itertools.accumulate(seconds for seconds, _ in steps)
    rows, since = ["time,qps"], 0.0
    for until, (_, qps) in zip(ends, steps, strict=True):
        rows += [f"{since},{qps}", f"{until},{qps}"]
        since = until
    return "\n".join([*rows, ""])
