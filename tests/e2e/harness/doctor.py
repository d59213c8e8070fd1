"""Runs `activescale doctor` against the control plane, and makes what it looks at: an installation
that is whole again after each test, and workloads."""

import json
import subprocess
import uuid

from tests.e2e.harness import aggregation, workloads
from tests.e2e.harness.adapter import SERVICE_ACCOUNT, Adapter, rights
from tests.e2e.harness.api import ApiError
from tests.e2e.harness.cluster import Cluster
from tests.e2e.harness.model import INBOUND
from tests.lib.activescale import BINARY
from tests.lib.process import wait_until

NS = aggregation.NAMESPACE
SERVICES = f"/api/v1/namespaces/{NS}/services"
SINK = '{"envoyMetricsService":{"address":"activescale-grpc.ns-observability:9000"}%s}'
COMPLETE = SINK % ',"proxyStatsMatcher":{"inclusionSuffixes":["downstream_rq_active"]}'

PUSH_SERVICE = f"{aggregation.SERVICE}-grpc"

_PODS = f"/api/v1/namespaces/{NS}/pods"
_REPLICA = {"app": "doctored-replica"}
# The namespace of the manifests takes no other pods.
_RESTRICTED_POD = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
}
_RESTRICTED_CONTAINER = {
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
}
_MESH_CONFIG = "/api/v1/namespaces/istio-system/configmaps/istio"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_FOLDERS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{ns}/serviceaccounts",
    "Service": "/api/v1/namespaces/{ns}/services",
    "ClusterRole": f"{_RBAC}/clusterroles",
    "ClusterRoleBinding": f"{_RBAC}/clusterrolebindings",
    "Role": _RBAC + "/namespaces/{ns}/roles",
    "RoleBinding": _RBAC + "/namespaces/{ns}/rolebindings",
}


def _service(name: str, spec: dict) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": NS, "name": name},
        "spec": spec,
    }


_SERVICES = (
    _service(aggregation.SERVICE, {"type": "ExternalName", "externalName": "localhost"}),
    # Without a selector it would be of both families, which this control plane does not have.
    _service(
        PUSH_SERVICE,
        {"clusterIP": "None", "ports": [{"port": 9000}], "ipFamilyPolicy": "SingleStack"},
    ),
)


class Report:
    """What one run of `doctor` found."""

    def __init__(self, *args):
        done = subprocess.run(
            [BINARY, "doctor", "--output=json", *args],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout, done.stderr
        self.code = done.returncode
        self.text = done.stdout
        self.findings = json.loads(done.stdout)["findings"]

    @property
    def problems(self):
        return [f for f in self.findings if f["level"] != "ok"]

    @property
    def first(self):
        """The first failure, or where nothing fails the first warning."""
        failures = [f for f in self.problems if f["level"] == "failure"]
        first = (failures or self.problems)[0]
        assert first["advice"]
        return f"{first['check']}: {first['message']}"


class Installation:
    """The Services, rights, APIServices and pods of an installation. `adapter` serves its API."""

    def __init__(self, cluster: Cluster, adapter: Adapter):
        self._cluster = cluster
        self._adapter = adapter

    def restore(self) -> None:
        """Makes whole what a test broke, and takes away what it left."""
        api = self._cluster.api
        api.delete(_PODS, labelSelector=_selector(_REPLICA), gracePeriodSeconds="0")
        _delete_if_there(api, _MESH_CONFIG)
        for document in (*rights(), *_SERVICES):
            meta = document["metadata"]
            folder = _FOLDERS[document["kind"]].format(ns=meta.get("namespace"))
            api.apply(f"{folder}/{meta['name']}", document)
        for name in (aggregation.SERVICE, PUSH_SERVICE):
            self.select(name, None)
        self._cluster.aggregation.remove(aggregation.EXTERNAL)
        self._cluster.aggregation.register(self._adapter.https_port)

    def remove(self) -> None:
        """As if it had never been installed; the namespace and the rights stay."""
        self._cluster.aggregation.remove()
        for name in (aggregation.SERVICE, PUSH_SERVICE):
            self._cluster.api.delete(f"{SERVICES}/{name}")

    def select(self, service: str, labels: dict[str, str] | None) -> None:
        """The labels by which the Service finds its pods."""
        # A key that is not named stays in a merge patch.
        self._cluster.api.patch(f"{SERVICES}/{service}", {"spec": {"selector": None}})
        if labels:
            self._cluster.api.patch(f"{SERVICES}/{service}", {"spec": {"selector": labels}})

    def run_replicas(self, count: int, ready: bool = True, **container: object) -> None:
        """Pods that the Service selects, beside the process that the aggregator asks. A pod that
        is not to be `ready` is never scheduled."""
        for _ in range(count):
            pod = workloads.pod(NS, f"activescale-{uuid.uuid4().hex[:5]}", _REPLICA)
            pod["spec"].update(serviceAccountName=SERVICE_ACCOUNT, **_RESTRICTED_POD)
            pod["spec"]["containers"][0].update(
                name="activescale", **_RESTRICTED_CONTAINER, **container
            )
            if not ready:
                del pod["spec"]["nodeName"]
            self._cluster.api.post(_PODS, pod)
        self.select(aggregation.SERVICE, _REPLICA)
        if ready:
            wait_until(lambda: self._count_ready() == count, 30, f"{count} replicas are ready")

    def _count_ready(self) -> int:
        pods = self._cluster.pods(NS, _selector(_REPLICA))
        conditions = [c for pod in pods for c in pod["status"].get("conditions", [])]
        return sum(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def in_mesh(deployment, proxy_config=COMPLETE, annotations=None):
    """The Deployment as its pods are after Istio injected a sidecar."""
    template = deployment["spec"]["template"]
    template["metadata"]["annotations"] = annotations or {}
    template["spec"]["containers"].append(
        {
            "name": "istio-proxy",
            "image": "example.invalid/proxyv2:1",
            "env": [{"name": "PROXY_CONFIG", "value": proxy_config}],
        }
    )
    return deployment


class Doctor:
    """Runs `doctor` against the control plane, and makes workloads for it to look at."""

    def __init__(self, cluster: Cluster, adapter: Adapter, ns: str):
        self.cluster = cluster
        self.adapter = adapter
        self.ns = ns
        self.installation = Installation(cluster, adapter)

    def run(self, *args, kubeconfig=None):
        return Report(f"--kubeconfig={kubeconfig or self.cluster.plane.admin_kubeconfig}", *args)

    def look(self, *args):
        """At the installation, its process and the HPA `web`."""
        return self.run(f"--hpa={self.ns}/web", self.health(), *args)

    def look_until_it_fails(self, *args):
        """The first report with a failure: what was broken shows after a while."""
        return wait_until(
            lambda: (found := self.look(*args)).code == 2 and found, 20, "doctor sees a failure"
        )

    def health(self, adapter=None):
        return f"--health-address=127.0.0.1:{(adapter or self.adapter).process.health_port}"

    def push(self, signals=None, flush_seconds=1, start_muted=False):
        """Says how the Envoys of `web` push, before its pods exist."""
        self.cluster.model.configure(
            self.ns,
            "web",
            steps=[(0, 50)],
            sinks=[self.adapter.sink],
            flush_seconds=flush_seconds,
            signals=signals,
            start_muted=start_muted,
        )

    def deploy(self, deployment=None, metrics=(INBOUND,)):
        """Two pods of `web` and their HPA, which has synced."""
        self.cluster.plane.kubectl.apply(
            [deployment or in_mesh(workloads.deployment(self.ns, "web", 2))]
        )
        self.cluster.wait_ready(self.ns, "web", 2)
        hpa = workloads.hpa(
            self.ns, "web", [workloads.pods_metric(m, "5") for m in metrics], minimum=2, maximum=2
        )
        self.cluster.plane.kubectl.apply([hpa])
        wait_until(
            lambda: self.cluster.hpa_condition(self.ns, "web", "ScalingActive"),
            30,
            "the HPA has synced",
        )


def _selector(labels: dict[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in labels.items())


def _delete_if_there(api, path: str) -> None:
    try:
        api.delete(path)
    except ApiError as error:
        if error.status != 404:
            raise
