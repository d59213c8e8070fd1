"""The client of envoymodel: modelled workloads, their Envoys, the oracle, the timelines."""

import dataclasses
import json
import time
import urllib.request

from tests.e2e.harness import aggregation, binaries, paths
from tests.e2e.harness.controlplane import ControlPlane
from tests.lib.process import Process, free_ports

INBOUND = "inbound_active_requests"
OUTBOUND = "outbound_active_requests"
CONNECTIONS = "active_connections"
STAT_NAMES = {
    INBOUND: "http.inbound_0.0.0.0_8080;.downstream_rq_active",
    OUTBOUND: "http.outbound_0.0.0.0_9090;.downstream_rq_active",
    CONNECTIONS: "listener.0.0.0.0_8080.downstream_cx_active",
}


@dataclasses.dataclass(frozen=True)
class State:
    """What a workload looked like from `t` (Unix seconds) on."""

    t: float
    spec: int
    pods: int
    ready: int
    serving: int


class Model:
    """One envoymodel process that follows the pods of one control plane."""

    def __init__(self, plane: ControlPlane):
        self._control_port, self.oracle_port = free_ports(2)
        serving = plane.ca.server("oracle", aggregation.SERVER_NAMES)
        self.process = Process(
            "envoymodel",
            [
                binaries.own_program(paths.E2E / "envoymodel"),
                "--kubeconfig",
                plane.admin_kubeconfig,
                "--control",
                f"127.0.0.1:{self._control_port}",
                "--oracle",
                f"127.0.0.1:{self.oracle_port}",
                "--oracle-cert",
                serving.cert,
                "--oracle-key",
                serving.key,
            ],
            plane.logs,
        )

    def start(self) -> "Model":
        self.process.start()
        self.process.wait_ready(lambda: self.stats() is not None, 30)
        return self

    def stop(self) -> None:
        self.process.stop()

    def configure(
        self,
        namespace: str,
        name: str,
        *,
        steps: list[tuple[float, float]],
        sinks: list[str] | None = None,
        flush_seconds: float = 1,
        signals: dict[str, float] | None = None,
        service_seconds: float = 0.2,
        serving_delay_seconds: float = 0,
        start_muted: bool = False,
    ) -> None:
        """Describes a workload before its pods exist.

        steps: (Unix seconds, requests a second), each holds until the next. In flight are the
        requests a second times service_seconds, shared by the pods that serve; each of `signals`
        reports its multiple of that.
        """
        self._put(
            f"/workloads/{namespace}/{name}",
            {
                "steps": _steps(steps),
                "sinks": sinks or [],
                "flush_seconds": flush_seconds,
                "signals": signals or {INBOUND: 1.0},
                "service_seconds": service_seconds,
                "serving_delay_seconds": serving_delay_seconds,
                "start_muted": start_muted,
            },
        )

    def set_steps(self, namespace: str, name: str, steps: list[tuple[float, float]]) -> None:
        self._put(f"/workloads/{namespace}/{name}/steps", _steps(steps))

    def align_flushes(self, namespace: str, name: str, moments: list[float]) -> None:
        """Has one serving pod for each of the moments (Unix seconds) flush then, and at all moments
        whole intervals away from it; from the flush after its next one on."""
        self._put(f"/workloads/{namespace}/{name}/flushes", moments)

    def set_in_flight(
        self, namespace: str, name: str, in_flight: float, service_seconds: float = 0.2
    ) -> float:
        """From now on this many requests are in flight; returns the moment of the change."""
        now = time.time()
        self.set_steps(namespace, name, [(now, in_flight / service_seconds)])
        return now

    def set_muted(self, namespace: str, name: str, pod: str, muted: bool) -> None:
        """Cuts the pod's Envoy off from its sink, or connects it again."""
        self._put(f"/workloads/{namespace}/{name}/muted/{pod}", muted)

    def timeline(self, namespace: str, name: str) -> list[State]:
        found = self._get(f"/workloads/{namespace}/{name}/timeline")
        return [State(**state) for state in found or []]

    def put_envoy(
        self,
        envoy_id: str,
        namespace: str,
        pod: str,
        *,
        sinks: list[str],
        gauges: dict[str, int],
        ip: str = "10.0.0.1",
        silent: bool = False,
        labels: dict[str, str] | None = None,
        flush_seconds: float = 1,
    ) -> None:
        """Starts an Envoy that a test drives by hand, or changes its gauges and its silence."""
        self._put(
            f"/envoys/{envoy_id}",
            {
                "namespace": namespace,
                "pod": pod,
                "ip": ip,
                "labels": labels or {},
                "sinks": sinks,
                "gauges": gauges,
                "silent": silent,
                "flush_seconds": flush_seconds,
            },
        )

    def delete_envoy(self, envoy_id: str) -> None:
        self._request("DELETE", f"/envoys/{envoy_id}", None)

    def stats(self) -> dict[str, int]:
        return self._get("/stats")

    def _get(self, path: str):
        return self._request("GET", path, None)

    def _put(self, path: str, body: object) -> None:
        self._request("PUT", path, body)

    def _request(self, method: str, path: str, body: object):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._control_port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            raw = response.read()
        return json.loads(raw) if raw else None


def _steps(steps: list[tuple[float, float]]) -> list[dict]:
    return [{"at": at, "qps": qps} for at, qps in steps]
