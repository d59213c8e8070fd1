"""Activescale behind the aggregation layer, with the rights that its manifests give it."""

import pathlib
import ssl

import yaml

from tests.e2e.harness import aggregation, paths
from tests.e2e.harness.cluster import Cluster
from tests.lib.activescale import Activescale
from tests.lib.api import MetricsClient
from tests.lib.process import free_ports, wait_until

_RIGHTS = ("namespace.yaml", "serviceaccount.yaml", "rbac.yaml")
SERVICE_ACCOUNT = "activescale"


def grant_rights(
    cluster: Cluster, service_account: str = SERVICE_ACCOUNT, without: tuple[str, ...] = ()
) -> None:
    """Applies the service account and the RBAC rules of an installation."""
    cluster.plane.kubectl.apply(rights(service_account, without))


def rights(service_account: str = SERVICE_ACCOUNT, without: tuple[str, ...] = ()) -> list[dict]:
    """Namespace, service account and RBAC rules as the manifests have them.

    A `service_account` of another name gets bindings of its own to the same roles. Bindings named
    in `without` are left out.
    """
    base = paths.REPO / "deploy" / "kustomize" / "base"
    documents = []
    for name in _RIGHTS:
        documents += [d for d in yaml.safe_load_all((base / name).read_text()) if d]
    documents = [
        d
        for d in documents
        if not (d["kind"].endswith("Binding") and d["metadata"]["name"] in without)
    ]
    for document in documents:
        metadata = document["metadata"]
        if document["kind"] == "ServiceAccount":
            metadata["name"] = service_account
        elif document["kind"].endswith("Binding") and service_account != SERVICE_ACCOUNT:
            metadata["name"] += f":{service_account}"
            for subject in document["subjects"]:
                subject["name"] = service_account
    return documents


def grant_component(cluster: Cluster, component: str) -> None:
    """Applies the RBAC rules of a component of the manifests."""
    rules = paths.REPO / "deploy" / "kustomize" / "components" / component / "rbac.yaml"
    cluster.plane.kubectl.apply([d for d in yaml.safe_load_all(rules.read_text()) if d])


class Adapter:
    """One `activescale serve` process with fixed ports, so that it can be restarted in place.

    Serving certificate: from the control plane's authority, in `cert` and `key`.
    """

    def __init__(
        self,
        cluster: Cluster,
        *args: str,
        name: str = "activescale",
        kubeconfig: pathlib.Path | None = None,
    ):
        """`kubeconfig`: by default one of the service account that the manifests make."""
        self._cluster = cluster
        pair = cluster.plane.ca.server(f"{name}-serving", aggregation.SERVER_NAMES)
        self.cert, self.key = pair.cert, pair.key
        kubeconfig = kubeconfig or cluster.plane.service_account_kubeconfig(
            aggregation.NAMESPACE, SERVICE_ACCOUNT
        )
        self.process = Activescale(
            cluster.plane.logs,
            f"--kubeconfig={kubeconfig}",
            f"--tls-cert-file={self.cert}",
            f"--tls-private-key-file={self.key}",
            *args,
            name=name,
            ports=free_ports(3),
        )

    def start(self) -> "Adapter":
        self.process.start()
        wait_until(self.is_ready, 30, f"{self.process.name} is ready")
        return self

    def start_if_stopped(self) -> None:
        if not self.process.running:
            self.start()

    def is_ready(self) -> bool:
        return self.process.health("/readyz").status == 200

    def stop(self) -> None:
        self.process.stop()

    def restart(self) -> None:
        self.stop()
        self.start()

    @property
    def sink(self) -> str:
        """Where Envoys push."""
        return f"127.0.0.1:{self.process.grpc_port}"

    @property
    def https_port(self) -> int:
        return self.process.https_port

    def direct_pods(self, namespace: str, metric: str, selector: str) -> dict[str, float]:
        """Value by pod name, asked of the process itself as the cluster's administrator."""
        plane = self._cluster.plane
        context = ssl.create_default_context(cafile=str(plane.ca.cert))
        context.load_cert_chain(plane.admin.cert, plane.admin.key)
        client = MetricsClient(self.https_port, context)
        try:
            return client.pods(namespace, metric, selector)
        finally:
            client.close()
