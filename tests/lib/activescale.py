"""The product under test as a process: started on free ports, asked over its own surfaces."""

import os
import pathlib
import re
from collections.abc import Mapping, Sequence

from tests.lib.api import HttpClient, MetricsClient, insecure_tls
from tests.lib.process import Process

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("ACTIVESCALE_BINARY", ROOT / "build/release/activescale"))
_LISTENING = re.compile(r"\] (gRPC|HTTPS|health) listening on \S*:(\d+)$", re.MULTILINE)
_DASHBOARD = re.compile(r"\] dashboard listening on 127\.0\.0\.1:(\d+) ")


class Activescale(Process):
    """`activescale serve`, standalone, everything on loopback."""

    def __init__(
        self,
        folder: pathlib.Path,
        *args: str,
        name: str = "activescale",
        env: Mapping[str, str] | None = None,
        ports: Sequence[int] = (0, 0, 0),
        binary: pathlib.Path = BINARY,
    ):
        """`ports` are gRPC, HTTPS and health; 0 lets the kernel choose. A later `args` wins."""
        argv = [binary, "serve", f"--cert-dir={folder / name}-certs"]
        flags = ("--grpc-port", "--secure-port", "--health-port")
        argv += [f"{flag}={port}" for flag, port in zip(flags, ports, strict=True)]
        argv += ["--shutdown-delay-duration=0s", *args]
        super().__init__(name, argv, folder, env)
        self._ports: dict[str, int] = {}

    def start(self) -> "Activescale":
        offset = self.log_path.stat().st_size if self.log_path.exists() else 0

        def all_listen() -> bool:
            text = self.log_path.read_bytes()[offset:].decode(errors="replace")
            self._ports = {kind: int(port) for kind, port in _LISTENING.findall(text)}
            return len(self._ports) == 3

        super().start()
        self.wait_ready(all_listen, 30)
        return self

    @property
    def grpc_port(self) -> int:
        return self._ports["gRPC"]

    @property
    def https_port(self) -> int:
        return self._ports["HTTPS"]

    @property
    def health_port(self) -> int:
        return self._ports["health"]

    @property
    def dashboard_url(self) -> str:
        """Of a process that was given a dashboard-address on 127.0.0.1."""
        (port,) = _DASHBOARD.findall(self.log_path.read_text())
        return f"http://127.0.0.1:{port}/"

    @property
    def ports(self) -> tuple[int, int, int]:
        return self.grpc_port, self.https_port, self.health_port

    def client(self) -> MetricsClient:
        return MetricsClient(self.https_port, insecure_tls())

    def pods(self, metric: str, selector: str = "", namespace: str = "shop") -> dict[str, float]:
        """Value by pod name, over a connection of its own."""
        client = self.client()
        try:
            return client.pods(namespace, metric, selector)
        finally:
            client.close()

    def health(self, path: str):
        client = HttpClient(self.health_port)
        try:
            return client.get(path)
        finally:
            client.close()

    def metric(self, name: str, **labels: str) -> float:
        """Sum of the series of one of our own metrics with these labels; 0 if there is none."""
        total = 0.0
        for line in self.health("/metrics").body.decode().splitlines():
            series, _, value = line.rpartition(" ")
            family, _, rest = series.partition("{")
            if family == name and all(f'{k}="{v}"' in rest for k, v in labels.items()):
                total += float(value)
        return total

    def rss_bytes(self) -> int:
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)[1]) * 1024
