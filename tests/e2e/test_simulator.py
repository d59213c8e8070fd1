"""The simulator beside the real controller: the same load gives the same replica timeline."""

import time

import pytest

from tests.e2e.harness import paths, simulated
from tests.e2e.harness.experiment import TC1, TC2, Arm, Experiment, TestCase

_FLUSH_SECONDS = 5
_RUNS = 4
# On a ramp the load goes on changing between two syncs, and with it the rounding.
_SLACK_REPLICAS = {"k6": 1}
_REST_SECONDS = 60  # four syncs of each HPA, by which the next ones are predicted


def _k6() -> TestCase:
    """Grafana's test of Loki's queriers, ten requests a second a virtual user, in steps of 5 s."""
    lines = ((120, 5, 50), (60, 50, 50), (30, 50, 100), (30, 100, 50), (30, 50, 100), (30, 100, 50))
    steps = []
    for seconds, first, last in lines:
        count = seconds // 5
        steps += [(5.0, 10 * (first + (last - first) * (i + 0.5) / count)) for i in range(count)]
    return TestCase("k6", (20, 50), tuple(steps))


def _compare(cluster, adapter, figures, cases):
    arm = Arm("sim", _FLUSH_SECONDS)
    experiments = [Experiment(cluster, case, [arm], _RUNS, [adapter.sink]) for case in cases]
    for experiment in experiments:
        experiment.deploy()
    time.sleep(_REST_SECONDS)
    end = max(experiment.start() for experiment in experiments)
    time.sleep(max(0.0, end - time.time()))
    wrong = []
    for case, experiment in zip(cases, experiments, strict=True):
        changes = 0
        for index, run in enumerate(experiment.collect()[arm]):
            folder = paths.RUNS / "simulated" / f"{case.name}-{index}"
            period = cluster.hpa_sync_seconds
            line = simulated.timeline(case, run, _FLUSH_SECONDS, period, folder)
            found = simulated.disagreements(run, line, period, _SLACK_REPLICAS.get(case.name, 0))
            changes += sum(run.targets[0][0] <= s.t <= run.end for s in run.timeline)
            wrong += [(case.name, index, *each) for each in found]
        bad = sum(name == case.name for name, *_ in wrong)
        figures(f"simulated {case.name}: {changes} states of {_RUNS} runs, {bad} outside of a sync")
    assert not wrong, f"(case, run, seconds after the step, real, simulated from, to): {wrong}"


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("cases", [[TC1], [TC2, _k6()]], ids=["tc1", "tc2-and-k6"])
def test_the_simulated_timeline_is_within_a_sync(steady, steady_adapter, figures, cases):
    _compare(steady, steady_adapter, figures, cases)
