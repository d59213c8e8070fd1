"""How quickly replicas follow a load, beside an oracle that answers the HPA itself."""

import pytest

from tests.e2e.harness import paths, workloads
from tests.e2e.harness.experiment import (
    TC1,
    TC2,
    Arm,
    Experiment,
    Summary,
    TestCase,
    compare,
    median,
    table,
    write_results,
)

_RUNS = 20
_FAST = workloads.scale_up_behavior(900)


class _Comparison:
    """One test case on both sides: the oracle and the product, each behavior, each flush interval.

    `start_slack` and `coverage_slack` say by flush interval how many seconds later and how many
    points lower than the oracle's the product's medians may be.
    """

    def __init__(self, oracle_cluster, cluster, adapter, case, runs, behaviors, slack):
        self.case = case
        self._runs = runs
        self._behaviors = behaviors
        self._slack = slack
        arms = [Arm(f"{b}-{f}s", f, behaviors[b]) for b in behaviors for f in slack]
        oracle_arms = [Arm(b, 1, behaviors[b]) for b in behaviors]
        self._oracle = Experiment(oracle_cluster, case, oracle_arms, runs, [])
        self._product = Experiment(cluster, case, arms, runs, [adapter.sink])

    def deploy(self):
        self._oracle.deploy()
        self._product.deploy()

    def start(self) -> float:
        """Plans the load; returns when it ends."""
        return max(self._oracle.start(), self._product.start())

    def finish(self, figures) -> list[str]:
        """Shows the figures; returns what is not as good as it should be."""
        rows = {f"oracle {arm.name}": Summary.of(r) for arm, r in self._oracle.collect().items()}
        rows |= {arm.name: Summary.of(r) for arm, r in self._product.collect().items()}
        failed = self._product.failed_reads()
        figures(f"{self.case.name}, {self._runs} runs each\n{table(rows)}")
        write_results(paths.RUNS / f"{self.case.name}.json", rows)
        complaints = [f"{self.case.name}: {failed} FailedGetPodsMetric events"] if failed else []
        for behavior in self._behaviors:
            for flush, slack in self._slack.items():
                name = f"{behavior}-{flush}s"
                complaints += _worse(
                    f"{self.case.name} {name}", rows[name], rows[f"oracle {behavior}"], *slack
                )
        return complaints


def _worse(name, mine: Summary, oracle: Summary, start_slack, coverage_slack) -> list[str]:
    complaints = []
    if len(mine.starts) < len(mine.coverages):
        complaints.append(f"{name}: a workload never scaled out")
    late = median(mine.starts) - median(oracle.starts)
    if late > start_slack:
        complaints.append(f"{name}: starts {late:.2f} s after the oracle")
    # The clusters make different numbers of pods at a time, which is not what is compared.
    lost = median(oracle.prompt_coverages) - median(mine.prompt_coverages)
    if lost > coverage_slack:
        complaints.append(f"{name}: covers {lost:.2f} points less than the oracle")
    return complaints


@pytest.mark.short
@pytest.mark.timeout(420)
def test_tc1_in_brief(oracle_cluster, steady, steady_adapter, figures):
    """TC1 with a shorter high phase and fewer runs; the slack is that of few runs."""
    case = TestCase("TC1-brief", (20, 100), ((60, 1000),))
    slack = {5: (5, 8), 1: (3, 5)}
    comparison = _Comparison(
        oracle_cluster, steady, steady_adapter, case, 6, {"fast": _FAST}, slack
    )
    assert not compare([comparison], figures)


@pytest.mark.timeout(1800)
def test_tc1_and_tc2(oracle_cluster, steady, steady_adapter, figures):
    """Both in full. TC1 jumps while TC2 holds its first step, so that pods start one case at a
    time."""
    clusters = oracle_cluster, steady, steady_adapter
    behaviors = {"default": None, "fast": _FAST}
    tc1_slack = {5: (2.5, 1.2), 1: (0.7, 0.4)}
    tc2_slack = {5: (3.5, 2.5), 1: (1.5, 1.5)}
    tc2 = _Comparison(*clusters, TC2, _RUNS, behaviors, tc2_slack)
    tc1 = _Comparison(*clusters, TC1, _RUNS, behaviors, tc1_slack)
    assert not compare([tc2, tc1], figures, apart_seconds=30)
