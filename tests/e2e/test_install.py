"""What an operator applies: the real API server accepts it, and its process makes an HPA scale."""

import base64
import os
import subprocess

import pytest
import yaml

from tests.e2e.harness import aggregation, binaries, paths, workloads
from tests.e2e.harness.cluster import Cluster
from tests.e2e.harness.model import INBOUND
from tests.lib.activescale import Activescale
from tests.lib.process import free_ports, wait_until

_KUSTOMIZE = paths.REPO / "deploy" / "kustomize" / "overlays"
_CHART = paths.REPO / "deploy" / "helm" / "activescale"
_COMPONENTS = ("signals", "external-metrics", "keda", "watch-hpas", "scale-ahead")
# These kinds come with cert-manager, which is not installed here.
_FOREIGN_GROUPS = ("cert-manager.io",)
# The service answers on a port of loopback here; its certificate is made for its own name.
_NS = aggregation.NAMESPACE


@pytest.fixture(scope="module")
def bare():
    """A control plane of these tests' own: nothing but what the manifests put there."""
    running = Cluster(paths.RUNS / "install", hpa_sync_seconds=3)
    try:
        running.plane.start()
        running.model.start()
        yield running
    finally:
        running.stop()


def _kustomize(bare, overlay):
    return bare.plane.kubectl("kustomize", str(_KUSTOMIZE / overlay))


def _helm(*values):
    helm = [binaries.binary("helm"), "template", "activescale", _CHART, f"--namespace={_NS}"]
    # A helm that was not built by its own release scripts takes itself for an old cluster's.
    version = f"--kube-version={binaries.PEERS['kubernetes'].version}"
    done = subprocess.run(
        [*helm, version, *values], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _apply(bare, text):
    """Applies the documents, strictly; what belongs to cert-manager is left out."""
    documents = [d for d in yaml.safe_load_all(text) if d]
    known = [d for d in documents if not d["apiVersion"].startswith(_FOREIGN_GROUPS)]
    assert known
    namespaces = [d for d in known if d["kind"] == "Namespace"]
    body = yaml.safe_dump_all(namespaces + [d for d in known if d["kind"] != "Namespace"])
    answer = bare.plane.kubectl.run(
        "apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-", stdin=body
    )
    assert (answer.code, answer.err) == (0, ""), answer.err
    return known


@pytest.mark.parametrize("overlay", ["single", "ha", "cert-manager", "example"])
def test_kustomize_overlays_are_accepted(bare, overlay):
    _apply(bare, _kustomize(bare, overlay))
    # The namespace enforces the restricted pod security standard: the pods must come to exist.
    wait_until(lambda: bare.pods(_NS, "app=activescale"), 30, "the Deployment makes its pods")


@pytest.fixture
def external(bare):
    """Takes away the owner of external metrics, which nobody serves here: while it is there, no
    namespace can be deleted."""
    yield
    bare.plane.kubectl(
        "delete", "apiservice", "--ignore-not-found", "v1beta1.external.metrics.k8s.io"
    )


def test_kustomize_components_are_accepted(bare, external, tmp_path):
    """All that change what the process does, together on one overlay."""
    base = os.path.relpath(_KUSTOMIZE.parent, tmp_path.resolve())
    components = [f"{base}/components/{name}" for name in _COMPONENTS]
    kustomization = {"resources": [f"{base}/overlays/single"], "components": components}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    _apply(bare, bare.plane.kubectl("kustomize", str(tmp_path)))


@pytest.mark.parametrize(
    "values",
    [
        (),
        ("--set=replicas=2", "--set=redis.address=redis:6379"),
        ("--set=certificates.mode=cert-manager",),
        ("--set=namespaces={shop,web}",),
        ("--set=scaleAhead.mode=on,scaleAhead.targets={deployments}", "--set=namespaces={shop}"),
        ("--set=scaleAhead.mode=observe", "--set=watchHPAs=true"),
        (
            "--set=signals[0].name=load,signals[0].expression=sum(x),signals[0].target=4",
            "--set=externalMetrics.enabled=true",
            "--set=keda.enabled=true,keda.tlsSecret=activescale-keda-tls",
        ),
    ],
    ids=["defaults", "ha", "cert-manager", "namespaces", "ahead", "ahead-observe", "signals"],
)
def test_helm_renders_what_is_accepted(bare, external, values):
    bare.plane.kubectl.apply([workloads.namespace(ns) for ns in (_NS, "shop", "web")])
    _apply(bare, _helm(*values))


def test_example_is_what_the_overlay_renders(bare):
    written = (paths.REPO / "k8s-manifest-example.yaml").read_text()
    rendered = _kustomize(bare, "example")
    assert list(yaml.safe_load_all(written)) == list(yaml.safe_load_all(rendered))


def _container(bare):
    path = f"/apis/apps/v1/namespaces/{_NS}/deployments/activescale"
    return bare.api.get(path)["spec"]["template"]["spec"]["containers"][0]


def _environment(container):
    """The container's environment, field references resolved as the kubelet does."""
    fields = {"metadata.name": "activescale-0", "metadata.namespace": _NS}
    return {
        entry["name"]: entry.get("value") or fields[entry["valueFrom"]["fieldRef"]["fieldPath"]]
        for entry in container.get("env", [])
    }


def _expose(bare, port):
    """Takes the applied Service and APIServices to the process on loopback."""
    path = f"/api/v1/namespaces/{_NS}/services/activescale"
    bare.api.delete(path)
    service = {
        "metadata": {"name": "activescale"},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    bare.api.post(f"/api/v1/namespaces/{_NS}/services", service)
    for version in aggregation.CUSTOM[1]:
        bare.api.patch(
            f"/apis/apiregistration.k8s.io/v1/apiservices/{version}.custom.metrics.k8s.io",
            {"spec": {"service": {"namespace": _NS, "name": "activescale", "port": port}}},
        )


def test_installed_process_scales_a_workload(bare, tmp_path):
    """The overlay `single`, applied; the process runs with the arguments, the environment and the
    rights of its Deployment, and makes its own certificate authority."""
    _apply(bare, _kustomize(bare, "single"))
    container = _container(bare)
    kubeconfig = bare.plane.service_account_kubeconfig(_NS, "activescale")
    ports = free_ports(3)
    # What the kubelet and the network give a pod is given by flags here; later ones win.
    process = Activescale(
        tmp_path,
        *container["args"][1:],
        f"--cert-dir={tmp_path / 'certificates'}",
        f"--grpc-port={ports[0]}",
        f"--secure-port={ports[1]}",
        f"--health-port={ports[2]}",
        f"--kubeconfig={kubeconfig}",
        env=_environment(container),
    )
    process.start()
    try:
        _expose(bare, process.https_port)
        group, version = aggregation.CUSTOM[0], "v1beta2"
        bare.aggregation.wait_available(group, version)
        apiservice = bare.api.get(f"/apis/apiregistration.k8s.io/v1/apiservices/{version}.{group}")
        assert b"BEGIN CERTIFICATE" in base64.b64decode(apiservice["spec"]["caBundle"])
        assert not apiservice["spec"].get("insecureSkipTLSVerify")
        _scales(bare, process)
    finally:
        process.stop()


def _scales(bare, process):
    ns = bare.new_namespace("installed")
    sink = f"127.0.0.1:{process.grpc_port}"
    bare.model.configure(ns, "web", steps=[(0, 50)], sinks=[sink])
    bare.plane.kubectl.apply([workloads.deployment(ns, "web", 1)])
    bare.wait_ready(ns, "web", 1)
    metric = workloads.pods_metric(INBOUND, "5")
    bare.plane.kubectl.apply(
        [workloads.hpa(ns, "web", [metric], behavior=workloads.quick_behavior())]
    )
    bare.wait_replicas(ns, "web", 2, 60)
    bare.model.set_in_flight(ns, "web", 30)
    bare.wait_replicas(ns, "web", 6, bare.syncs(4))


def test_uninstall_leaves_nothing_unavailable(bare):
    """The order of the documentation: APIServices first, then everything else."""
    _apply(bare, _kustomize(bare, "single"))
    kubectl = bare.plane.kubectl
    names = [f"{version}.{aggregation.CUSTOM[0]}" for version in aggregation.CUSTOM[1]]
    kubectl("delete", "apiservice", *names)
    kubectl("delete", "namespace", _NS, "--wait=false")
    wait_until(lambda: _NS not in kubectl("get", "namespaces"), 60, "the namespace is deleted")
    listed = kubectl.run("api-resources", "--cached=false")
    assert listed.err == ""
