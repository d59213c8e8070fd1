"""Messages that are large, many or wrong: a clear status, a counter, the others go on."""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from tests.lib.envoy import Pod
from tests.lib.process import wait_until
from tests.lib.push import metrics_message, unrelated_families

METRIC = "inbound_active_requests"
FAMILY = "http.inbound_0.0.0.0_8080;.downstream_rq_active"
MIB = 1024 * 1024


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def unknown_field(size: int) -> bytes:
    """A valid message of any size: one unknown field 15."""
    return b"\x7a" + varint(size) + bytes(size)


def pushed(server, channel, pod: Pod, value: int):
    """A stream of `pod` that has pushed one value and stays open."""
    stream = channel.open()
    stream.push(pod, {FAMILY: value})
    wait_until(
        lambda: server.client().pods(pod.namespace, METRIC, name=pod.name) == {pod.name: value},
        10,
        f"{pod.name} reads {value}",
    )
    return stream


def assert_memory_returns(server, base: int, growth_mib: int, deadline_seconds: float = 15):
    wait_until(
        lambda: server.rss_bytes() <= base + growth_mib * MIB,
        deadline_seconds,
        f"memory back to {base // MIB} + {growth_mib} MiB",
    )


def test_five_mib_message_with_the_wanted_gauge_last(lab):
    server = lab.activescale()
    stream = lab.channel(server.grpc_port).open()
    pod = Pod("web-0")
    head = metrics_message(pod).SerializeToString()
    last = metrics_message(None, [(FAMILY, 9)]).SerializeToString()
    message = head + unrelated_families(60_000, padding=30) + last
    assert len(message) > 5 * MIB
    stream.send(message)
    wait_until(lambda: server.pods(METRIC) == {"web-0": 9}, 10, "the gauge at the end")


def test_message_above_the_limit_ends_its_stream_alone(lab):
    server = lab.activescale()
    channel, pod = lab.channel(server.grpc_port), Pod("web-0")
    other = pushed(server, channel, Pod("web-1"), 4)
    base = server.rss_bytes()
    for _ in range(3):
        stream = channel.open()
        stream.send(metrics_message(pod).SerializeToString() + unknown_field(40 * MIB))
        assert stream.status() == grpc.StatusCode.RESOURCE_EXHAUSTED
    pushed(server, channel, pod, 5)
    other.push(None, {FAMILY: 6})
    wait_until(lambda: server.pods(METRIC) == {"web-0": 5, "web-1": 6}, 10, "the others go on")
    assert_memory_returns(server, base, growth_mib=30)
    assert server.metric("activescale_ingest_ended_streams_total", reason="too_large") >= 3


def test_gzip_messages_are_accepted(lab):
    server = lab.activescale()
    channel = lab.channel(server.grpc_port, compression=grpc.Compression.Gzip)
    pushed(server, channel, Pod("web-0"), 3)


def test_gzip_bomb_is_refused_and_memory_returns(lab):
    server = lab.activescale()
    other = pushed(server, lab.channel(server.grpc_port), Pod("web-1"), 4)
    bombs = lab.channel(server.grpc_port, compression=grpc.Compression.Gzip)
    base = server.rss_bytes()
    for _ in range(3):
        stream = bombs.open()
        stream.send(unknown_field(200 * MIB))
        assert stream.status() == grpc.StatusCode.RESOURCE_EXHAUSTED
    other.push(None, {FAMILY: 6})
    wait_until(lambda: server.pods(METRIC) == {"web-1": 6}, 10, "the other stream goes on")
    assert_memory_returns(server, base, growth_mib=30)


BROKEN = {
    "random bytes": lambda: random.Random(7).randbytes(4096),
    "truncated": lambda: metrics_message(Pod("web-0"), [(FAMILY, 3)]).SerializeToString()[:-3],
    "length beyond the end": lambda: b"\x12\xff\xff\x7f",
    "endless varint": lambda: b"\x12" + b"\xff" * 11,
}


@pytest.mark.parametrize("payload", BROKEN.values(), ids=BROKEN.keys())
def test_malformed_message_is_an_invalid_argument(lab, payload):
    server = lab.activescale()
    channel = lab.channel(server.grpc_port)
    other = pushed(server, channel, Pod("web-1"), 4)
    stream = channel.open()
    stream.send(payload())
    assert stream.status() == grpc.StatusCode.INVALID_ARGUMENT
    assert server.metric("activescale_ingest_ended_streams_total", reason="malformed") == 1
    other.push(None, {FAMILY: 6})
    wait_until(lambda: server.pods(METRIC) == {"web-1": 6}, 10, "the other stream goes on")


def empty_node():
    message = metrics_message(None, [(FAMILY, 3)])
    message.identifier.node.SetInParent()
    return message


UNKNOWN_PODS = {
    "no node": lambda: metrics_message(None, [(FAMILY, 3)]),
    "empty node": empty_node,
    "name that Kubernetes refuses": lambda: metrics_message(Pod("../etc"), [(FAMILY, 3)]),
    "namespace that Kubernetes refuses": lambda: metrics_message(Pod("a", "A B"), [(FAMILY, 3)]),
}


@pytest.mark.parametrize("message", UNKNOWN_PODS.values(), ids=UNKNOWN_PODS.keys())
def test_message_without_a_pod_is_dropped_and_counted(lab, message):
    server = lab.activescale("--v=4")
    channel = lab.channel(server.grpc_port)
    other = pushed(server, channel, Pod("web-1"), 4)
    stream = channel.open()  # held: a call that nobody holds is cancelled
    stream.send(message())
    wait_until(
        lambda: server.metric("activescale_ingest_dropped_by_ids_total") == 1, 10, "it is counted"
    )
    assert "missing pod identity" in server.log_path.read_text()
    assert server.pods(METRIC) == {"web-1": 4}
    other.push(None, {FAMILY: 6})
    wait_until(lambda: server.pods(METRIC) == {"web-1": 6}, 10, "the other stream goes on")


def test_changed_node_ends_the_stream(lab):
    """A stream belongs to the pod that opened it; another name must not take its place."""
    server = lab.activescale()
    stream = pushed(server, lab.channel(server.grpc_port), Pod("web-0"), 3)
    stream.push(Pod("web-9"), {FAMILY: 8})
    assert stream.status() == grpc.StatusCode.INVALID_ARGUMENT
    assert server.metric("activescale_ingest_ended_streams_total", reason="node_changed") == 1
    assert server.pods(METRIC) == {"web-0": 3}


def test_newest_stream_of_a_pod_counts(lab):
    """A re-created StatefulSet pod has its predecessor's name (kubernetes/kubernetes#107291)."""
    server = lab.activescale()
    old = pushed(server, lab.channel(server.grpc_port), Pod("web-0"), 40)
    new = pushed(server, lab.channel(server.grpc_port), Pod("web-0"), 2)
    for _ in range(5):
        old.push(None, {FAMILY: 40})
        time.sleep(0.1)
        assert server.pods(METRIC) == {"web-0": 2}
    new.finish()
    old.push(None, {FAMILY: 39})
    wait_until(lambda: server.pods(METRIC) == {"web-0": 39}, 10, "the older stream takes over")


def test_pods_that_went_away_are_gone_after_the_ttl(lab):
    server = lab.activescale("--ttl=2s")
    channel = lab.channel(server.grpc_port)
    streams = {f"web-{i}": pushed(server, channel, Pod(f"web-{i}"), 50) for i in range(10)}
    stay = ("web-0", "web-1")
    for name, stream in streams.items():
        if name not in stay:
            stream.finish()
    end = time.monotonic() + 4
    while time.monotonic() < end:
        for name in stay:
            streams[name].push(None, {FAMILY: 50})
        time.sleep(0.3)
    assert server.pods(METRIC) == dict.fromkeys(stay, 50)


def test_memory_follows_the_kept_metrics_not_the_families(lab):
    """10,000 pods, each with 5,000 families of its own that nobody asked for."""
    pods, families = 10_000, 5_000
    sizes = []
    for unrelated in (False, True):
        server = lab.activescale("--ttl=60s", name=f"unrelated-{unrelated}")
        tail = unrelated_families(families, tag="PODPODPOD") if unrelated else b""
        channels = [lab.channel(server.grpc_port) for _ in range(4)]

        def push(index: int, channels=channels, tail=tail) -> grpc.StatusCode:
            message = metrics_message(Pod(f"web-{index}"), [(FAMILY, 1)]).SerializeToString()
            stream = channels[index % 4].open()
            stream.send(message + tail.replace(b"PODPODPOD", b"%09d" % index))
            return stream.finish(60)

        with ThreadPoolExecutor(8) as pool:
            codes = set(pool.map(push, range(pods)))
        assert codes == {grpc.StatusCode.OK}
        assert len(server.pods(METRIC)) == pods
        sizes.append(server.rss_bytes())
        server.stop()
    plain, with_unrelated = sizes
    assert with_unrelated <= 1.2 * plain + 10 * MIB, [s // MIB for s in sizes]


def test_refused_streams_leave_nothing_behind(lab):
    """10,000 streams are refused while their clients keep sending."""
    server = lab.activescale()
    channel = lab.channel(server.grpc_port)
    chunk = b"\xff" * 20_000

    def refused(_: int) -> grpc.StatusCode:
        stream = channel.open()
        for _ in range(3):
            stream.send(chunk)
        code = stream.status(60)
        stream.cancel()
        return code

    def refuse(count: int) -> None:
        with ThreadPoolExecutor(16) as pool:
            assert set(pool.map(refused, range(count))) == {grpc.StatusCode.INVALID_ARGUMENT}

    refuse(500)
    base = server.rss_bytes()
    refuse(10_000)
    assert_memory_returns(server, base, growth_mib=20)
    pushed(server, channel, Pod("web-0"), 3)
