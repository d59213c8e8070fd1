"""The real HPA controller scales out and in on each kind of metric."""

import contextlib
import time

import pytest

from tests.e2e.harness import workloads
from tests.e2e.harness.model import CONNECTIONS, INBOUND, OUTBOUND
from tests.lib.envoy import Envoy, EnvoyOptions, Pod
from tests.lib.traffic import HeldLoad, HoldingBackend


def _deploy(cluster, adapter, namespace, signals, metrics, maximum=20):
    """A workload with 10 in flight, so that `signals` of 1 mean 10, and its HPA."""
    cluster.model.configure(
        namespace, "web", steps=[(time.time(), 50)], sinks=[adapter.sink], signals=signals
    )
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", 1)])
    cluster.wait_ready(namespace, "web", 1)
    hpa = workloads.hpa(
        namespace, "web", metrics, maximum=maximum, behavior=workloads.quick_behavior()
    )
    cluster.plane.kubectl.apply([hpa])
    cluster.wait_hpa_active(namespace, "web")


@pytest.mark.parametrize(
    "metric",
    [pytest.param(INBOUND, marks=pytest.mark.short), OUTBOUND, CONNECTIONS],
)
def test_scales_on_pods_metric(cluster, adapter, namespace, metric):
    _deploy(cluster, adapter, namespace, {metric: 1}, [workloads.pods_metric(metric, "5")])
    cluster.wait_replicas(namespace, "web", 2, cluster.syncs(3))
    cluster.model.set_in_flight(namespace, "web", 100)
    cluster.wait_replicas(namespace, "web", 20, cluster.syncs(4))
    cluster.model.set_in_flight(namespace, "web", 11)
    cluster.wait_replicas(namespace, "web", 3, cluster.syncs(4))
    assert cluster.count_events("FailedGetPodsMetric", namespace) == 0


def test_scales_on_average_value_of_a_workload(cluster, adapter, namespace):
    metric = workloads.object_metric(INBOUND, "Deployment", "web", "AverageValue", "5")
    _deploy(cluster, adapter, namespace, {INBOUND: 1}, [metric])
    cluster.wait_replicas(namespace, "web", 2, cluster.syncs(3))
    cluster.model.set_in_flight(namespace, "web", 60)
    cluster.wait_replicas(namespace, "web", 12, cluster.syncs(4))
    cluster.model.set_in_flight(namespace, "web", 4)
    cluster.wait_replicas(namespace, "web", 1, cluster.syncs(4))


def test_scales_on_value_of_a_workload(cluster, adapter, namespace):
    """Value multiplies the replicas by value / target at each sync, so it runs to the limits."""
    metric = workloads.object_metric(INBOUND, "Deployment", "web", "Value", "10")
    _deploy(cluster, adapter, namespace, {INBOUND: 1}, [metric], maximum=6)
    time.sleep(cluster.syncs(2))
    assert cluster.replicas(namespace, "web") == 1
    cluster.model.set_in_flight(namespace, "web", 20)
    cluster.wait_replicas(namespace, "web", 6, cluster.syncs(8))
    cluster.model.set_in_flight(namespace, "web", 5)
    cluster.wait_replicas(namespace, "web", 1, cluster.syncs(8))


def test_scales_on_value_of_a_service(cluster, adapter, namespace):
    cluster.plane.kubectl.apply(
        [
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"namespace": namespace, "name": "front"},
                "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
            }
        ]
    )
    metric = workloads.object_metric(CONNECTIONS, "Service", "front", "AverageValue", "5")
    _deploy(cluster, adapter, namespace, {CONNECTIONS: 3}, [metric])
    cluster.wait_replicas(namespace, "web", 6, cluster.syncs(3))


def test_the_largest_of_two_metrics_wins(cluster, adapter, namespace):
    metrics = [workloads.pods_metric(INBOUND, "5"), workloads.pods_metric(CONNECTIONS, "5")]
    _deploy(cluster, adapter, namespace, {INBOUND: 1, CONNECTIONS: 4}, metrics)
    cluster.wait_replicas(namespace, "web", 8, cluster.syncs(3))
    current = cluster.hpa_status(namespace, "web")["currentMetrics"]
    assert [m["pods"]["metric"]["name"] for m in current] == [INBOUND, CONNECTIONS]


def test_scales_on_a_real_envoy(cluster, adapter, namespace, tmp_path):
    """The only sidecar is a real one; pods that it does not stand for have no telemetry, which on
    the way out counts as nothing in flight."""
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", 1)])
    cluster.wait_ready(namespace, "web", 1)
    [pod] = cluster.pods(namespace)
    with contextlib.ExitStack() as stack:
        backend = stack.enter_context(contextlib.closing(HoldingBackend()))
        envoy = Envoy(
            Pod(pod["metadata"]["name"], namespace),
            [adapter.process.grpc_port],
            backend.port,
            tmp_path,
            EnvoyOptions(flush_seconds=1),
        ).start()
        stack.callback(envoy.stop)
        [port] = envoy.ports.values()
        load = stack.enter_context(contextlib.closing(HeldLoad(port)))
        load.set(3)
        hpa = workloads.hpa(
            namespace,
            "web",
            [workloads.pods_metric(INBOUND, "5")],
            behavior=workloads.quick_behavior(),
        )
        cluster.plane.kubectl.apply([hpa])
        cluster.wait_hpa_active(namespace, "web")
        assert cluster.replicas(namespace, "web") == 1
        load.set(20)
        cluster.wait_replicas(namespace, "web", 4, cluster.syncs(4))
