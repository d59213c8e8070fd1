"""A Service before several replicas: what kubelet, controllers and kube-proxy do, on loopback."""

import contextlib
import http.client
import socket
import threading

from tests.e2e.harness import aggregation
from tests.e2e.harness.adapter import Adapter
from tests.e2e.harness.cluster import Cluster
from tests.lib.process import wait_until

NAME = "activescale-replicas"
_PROBE_SECONDS = 1
_FAILURES = 2
_SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{aggregation.NAMESPACE}/endpointslices"
_CHUNK = 65536


class Service:
    """Probes /readyz of each replica, tells who is ready in an EndpointSlice, and forwards
    connections to `port` to the ready ones in turn. Two failed probes in a row make a replica
    unready, one that succeeds makes it ready."""

    def __init__(self, cluster: Cluster, adapters: list[Adapter]):
        self._api = cluster.api
        self._failures = dict.fromkeys(adapters, _FAILURES)
        self._turn = 0
        self._stop = threading.Event()
        self.ready: list[Adapter] = []
        self.emptied = 0  # how often the last ready one left
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]

    def start(self) -> "Service":
        self._publish()
        for work in (self._probe, self._accept):
            threading.Thread(target=work, daemon=True).start()
        return self

    def stop(self) -> None:
        self._stop.set()
        self._listener.close()

    @property
    def ready_names(self) -> list[str]:
        return sorted(adapter.process.name for adapter in self.ready)

    def _probe(self) -> None:
        while not self._stop.wait(_PROBE_SECONDS):
            for adapter in self._failures:
                self._failures[adapter] = 0 if _succeeds(adapter) else self._failures[adapter] + 1
            ready = [
                adapter
                for adapter, failures in self._failures.items()
                if failures == 0 or (failures < _FAILURES and adapter in self.ready)
            ]
            if ready == self.ready:
                continue
            self.emptied += not ready
            self.ready = ready
            self._publish()

    def _publish(self) -> None:
        endpoints = [
            {
                "addresses": [f"192.0.2.{index + 1}"],
                "conditions": {"ready": adapter in self.ready},
                "targetRef": {"kind": "Pod", "name": adapter.process.name},
            }
            for index, adapter in enumerate(self._failures)
        ]
        self._api.apply(
            f"{_SLICES}/{NAME}",
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {"name": NAME, "labels": {"kubernetes.io/service-name": NAME}},
                "addressType": "IPv4",
                "endpoints": endpoints,
                "ports": [{"name": "https", "port": 6443}],
            },
        )

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = self._connect()
            if server is None:
                client.close()
                continue
            for pair in ((client, server), (server, client)):
                threading.Thread(target=_pump, args=pair, daemon=True).start()

    def _connect(self) -> socket.socket | None:
        ready = self.ready
        for _ in ready:
            self._turn += 1
            adapter = ready[self._turn % len(ready)]
            with contextlib.suppress(OSError):
                server = socket.create_connection(("127.0.0.1", adapter.https_port), 1)
                server.settimeout(None)  # an idle connection is kept
                return server
        return None


class Shared:
    """Two adapters, replica-0 and replica-1, that keep their state in a Redis, behind one
    Service."""

    def __init__(self, cluster: Cluster, addresses: list[str], *args: str):
        """`addresses`: the Redis as each adapter is told of it."""
        self._cluster = cluster
        self.replicas = [
            Adapter(
                cluster,
                f"--redis-addr={address}",
                *arguments(f"replica-{index}"),
                *args,
                name=f"replica-{index}",
            )
            for index, address in enumerate(addresses)
        ]

    def start(self) -> "Shared":
        for replica in self.replicas:
            replica.process.start()
        self.service = Service(self._cluster, self.replicas).start()
        self.wait_all_ready()
        self._cluster.aggregation.register(self.service.port)
        return self

    def wait_all_ready(self) -> None:
        wait_until(
            lambda: len(self.service.ready) == len(self.replicas), 30, "all replicas are ready"
        )

    @property
    def sinks(self) -> list[str]:
        return [replica.sink for replica in self.replicas]

    def stop(self) -> None:
        self.service.stop()
        for replica in self.replicas:
            replica.stop()


def _succeeds(adapter: Adapter) -> bool:
    connection = http.client.HTTPConnection(
        "127.0.0.1", adapter.process.health_port, timeout=_PROBE_SECONDS
    )
    with contextlib.closing(connection):
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (http.client.HTTPException, OSError):
            return False


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            sink.sendall(data)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


def arguments(name: str) -> list[str]:
    """How a replica of this name knows its Service."""
    return [
        f"--pod-name={name}",
        f"--pod-namespace={aggregation.NAMESPACE}",
        f"--service-name={NAME}",
    ]
