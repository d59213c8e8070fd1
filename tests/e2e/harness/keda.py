"""KEDA's operator and metrics adapter as processes beside the control plane."""

import pathlib
import shutil

import yaml

from tests.e2e.harness import aggregation, binaries
from tests.e2e.harness.cluster import Cluster
from tests.lib.process import Process, free_ports


class Keda:
    """Operator and adapter, serving external.metrics.k8s.io of one cluster."""

    def __init__(self, cluster: Cluster):
        self._cluster = cluster
        plane = cluster.plane
        self._folder = plane.folder / "keda"
        certificates = self._certificates(self._folder / "certificates")
        ports = free_ports(5)
        metrics_service, self._operator_health, operator_metrics, adapter_metrics = ports[:4]
        self._adapter_port = ports[4]
        kubeconfig = plane.admin_kubeconfig
        self.operator = Process(
            "keda-operator",
            [
                binaries.binary("keda-operator"),
                "--leader-elect=false",
                "--enable-cert-rotation=false",
                f"--cert-dir={certificates}",
                f"--metrics-bind-address=127.0.0.1:{operator_metrics}",
                f"--health-probe-bind-address=127.0.0.1:{self._operator_health}",
                f"--metrics-service-bind-address=127.0.0.1:{metrics_service}",
            ],
            plane.logs,
            env={
                "KUBECONFIG": str(kubeconfig),
                "POD_NAME": "keda-operator",
                "POD_NAMESPACE": "keda",
                "KEDA_CLUSTER_OBJECT_NAMESPACE": "keda",
                "OPERATOR_NAME": "keda-operator",
                "WATCH_NAMESPACE": "",
            },
        )
        self.adapter = Process(
            "keda-adapter",
            [
                binaries.binary("keda-adapter"),
                f"--cert-dir={certificates}",
                f"--tls-cert-file={certificates / 'tls.crt'}",
                f"--tls-private-key-file={certificates / 'tls.key'}",
                f"--metrics-service-address=localhost:{metrics_service}",
                "--metrics-service-grpc-authority=localhost",
                f"--client-ca-file={plane.ca.cert}",
                f"--lister-kubeconfig={kubeconfig}",
                f"--authentication-kubeconfig={kubeconfig}",
                f"--authorization-kubeconfig={kubeconfig}",
                "--bind-address=127.0.0.1",
                f"--secure-port={self._adapter_port}",
                f"--port={adapter_metrics}",
            ],
            plane.logs,
            env={"KUBECONFIG": str(kubeconfig), "POD_NAMESPACE": "keda", "WATCH_NAMESPACE": ""},
        )

    def start(self) -> "Keda":
        kubectl = self._cluster.plane.kubectl
        definitions = sorted((binaries.ensure("keda") / "data").glob("*.yaml"))
        documents = [yaml.safe_load(path.read_text()) for path in definitions]
        kubectl.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "keda"}}])
        kubectl.apply(documents)
        names = [document["metadata"]["name"] for document in documents]
        kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", *names)
        self.operator.start()
        self.adapter.start()
        self._cluster.aggregation.register(self._adapter_port, aggregation.EXTERNAL, wait=False)
        name, versions = aggregation.EXTERNAL
        self.adapter.wait_ready(
            lambda: self._cluster.aggregation.is_available(name, versions[0]), 60
        )
        self.operator.check_running()
        return self

    def stop(self) -> None:
        self.adapter.stop()
        self.operator.stop()
        self._cluster.aggregation.remove(aggregation.EXTERNAL)

    def _certificates(self, folder: pathlib.Path) -> pathlib.Path:
        """ca.crt, tls.crt and tls.key, for the operator, the adapter and the link between them."""
        folder.mkdir(parents=True, exist_ok=True)
        ca = self._cluster.plane.ca
        pair = ca.server("keda", aggregation.SERVER_NAMES, also_client=True)
        shutil.copyfile(ca.cert, folder / "ca.crt")
        shutil.copyfile(pair.cert, folder / "tls.crt")
        shutil.copyfile(pair.key, folder / "tls.key")
        return folder


def scaled_object(
    namespace: str, target: str, triggers: list[dict], minimum: int = 1, maximum: int = 20
) -> dict:
    """A ScaledObject of the same name as its target Deployment; it polls each 5 s."""
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"namespace": namespace, "name": target},
        "spec": {
            "scaleTargetRef": {"name": target},
            "pollingInterval": 5,
            "cooldownPeriod": 10,
            "minReplicaCount": minimum,
            "maxReplicaCount": maximum,
            "triggers": triggers,
        },
    }
