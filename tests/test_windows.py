"""Windows over what a real Envoy pushes, read as signals through the External Metrics API."""

import json
import time

from tests.lib.api import quantity
from tests.lib.envoy import EnvoyOptions, Pod
from tests.lib.process import wait_until

POD = Pod("web-0", "shop", {"app": "web"}, "web")
PREFIX = "inbound_0.0.0.0_8080;"
CLUSTER_STATS = r"cluster\.(?P<upstream>[^.]+)\.upstream_rq_(active|pending_active|total)"
EXPRESSIONS = {
    "now": 'sum(inbound_active_requests{namespace="shop",workload="web"})',
    "peak": 'max(max_over_time(inbound_active_requests{workload="web"}[1m]))',
    "running": 'sum(envoy_cluster_upstream_rq_active{upstream="backend"})',
    "in-flight": 'sum(envoy_cluster_upstream_rq_active{upstream="backend"})'
    ' + sum(envoy_cluster_upstream_rq_pending_active{upstream="backend",workload="web"})',
    "rate": 'sum(rate(envoy_cluster_upstream_rq_total{upstream="backend"}[10s]))',
}


def serve(lab, *args: str):
    signals = lab.folder / "signals.yaml"
    listed = [
        {"name": name, "expression": expression, "target": 1, "partial_window": "serve"}
        for name, expression in EXPRESSIONS.items()
    ]
    signals.write_text(json.dumps({"signals": listed}))
    return lab.activescale(f"--signals-file={signals}", "--external-metrics", *args)


def read(server, signal: str) -> float | str:
    """The value of a signal, or why there is none."""
    client = server.client()
    try:
        answer = client.get(f"/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/{signal}")
    finally:
        client.close()
    if answer.status != 200:
        return f"{answer.status}: {answer.json()['message']}"
    (item,) = answer.json()["items"]
    return float(quantity(item["value"]))


def becomes(server, signal: str, want: float) -> None:
    wait_until(
        lambda: read(server, signal) == want,
        15,
        f"signal {signal} is {want}; it is {read(server, signal)}",
    )


def test_a_window_remembers_what_was_pushed(lab):
    server = serve(lab, "--ttl=2s")
    envoy = lab.envoy(POD, [server.grpc_port], lab.backend().port)
    load = lab.load(envoy.ports[PREFIX])
    load.set(5, 0)
    becomes(server, "now", 5)
    load.set(2, 0)
    becomes(server, "now", 2)
    assert read(server, "peak") == 5
    envoy.stop()
    wait_until(lambda: isinstance(read(server, "now"), str), 10, "a silent workload is no 0")
    assert "fresh heartbeat" in read(server, "now")
    assert "fresh heartbeat" in read(server, "peak")


def test_queued_and_running_of_a_gateways_upstream(lab):
    """Case A11: a short queue hides the demand if only what runs is counted."""
    server = serve(lab, f"--envoy-stats={CLUSTER_STATS}")
    options = EnvoyOptions((PREFIX,), max_connections=6)
    envoy = lab.envoy(POD, [server.grpc_port], lab.backend().port, options)
    load = lab.load(envoy.ports[PREFIX])
    load.set(26, 0)
    becomes(server, "in-flight", 26)
    assert read(server, "running") == 6


def test_stats_that_nobody_chose_make_no_series(lab):
    server = serve(lab)
    envoy = lab.envoy(POD, [server.grpc_port], lab.backend().port)
    load = lab.load(envoy.ports[PREFIX])
    load.set(3, 0)
    becomes(server, "now", 3)
    assert isinstance(read(server, "running"), str)


def test_a_counter_that_rests_has_a_rate_of_zero(lab):
    server = serve(lab, f"--envoy-stats={CLUSTER_STATS}")
    envoy = lab.envoy(POD, [server.grpc_port], lab.backend().port)
    load = lab.load(envoy.ports[PREFIX])
    read(server, "rate")
    load.set(4, 0)
    wait_until(lambda: isinstance(read(server, "rate"), float), 15, "there is a rate")
    time.sleep(11)  # the window
    assert read(server, "rate") == 0
