"""The recipe's expression over 1,000 series, asked of Activescale and of a real Prometheus.

Both get the same samples by remote_write and are asked in turns over one kept connection each.
"""

import contextlib
import json
import re
import shutil
import socket
import tempfile
import time
import urllib.parse
from pathlib import Path
from statistics import median, quantiles

from harness import build
from harness.server import ServerFailure, free_ports, running_process
from tests.lib import remote_write

NAME = "signals.query"
SERIES = 1000
STEP_MS = 5_000
WINDOW_MS = 120_000
REQUESTS = 200
METRIC = "cortex_query_scheduler_inflight_requests"
QUERY = f'sum(max_over_time({METRIC}{{namespace=~"loki", quantile="0.75"}}[2m]))'
PROMETHEUS = build.ROOT / ".cache/prometheus/usr/bin/prometheus"


def write_request(now_ms: int) -> bytes:
    """Two minutes of every series, as remote_write 1.0."""
    times = range(now_ms - WINDOW_MS + STEP_MS, now_ms + 1, STEP_MS)
    return remote_write.body(
        (
            {
                "__name__": METRIC,
                "instance": f"10.0.{index // 250}.{index % 250}:3100",
                "job": "loki",
                "namespace": "loki",
                "pod": f"query-scheduler-{index}",
                "quantile": "0.75",
            },
            [(float((index * 7 + time_ms // STEP_MS * 3) % 40), time_ms) for time_ms in times],
        )
        for index in range(SERIES)
    )


class Api:
    """One kept connection to a query API, with little time of its own."""

    def __init__(self, port: int):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def post(self, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return self._exchange(("\r\n".join(lines) + "\r\n\r\n").encode() + body)

    def _exchange(self, request: bytes) -> tuple[int, bytes]:
        self._socket.sendall(request)
        answer = b""
        while (end := answer.find(b"\r\n\r\n")) < 0:
            answer += self._receive()
        head = answer[:end].decode("latin-1").lower()
        found = re.search(r"^content-length: (\d+)", head, re.MULTILINE)
        length = int(found[1]) if found else 0
        while len(answer) < end + 4 + length:
            answer += self._receive()
        return int(head.split(" ", 2)[1]), answer[end + 4 :]

    def _receive(self) -> bytes:
        received = self._socket.recv(65536)
        if not received:
            raise ServerFailure(f"{NAME}: a server closed the connection")
        return received

    def query(self, now_ms: int) -> tuple[float, str]:
        """Milliseconds until the answer was read, and the value in it."""
        form = {"query": QUERY, "time": f"{now_ms / 1000:.3f}", "partial_window": "serve"}
        body = urllib.parse.urlencode(form).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        begin = time.perf_counter()
        status, text = self.post("/api/v1/query", body, headers)
        took = (time.perf_counter() - begin) * 1000
        if status != 200:
            raise ServerFailure(f"{NAME}: the query was answered with {status}: {text[:200]!r}")
        result = json.loads(text)["data"]["result"]
        return took, result[0]["value"][1] if result else ""


def ask_in_turns(apis: dict[str, Api], now_ms: int) -> dict[str, dict[str, float]]:
    times: dict[str, list[float]] = {name: [] for name in apis}
    for _ in range(REQUESTS):
        answers = {}
        for name, api in apis.items():
            took, answers[name] = api.query(now_ms)
            times[name].append(took)
        if len(set(answers.values())) != 1 or not all(answers.values()):
            raise ServerFailure(f"{NAME}: the servers do not agree: {answers}")
    return {
        name: {"p50_ms": median(taken), "p99_ms": quantiles(taken, n=100)[98]}
        for name, taken in times.items()
    }


def once() -> dict[str, dict[str, float]]:
    query_port, write_port, grpc, secure, health, prometheus_port = free_ports(6)
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="activescale-bench-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        (folder / "prometheus.yaml").write_text("{}")
        ours = [build.PRODUCT, "serve", f"--cert-dir={folder}", f"--grpc-port={grpc}",
                f"--secure-port={secure}", f"--health-port={health}",
                "--shutdown-delay-duration=0s", f"--query-address=127.0.0.1:{query_port}",
                f"--remote-write-address=127.0.0.1:{write_port}"]  # fmt: skip
        theirs = [PROMETHEUS, f"--config.file={folder}/prometheus.yaml",
                  f"--storage.tsdb.path={folder}/data", "--web.enable-remote-write-receiver",
                  f"--web.listen-address=127.0.0.1:{prometheus_port}"]  # fmt: skip
        stack.enter_context(running_process("activescale", ours, [query_port, write_port]))
        stack.enter_context(running_process("prometheus", theirs, [prometheus_port]))
        apis = {"activescale": Api(query_port), "prometheus": Api(prometheus_port)}
        now_ms = int(time.time() * 1000)
        apis["activescale"].query(now_ms)  # from now on it is recorded
        for receiver in (Api(write_port), apis["prometheus"]):
            status, text = receiver.post(
                "/api/v1/write", write_request(now_ms), remote_write.HEADERS
            )
            if status != 204:
                raise ServerFailure(f"{NAME}: remote_write was answered with {status}: {text!r}")
        return ask_in_turns(apis, now_ms)


def measure(repeats: int) -> dict[str, list[dict[str, float]]]:
    """Figures by server, one dictionary a repeat."""
    runs: dict[str, list[dict[str, float]]] = {"activescale": [], "prometheus": []}
    for repeat in range(repeats):
        build.say(f"{NAME}: {repeat + 1} of {repeats}")
        for name, figures in once().items():
            runs[name].append(figures)
    return runs
