"""The real KEDA beside the control plane."""

import contextlib
import http.server
import json
import threading

import pytest

from tests.e2e.harness import workloads
from tests.e2e.harness.keda import Keda, scaled_object


class _Answer(http.server.BaseHTTPRequestHandler):
    """A Prometheus query API with one number for every query."""

    value = 20.0

    def do_GET(self):
        result = [{"metric": {}, "value": [0, str(self.value)]}]
        body = {"status": "success", "data": {"resultType": "vector", "result": result}}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def keda(cluster):
    running = Keda(cluster)
    try:
        yield running.start()
    finally:
        running.stop()


def test_prometheus_trigger_on_a_known_answer(cluster, keda, namespace):
    """The harness itself: 20 in flight, threshold 4, so 5 replicas."""
    with contextlib.ExitStack() as stack:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
        stack.callback(server.server_close)
        stack.callback(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cluster.plane.kubectl.apply([workloads.deployment(namespace, "querier", 1)])
        cluster.wait_ready(namespace, "querier", 1)
        trigger = {
            "type": "prometheus",
            "metadata": {
                "serverAddress": f"http://127.0.0.1:{server.server_port}",
                "query": "sum(in_flight)",
                "threshold": "4",
            },
        }
        cluster.plane.kubectl.apply([scaled_object(namespace, "querier", [trigger])])
        cluster.wait_replicas(namespace, "querier", 5, 60)
