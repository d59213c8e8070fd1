"""Broken installations on the real control plane: `doctor` names the cause in its first problem.

A test breaks; the fixture makes whole again."""

import base64

import pytest

from tests.e2e.harness import aggregation
from tests.e2e.harness.doctor import NS, PUSH_SERVICE, in_mesh
from tests.e2e.harness.workloads import deployment
from tests.lib import certs
from tests.lib.process import Process, free_ports, wait_until

_GROUP = "custom.metrics.k8s.io"
_APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


@pytest.mark.short
def test_nothing_is_wrong_with_a_healthy_cluster(healthy):
    report = healthy.look()
    assert (report.code, report.problems) == (0, [])
    assert "all 2 pods push" in report.text
    assert "ValidMetricFound" in report.text


# ---------------------------------------------------------------- the aggregation layer


def _wait_unavailable(cluster, version="v1beta2"):
    wait_until(
        lambda: not cluster.aggregation.is_available(_GROUP, version), 60, "it is unavailable"
    )


def _patch_apiservices(cluster, spec):
    for version in aggregation.CUSTOM[1]:
        cluster.api.patch(f"{_APISERVICES}/{version}.{_GROUP}", {"spec": spec})


def _serve_with(doctor, start, pair):
    """The aggregator asks a process that has this certificate, of the authority that it trusts."""
    adapter = start(f"--tls-cert-file={pair.cert}", f"--tls-private-key-file={pair.key}")
    doctor.cluster.aggregation.register(adapter.https_port, wait=False)
    _wait_unavailable(doctor.cluster)


@pytest.mark.short
def test_a_cluster_without_us(doctor):
    doctor.installation.remove()
    report = doctor.run()
    assert report.code == 2
    assert report.first.startswith(f"APIServices of {_GROUP}: there are none")
    assert f'services \\"{aggregation.SERVICE}\\" not found' in report.text


@pytest.mark.short
def test_wrong_ca(doctor, tmp_path):
    stranger = certs.Authority("stranger", tmp_path)
    bundle = base64.b64encode(stranger.pem.encode()).decode()
    _patch_apiservices(doctor.cluster, {"caBundle": bundle})
    _wait_unavailable(doctor.cluster)
    report = doctor.run()
    assert report.code == 2
    assert report.first.startswith(f"APIService v1beta2.{_GROUP}: wrong CA: caBundle is not of")
    assert bundle not in report.text


def test_no_ca(doctor):
    _patch_apiservices(doctor.cluster, {"caBundle": None})
    _wait_unavailable(doctor.cluster)
    assert "wrong CA: there is no caBundle at all" in doctor.run().first


def test_certificate_of_another_name(doctor, start_adapter):
    _serve_with(
        doctor, start_adapter, doctor.cluster.plane.ca.server("other-name", ("web.shop.svc",))
    )
    assert "the serving certificate does not name the Service" in doctor.run().first


def test_expired_certificate(doctor, start_adapter):
    pair = doctor.cluster.plane.ca.server(
        "expired", aggregation.SERVER_NAMES, valid_until_hours=-0.5
    )
    _serve_with(doctor, start_adapter, pair)
    assert "the replica's serving certificate has expired" in doctor.run().first


@pytest.mark.short
def test_refused_port(doctor):
    [closed] = free_ports(1)
    _patch_apiservices(doctor.cluster, {"service": {"port": closed}})
    _wait_unavailable(doctor.cluster)
    assert "nothing listens there: the port is refused" in doctor.run().first


@pytest.mark.short
def test_two_owners(doctor):
    doctor.cluster.api.patch(
        f"{_APISERVICES}/v1beta1.{_GROUP}",
        {"spec": {"service": {"namespace": "monitoring", "name": "prometheus-adapter"}}},
    )
    assert "v1beta1.custom.metrics.k8s.io: it belongs to monitoring/prometheus-adapter" in (
        doctor.run().first
    )


def test_another_owner_of_external_metrics_is_left_alone(healthy):
    """C24: only one owner of the group; nothing is wrong while no HPA of ours needs it."""
    cluster = healthy.cluster
    cluster.aggregation.register(1, aggregation.EXTERNAL, wait=False)
    name = f"{_APISERVICES}/v1beta1.external.metrics.k8s.io"
    cluster.api.patch(name, {"spec": {"service": {"namespace": "keda", "name": "keda-metrics"}}})
    report = healthy.look()
    assert (report.code, report.problems) == (0, [])
    assert "belongs to keda/keda-metrics" in report.text


def test_two_owners_of_external_metrics(doctor):
    """C24: it would take from KEDA what scales by it."""
    cluster = doctor.cluster
    cluster.aggregation.register(1, aggregation.EXTERNAL, wait=False)
    name = f"{_APISERVICES}/v1beta1.external.metrics.k8s.io"
    cluster.api.patch(name, {"spec": {"service": {"namespace": "keda", "name": "keda-metrics"}}})
    doctor.installation.run_replicas(1, args=["--external-metrics"])
    assert "it belongs to keda/keda-metrics, and the replicas run with --external-metrics" in (
        doctor.run(doctor.health()).first
    )


# ---------------------------------------------------------------- rights


@pytest.mark.parametrize(
    ("binding", "problem"),
    [
        pytest.param(
            "clusterrolebindings/activescale",
            "it may not list pods: no metric can be read",
            marks=pytest.mark.short,
        ),
        (
            "clusterrolebindings/activescale:system:auth-delegator",
            "it may not create tokenreviews: bearer tokens cannot be checked",
        ),
        (
            "namespaces/kube-system/rolebindings/"
            "activescale:extension-apiserver-authentication-reader",
            "it may not watch configmaps in kube-system: the aggregator's requests cannot be",
        ),
    ],
    ids=["pods", "reviews", "aggregator"],
)
def test_missing_rbac(doctor, binding, problem):
    doctor.cluster.api.delete(f"/apis/rbac.authorization.k8s.io/v1/{binding}")
    # The authorizer hears of it by a watch.
    report = wait_until(
        lambda: (found := doctor.run()).code == 2 and found, 10, "doctor sees what is missing"
    )
    assert report.first.startswith(f"RBAC of service account activescale: {problem}")


@pytest.mark.short
def test_kubeconfig_with_too_few_rights(doctor):
    plane = doctor.cluster.plane
    kubeconfig = plane.kubeconfig("nobody", plane.client_certificate("nobody"))
    report = doctor.run(f"--hpa={doctor.ns}/web", kubeconfig=kubeconfig)
    assert report.code == 2
    assert report.first.startswith(f"HPA {doctor.ns}/web: ")
    assert 'User "nobody" cannot get resource "horizontalpodautoscalers"' in report.first
    assert all("cannot" in f["message"] and f["advice"] for f in report.problems)


@pytest.mark.short
def test_no_cluster(doctor, tmp_path):
    [closed] = free_ports(1)
    text = doctor.cluster.plane.admin_kubeconfig.read_text()
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(text.replace(str(doctor.cluster.plane.port), str(closed)))
    report = doctor.run(kubeconfig=kubeconfig)
    assert report.code == 2
    assert report.first.startswith("cluster: ")
    assert f"127.0.0.1:{closed}" in report.first


# ---------------------------------------------------------------- replicas


@pytest.mark.short
def test_two_replicas_without_a_store(doctor):
    doctor.installation.run_replicas(2)
    report = doctor.run(doctor.health())
    assert report.code == 2
    assert "2 ready replicas without a shared store" in report.first


def test_two_replicas_with_a_store(doctor):
    secrets = [
        {"name": "REDIS_ADDR", "value": "redis.cache:6379"},
        {"name": "REDIS_PASSWORD", "value": "correct-horse"},
    ]
    doctor.installation.run_replicas(2, env=secrets)
    report = doctor.run(doctor.health())
    assert "2 ready, with a shared store" in report.text
    assert "redis.cache" not in report.text
    assert "correct-horse" not in report.text


def test_replica_that_does_not_start(doctor):
    doctor.installation.run_replicas(1, ready=False)
    assert "is not ready: Pending" in doctor.run(doctor.health()).first


def test_service_with_a_wrong_selector(doctor):
    doctor.installation.run_replicas(1)
    doctor.installation.select(aggregation.SERVICE, {"app": "activscale"})
    assert f"replicas of {NS}/activescale: the Service's selector matches no pod" in (
        doctor.run(doctor.health()).first
    )


@pytest.mark.short
def test_push_service_with_a_wrong_selector(doctor):
    doctor.installation.run_replicas(1)
    doctor.installation.select(PUSH_SERVICE, {"app": "activscale"})
    assert "its selector matches no replica" in doctor.run(doctor.health()).first


@pytest.mark.short
def test_redis_password(doctor, start_adapter):
    [port] = free_ports(1)
    server = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", ""]
    redis = Process(
        "doctor-redis", [*server, "--requirepass", "correct-horse"], doctor.cluster.plane.logs
    ).start()
    broken = start_adapter(f"--redis-addr=127.0.0.1:{port}", "--redis-password=wrong-staple")
    try:
        report = wait_until(
            lambda: (found := doctor.run(doctor.health(broken))).code == 2 and found,
            20,
            "doctor sees a failure",
        )
    finally:
        redis.stop()
    assert "is ready, and reads fail: store: degraded: " in report.first
    assert "the server refused user or password (WRONGPASS)" in report.first
    assert "wrong-staple" not in report.text


def test_several_failures_are_told_causes_first(doctor):
    """The rights stand before the replicas and the HPA that suffer from them."""
    doctor.push(start_muted=True)
    doctor.deploy(in_mesh(deployment(doctor.ns, "web", 2)))
    doctor.cluster.api.delete("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/activescale")
    report = wait_until(
        lambda: (found := doctor.look()).first.startswith("RBAC") and found, 10, "rights are first"
    )
    assert any("2 of 2 pods do not push" in f["message"] for f in report.problems)
