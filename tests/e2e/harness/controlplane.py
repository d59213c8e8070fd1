"""etcd, kube-apiserver, kube-controller-manager and kwok as processes on loopback."""

import json
import pathlib
import shutil

from tests.e2e.harness import binaries
from tests.e2e.harness.api import ApiClient
from tests.e2e.harness.kubectl import Kubectl
from tests.lib import certs
from tests.lib.process import Process, free_ports

# What the scenarios need, and nothing that works against a cluster of pretended nodes.
_CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "horizontal-pod-autoscaler-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "endpointslice-controller",
    "disruption-controller",
    "clusterrole-aggregation-controller",
    "pod-garbage-collector-controller",
)
NODE = "kwok-node"


class ControlPlane:
    """One cluster. `folder` receives certificates, kubeconfigs, logs and etcd's data.

    hpa_sync_seconds: the HPA controller's sync period (Kubernetes' default is 15).
    """

    def __init__(self, folder: pathlib.Path, hpa_sync_seconds: float = 15):
        self.folder = folder
        self.logs = folder / "logs"
        self._hpa_sync_seconds = hpa_sync_seconds
        self._pki = folder / "pki"
        self._pki.mkdir(parents=True)
        self._etcd_port, self._etcd_peer_port, self.port, self.controller_manager_port = free_ports(
            4
        )
        self._make_certificates()
        self.etcd = self._etcd()
        self.apiserver = self._apiserver()
        self.controller_manager = self._controller_manager()
        self.kwok = self._kwok()
        self.admin = self.client_certificate("e2e-admin", ("system:masters",))
        self.admin_kubeconfig = self.kubeconfig("e2e-admin", self.admin)
        self.api = ApiClient(self.port, self.ca.cert, self.admin.cert, self.admin.key)
        self.kubectl = Kubectl(binaries.binary("kubectl"), self.admin_kubeconfig, folder)

    def start(self) -> "ControlPlane":
        self.etcd.start()
        self.start_apiserver()
        self.controller_manager.start()
        self._create_node()
        self.kwok.start()
        self.kwok.wait_ready(lambda: _is_ready(self.api.get(f"/api/v1/nodes/{NODE}")), 60)
        self.wait_controllers()
        return self

    def start_apiserver(self) -> None:
        self.apiserver.start()
        self.apiserver.wait_ready(lambda: self.api.get("/readyz") == "ok", 90)

    def wait_controllers(self) -> None:
        """Waits until the controllers work: a namespace has got its service account."""
        self.controller_manager.wait_ready(
            lambda: self.api.get("/api/v1/namespaces/default/serviceaccounts/default"), 60
        )

    def stop(self) -> None:
        for process in (self.kwok, self.controller_manager, self.apiserver, self.etcd):
            process.stop(grace_seconds=5)
        shutil.rmtree(self.folder / "etcd", ignore_errors=True)

    # Certificates and kubeconfigs

    def client_certificate(self, user: str, groups: tuple[str, ...] = ()) -> certs.KeyPair:
        return self.ca.client(user, groups)

    def kubeconfig(
        self,
        user: str,
        pair: certs.KeyPair | None = None,
        token: str = "",
        token_file: pathlib.Path | None = None,
    ) -> pathlib.Path:
        """Writes a kubeconfig that authenticates with a certificate or with a bearer token."""
        credentials: dict[str, str] = {}
        if pair:
            credentials = {"client-certificate": str(pair.cert), "client-key": str(pair.key)}
        elif token_file:
            credentials = {"tokenFile": str(token_file)}
        else:
            credentials = {"token": token}
        path = self.folder / f"{user.replace(':', '_')}.kubeconfig"
        path.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "e2e",
                    "clusters": [
                        {
                            "name": "e2e",
                            "cluster": {
                                "server": f"https://127.0.0.1:{self.port}",
                                "certificate-authority": str(self.ca.cert),
                            },
                        }
                    ],
                    "users": [{"name": user, "user": credentials}],
                    "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": user}}],
                },
                indent=1,
            )
        )
        return path

    def service_account_kubeconfig(
        self, namespace: str, name: str, expiration_seconds: int = 3600
    ) -> pathlib.Path:
        """A kubeconfig that acts as the service account, as a pod of it would."""
        return self.kubeconfig(
            f"{namespace}.{name}", token=self.token(namespace, name, expiration_seconds)
        )

    def token(self, namespace: str, name: str, expiration_seconds: int = 3600) -> str:
        answer = self.api.post(
            f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"expirationSeconds": expiration_seconds},
            },
        )
        return answer["status"]["token"]

    def trust_second_requestheader_ca(self, name: str) -> certs.Authority:
        """First half of a rotation: a new authority is trusted beside the present one."""
        fresh = certs.Authority(name, self._pki)
        _replace(self._pki / "requestheader-bundle.crt", self.requestheader_ca.pem + fresh.pem)
        return fresh

    def use_requestheader_ca(self, fresh: certs.Authority) -> None:
        """Second half: the aggregator presents a certificate of the new authority.

        It keeps its open connections; new ones present the new certificate.
        """
        pair = fresh.client("front-proxy-client", file_name=f"front-proxy-client-{fresh.name}")
        _replace(self.front_proxy.key, pair.key.read_text())
        _replace(self.front_proxy.cert, pair.cert.read_text())
        _replace(self._pki / "requestheader-bundle.crt", fresh.pem)
        self.requestheader_ca = fresh

    def _make_certificates(self) -> None:
        self.ca = certs.Authority("cluster-ca", self._pki)
        self.requestheader_ca = certs.Authority("requestheader-ca", self._pki)
        (self._pki / "requestheader-bundle.crt").write_text(self.requestheader_ca.pem)
        self.front_proxy = self.requestheader_ca.client("front-proxy-client")
        self._serving = self.ca.server(
            "kube-apiserver", ("localhost", "127.0.0.1", "kubernetes.default.svc")
        )
        self._service_account_key = certs.signing_key(self._pki / "service-account.key")

    # Processes

    def _etcd(self) -> Process:
        client = f"http://127.0.0.1:{self._etcd_port}"
        peer = f"http://127.0.0.1:{self._etcd_peer_port}"
        return Process(
            "etcd",
            [
                binaries.binary("etcd"),
                "--data-dir",
                self.folder / "etcd",
                "--unsafe-no-fsync",
                "--listen-client-urls",
                client,
                "--advertise-client-urls",
                client,
                "--listen-peer-urls",
                peer,
                "--initial-advertise-peer-urls",
                peer,
                "--initial-cluster",
                f"default={peer}",
                "--log-level",
                "warn",
            ],
            self.logs,
        )

    def _apiserver(self) -> Process:
        return Process(
            "kube-apiserver",
            [
                binaries.binary("kube-apiserver"),
                f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
                "--bind-address=127.0.0.1",
                f"--secure-port={self.port}",
                # Loopback may not be advertised; nothing here dials this address.
                "--advertise-address=192.0.2.1",
                "--endpoint-reconciler-type=none",
                "--service-cluster-ip-range=10.96.0.0/16",
                "--authorization-mode=RBAC",
                f"--tls-cert-file={self._serving.cert}",
                f"--tls-private-key-file={self._serving.key}",
                f"--client-ca-file={self.ca.cert}",
                f"--service-account-key-file={self._service_account_key}",
                f"--service-account-signing-key-file={self._service_account_key}",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--requestheader-client-ca-file={self._pki / 'requestheader-bundle.crt'}",
                "--requestheader-allowed-names=front-proxy-client",
                "--requestheader-username-headers=X-Remote-User",
                "--requestheader-group-headers=X-Remote-Group",
                "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                f"--proxy-client-cert-file={self.front_proxy.cert}",
                f"--proxy-client-key-file={self.front_proxy.key}",
                # Many namespaces are driven at once here; the scenarios are not about API fairness.
                "--max-requests-inflight=2000",
                "--max-mutating-requests-inflight=1000",
            ],
            self.logs,
        )

    def _controller_manager(self) -> Process:
        user = "system:kube-controller-manager"
        kubeconfig = self.kubeconfig(user, self.client_certificate(user))
        return Process(
            "kube-controller-manager",
            [
                binaries.binary("kube-controller-manager"),
                f"--kubeconfig={kubeconfig}",
                f"--authentication-kubeconfig={kubeconfig}",
                f"--authorization-kubeconfig={kubeconfig}",
                "--bind-address=127.0.0.1",
                f"--secure-port={self.controller_manager_port}",
                "--leader-elect=false",
                "--use-service-account-credentials=true",
                f"--service-account-private-key-file={self._service_account_key}",
                f"--root-ca-file={self.ca.cert}",
                f"--controllers={','.join(_CONTROLLERS)}",
                f"--horizontal-pod-autoscaler-sync-period={self._hpa_sync_seconds}s",
                # A line a sync, which syncs.py reads.
                "--vmodule=horizontal=4",
                # With the default of 20 requests a second, many HPAs would queue in the client.
                "--kube-api-qps=500",
                "--kube-api-burst=1000",
            ],
            self.logs,
        )

    def _kwok(self) -> Process:
        kubeconfig = self.kubeconfig("kwok", self.client_certificate("kwok", ("system:masters",)))
        return Process(
            "kwok",
            [
                binaries.binary("kwok"),
                f"--kubeconfig={kubeconfig}",
                "--manage-all-nodes=true",
                "--node-lease-duration-seconds=40",
                "--cidr=10.0.0.1/16",
            ],
            self.logs,
            env={"HOME": str(self.folder)},
        )

    def _create_node(self) -> None:
        self.api.post(
            "/api/v1/nodes",
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE}},
                "status": {
                    "allocatable": {"cpu": "1000", "memory": "1Ti", "pods": "10000"},
                    "capacity": {"cpu": "1000", "memory": "1Ti", "pods": "10000"},
                },
            },
        )


def _is_ready(thing: dict) -> bool:
    conditions = thing.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _replace(path: pathlib.Path, text: str) -> None:
    """Swaps a file in one step, as a mounted Secret is updated."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text)
    fresh.rename(path)
