"""Broken workloads and their Envoys: `doctor` names the cause in its first problem."""

import contextlib
import json
import time

import pytest

from tests.e2e.harness import workloads
from tests.e2e.harness.doctor import COMPLETE, SINK, in_mesh
from tests.e2e.harness.model import CONNECTIONS, INBOUND, OUTBOUND
from tests.lib.envoy import Pod
from tests.lib.push import PushChannel

# ---------------------------------------------------------------- what Envoys push

_RQ = {"http.inbound_0.0.0.0_8080;.downstream_rq_active": 3}


@contextlib.contextmanager
def _pushing(adapter, pod, gauges, every_seconds=0.2, skew_seconds=0, pushes=5):
    """A stream that has pushed so often, and is open."""
    with PushChannel(adapter.process.grpc_port) as channel:
        stream = channel.open()
        for _ in range(pushes):
            stream.push(pod, gauges, timestamp_ms=int((time.time() + skew_seconds) * 1000))
            time.sleep(every_seconds)
        yield


@pytest.mark.short
def test_ttl_below_three_flush_intervals(doctor, start_adapter):
    adapter = start_adapter("--ttl=1s")
    with _pushing(adapter, Pod("web-0"), _RQ, every_seconds=0.6, pushes=8):
        report = doctor.run(doctor.health(adapter))
    assert report.code == 2
    assert "the TTL is below three flush intervals" in report.first


@pytest.mark.short
def test_stats_are_not_pushed(doctor, start_adapter):
    adapter = start_adapter()
    with _pushing(adapter, Pod("web-0"), {"server.uptime": 3}):
        report = doctor.run(doctor.health(adapter))
    assert report.code == 1
    assert "stats are not included, or no request has come" in report.first


def test_identity_is_missing(doctor, start_adapter):
    adapter = start_adapter()
    with _pushing(adapter, None, _RQ):
        report = doctor.run(doctor.health(adapter))
    assert "node.metadata lacks NAME and NAMESPACE" in report.first


@pytest.mark.short
def test_clock_skew(doctor, start_adapter):
    adapter = start_adapter()
    with _pushing(adapter, Pod("web-0"), _RQ, skew_seconds=-120):
        report = doctor.run(doctor.health(adapter))
    assert report.code == 1
    assert "clock skew: a sender's clock is 120 s behind ours" in report.first


def test_nobody_pushes(doctor, start_adapter):
    report = doctor.run(doctor.health(start_adapter()))
    assert report.code == 1
    assert "no Envoy has pushed to it since it started" in report.first


# ---------------------------------------------------------------- sidecars


@pytest.mark.short
def test_pods_not_restarted_since_the_annotation(doctor):
    doctor.push(start_muted=True)
    doctor.deploy(in_mesh(workloads.deployment(doctor.ns, "web", 2), "{}"))
    # Paused, it keeps its pods with a new template: they are to be restarted by hand.
    path = f"/apis/apps/v1/namespaces/{doctor.ns}/deployments/web"
    template = {"metadata": {"annotations": {"proxy.istio.io/config": COMPLETE}}}
    doctor.cluster.api.patch(path, {"spec": {"paused": True, "template": template}})
    report = doctor.look()
    assert report.code == 2
    assert "2 of 2 pods do not push" in report.first
    assert "not restarted since the annotation proxy.istio.io/config" in report.first


def test_pods_not_restarted_since_meshconfig(doctor):
    doctor.push(start_muted=True)
    doctor.deploy(in_mesh(workloads.deployment(doctor.ns, "web", 2), "{}"))
    mesh = json.dumps({"defaultConfig": json.loads(COMPLETE)})
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "istio-system", "name": "istio"},
        "data": {"mesh": mesh},
    }
    doctor.cluster.plane.kubectl.apply([workloads.namespace("istio-system"), config])
    assert "not restarted since MeshConfig got envoyMetricsService" in doctor.look().first


def test_no_sink_anywhere(doctor):
    doctor.push(start_muted=True)
    doctor.deploy(in_mesh(workloads.deployment(doctor.ns, "web", 2), "{}"))
    assert "neither the annotation proxy.istio.io/config nor MeshConfig has it" in (
        doctor.look().first
    )


def test_envoy_without_a_mesh_does_not_push(doctor):
    doctor.push(start_muted=True)
    doctor.deploy(workloads.deployment(doctor.ns, "web", 2))
    assert "no Istio sidecar in it" in doctor.look().first


@pytest.mark.short
def test_one_pod_is_cut_off(healthy):
    cluster, ns = healthy.cluster, healthy.ns
    pod = cluster.pods(ns, "app=web")[0]["metadata"]["name"]
    cluster.model.set_muted(ns, "web", pod, True)
    report = healthy.look_until_it_fails()
    assert f"1 of 2 pods do not push ({pod}): their sidecars push to" in report.first


@pytest.mark.short
def test_stats_are_not_included(doctor):
    doctor.push(signals={CONNECTIONS: 1.0})
    doctor.deploy(in_mesh(workloads.deployment(doctor.ns, "web", 2), SINK % ""))
    doctor.cluster.wait_hpa_active(doctor.ns, "web")
    report = doctor.look()
    assert report.code == 2
    assert f"{INBOUND} is 0 for every pod, and the stats are not included" in report.first


def test_flush_annotation_against_the_ttl(doctor):
    annotation = {"sidecar.istio.io/statsFlushInterval": "10s"}
    doctor.push()
    doctor.deploy(
        in_mesh(workloads.deployment(doctor.ns, "web", 2), COMPLETE, annotations=annotation)
    )
    assert "its Envoys flush each 10s, and the TTL is 20s: the TTL is below three" in (
        doctor.look().first
    )


# ---------------------------------------------------------------- the HPA and its target


def test_selector_takes_pods_of_two_owners(healthy):
    """C10"""
    other = workloads.deployment(healthy.ns, "other", 1)
    other["spec"]["selector"]["matchLabels"] = {"tier": "other"}
    other["spec"]["template"]["metadata"]["labels"] = {"app": "web", "tier": "other"}
    healthy.cluster.plane.kubectl.apply([other])
    healthy.cluster.wait_ready(healthy.ns, "other", 1)
    report = healthy.look()
    owners = next(f for f in report.problems if "several owners" in f["message"])
    assert owners is report.problems[0]
    assert "Deployment/other, Deployment/web" in owners["message"]


def test_two_hpas_of_one_workload(healthy):
    second = workloads.hpa(healthy.ns, "web", [workloads.pods_metric(INBOUND, "5")])
    second["metadata"]["name"] = "web-too"
    healthy.cluster.plane.kubectl.apply([second])
    assert "the pods of Deployment/web are also another HPA's" in (
        healthy.look_until_it_fails().first
    )


def test_workload_scaled_to_zero(healthy):
    path = f"/apis/apps/v1/namespaces/{healthy.ns}/deployments/web"
    healthy.cluster.api.patch(path, {"spec": {"replicas": 0}})
    assert (
        "Deployment/web is scaled to 0, which switches the HPA off"
        in (healthy.look().problems[0]["message"])
    )


@pytest.mark.short
def test_no_such_hpa(doctor):
    report = doctor.look()
    assert report.code == 2
    assert report.first.startswith(f"HPA {doctor.ns}/web: ")
    assert "not found" in report.first


def test_target_that_does_not_exist(doctor):
    hpa = workloads.hpa(doctor.ns, "web", [workloads.pods_metric(INBOUND, "5")])
    doctor.cluster.plane.kubectl.apply([hpa])
    assert 'deployments.apps "web" not found' in doctor.look().first


@pytest.mark.short
def test_a_misspelt_metric_blocks_scaling_in(doctor):
    """C15"""
    doctor.push()
    doctor.deploy(metrics=(INBOUND, "inbond_active_requests"))
    doctor.cluster.wait_hpa_active(doctor.ns, "web")
    report = doctor.look()
    assert report.code == 2
    assert report.first.startswith(f"HPA {doctor.ns}/web: Pods inbond_active_requests: ")
    assert "never scales in and goes on showing the values of before" in report.first


def test_both_directions_as_a_fallback(doctor):
    doctor.push(signals={INBOUND: 1.0, OUTBOUND: 2.0})
    doctor.deploy(metrics=(INBOUND, OUTBOUND))
    doctor.cluster.wait_hpa_active(doctor.ns, "web")
    report = doctor.look()
    assert report.code == 1
    assert "it lists inbound and outbound together" in report.first
    assert "(now 10 inbound, 20 outbound)" in report.first


def test_direction_without_traffic(doctor):
    doctor.push(signals={INBOUND: 1.0})
    doctor.deploy(metrics=(OUTBOUND,))
    doctor.cluster.wait_hpa_active(doctor.ns, "web")
    assert "the HPA follows the direction without traffic" in doctor.look().first
