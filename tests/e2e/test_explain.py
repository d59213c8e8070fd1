"""`activescale explain` beside the real controller: what it says is what then happens."""

import json
import subprocess
import time

import pytest

from tests.e2e.harness import workloads
from tests.e2e.harness.model import INBOUND
from tests.lib.activescale import BINARY
from tests.lib.process import wait_until


def _explain(cluster, namespace, *arguments):
    done = subprocess.run(
        [
            BINARY,
            "explain",
            f"hpa/{namespace}/web",
            f"--kubeconfig={cluster.plane.admin_kubeconfig}",
            *arguments,
        ],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _read(cluster, namespace):
    return json.loads(_explain(cluster, namespace, "--output=json"))


def _first_decision(cluster, namespace, hpa, replicas):
    """What is explained of a new HPA before its first sync, one period after it was made, and the
    count that this sync sets."""
    path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"
    for _ in range(8):
        cluster.api.post(path, hpa)
        explained = _read(cluster, namespace)
        in_time = cluster.replicas(namespace, "web") == explained["replicas"] == replicas
        if in_time:
            wait_until(
                lambda: cluster.replicas(namespace, "web") != replicas,
                cluster.syncs(3),
                f"the replicas change as explained: {explained['why']}",
            )
        after = cluster.replicas(namespace, "web")
        cluster.api.delete(f"{path}/web")
        if in_time:
            return explained, after
        cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", replicas)])
        cluster.wait_ready(namespace, "web", replicas)
    raise AssertionError("the controller was always quicker than the explanation")


def _deploy(cluster, adapter, namespace, replicas, in_flight):
    cluster.model.configure(
        namespace, "web", steps=[(0, in_flight / 0.2)], sinks=[adapter.sink], flush_seconds=0.5
    )
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", replicas)])
    cluster.wait_ready(namespace, "web", replicas)
    _wait_served(adapter, namespace, in_flight)


def _wait_served(adapter, namespace, in_flight):
    """Until all that is in flight was pushed and is served."""

    def served():
        values = adapter.direct_pods(namespace, INBOUND, "app=web").values()
        return abs(sum(values) - in_flight) < 0.1

    wait_until(served, 30, f"{in_flight} in flight are served")


def _start_hpa(cluster, namespace, metrics, behavior=None):
    cluster.plane.kubectl.apply([workloads.hpa(namespace, "web", metrics, behavior=behavior)])
    cluster.wait_hpa_active(namespace, "web")


@pytest.mark.short
def test_the_next_count_is_the_one_explained(cluster, adapter, namespace):
    metrics = [workloads.pods_metric(INBOUND, "5")]
    hpa = workloads.hpa(namespace, "web", metrics, behavior=workloads.quick_behavior())
    _deploy(cluster, adapter, namespace, 2, in_flight=10)
    replicas = 2
    for in_flight, want in ((33, 7), (11, 3), (120, 20)):
        cluster.model.set_in_flight(namespace, "web", in_flight)
        _wait_served(adapter, namespace, in_flight)
        explained, after = _first_decision(cluster, namespace, hpa, replicas)
        assert (explained["desiredReplicas"], explained["certain"]) == (after, True)
        assert after == want
        cluster.wait_ready(namespace, "web", want)
        replicas = want


def test_the_default_limit_of_scaling_out_is_explained(cluster, adapter, namespace):
    hpa = workloads.hpa(namespace, "web", [workloads.pods_metric(INBOUND, "5")])
    _deploy(cluster, adapter, namespace, 1, in_flight=100)
    explained, after = _first_decision(cluster, namespace, hpa, 1)
    assert explained["decision"]["proposed"] == 20
    assert explained["decision"]["limit"] == "ScaleUpLimit"
    assert explained["desiredReplicas"] == after == 4


def test_value_multiplies_and_is_explained(cluster, adapter, namespace):
    metric = workloads.object_metric(INBOUND, "Deployment", "web", "Value", "10")
    hpa = workloads.hpa(namespace, "web", [metric], behavior=workloads.quick_behavior())
    _deploy(cluster, adapter, namespace, 2, in_flight=25)
    explained, after = _first_decision(cluster, namespace, hpa, 2)
    assert explained["desiredReplicas"] == after == 5
    assert any("type Value" in note for note in explained["notes"])


def test_a_window_that_holds_is_explained(cluster, adapter, namespace):
    _deploy(cluster, adapter, namespace, 4, in_flight=20)
    _start_hpa(cluster, namespace, [workloads.pods_metric(INBOUND, "5")])
    cluster.model.set_in_flight(namespace, "web", 5)
    wait_until(
        lambda: (
            cluster.hpa_condition(namespace, "web", "AbleToScale")["reason"]
            == "ScaleDownStabilized"
        ),
        cluster.syncs(5),
        "the window holds",
    )
    explained = _read(cluster, namespace)
    assert explained["decision"]["proposed"] == 1
    assert explained["desiredReplicas"] == cluster.replicas(namespace, "web") == 4
    assert not explained["certain"]
    assert "ScaleDownStabilized" in explained["why"]


@pytest.mark.short
def test_an_invalid_metric_that_blocks_scaling_in_is_explained(
    cluster, adapter, namespace, tmp_path
):
    metrics = [
        workloads.pods_metric(INBOUND, "5"),
        workloads.object_metric(INBOUND, "Deployment", "peer", "AverageValue", "2"),
    ]
    cluster.model.configure(
        namespace, "peer", steps=[(0, 10)], sinks=[adapter.sink], start_muted=True
    )
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "peer", 1)])
    cluster.wait_ready(namespace, "peer", 1)
    time.sleep(5)  # a workload that just started counts as idle for one TTL; this one is missing
    _deploy(cluster, adapter, namespace, 4, in_flight=20)
    _start_hpa(cluster, namespace, metrics, workloads.quick_behavior())
    cluster.model.set_in_flight(namespace, "web", 5)
    _wait_served(adapter, namespace, 5)
    explained = _read(cluster, namespace)
    assert explained["decision"]["failed"]
    assert explained["desiredReplicas"] == 4
    assert any("scales out but never in" in note for note in explained["notes"])
    time.sleep(cluster.syncs(2))
    assert cluster.replicas(namespace, "web") == 4

    saved = tmp_path / "web.json"
    text = _explain(cluster, namespace, f"--save={saved}", "--replicas=2")
    again = subprocess.run(
        [BINARY, "explain", f"--from={saved}", "--replicas=2"], capture_output=True, text=True
    )
    assert again.stdout == text
    assert "frozen" in text
