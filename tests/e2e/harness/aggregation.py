"""Puts a server on loopback behind kube-apiserver's aggregation layer."""

import base64

from tests.e2e.harness.api import ApiError
from tests.e2e.harness.controlplane import ControlPlane
from tests.lib.process import wait_until

NAMESPACE = "ns-observability"
SERVICE = "activescale"
SERVER_NAMES = (f"{SERVICE}.{NAMESPACE}.svc", "localhost", "127.0.0.1")
CUSTOM = ("custom.metrics.k8s.io", ("v1beta2", "v1beta1"))
EXTERNAL = ("external.metrics.k8s.io", ("v1beta1",))

_APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


class Aggregation:
    """APIServices of one control plane that point at a port of loopback.

    A Service of type ExternalName takes the aggregator to `localhost`.
    """

    def __init__(self, plane: ControlPlane):
        self._api = plane.api
        self._ca = plane.ca.pem
        self._plane = plane

    def create_service(self) -> "Aggregation":
        self._plane.kubectl.apply(
            [
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
                {
                    "apiVersion": "v1",
                    "kind": "Service",
                    "metadata": {"namespace": NAMESPACE, "name": SERVICE},
                    "spec": {"type": "ExternalName", "externalName": "localhost"},
                },
            ]
        )
        return self

    def register(
        self,
        port: int,
        group: tuple[str, tuple[str, ...]] = CUSTOM,
        versions: tuple[str, ...] | None = None,
        wait: bool = True,
    ) -> None:
        """Points the group's versions at `port`; the first version is the preferred one."""
        name, all_versions = group
        for rank, version in enumerate(versions or all_versions):
            self._api.apply(
                f"{_APISERVICES}/{version}.{name}",
                {
                    "apiVersion": "apiregistration.k8s.io/v1",
                    "kind": "APIService",
                    "metadata": {"name": f"{version}.{name}"},
                    "spec": {
                        "group": name,
                        "version": version,
                        "groupPriorityMinimum": 100,
                        "versionPriority": 100 - rank,
                        "service": {"namespace": NAMESPACE, "name": SERVICE, "port": port},
                        "caBundle": base64.b64encode(self._ca.encode()).decode(),
                    },
                },
            )
        if wait:
            for version in versions or all_versions:
                self.wait_available(name, version)

    def wait_available(self, group: str, version: str, deadline_seconds: float = 60) -> None:
        wait_until(
            lambda: self.is_available(group, version) and self._api.get(f"/apis/{group}/{version}"),
            deadline_seconds,
            f"APIService {version}.{group} available",
        )

    def is_available(self, group: str, version: str) -> bool:
        conditions = self._api.get(f"{_APISERVICES}/{version}.{group}")["status"].get(
            "conditions", []
        )
        return any(c["type"] == "Available" and c["status"] == "True" for c in conditions)

    def remove(self, group: tuple[str, tuple[str, ...]] = CUSTOM) -> None:
        for version in group[1]:
            try:
                self._api.delete(f"{_APISERVICES}/{version}.{group[0]}")
            except ApiError as error:
                if error.status != 404:
                    raise
