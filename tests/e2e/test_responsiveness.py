"""How quickly replicas follow a load, beside an oracle that answers the HPA itself."""

import time

import pytest

from tests.e2e.harness import paths, workloads
from tests.e2e.harness.cluster import Cluster
from tests.e2e.harness.experiment import (
    TC1,
    TC2,
    Arm,
    Experiment,
    Summary,
    TestCase,
    median,
    table,
    write_results,
)

_SYNC_SECONDS = 15
_FAST = workloads.scale_up_behavior(900)


@pytest.fixture(scope="module")
def oracle_cluster():
    """A second control plane, so that the oracle is asked at the same time as the product."""
    running = Cluster(paths.RUNS / "oracle", _SYNC_SECONDS)
    try:
        running.start()
        running.aggregation.register(running.model.oracle_port, versions=("v1beta2",))
        yield running
    finally:
        running.stop()


def _run_side_by_side(experiments: list[Experiment]) -> None:
    for experiment in experiments:
        experiment.deploy()
    end = max(experiment.start() for experiment in experiments)
    time.sleep(max(0.0, end - time.time()))


def _measure(oracle_cluster, cluster, adapter, figures, case, behaviors, flushes, runs):
    """Summaries by name of the run: oracle and product, each behavior, each flush interval."""
    oracle = Experiment(
        oracle_cluster, case, [Arm(f"{b}", 1, behaviors[b]) for b in behaviors], runs, []
    )
    arms = [Arm(f"{b}-{f}s", f, behaviors[b]) for b in behaviors for f in flushes]
    product = Experiment(cluster, case, arms, runs, [adapter.sink])
    _run_side_by_side([oracle, product])
    rows = {f"oracle {arm.name}": Summary.of(found) for arm, found in oracle.collect().items()}
    rows |= {arm.name: Summary.of(found) for arm, found in product.collect().items()}
    failed = product.failed_reads()
    for experiment in (oracle, product):
        experiment.remove()
    figures(f"{case.name}, {runs} runs each\n{table(rows)}")
    write_results(paths.RUNS / f"{case.name}.json", rows)
    assert failed == 0, f"{failed} FailedGetPodsMetric events"
    return rows


def _compare(rows, behaviors, flushes, start_slack, coverage_slack):
    for behavior in behaviors:
        oracle = rows[f"oracle {behavior}"]
        for flush in flushes:
            mine = rows[f"{behavior}-{flush}s"]
            assert len(mine.starts) == len(mine.coverages), "a workload never scaled out"
            assert median(mine.starts) <= median(oracle.starts) + start_slack[flush]
            assert median(mine.coverages) >= median(oracle.coverages) - coverage_slack[flush]


@pytest.mark.short
@pytest.mark.timeout(420)
def test_tc1_in_brief(oracle_cluster, steady, steady_adapter, figures):
    """TC1 with a shorter high phase and fewer runs; the slack is that of few runs."""
    case = TestCase("TC1-brief", ((20, 100), (60, 1000)), measured_steps=1)
    behaviors, flushes = {"fast": _FAST}, (5, 1)
    rows = _measure(
        oracle_cluster, steady, steady_adapter, figures, case, behaviors, flushes, runs=6
    )
    _compare(rows, behaviors, flushes, start_slack={5: 5, 1: 3}, coverage_slack={5: 8, 1: 5})


@pytest.mark.timeout(1200)
def test_tc1(oracle_cluster, steady, steady_adapter, figures):
    behaviors, flushes = {"default": None, "fast": _FAST}, (5, 1)
    rows = _measure(
        oracle_cluster, steady, steady_adapter, figures, TC1, behaviors, flushes, runs=20
    )
    _compare(
        rows, behaviors, flushes, start_slack={5: 2.5, 1: 0.7}, coverage_slack={5: 1.2, 1: 0.4}
    )


@pytest.mark.timeout(1500)
def test_tc2(oracle_cluster, steady, steady_adapter, figures):
    behaviors, flushes = {"default": None, "fast": _FAST}, (5, 1)
    rows = _measure(
        oracle_cluster, steady, steady_adapter, figures, TC2, behaviors, flushes, runs=20
    )
    _compare(
        rows, behaviors, flushes, start_slack={5: 3.5, 1: 1.5}, coverage_slack={5: 2.5, 1: 1.5}
    )
