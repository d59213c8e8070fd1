"""k8s.io/metrics' typed client, the HPA controller's own, against every path and both versions."""

import json
import subprocess

import pytest

from tests.e2e.harness import binaries, paths, workloads
from tests.e2e.harness.model import CONNECTIONS, INBOUND, OUTBOUND
from tests.lib.process import wait_until

VERSIONS = ("", "v1beta1", "v1beta2")  # "" lets the client choose, as the HPA's does


def _ask(cluster, *questions):
    program = binaries.own_program(paths.E2E / "metricsclient")
    done = subprocess.run(
        [program, "--kubeconfig", cluster.plane.admin_kubeconfig],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture
def serving(cluster, adapter, namespace):
    """Two pods of web with 6 requests in, 3 out and 12 connections in all; web has a Service."""
    cluster.model.configure(
        namespace,
        "web",
        steps=[(0, 30)],
        sinks=[adapter.sink],
        signals={INBOUND: 1, OUTBOUND: 0.5, CONNECTIONS: 2},
    )
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": namespace, "name": "front"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    }
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", 2), service])
    cluster.wait_ready(namespace, "web", 2)

    def both_have_values():
        question = {"namespace": namespace, "kind": "Pod", "metric": CONNECTIONS}
        [answer] = _ask(cluster, question)
        return sum(item["milli"] for item in answer["items"] or []) == 12_000

    wait_until(both_have_values, 20, "both pods have values", interval_seconds=0.5)
    return namespace


@pytest.mark.short
def test_pods_by_selector(cluster, serving):
    questions = [
        {
            "version": version,
            "namespace": serving,
            "kind": "Pod",
            "selector": "app in (web,other),app notin (db)",
            "metric": metric,
        }
        for version in VERSIONS
        for metric in (INBOUND, OUTBOUND, CONNECTIONS)
    ]
    answers = _ask(cluster, *questions)
    assert [answer["error"] for answer in answers] == [""] * len(questions)
    totals = [sum(item["milli"] for item in answer["items"]) for answer in answers]
    assert totals == [6_000, 3_000, 12_000] * len(VERSIONS)
    for question, answer in zip(questions, answers, strict=True):
        for item in answer["items"]:
            assert (item["kind"], item["namespace"]) == ("Pod", serving)
            assert item["metric"] == question["metric"]
            assert -2 < item["age_seconds"] < 10


@pytest.mark.parametrize("version", VERSIONS)
def test_one_object(cluster, serving, version):
    pod = cluster.pods(serving)[0]["metadata"]["name"]
    replica_set = cluster.api.get(f"/apis/apps/v1/namespaces/{serving}/replicasets")["items"][0]
    objects = {
        ("Pod", pod): 3_000,
        ("Deployment.apps", "web"): 6_000,
        ("ReplicaSet.apps", replica_set["metadata"]["name"]): 6_000,
        ("Service", "front"): 6_000,
    }
    questions = [
        {
            "version": version,
            "namespace": serving,
            "kind": kind,
            "name": name,
            "metric": INBOUND,
        }
        for kind, name in objects
    ]

    refusals = []

    def answered():
        answers = _ask(cluster, *questions)
        refusals.extend(answer["error"] for answer in answers if answer["error"])
        return None if any(answer["error"] for answer in answers) else answers

    answers = wait_until(answered, 15, "every object has a value", interval_seconds=1)
    # Services and ReplicaSets are watched only from the first question on, which waits for them.
    assert not [text for text in refusals if "not complete yet" in text]
    found = [(item["name"], item["milli"]) for answer in answers for item in answer["items"]]
    assert found == [(name, milli) for (_, name), milli in objects.items()]


def test_what_is_not_there(cluster, serving):
    nothing = {"namespace": serving, "kind": "Pod", "selector": "app=none", "metric": INBOUND}
    unknown_metric = {"namespace": serving, "kind": "Pod", "metric": "queue_length"}
    unknown_object = {
        "namespace": serving,
        "kind": "Deployment.apps",
        "name": "absent",
        "metric": INBOUND,
    }
    answers = _ask(cluster, nothing, unknown_metric, unknown_object)
    assert answers[0] == {"items": [], "error": ""}
    assert INBOUND in answers[1]["error"]  # the error names the metrics that exist
    assert "absent" in answers[2]["error"]
