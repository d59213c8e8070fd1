"""The real KEDA beside the control plane."""

import contextlib
import http.server
import json
import threading
import time

import pytest

from tests.e2e.harness import workloads
from tests.e2e.harness.adapter import Adapter, grant_component, grant_rights
from tests.e2e.harness.keda import Keda, scaled_object
from tests.e2e.harness.model import INBOUND
from tests.lib.process import free_ports, wait_until


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


@pytest.fixture
def scaler(cluster):
    """Activescale as KEDA's external scaler, with steps ahead. Returns where it listens."""
    grant_rights(cluster)
    grant_component(cluster, "scale-ahead")
    address = f"127.0.0.1:{free_ports(1)[0]}"
    arguments = ("--ttl=4s", "--scale-ahead=on", f"--keda-address={address}")
    running = Adapter(cluster, *arguments, name="ahead-keda")
    try:
        running.start()
        yield running, address
    finally:
        running.stop()


def test_steps_ahead_are_refused_for_the_hpa_of_a_scaled_object(cluster, keda, scaler, namespace):
    """KEDA copies the annotation to its HPA, whose metric names the ScaledObject and not what its
    trigger asks for. That is told, and KEDA scales as always."""
    adapter, address = scaler
    cluster.model.configure(namespace, "web", steps=[(0, 20 / 0.2)], sinks=[adapter.sink])
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", 1)])
    query = f'sum({INBOUND}{{namespace="{namespace}"}})'
    metadata = {"scalerAddress": address, "query": query, "threshold": "4"}
    scaled = scaled_object(namespace, "web", [{"type": "external", "metadata": metadata}])
    scaled["metadata"]["annotations"] = {"activescale.io/scale-ahead": "true"}
    cluster.plane.kubectl.apply([scaled])
    path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/keda-hpa-web"
    hpa = wait_until(lambda: cluster.api.get(path), 60, "KEDA's HPA")
    assert hpa["metadata"]["annotations"]["activescale.io/scale-ahead"] == "true"
    [metric] = hpa["spec"]["metrics"]
    assert metric["external"]["metric"] == {
        "name": "s0-query",
        "selector": {"matchLabels": {"scaledobject.keda.sh/name": "web"}},
    }
    cluster.wait_replicas(namespace, "web", 5, 90)
    wait_until(lambda: cluster.count_events("ScaleAheadRefused", namespace), 30, "it is told")
    assert cluster.count_events("ScaledAhead", namespace) == 0

    # Another value comes with the next change of the spec: KEDA does not look at annotations alone.
    def told() -> str:
        return cluster.api.get(path)["metadata"]["annotations"]["activescale.io/scale-ahead"]

    scaled["metadata"]["annotations"] = {"activescale.io/scale-ahead": "false"}
    cluster.plane.kubectl.apply([scaled])
    time.sleep(10)
    assert told() == "true"
    scaled["spec"]["maxReplicaCount"] = 19
    cluster.plane.kubectl.apply([scaled])
    wait_until(lambda: told() == "false", 30, "it is switched off")
