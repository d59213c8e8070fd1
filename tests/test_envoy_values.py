"""A real Envoy in each of its five ways to send: exact values, whole flushes, idle is zero."""

import math
import time
from dataclasses import dataclass

import pytest

from tests.lib.activescale import Activescale
from tests.lib.api import MetricsClient
from tests.lib.envoy import Envoy, EnvoyOptions, Pod
from tests.lib.process import wait_until

SINKS = {
    "plain": {},
    "batch_1": {"batch_size": 1},
    "batch_7": {"batch_size": 7},
    "tags_as_labels": {"emit_tags_as_labels": True},
    "counters_as_deltas": {"report_counters_as_deltas": True},
}
INBOUND_A, INBOUND_B = "inbound_0.0.0.0_8080;", "inbound_0.0.0.0_9090;"
OUTBOUND = "outbound_0.0.0.0_8080;"
POD = Pod("web-0", "shop", {"app": "web", "tier": "front"}, "web")
METRICS = ("inbound_active_requests", "outbound_active_requests", "active_connections")


@dataclass
class Rig:
    server: Activescale
    envoy: Envoy
    loads: dict
    client: MetricsClient

    def set(self, **requests_and_idle: tuple[int, int]) -> None:
        """Returns when Envoy itself counts exactly this load."""
        for name, (requests, idle) in requests_and_idle.items():
            self.loads[name].set(requests, idle)
        held = requests_and_idle.values()
        want = (sum(r for r, _ in held), sum(r + i for r, i in held))
        wait_until(
            lambda: (self.envoy.active_requests(), self.envoy.active_connections()) == want,
            10,
            f"Envoy has {want} requests and connections",
            interval_seconds=0.002,
        )

    def read(self) -> tuple:
        return tuple(self.client.pods("shop", m, "app=web").get("web-0") for m in METRICS)


def rig(lab, sink: dict, flush_seconds: float) -> Rig:
    server = lab.activescale("--ttl=20s")
    options = EnvoyOptions((INBOUND_A, INBOUND_B, OUTBOUND), sink, flush_seconds)
    envoy = lab.envoy(POD, [server.grpc_port], lab.backend().port, options)
    names = {"in_a": INBOUND_A, "in_b": INBOUND_B, "out": OUTBOUND}
    loads = {n: lab.load(envoy.ports[p]) for n, p in names.items()}
    return Rig(server, envoy, loads, server.client())


@pytest.mark.parametrize("sink", SINKS.values(), ids=SINKS.keys())
def test_values_are_exact_and_idle_is_zero(lab, sink):
    r = rig(lab, sink, flush_seconds=0.2)
    wait_until(lambda: r.read() == (0, 0, 0), 10, "an untouched pod reads as zero by its heartbeat")

    r.set(in_a=(7, 0), in_b=(4, 3), out=(5, 1))
    wait_until(lambda: r.read() == (11, 5, 20), 10, "the sums over the listeners")
    for _ in range(100):  # several flushes long
        assert r.read() == (11, 5, 20)
        time.sleep(0.01)

    r.set(in_a=(1, 0), in_b=(0, 0), out=(2, 0))
    wait_until(lambda: r.read() == (1, 2, 3), 10, "less load")
    r.set(in_a=(0, 0), in_b=(0, 0), out=(0, 0))
    wait_until(lambda: r.read() == (0, 0, 0), 10, "idle")


@pytest.mark.parametrize("sink", SINKS.values(), ids=SINKS.keys())
def test_reader_sees_whole_flushes_only(lab, sink):
    """The load steps right after a flush; a reader sees the old load or the new one, no mixture.

    A step counts if Envoy had all of it before its next flush could come. On a busy machine some
    do not; they are made, and not judged.
    """
    flush_seconds, margin = 0.5, 0.1  # margin: a held-back flush is visible 50 ms late
    r = rig(lab, sink, flush_seconds)
    shown, flushed_after, judged, polls = None, -math.inf, 0, 0
    for i in range(60):
        in_a, in_b, out = 10 * i % 70 + 5, i % 3 + 1, i % 2 + 2
        r.set(in_a=(in_a, 2), in_b=(in_b, 0), out=(out, 0))
        whole = time.monotonic() < flushed_after + flush_seconds - margin
        want = (in_a + in_b, out, in_a + 2 + in_b + out)
        seen, end = [], time.monotonic() + 10
        while True:
            asked = time.monotonic()
            values = r.read()
            if values == want:
                break
            assert asked < end, f"never saw {want}, last {values}"
            seen.append(values)
            flushed_after = asked
        if whole:
            judged, polls = judged + 1, polls + len(seen)
            for values in seen:
                for metric, value, allowed in zip(
                    METRICS, values, zip(shown, want, strict=True), strict=True
                ):
                    assert value in allowed, (metric, values, shown, want)
        shown = want
        if judged >= 8 and polls >= 100:
            return
    pytest.fail(f"only {judged} steps fell between two flushes, {polls} polls")


def test_workload_and_pod_by_name(lab):
    r = rig(lab, {}, flush_seconds=0.2)
    other = lab.envoy(
        Pod("web-1", "shop", {"app": "web"}, "web"),
        [r.server.grpc_port],
        lab.backend().port,
        EnvoyOptions((INBOUND_A,)),
    )
    lab.load(other.ports[INBOUND_A]).set(6)
    r.set(in_a=(3, 0), in_b=(0, 0), out=(0, 0))
    metric = "inbound_active_requests"
    wait_until(lambda: r.server.pods(metric) == {"web-0": 3, "web-1": 6}, 10, "both pods")
    assert r.server.pods(metric, "app=web,tier=front") == {"web-0": 3}
    assert r.server.pods(metric, "tier notin (front)") == {"web-1": 6}
    assert r.server.client().pods("shop", metric, name="web-1") == {"web-1": 6}
    answer = r.server.client().get(
        "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/deployments.apps/web/" + metric
    )
    assert [item["value"] for item in answer.json()["items"]] == ["9"]


def test_plain_envoy_with_prefixes_of_its_own(lab):
    """A gateway's stat prefix is chosen by its user; nothing but a flag is needed."""
    server = lab.activescale("--inbound-stat-prefixes=ingress_*,edge")
    envoy = lab.envoy(
        POD,
        [server.grpc_port],
        lab.backend().port,
        EnvoyOptions(("ingress_http", "edge", INBOUND_A)),
    )
    for prefix, requests in (("ingress_http", 4), ("edge", 2), (INBOUND_A, 8)):
        lab.load(envoy.ports[prefix]).set(requests)
    wait_until(
        lambda: server.pods("inbound_active_requests") == {"web-0": 6}, 10, "the chosen prefixes"
    )
