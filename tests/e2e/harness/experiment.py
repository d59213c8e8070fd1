"""Many equal workloads under the same steps of load, their phases spread over the HPA's sync."""

import json
import pathlib
import statistics
import time
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from tests.e2e.harness import measures, syncs, workloads
from tests.e2e.harness.cluster import Cluster
from tests.e2e.harness.model import INBOUND, State

# The modelled service: in flight are QPS x 0.2 s, a replica is meant to have 10 in flight.
SERVICE_SECONDS = 0.2
TARGET = 10
MINIMUM = 2
MAXIMUM = 20
SERVING_DELAY_SECONDS = 5
_APP = "web"
_GOLDEN = 1.618033988749895
# The root of x^3 = x + 1: multiples of its powers, modulo 1, spread pairs evenly over a square
# (the R2 sequence of Roberts, "The unreasonable effectiveness of quasirandom sequences").
_PLASTIC = 1.324717957244746


def replicas_for(qps: float) -> float:
    """Replicas that a load needs: linear in it, at least the minimum."""
    return max(MINIMUM, qps * SERVICE_SECONDS / TARGET)


@dataclass(frozen=True)
class TestCase:
    """Steps of load as (seconds, requests a second): at rest first, then what is measured."""

    __test__ = False
    name: str
    rest: tuple[float, float]
    steps: tuple[tuple[float, float], ...]
    tail: tuple[float, float] | None = None  # after them; only what pods it takes is counted

    @property
    def seconds(self) -> float:
        """How long the measured steps take."""
        return sum(duration for duration, _ in self.steps)


TC1 = TestCase("TC1", (60, 100), ((240, 1000),))
# The published case ends with 90 s at 100 QPS, of which nothing is measured: the controller holds
# what it recommended in the last five minutes.
TC2 = TestCase("TC2", (90, 50), ((90, 200), (90, 600), (90, 400), (90, 800)))


@dataclass(frozen=True, eq=False)
class Arm:
    """One way to run a test case: the Envoys' flush interval and the HPA's behavior."""

    name: str
    flush_seconds: float
    behavior: dict | None = None
    annotations: dict[str, str] | None = None  # of the HPA


@dataclass(frozen=True)
class Run:
    """One workload's load and what came of it."""

    targets: list[tuple[float, float]]  # (moment, replicas needed from then on), measured ones
    end: float
    timeline: list[State]
    tail_end: float = 0  # when the load ended for good; 0: at `end`
    late: tuple[float, ...] = ()  # seconds that the sync after each target came later than planned

    def pod_hours(self) -> float:
        """Of the replicas that were asked for, over the measured steps and the tail."""
        last = self.tail_end or self.end
        seconds = measures.replica_seconds(self.timeline, self.targets[0][0], last)
        if self.late:
            seconds += measures.postponed(self.targets, MINIMUM, self.late)
        return seconds / 3600

    def figures(self) -> measures.ScaleOut:
        """The figures, with start and time to the maximum of the first measured step."""
        step, peak = self.targets[0]
        first_end = self.targets[1][0] if len(self.targets) > 1 else self.end
        first = measures.scale_out(self.timeline, step, first_end, MINIMUM, round(peak))
        unmet = measures.unmet(self.timeline, self.targets, self.end)
        highest = max(replicas for _, replicas in self.targets)
        seen = measures.ScaleOut(
            start=first.start,
            to_max=first.to_max,
            coverage_percent=measures.coverage(self.timeline, self.targets, self.end, MINIMUM),
            delay_seconds=unmet / (highest - MINIMUM),
        )
        if not self.late:
            return seen
        return measures.at_planned_syncs(seen, self.targets, self.end, MINIMUM, self.late)

    def with_prompt_pods(self) -> "Run":
        """The same run, had each pod served as soon as a pod does in an idle cluster."""
        prompt = measures.with_prompt_pods(self.timeline, SERVING_DELAY_SECONDS)
        return replace(self, timeline=prompt)


class Experiment:
    """Runs one test case in `runs` namespaces an arm, all at the same time, on one cluster."""

    def __init__(
        self, cluster: Cluster, case: TestCase, arms: list[Arm], runs: int, sinks: list[str]
    ):
        """`sinks`: where the Envoys push; none for the oracle, which needs no Envoys."""
        self._cluster = cluster
        self._case = case
        self._arms = arms
        self._runs = runs
        self._sinks = sinks
        self._failures_before = 0
        self._steps: dict[str, list[tuple[float, float]]] = {}

    def deploy(self) -> None:
        """Makes the workloads at rest; returns when every HPA computes from its metric."""
        names = {arm: self._namespaces(arm) for arm in self._arms}
        _, calm = self._case.rest
        for arm, namespaces in names.items():
            for ns in namespaces:
                self._cluster.model.configure(
                    ns,
                    _APP,
                    steps=[(0, calm)],
                    sinks=self._sinks,
                    flush_seconds=arm.flush_seconds,
                    service_seconds=SERVICE_SECONDS,
                    serving_delay_seconds=SERVING_DELAY_SECONDS,
                )
        every = [ns for namespaces in names.values() for ns in namespaces]
        apply = self._cluster.plane.kubectl.apply
        apply([workloads.namespace(ns) for ns in every])
        apply([workloads.deployment(ns, _APP, MINIMUM) for ns in every])
        for ns in every:
            self._cluster.wait_ready(ns, _APP, MINIMUM, 120)
        # The HPAs shall never ask before the first flush.
        time.sleep(max(arm.flush_seconds for arm in self._arms) + SERVING_DELAY_SECONDS + 1)
        self._failures_before = self._cluster.count_events("FailedGetPodsMetric")
        self._apply_hpas()
        for ns in every:
            self._cluster.wait_hpa_active(ns, _APP)

    def _apply_hpas(self) -> None:
        """Makes them over a period, so that their syncs are spread over it for good. Made at once
        they would all be due at once, and the last ones wait for the first ones to scale.

        By multiples of the golden ratio, so that not only the syncs are spread but also the steps
        of load before them.
        """
        metric = workloads.pods_metric(INBOUND, str(TARGET))
        begin = time.time()
        for turn, index in enumerate(sorted(range(self._runs), key=lambda i: i / _GOLDEN % 1)):
            time.sleep(
                max(0.0, begin + self._cluster.hpa_sync_seconds * turn / self._runs - time.time())
            )
            self._cluster.plane.kubectl.apply(
                [
                    workloads.hpa(
                        self._namespaces(arm)[index],
                        _APP,
                        [metric],
                        MINIMUM,
                        MAXIMUM,
                        behavior=arm.behavior,
                        annotations=arm.annotations,
                    )
                    for arm in self._arms
                ]
            )

    def start(self, after_seconds: float = 0) -> float:
        """Plans the measured steps of every workload; returns the moment at which the last ends.

        The controller syncs each HPA at a phase of its own, which drifts by what its syncs take.
        The runs of an arm change their load at moments that are spread evenly over the period
        before a sync, which is predicted from the last ones that were seen of that HPA; so the
        arms differ in what is measured, not in luck.
        """
        period = self._cluster.hpa_sync_seconds
        seen = syncs.seen(self._cluster.plane)
        begin = time.time() + 1
        last_end = begin
        for arm in self._arms:
            for index, ns in enumerate(self._namespaces(arm)):
                sync = syncs.predict(seen[f"{ns}/{_APP}"], begin + period)
                moment = sync - self._planned_wait(index)
                steps = []
                for duration, qps in self._case.steps:
                    steps.append((moment, qps))
                    moment += duration
                self._steps[ns] = list(steps)
                flushes = [steps[0][0] + arm.flush_seconds * share for share in _shares(index)]
                self._cluster.model.align_flushes(ns, _APP, flushes)
                if self._case.tail:
                    steps.append((moment, self._case.tail[1]))
                    moment += self._case.tail[0]
                self._cluster.model.set_steps(ns, _APP, [(0, self._case.rest[1]), *steps])
                last_end = max(last_end, moment)
        return last_end

    def collect(self) -> dict[Arm, list[Run]]:
        seen = syncs.seen(self._cluster.plane)
        return {
            arm: [self._run(arm, index, seen) for index in range(self._runs)] for arm in self._arms
        }

    def failed_reads(self) -> int:
        """FailedGetPodsMetric events since the HPAs were made."""
        return self._cluster.count_events("FailedGetPodsMetric") - self._failures_before

    def _namespaces(self, arm: Arm) -> list[str]:
        prefix = f"{self._case.name}-{arm.name}".lower()
        return [f"{prefix}-{index:02}" for index in range(self._runs)]

    def _run(self, arm: Arm, index: int, seen: dict[str, list[float]]) -> Run:
        ns = self._namespaces(arm)[index]
        steps = self._steps[ns]
        # A step ahead does not wait for a sync.
        late = []
        if not arm.annotations:
            wait = self._planned_wait(index)
            late = syncs.late(seen[f"{ns}/{_APP}"], [moment for moment, _ in steps], wait)
        end = steps[0][0] + self._case.seconds
        return Run(
            targets=[(moment, replicas_for(qps)) for moment, qps in steps],
            end=end,
            tail_end=end + self._case.tail[0] if self._case.tail else end,
            timeline=self._cluster.model.timeline(ns, _APP),
            late=tuple(late),
        )

    def _planned_wait(self, index: int) -> float:
        """Seconds from a step of a run to the sync after it: evenly spread over the period."""
        return self._cluster.hpa_sync_seconds * (index + 0.5) / self._runs


def _shares(index: int) -> list[float]:
    """For a run, of which part of its interval the flush of each pod at rest comes after a step."""
    return [(index + 1) / _PLASTIC**power % 1 for power in range(1, MINIMUM + 1)]


@dataclass(frozen=True)
class Summary:
    """The figures of all runs of one arm."""

    starts: list[float]
    to_max: list[float]
    coverages: list[float]
    delays: list[float]
    prompt_coverages: list[float]  # had the cluster made each pod at once

    @staticmethod
    def of(runs: list[Run]) -> "Summary":
        figures = [run.figures() for run in runs]
        return Summary(
            starts=[f.start for f in figures if f.start is not None],
            to_max=[f.to_max for f in figures if f.to_max is not None],
            coverages=[f.coverage_percent for f in figures],
            delays=[f.delay_seconds for f in figures],
            prompt_coverages=[r.with_prompt_pods().figures().coverage_percent for r in runs],
        )


class Comparison(Protocol):
    """Arms of one test case on both sides, and what is expected of them."""

    case: TestCase

    def deploy(self) -> None: ...

    def start(self) -> float:
        """Plans the load; returns when all of it ends."""

    def finish(self, figures) -> list[str]:
        """Shows the figures; returns what is not as good as it should be."""


def compare(comparisons: list[Comparison], figures, apart_seconds: float = 0) -> list[str]:
    """Runs them at the same time, their starts `apart_seconds` apart; returns what is not as good
    as it should be."""
    for comparison in comparisons:
        comparison.deploy()
    time.sleep(max(comparison.case.rest[0] for comparison in comparisons))
    ends = []
    for comparison in comparisons:
        if ends:
            time.sleep(apart_seconds)
        ends.append(comparison.start())
    time.sleep(max(0.0, max(ends) - time.time()))
    return [text for comparison in comparisons for text in comparison.finish(figures)]


def median(values: list[float]) -> float:
    """The median; infinite for no values, so that "never" is never good enough."""
    return statistics.median(values) if values else float("inf")


def table(rows: dict[str, Summary]) -> str:
    """Medians with their ends, as docs/results.md shows them."""
    lines = [
        "| run | runs | start s | to max s | coverage % | with prompt pods % | delay s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        times = " | ".join(measures.spread(values) for values in (row.starts, row.to_max))
        lines.append(
            f"| {name} | {len(row.coverages)} | {times} "
            f"| {measures.spread(row.coverages, 2)} | {measures.spread(row.prompt_coverages, 2)} "
            f"| {measures.spread(row.delays)} |"
        )
    return "\n".join(lines)


def write_results(path: pathlib.Path, rows: dict[str, Summary]) -> None:
    """All figures as JSON, so that a table can be made of several runs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({name: asdict(row) for name, row in rows.items()}, indent=1))
