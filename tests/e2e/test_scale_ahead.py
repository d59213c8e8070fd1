"""How quickly replicas follow a load when Activescale acts at the push, beside the plain HPA and
beside an oracle that answers the HPA itself. All on the real controller."""

import dataclasses
import statistics

import pytest

from tests.e2e.harness import measures, paths, workloads
from tests.e2e.harness.adapter import Adapter, grant_component, grant_rights
from tests.e2e.harness.ahead import ASKS
from tests.e2e.harness.cluster import Cluster
from tests.e2e.harness.experiment import (
    MINIMUM,
    TC1,
    TC2,
    Arm,
    Experiment,
    Run,
    Summary,
    TestCase,
    compare,
    median,
    write_results,
)

_SYNC_SECONDS = 15
_RUNS = 20
_FAST = workloads.scale_up_behavior(900)
_FLUSHES = (1, 5)
_UNDO_SECONDS = 60
# The arms of one cluster follow each other by a sync and more, so that they do not wait for each
# other's pods.
_APART_SECONDS = 20
# Of the published cases, whose end is not measured but costs pods.
_TAIL = (90, 100)


@pytest.fixture(scope="module")
def ahead_cluster():
    running = Cluster(paths.RUNS / "ahead", _SYNC_SECONDS)
    try:
        running.start()
        grant_rights(running)
        grant_component(running, "scale-ahead")
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def ahead_adapter(ahead_cluster):
    """Serves the plain HPAs, too: they do not ask for steps ahead."""
    running = Adapter(ahead_cluster, "--scale-ahead=on", name="ahead")
    try:
        running.start()
        ahead_cluster.aggregation.register(running.https_port)
        yield running
    finally:
        running.stop()


@dataclasses.dataclass(frozen=True)
class Costs:
    """What following the load took, of all runs of one arm."""

    first_minutes: list[float]  # coverage in percent
    maxima: list[int]
    turns: list[int]
    pod_hours: float
    taken_back: int

    @staticmethod
    def of(runs: list[Run]) -> "Costs":
        return Costs(
            first_minutes=[_first_minute(run) for run in runs],
            maxima=[max(s.spec for s in _during(run)) for run in runs],
            turns=[measures.turns(run.timeline, run.targets[0][0], run.end) for run in runs],
            pod_hours=sum(run.pod_hours() for run in runs),
            taken_back=sum(
                len(measures.taken_back(run.timeline, run.targets, run.end, _UNDO_SECONDS))
                for run in runs
            ),
        )


def _during(run: Run):
    return [state for state in run.timeline if run.targets[0][0] <= state.t <= run.end]


def _first_minute(run: Run) -> float:
    step, peak = run.targets[0]
    return measures.coverage(run.timeline, [(step, peak)], step + 60, MINIMUM)


class _Comparison:
    """One test case: the oracle on its cluster, the plain HPA and the steps ahead on ours."""

    def __init__(self, oracle_cluster, cluster, adapter, case, runs, flushes=_FLUSHES):
        self.case = case
        self._runs = runs
        self._flushes = flushes
        plain = [Arm(f"plain-{f}s", f, _FAST) for f in flushes]
        ahead = [Arm(f"ahead-{f}s", f, _FAST, ASKS) for f in flushes]
        self._ahead = Experiment(cluster, case, ahead, runs, [adapter.sink])
        self._plain = Experiment(cluster, case, plain, runs, [adapter.sink])
        self._oracle = (
            Experiment(oracle_cluster, case, [Arm("oracle", 1, _FAST)], runs, [])
            if oracle_cluster
            else None
        )

    def deploy(self) -> None:
        for experiment in self._experiments():
            experiment.deploy()

    def start(self) -> float:
        """Plans the load; returns when all of it ends."""
        ends = [e.start() for e in (self._oracle, self._ahead) if e]
        return max(*ends, self._plain.start(_APART_SECONDS))

    def finish(self, figures) -> list[str]:
        """Shows the figures; returns what is not as good as it should be."""
        runs = {arm: r for e in self._experiments() for arm, r in e.collect().items()}
        summaries = {arm.name: Summary.of(r) for arm, r in runs.items()}
        costs = {arm.name: Costs.of(r) for arm, r in runs.items()}
        figures(f"{self.case.name}, {self._runs} runs each\n{_table(summaries, costs)}")
        write_results(paths.RUNS / f"ahead-{self.case.name}.json", summaries)
        failed = self._ahead.failed_reads()
        complaints = [f"{failed} FailedGetPodsMetric events"] if failed else []
        for flush in self._flushes:
            complaints += self._check(flush, summaries, costs)
        return [f"{self.case.name}: {text}" for text in complaints]

    def _experiments(self) -> list[Experiment]:
        return [e for e in (self._oracle, self._ahead, self._plain) if e]

    def _check(self, flush, summaries, costs) -> list[str]:
        name = f"ahead-{flush}s"
        mine, cost, plain = summaries[name], costs[name], costs[f"plain-{flush}s"]
        bars = _bars if self._oracle else _brief_bars
        complaints = [f"{name}: {text}" for text in bars(self.case, flush, mine, cost)]
        if len(mine.starts) < self._runs:
            complaints.append(f"{name}: a workload never scaled out")
        if cost.taken_back:
            complaints.append(f"{name}: {cost.taken_back} steps were taken back within a minute")
        if sum(cost.turns) > sum(plain.turns):
            complaints.append(f"{name}: more turns than the plain HPA")
        if self._oracle:
            oracle = costs["oracle"]
            if max(cost.maxima) > max(oracle.maxima) + 1:
                complaints.append(f"{name}: {max(cost.maxima)} replicas, oracle {oracle.maxima}")
            if cost.pod_hours > oracle.pod_hours * 1.02:
                complaints.append(f"{name}: pod-hours {cost.pod_hours / oracle.pod_hours:.3f} x")
        return complaints


def _bars(case: TestCase, flush, mine: Summary, cost: Costs) -> list[str]:
    """The bars of the full cases."""
    start, worst, coverage = (1.5, 2.5, 97.0) if flush == 1 else (4.0, None, 95.5)
    complaints = []
    if median(mine.starts) > start:
        complaints.append(f"starts after {median(mine.starts):.2f} s")
    if worst and max(mine.starts, default=0) > worst:
        complaints.append(f"starts after {max(mine.starts):.2f} s at worst")
    if case.name != "TC1":
        return complaints
    if median(mine.coverages) < coverage:
        complaints.append(f"covers {median(mine.coverages):.2f} %")
    if flush == 1 and median(cost.first_minutes) < 88:
        complaints.append(f"covers {median(cost.first_minutes):.1f} % of the first minute")
    return complaints


def _brief_bars(_case, _flush, mine: Summary, _cost) -> list[str]:
    """For a machine that does other things: less than half of what waiting for syncs takes."""
    start = median(mine.starts)
    return [f"starts after {start:.2f} s"] if start > _SYNC_SECONDS / 4 else []


def _table(summaries: dict[str, Summary], costs: dict[str, Costs]) -> str:
    lines = [
        "| run | start s | to max s | coverage % | first minute % | most | turns | pod-hours "
        "| taken back |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, row in summaries.items():
        cost = costs[name]
        lines.append(
            f"| {name} | {measures.spread(row.starts, 2)} | {measures.spread(row.to_max)} "
            f"| {measures.spread(row.coverages, 2)} | {measures.spread(cost.first_minutes)} "
            f"| {max(cost.maxima)} | {statistics.mean(cost.turns):.2f} | {cost.pod_hours:.2f} "
            f"| {cost.taken_back} |"
        )
    return "\n".join(lines)


@pytest.mark.short
@pytest.mark.timeout(240)
def test_steps_ahead_in_brief(ahead_cluster, ahead_adapter, figures):
    """A short high phase and few runs, beside the plain HPA alone."""
    case = TestCase("ahead-brief", (16, 100), ((25, 1000),))
    comparison = _Comparison(None, ahead_cluster, ahead_adapter, case, 4, (1,))
    assert not compare([comparison], figures)
    steps = ahead_cluster.count_events("ScaledAhead")
    assert steps >= 4, f"only {steps} ScaledAhead events for four workloads"


@pytest.mark.timeout(1800)
def test_steps_ahead(oracle_cluster, ahead_cluster, ahead_adapter, figures):
    """TC1 and TC2 in full. TC1 jumps while TC2 holds its first step, so that pods start one case at
    a time."""
    clusters = oracle_cluster, ahead_cluster, ahead_adapter
    tc1, tc2 = (
        _Comparison(*clusters, dataclasses.replace(case, tail=_TAIL), _RUNS) for case in (TC1, TC2)
    )
    assert not compare([tc2, tc1], figures, apart_seconds=30)
