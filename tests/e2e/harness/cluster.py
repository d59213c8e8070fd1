"""A control plane with all that scenarios need around it."""

import pathlib
import shutil
import uuid

from tests.e2e.harness import workloads
from tests.e2e.harness.aggregation import Aggregation
from tests.e2e.harness.controlplane import ControlPlane
from tests.e2e.harness.model import Model
from tests.lib.process import wait_until


class Cluster:
    """Control plane, model of Envoys and aggregation. Stop it even when start() failed."""

    def __init__(self, folder: pathlib.Path, hpa_sync_seconds: float):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.hpa_sync_seconds = hpa_sync_seconds
        self.plane = ControlPlane(folder, hpa_sync_seconds)
        self.model = Model(self.plane)
        self.aggregation = Aggregation(self.plane)

    def start(self) -> "Cluster":
        self.plane.start()
        self.model.start()
        self.aggregation.create_service()
        return self

    def stop(self) -> None:
        self.model.stop()
        self.plane.stop()

    @property
    def api(self):
        return self.plane.api

    def new_namespace(self, prefix: str = "t") -> str:
        name = f"{prefix}-{uuid.uuid4().hex[:6]}"
        self.api.post("/api/v1/namespaces", workloads.namespace(name))
        return name

    def drop_namespaces(self, names: list[str]) -> None:
        """Starts the deletion; nobody waits for it."""
        for name in names:
            self.api.delete(f"/api/v1/namespaces/{name}")

    def clear_namespaces(self, names: list[str]) -> None:
        """Deletes what is so large that its deletion would disturb the next test."""
        self.drop_namespaces(names)

        def gone() -> bool:
            left = self.api.get("/api/v1/namespaces")["items"]
            return not any(item["metadata"]["name"] in names for item in left)

        wait_until(gone, 300, f"{', '.join(names)} are gone", interval_seconds=1)

    def replicas(self, ns: str, name: str, kind: str = "deployments") -> int:
        """Replicas that the scale target is told to have."""
        return self.api.get(f"/apis/apps/v1/namespaces/{ns}/{kind}/{name}")["spec"]["replicas"]

    def wait_replicas(
        self, ns: str, name: str, wanted: int, deadline_seconds: float, kind: str = "deployments"
    ) -> None:
        try:
            wait_until(
                lambda: self.replicas(ns, name, kind) == wanted,
                deadline_seconds,
                f"{ns}/{name} has {wanted} replicas",
            )
        except TimeoutError as error:
            raise TimeoutError(
                f"{error}; it has {self.replicas(ns, name, kind)}, its HPA says: "
                f"{self.hpa_status(ns, name).get('conditions')}"
            ) from None

    def wait_ready(
        self,
        ns: str,
        name: str,
        wanted: int,
        deadline_seconds: float = 30,
        kind: str = "deployments",
    ) -> None:
        path = f"/apis/apps/v1/namespaces/{ns}/{kind}/{name}"
        wait_until(
            lambda: self.api.get(path)["status"].get("readyReplicas", 0) == wanted,
            deadline_seconds,
            f"{ns}/{name} has {wanted} ready pods",
        )

    def pods(self, ns: str, selector: str = "") -> list[dict]:
        query = {"labelSelector": selector} if selector else {}
        return self.api.get(f"/api/v1/namespaces/{ns}/pods", **query)["items"]

    def hpa_status(self, ns: str, name: str) -> dict:
        path = f"/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers/{name}"
        return self.api.get(path).get("status", {})

    def hpa_condition(self, ns: str, name: str, kind: str) -> dict:
        """The condition of this type, {} before the controller has set it."""
        conditions = self.hpa_status(ns, name).get("conditions") or []
        return next((c for c in conditions if c["type"] == kind), {})

    def wait_hpa_active(self, ns: str, name: str, deadline_seconds: float = 60) -> None:
        """Waits until the HPA computes replicas from metrics that it got."""
        wait_until(
            lambda: self.hpa_condition(ns, name, "ScalingActive").get("status") == "True",
            deadline_seconds,
            f"HPA {ns}/{name} gets its metrics",
        )

    def events(self, reason: str, ns: str = "") -> list[dict]:
        """Events of this reason, in one namespace or in all."""
        path = f"/api/v1/namespaces/{ns}/events" if ns else "/api/v1/events"
        return self.api.get(path, fieldSelector=f"reason={reason}")["items"]

    def count_events(self, reason: str, ns: str = "") -> int:
        """How often events of this reason happened, in one namespace or in all."""
        return sum(event.get("count") or 1 for event in self.events(reason, ns))

    def syncs(self, count: float) -> float:
        """The seconds that `count` syncs of the HPA controller take, with some slack."""
        return count * self.hpa_sync_seconds + 1
