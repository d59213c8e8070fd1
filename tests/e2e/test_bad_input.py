"""What is broken, forbidden or absurd gets a clear answer; nobody gets an empty list instead."""

import http.client
import json
import socket
import ssl
import subprocess

import pytest

from tests.e2e.harness import aggregation
from tests.e2e.harness.adapter import Adapter, grant_rights
from tests.e2e.harness.model import INBOUND
from tests.lib.activescale import BINARY
from tests.lib.process import free_ports, wait_until

_PODS = f"/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/pods/%2A/{INBOUND}"


def _ask(plane, port, path):
    """Status and decoded body of a read by a user who may do everything."""
    pair = plane.client_certificate("bad-input-admin", ("system:masters",))
    context = ssl.create_default_context(cafile=str(plane.ca.cert))
    context.load_cert_chain(pair.cert, pair.key)
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=15, context=context)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")
    finally:
        connection.close()


@pytest.fixture
def without_pods(cluster):
    """An adapter whose service account may not list pods, started but not ready."""
    name = "without-pods"
    grant_rights(cluster, name, without=("activescale",))
    kubeconfig = cluster.plane.service_account_kubeconfig(aggregation.NAMESPACE, name)
    running = Adapter(cluster, name=name, kubeconfig=kubeconfig)
    running.process.start()
    yield running
    running.stop()


def test_forbidden_pod_list_is_no_empty_list(cluster, without_pods):
    process, port = without_pods.process, without_pods.https_port
    wait_until(lambda: process.health("/readyz").status == 503, 10, "it is not ready")
    status, body = _ask(cluster.plane, port, _PODS)
    assert (status, body["kind"], body["reason"]) == (503, "Status", "ServiceUnavailable")
    assert process.health("/livez").status == 200
    log = process.log_path.read_text()
    assert "pods" in log
    assert "forbidden" in log

    # The right arrives: no restart is needed.
    grant_rights(cluster, process.name)
    wait_until(without_pods.is_ready, 60, "it lists pods once it may")
    assert _ask(cluster.plane, port, _PODS)[0] == 200


@pytest.mark.parametrize("selector", ["a in (", "a==b==c", "=x", "a=%2Fslash", "a b"])
def test_selector_syntax_errors(cluster, adapter, selector):
    path = f"{_PODS}?labelSelector={selector.replace(' ', '+')}"
    status, body = _ask(cluster.plane, adapter.https_port, path)
    assert (status, body["reason"]) == (400, "BadRequest")


def test_selector_of_a_megabyte(cluster, adapter):
    terms = ",".join(f"label-{i:05}=value-{i:05}" for i in range(40_000))
    try:
        status, _ = _ask(cluster.plane, adapter.https_port, f"{_PODS}?labelSelector={terms}")
        assert status in (400, 414, 431)
    except OSError:
        pass  # it may hang up before all of it was sent
    assert _ask(cluster.plane, adapter.https_port, _PODS)[0] == 200


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "missing.kubeconfig"),
        ("{", "kubeconfig"),
        ("apiVersion: v1\nkind: Config\n", "context"),
        (
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: "
            "{cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: "
            "'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {exec: {command: aws}}}]\n",
            "exec",
        ),
    ],
    ids=["missing", "no YAML", "no context", "exec plugin"],
)
def test_broken_kubeconfig_stops_the_start(tmp_path, content, complaint):
    path = tmp_path / "missing.kubeconfig"
    if content is not None:
        path.write_text(content)
    ports = free_ports(3)
    done = subprocess.run(
        [
            BINARY,
            "serve",
            f"--kubeconfig={path}",
            f"--cert-dir={tmp_path / 'certs'}",
            f"--grpc-port={ports[0]}",
            f"--secure-port={ports[1]}",
            f"--health-port={ports[2]}",
        ],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode not in (0, -6, -11)
    assert complaint in done.stderr + done.stdout


def test_reviews_that_are_never_answered(cluster, adapter, tmp_path):
    """An API server that accepts connections and says nothing: the caller gets an answer in time,
    and those who need no review are not held up."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kubeconfig = json.loads(cluster.plane.admin_kubeconfig.read_text())
        kubeconfig["clusters"][0]["cluster"]["server"] = (
            f"https://127.0.0.1:{silent.getsockname()[1]}"
        )
        path = tmp_path / "silent.kubeconfig"
        path.write_text(json.dumps(kubeconfig))
        running = Adapter(cluster, f"--authorization-kubeconfig={path}", name="silent-reviews")
        running.start()
        try:
            assert _ask(cluster.plane, running.https_port, _PODS)[0] == 200  # a master
            pair = cluster.plane.client_certificate("bad-input-user")
            context = ssl.create_default_context(cafile=str(cluster.plane.ca.cert))
            context.load_cert_chain(pair.cert, pair.key)
            waiting = http.client.HTTPSConnection(
                "127.0.0.1", running.https_port, timeout=30, context=context
            )
            waiting.request("GET", _PODS)
            for _ in range(20):
                assert _ask(cluster.plane, running.https_port, _PODS)[0] == 200
            answer = waiting.getresponse()
            assert answer.status == 403
            assert json.loads(answer.read())["kind"] == "Status"
            waiting.close()
        finally:
            running.stop()
