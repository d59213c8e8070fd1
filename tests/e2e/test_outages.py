"""Restarts under Kubernetes' default sync: the HPA misses at most one of them."""

import time

import pytest

from tests.e2e.harness import workloads
from tests.e2e.harness.model import INBOUND
from tests.lib.process import wait_until

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def scaled(steady, steady_adapter):
    """Workloads whose HPAs ask at moments spread over the sync; Envoys flush each 5 s."""
    names = [steady.new_namespace("steady") for _ in range(5)]
    for ns in names:
        steady.model.configure(
            ns, "web", steps=[(0, 50)], sinks=[steady_adapter.sink], flush_seconds=5
        )
    steady.plane.kubectl.apply([workloads.deployment(ns, "web", 2) for ns in names])
    for ns in names:
        steady.wait_ready(ns, "web", 2)
    time.sleep(6)
    metric = workloads.pods_metric(INBOUND, "5")
    for ns in names:
        steady.plane.kubectl.apply([workloads.hpa(ns, "web", [metric], minimum=2)])
        time.sleep(steady.hpa_sync_seconds / len(names))
    for ns in names:
        steady.wait_hpa_active(ns, "web")
    yield names
    steady.drop_namespaces(names)


def _failures(steady, names):
    return {ns: steady.count_events("FailedGetPodsMetric", ns) for ns in names}


def _still_scale(steady, names, before, in_flight, replicas):
    """Each HPA has missed at most one sync, and follows the load again."""
    time.sleep(steady.syncs(2))
    missed = {ns: count - before[ns] for ns, count in _failures(steady, names).items()}
    for ns in names:
        steady.model.set_in_flight(ns, "web", in_flight)
    for ns in names:
        steady.wait_replicas(ns, "web", replicas, steady.syncs(4))
    assert max(missed.values()) <= 1, missed


def test_adapter_restart(steady, steady_adapter, scaled):
    before = _failures(steady, scaled)
    steady_adapter.restart()
    _still_scale(steady, scaled, before, 20, 4)


def test_adapter_killed(steady, steady_adapter, scaled):
    before = _failures(steady, scaled)
    steady_adapter.process.stop(signal_number=9)
    steady_adapter.start()
    _still_scale(steady, scaled, before, 30, 6)


def test_apiserver_restart(steady, steady_adapter, scaled):
    before = _failures(steady, scaled)
    steady.plane.apiserver.stop()
    assert steady_adapter.is_ready(), "what was listed stays good while the API server is away"
    steady.plane.start_apiserver()
    if not steady.plane.controller_manager.running:
        steady.plane.controller_manager.start()
    wait_until(
        lambda: steady.aggregation.is_available("custom.metrics.k8s.io", "v1beta2"),
        60,
        "the APIService is available again",
    )
    _still_scale(steady, scaled, before, 40, 8)
