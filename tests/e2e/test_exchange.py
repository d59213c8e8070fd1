"""An upgrade, a rollback and a move to another installation: the HPA keeps scaling."""

import time

import pytest

from tests.e2e.harness import workloads
from tests.e2e.harness.adapter import Adapter
from tests.e2e.harness.model import INBOUND

pytestmark = pytest.mark.timeout(600)

_FLUSH_SECONDS = 5


@pytest.fixture
def second(steady, steady_adapter):
    """Another process of the same installation, ready but not registered."""
    running = Adapter(steady, name="activescale-next")
    try:
        yield running.start()
    finally:
        running.stop()
        steady_adapter.start_if_stopped()
        steady.aggregation.register(steady_adapter.https_port)


def _deploy(steady, ns, sinks):
    """Two pods with 10 in flight in all, at their target; scales in at once, so that a value that
    is lost or counted as zero would show."""
    steady.model.configure(ns, "web", steps=[(0, 50)], sinks=sinks, flush_seconds=_FLUSH_SECONDS)
    steady.plane.kubectl.apply([workloads.deployment(ns, "web", 2)])
    steady.wait_ready(ns, "web", 2)
    time.sleep(_FLUSH_SECONDS + 1)
    metric = workloads.pods_metric(INBOUND, "5")
    steady.plane.kubectl.apply(
        [workloads.hpa(ns, "web", [metric], behavior=workloads.quick_behavior())]
    )
    steady.wait_hpa_active(ns, "web")


def _specs_since(steady, ns, moment):
    return {state.spec for state in steady.model.timeline(ns, "web") if state.t >= moment}


def test_upgrade_and_rollback_of_one_replica(steady, steady_adapter, second):
    """The new process is ready before the old one goes; the old one ends its streams, and the
    Envoys open them at the new one with their next flush. Then the same the other way."""
    ns = steady.new_namespace("upgrade")
    _deploy(steady, ns, [steady_adapter.sink, second.sink])
    processes = [steady_adapter, second]
    for old, new, in_flight, replicas in [(*processes, 20, 4), (*reversed(processes), 40, 8)]:
        new.start_if_stopped()
        before = time.time()
        failures = steady.count_events("FailedGetPodsMetric", ns)
        settled = steady.replicas(ns, "web")
        old.stop()
        steady.aggregation.register(new.https_port)
        time.sleep(steady.syncs(2))
        assert _specs_since(steady, ns, before) <= {settled}
        assert steady.count_events("FailedGetPodsMetric", ns) - failures <= 1
        steady.model.set_in_flight(ns, "web", in_flight)
        steady.wait_replicas(ns, "web", replicas, steady.syncs(4))
    steady.drop_namespaces([ns])


def test_move_to_another_installation_and_back(steady, steady_adapter, second):
    """The steps of docs/migrating-from-go.md: the Envoys first, by a restart of their pods, then
    the APIService. In between the HPA has no values and keeps the replicas."""
    ns = steady.new_namespace("move")
    _deploy(steady, ns, [steady_adapter.sink])
    for target, in_flight, replicas in [(second, 20, 4), (steady_adapter, 40, 8)]:
        settled = steady.replicas(ns, "web")
        before = time.time()
        present = settled * 5
        steady.model.configure(
            ns,
            "web",
            steps=[(0, present / 0.2)],
            sinks=[target.sink],
            flush_seconds=_FLUSH_SECONDS,
        )
        kubectl = steady.plane.kubectl
        kubectl("-n", ns, "rollout", "restart", "deployment/web")
        kubectl("-n", ns, "rollout", "status", "deployment/web", "--timeout=60s")
        time.sleep(steady.syncs(1))
        steady.aggregation.register(target.https_port)
        time.sleep(steady.syncs(2))
        assert _specs_since(steady, ns, before) <= {settled}
        steady.model.set_in_flight(ns, "web", in_flight)
        steady.wait_replicas(ns, "web", replicas, steady.syncs(4))
    steady.drop_namespaces([ns])
