"""Pods that come, go and come back under the same name; a namespace that is deleted meanwhile."""

import time

from tests.e2e.harness import workloads
from tests.e2e.harness.api import ApiError
from tests.e2e.harness.model import INBOUND, STAT_NAMES
from tests.lib.process import wait_until


def _values(cluster, namespace, selector):
    """Value by pod name, as the HPA would read it; 404 is an error."""
    path = f"/apis/custom.metrics.k8s.io/v1beta2/namespaces/{namespace}/pods/%2A/{INBOUND}"
    items = cluster.api.get(path, labelSelector=selector)["items"]
    return {item["describedObject"]["name"]: item["value"] for item in items}


def _deploy(cluster, adapter, namespace, in_flight, replicas, **options):
    cluster.model.configure(
        namespace, "web", steps=[(0, in_flight / 0.2)], sinks=[adapter.sink], **options
    )
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", replicas)])
    cluster.wait_ready(namespace, "web", replicas)


def test_rolling_update_with_idle_new_pods_does_not_scale(cluster, adapter, namespace):
    """Case C12. New pods get no request for 4 s: their Envoys push without the gauge, which means
    zero. An old pod goes once a new one has been Ready for 6 s, so the load is always carried."""
    cluster.model.configure(
        namespace, "web", steps=[(0, 50)], sinks=[adapter.sink], serving_delay_seconds=4
    )
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", 2, minReadySeconds=6)])
    cluster.wait_ready(namespace, "web", 2)
    time.sleep(5)
    metric = workloads.pods_metric(INBOUND, "5")
    cluster.plane.kubectl.apply(
        [workloads.hpa(namespace, "web", [metric], behavior=workloads.quick_behavior())]
    )
    cluster.wait_hpa_active(namespace, "web")
    before = time.time()
    cluster.plane.kubectl("-n", namespace, "rollout", "restart", "deployment/web")
    cluster.plane.kubectl("-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
    time.sleep(cluster.syncs(2))
    during = [s for s in cluster.model.timeline(namespace, "web") if s.t >= before]
    assert max(state.pods for state in during) > 2, "the update never surged"
    assert {state.spec for state in during} == {2}
    assert cluster.count_events("FailedGetPodsMetric", namespace) == 0


def test_recreated_stateful_pod_does_not_add_the_old_one(cluster, adapter, namespace):
    """Case B2."""
    cluster.plane.kubectl.apply([workloads.stateful_set(namespace, "db", 1)])
    cluster.wait_ready(namespace, "db", 1, kind="statefulsets")

    def push(envoy_id, pod, value, silent=False):
        cluster.model.put_envoy(
            envoy_id,
            namespace,
            "db-0",
            sinks=[adapter.sink],
            gauges={STAT_NAMES[INBOUND]: value},
            ip=pod["status"]["podIP"],
            silent=silent,
        )

    [old] = cluster.pods(namespace, "app=db")
    push("old", old, 40)
    wait_until(lambda: _values(cluster, namespace, "app=db") == {"db-0": "40"}, 10, "40 is there")
    push("old", old, 40, silent=True)
    cluster.api.delete(f"/api/v1/namespaces/{namespace}/pods/db-0")

    def recreated():
        pods = cluster.pods(namespace, "app=db")
        fresh = [p for p in pods if p["metadata"]["uid"] != old["metadata"]["uid"]]
        return fresh if fresh and fresh[0]["status"].get("podIP") else None

    [new] = wait_until(recreated, 20, "db-0 is re-created")
    push("new", new, 2)
    wait_until(lambda: _values(cluster, namespace, "app=db") == {"db-0": "2"}, 10, "2 is there")
    # The half-open stream of the old pod comes back to life.
    push("old", old, 40)
    seen = set()
    end = time.time() + 5
    while time.time() < end:
        seen.add(_values(cluster, namespace, "app=db")["db-0"])
        time.sleep(0.1)
    for envoy_id in ("old", "new"):
        cluster.model.delete_envoy(envoy_id)
    assert seen == {"2"}


def test_deleted_pods_are_gone_at_once(cluster, adapter, namespace):
    """Case B1: at once, and also when their values expire."""
    _deploy(cluster, adapter, namespace, 500, 10)
    wait_until(lambda: len(_values(cluster, namespace, "app=web")) == 10, 10, "ten values")
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
    cluster.api.patch(path, {"spec": {"replicas": 2}})
    wait_until(lambda: len(cluster.pods(namespace)) == 2, 20, "eight pods are deleted")
    time.sleep(1)
    assert len(_values(cluster, namespace, "app=web")) == 2
    time.sleep(5)  # past the TTL of this adapter
    assert len(_values(cluster, namespace, "app=web")) == 2


def test_shared_labels_and_finished_pods(cluster, adapter, namespace):
    """Case C10: a selector means every running pod with the labels, a workload only its own."""
    _deploy(cluster, adapter, namespace, 10, 1)
    [own] = [p["metadata"]["name"] for p in cluster.pods(namespace)]
    finished = workloads.pod(namespace, "done", {"app": "web"}, restart_policy="Never")
    del finished["spec"]["nodeName"]  # so that nobody runs it
    cluster.plane.kubectl.apply([finished, workloads.pod(namespace, "stray", {"app": "web"})])
    status = f"/api/v1/namespaces/{namespace}/pods/done/status"
    cluster.api.patch(status, {"status": {"phase": "Succeeded"}})
    wait_until(
        lambda: _values(cluster, namespace, "app=web") == {own: "5", "stray": "5"},
        10,
        "the running pods have values, and only they",
    )
    group = "/apis/custom.metrics.k8s.io/v1beta2"
    path = f"{group}/namespaces/{namespace}/deployments.apps/web/{INBOUND}"
    assert [item["value"] for item in cluster.api.get(path)["items"]] == ["5"]


def test_namespace_deletion_waits_for_the_adapter_and_then_completes(cluster, adapter):
    """Kubernetes deletes nothing of a namespace while it cannot list every API group."""
    name = cluster.new_namespace("doomed")
    adapter.stop()
    try:
        group, version = "custom.metrics.k8s.io", "v1beta2"
        wait_until(
            lambda: not cluster.aggregation.is_available(group, version),
            60,
            "the APIService is unavailable",
        )
        cluster.drop_namespaces([name])
        time.sleep(15)
        status = cluster.api.get(f"/api/v1/namespaces/{name}")["status"]
        assert status["phase"] == "Terminating"
        blocked = [c for c in status["conditions"] if c["status"] == "True"]
        assert "NamespaceDeletionDiscoveryFailure" in [c["type"] for c in blocked]
    finally:
        adapter.start()
    wait_until(lambda: _is_gone(cluster, name), 120, f"namespace {name} is deleted")


def _is_gone(cluster, namespace):
    try:
        cluster.api.get(f"/api/v1/namespaces/{namespace}")
        return False
    except ApiError as error:
        return error.status == 404
