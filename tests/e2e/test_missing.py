"""What the HPA does while metrics are missing: the table of the documentation, row by row."""

import time

import pytest

from tests.e2e.harness import workloads
from tests.e2e.harness.api import ApiError
from tests.e2e.harness.model import CONNECTIONS, INBOUND
from tests.lib.process import wait_until


def _holds(cluster, namespace, replicas):
    """True if the replicas stay as they are for three syncs."""
    end = time.time() + cluster.syncs(3)
    while time.time() < end:
        if cluster.replicas(namespace, "web") != replicas:
            return False
        time.sleep(0.2)
    return True


def _unmute(cluster, namespace, name):
    for pod in cluster.pods(namespace, f"app={name}"):
        cluster.model.set_muted(namespace, name, pod["metadata"]["name"], False)


def _configure(cluster, adapter, namespace, name, in_flight, muted, signals=None):
    cluster.model.configure(
        namespace,
        name,
        steps=[(0, in_flight / 0.2)],
        sinks=[adapter.sink],
        start_muted=muted,
        signals=signals,
    )


@pytest.mark.short
def test_missing_metrics_table(cluster, adapter, namespace):
    """web scales on its own pods and on the sum over another workload, peer."""
    _configure(cluster, adapter, namespace, "web", 40, muted=True)
    _configure(cluster, adapter, namespace, "peer", 12, muted=True)
    cluster.plane.kubectl.apply(
        [workloads.deployment(namespace, "web", 3), workloads.deployment(namespace, "peer", 1)]
    )
    cluster.wait_ready(namespace, "web", 3)
    cluster.wait_ready(namespace, "peer", 1)
    # A workload that just started counts as idle for a while; this one is to be missing.
    metrics = [
        workloads.pods_metric(INBOUND, "5"),
        workloads.object_metric(INBOUND, "Deployment", "peer", "AverageValue", "2"),
    ]
    cluster.plane.kubectl.apply(
        [workloads.hpa(namespace, "web", metrics, behavior=workloads.quick_behavior())]
    )

    # All missing: keep.
    assert _holds(cluster, namespace, 3)
    active = cluster.hpa_condition(namespace, "web", "ScalingActive")
    assert active["status"] == "False"

    # One missing, the other asks for more: scale out by the other.
    _configure(cluster, adapter, namespace, "web", 40, muted=False)
    _unmute(cluster, namespace, "web")
    cluster.wait_replicas(namespace, "web", 8, cluster.syncs(4))

    # One missing, the other asks for less: keep.
    cluster.model.set_in_flight(namespace, "web", 5)
    assert _holds(cluster, namespace, 8)

    # All there: the largest proposal.
    _unmute(cluster, namespace, "peer")
    cluster.wait_replicas(namespace, "web", 6, cluster.syncs(4))


def test_empty_missing_and_unknown_differ(cluster, adapter, namespace):
    """Case C8."""
    _configure(cluster, adapter, namespace, "web", 10, muted=True)
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", 1)])
    cluster.wait_ready(namespace, "web", 1)
    pods = f"/apis/custom.metrics.k8s.io/v1beta2/namespaces/{namespace}/pods/%2A"

    assert cluster.api.get(f"{pods}/{INBOUND}", labelSelector="app=other")["items"] == []

    with pytest.raises(ApiError, match="telemetry") as missing:
        cluster.api.get(f"{pods}/{INBOUND}", labelSelector="app=web")
    assert missing.value.status == 404

    with pytest.raises(ApiError, match=CONNECTIONS) as unknown:
        cluster.api.get(f"{pods}/requests_per_second", labelSelector="app=web")
    assert unknown.value.status == 404


def test_every_pod_unready_still_has_values(cluster, adapter, namespace):
    """Case C14: overload that makes every pod NotReady must not hide the load."""
    _configure(cluster, adapter, namespace, "web", 10, muted=False)
    pod = workloads.pod(namespace, "web-0", {"app": "web"})
    pod["spec"]["readinessGates"] = [{"conditionType": "example.com/never"}]
    cluster.plane.kubectl.apply([pod])
    path = f"/apis/custom.metrics.k8s.io/v1beta2/namespaces/{namespace}/pods/%2A/{INBOUND}"

    def values():
        return cluster.api.get(path, labelSelector="app=web")["items"]

    [item] = wait_until(values, 15, "the pod has a value")
    assert item["describedObject"]["name"] == "web-0"
