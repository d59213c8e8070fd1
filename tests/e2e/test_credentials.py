"""Who may read, and what changes while the adapter runs: authorities, certificates, tokens."""

import http.client
import json
import ssl
import time

import pytest

from tests.e2e.harness import aggregation, workloads
from tests.e2e.harness.adapter import Adapter, grant_rights
from tests.e2e.harness.model import INBOUND
from tests.lib import certs
from tests.lib.process import wait_until

_PATH = f"/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/pods/%2A/{INBOUND}"
_AUTH_CONFIG = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


def _ask(port, pair=None, headers=None, path=_PATH):
    """Status and body of a GET at the adapter itself."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if pair:
        context.load_cert_chain(pair.cert, pair.key)
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=15, context=context)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")
    finally:
        connection.close()


@pytest.fixture(scope="module")
def readers(cluster):
    """A role that may read pods' metrics in the namespace default, bound to `reader`."""
    group = "custom.metrics.k8s.io"
    meta = {"namespace": "default", "name": "metrics-reader"}
    cluster.plane.kubectl.apply(
        [
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": meta,
                "rules": [{"apiGroups": [group], "resources": ["*"], "verbs": ["get"]}],
            },
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": meta,
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "Role",
                    "name": "metrics-reader",
                },
                "subjects": [
                    {"kind": "User", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"},
                    {"kind": "ServiceAccount", "name": "default", "namespace": "default"},
                ],
            },
        ]
    )


@pytest.mark.short
def test_who_may_read(cluster, adapter, readers, tmp_path):
    """Case C16."""
    plane, port = cluster.plane, adapter.https_port
    stranger = certs.Authority("stranger", tmp_path)
    token = plane.token("default", "default")
    other_token = plane.token("kube-system", "default")

    def bearer(value):
        return {"Authorization": f"Bearer {value}"}

    def remote(user):
        return {"X-Remote-User": user}

    front = plane.front_proxy
    impostor = plane.requestheader_ca.client("someone-else", file_name="impostor")
    # An empty list is the answer to who may read: namespace default has no pods.
    asked = {
        "no credentials": (_ask(port), 403),
        "certificate of a stranger": (_ask(port, stranger.client("reader")), 401),
        "front proxy, allowed user": (_ask(port, front, remote("reader")), 200),
        "front proxy, denied user": (_ask(port, front, remote("nobody")), 403),
        "front proxy of another name": (_ask(port, impostor, remote("reader")), 401),
        "headers without a front proxy": (_ask(port, None, remote("reader")), 403),
        "client certificate, allowed": (_ask(port, plane.client_certificate("reader")), 200),
        "client certificate, denied": (_ask(port, plane.client_certificate("nobody")), 403),
        "masters": (_ask(port, plane.client_certificate("root", ("system:masters",))), 200),
        "token, allowed": (_ask(port, None, bearer(token)), 200),
        "token, denied": (_ask(port, None, bearer(other_token)), 403),
        "bad token": (_ask(port, None, bearer("nonsense")), 401),
    }
    got = {name: answer[0] for name, (answer, _) in asked.items()}
    assert got == {name: status for name, (_, status) in asked.items()}
    for name, ((status, body), _) in asked.items():
        if status != 200:
            assert (body["kind"], body["status"]) == ("Status", "Failure"), name
    # One line a while for each status, whoever asks how often.
    log = adapter.process.log_path.read_text()
    assert 'is forbidden: User "' in log
    assert ": Unauthorized: " in log


@pytest.fixture
def scaled(cluster, adapter, namespace):
    """A workload whose HPA has got its metric; it keeps asking while credentials change."""
    cluster.model.configure(namespace, "web", steps=[(0, 50)], sinks=[adapter.sink])
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", 2)])
    cluster.wait_ready(namespace, "web", 2)
    time.sleep(2)
    cluster.plane.kubectl.apply(
        [workloads.hpa(namespace, "web", [workloads.pods_metric(INBOUND, "5")], minimum=2)]
    )
    cluster.wait_hpa_active(namespace, "web")
    return namespace


def _failed_syncs(cluster, namespace):
    return cluster.count_events("FailedGetPodsMetric", namespace)


def test_serving_certificate_is_reloaded(cluster, adapter, scaled):
    """Case C19."""
    first = ssl.get_server_certificate(("127.0.0.1", adapter.https_port))

    # A pair that does not match changes nothing.
    other = cluster.plane.ca.server("mismatch", aggregation.SERVER_NAMES)
    good_key = adapter.key.read_bytes()
    adapter.key.write_bytes(other.key.read_bytes())
    reloads = "activescale_serving_certificate_reloads_total"
    wait_until(
        lambda: adapter.process.metric(reloads, result="failed") > 0, 60, "the bad pair is counted"
    )
    assert ssl.get_server_certificate(("127.0.0.1", adapter.https_port)) == first

    adapter.cert.write_bytes(other.cert.read_bytes())

    def fresh():
        return ssl.get_server_certificate(("127.0.0.1", adapter.https_port)) != first

    wait_until(fresh, 60, "the new certificate is served", interval_seconds=1)
    assert good_key != adapter.key.read_bytes()
    time.sleep(cluster.syncs(3))
    assert _failed_syncs(cluster, scaled) <= 1


def test_front_proxy_authority_rotates(cluster, adapter, readers, scaled):
    """Case C17."""
    plane, port = cluster.plane, adapter.https_port
    headers = {"X-Remote-User": "reader"}
    old = plane.requestheader_ca.client("front-proxy-client", file_name="front-proxy-old")
    assert _ask(port, old, headers)[0] == 200

    fresh = plane.trust_second_requestheader_ca(f"requestheader-ca-{time.time():.0f}")

    def is_published():
        data = cluster.api.get(_AUTH_CONFIG)["data"]["requestheader-client-ca-file"]
        return fresh.pem.strip() in data

    wait_until(is_published, 90, "kube-apiserver publishes the new authority")
    new = fresh.client("front-proxy-client", file_name="front-proxy-new")
    wait_until(lambda: _ask(port, new, headers)[0] == 200, 15, "the new authority is accepted")
    plane.use_requestheader_ca(fresh)

    # kube-apiserver never takes an authority out of the ConfigMap by itself before it expires.
    cluster.api.patch(_AUTH_CONFIG, {"data": {"requestheader-client-ca-file": fresh.pem}})
    wait_until(lambda: _ask(port, old, headers)[0] == 401, 15, "the old authority is refused")
    time.sleep(cluster.syncs(3))
    assert _failed_syncs(cluster, scaled) <= 1


def test_token_rotates(cluster, readers, adapter, namespace, tmp_path):
    """The service account is made anew, so that the old token is worth nothing."""
    account = "rotating"
    grant_rights(cluster, account)
    token_file = tmp_path / "token"

    def renew():
        token_file.write_text(cluster.plane.token(aggregation.NAMESPACE, account))

    renew()
    kubeconfig = cluster.plane.kubeconfig(account, token_file=token_file)
    second = Adapter(cluster, "--ttl=4s", name=account, kubeconfig=kubeconfig).start()
    try:
        # 403 is the answer of a SubjectAccessReview; without one it would be another status.
        assert _ask(second.https_port, cluster.plane.client_certificate("nobody"))[0] == 403
        accounts = f"/api/v1/namespaces/{aggregation.NAMESPACE}/serviceaccounts"
        cluster.api.delete(f"{accounts}/{account}")
        cluster.api.post(accounts, {"metadata": {"name": account}})
        renew()
        cluster.model.configure(namespace, "web", steps=[(0, 50)], sinks=[second.sink])
        cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", 1)])
        master = cluster.plane.client_certificate("master", ("system:masters",))
        pods = f"/apis/custom.metrics.k8s.io/v1beta2/namespaces/{namespace}/pods/%2A/{INBOUND}"

        def sees_new_pod():
            status, body = _ask(second.https_port, master, path=pods)
            return status == 200 and body["items"]

        wait_until(sees_new_pod, 60, "the watch goes on with the new token")
        stranger = cluster.plane.client_certificate("somebody")
        reader = cluster.plane.client_certificate("reader")
        wait_until(
            lambda: (
                (_ask(second.https_port, stranger)[0], _ask(second.https_port, reader)[0])
                == (403, 200)
            ),
            30,
            "reviews go on with the new token",
        )
    finally:
        second.stop()
