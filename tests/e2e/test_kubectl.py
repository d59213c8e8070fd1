"""What a person sees with kubectl."""

import json
import time

import pytest

from tests.e2e.harness import workloads
from tests.e2e.harness.model import INBOUND

_GROUP = "custom.metrics.k8s.io"


@pytest.fixture
def scaled(cluster, adapter, namespace):
    """A workload with 10 in flight over 2 pods, and its HPA at rest."""
    cluster.model.configure(
        namespace, "web", steps=[(time.time(), 50)], sinks=[adapter.sink], flush_seconds=1
    )
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", 2)])
    cluster.wait_ready(namespace, "web", 2)
    cluster.plane.kubectl.apply(
        [workloads.hpa(namespace, "web", [workloads.pods_metric(INBOUND, "5")], minimum=2)]
    )
    cluster.wait_hpa_active(namespace, "web")
    return namespace


@pytest.mark.short
def test_kubectl_shows_values_without_a_warning(cluster, scaled):
    kubectl = cluster.plane.kubectl

    path = f"/apis/{_GROUP}/v1beta2/namespaces/{scaled}/pods/*/{INBOUND}?labelSelector=app=web"
    raw = kubectl.run("get", "--raw", path)
    assert raw.err == ""
    values = json.loads(raw.out)
    assert (values["kind"], values["apiVersion"]) == ("MetricValueList", f"{_GROUP}/v1beta2")
    assert [item["value"] for item in values["items"]] == ["5", "5"]

    hpa = kubectl.run("-n", scaled, "get", "hpa", "web")
    assert hpa.err == ""
    assert " 5/5 " in hpa.out

    resources = kubectl.run("api-resources", "--cached=false")
    assert (resources.code, resources.err) == (0, "")
    assert f"pods/{INBOUND}" in kubectl("get", "--raw", f"/apis/{_GROUP}/v1beta2")

    described = kubectl.run("describe", "apiservice", f"v1beta2.{_GROUP}")
    assert described.err == ""
    assert "all checks passed" in described.out


def test_discovery_names_resources_once_and_quickly(cluster, scaled):
    """Cases C1 and C2: both versions list resources; the list is small, whatever the pods."""
    for version in ("v1beta1", "v1beta2"):
        raw = cluster.plane.kubectl("get", "--raw", f"/apis/{_GROUP}/{version}")
        listed = json.loads(raw)
        assert listed["kind"] == "APIResourceList"
        assert listed["groupVersion"] == f"{_GROUP}/{version}"
        assert len(listed["resources"]) >= 1
        assert len(raw) < 10_000


def test_cluster_openapi_stays_whole(cluster, scaled):
    """Case C23: the merged document is still served, also to protobuf clients."""
    assert cluster.api.get("/openapi/v2")["swagger"] == "2.0"
    accept = {"Accept": "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"}
    assert cluster.api.raw("/openapi/v2", headers=accept)


@pytest.mark.parametrize(
    "path",
    [
        "namespaces/*/m",
        "namespaces/default/foo",
        "namespaces/default/jobs.batch/",
        "pods",
        "/pods/*/m",
        "pods/%2e%2e/m",
        "namespaces/default/pods/*/inbound_active_requests/extra",
        "namespaces/default/pods/*/inbound_active_requests?labelSelector=a%20in%20(",
    ],
)
def test_odd_paths_get_a_status(cluster, adapter, path):
    """Case C4."""
    status, answer = cluster.api.status_of(f"/apis/{_GROUP}/v1beta2/{path}")
    assert status in (400, 404)
    assert (answer["kind"], answer["status"]) == ("Status", "Failure")
    assert adapter.process.running
