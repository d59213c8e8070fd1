"""A pusher with any content, for what a real Envoy does not send by itself."""

import functools
import pathlib
import queue
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tests.lib.envoy import Pod

ROOT = pathlib.Path(__file__).resolve().parents[2]
METHOD = "/envoy.service.metrics.v3.MetricsService/StreamMetrics"
GAUGE = 1  # io.prometheus.client.MetricType
UNLIMITED = -1


@functools.cache
def message_class(name: str):
    """The class of a message of proto/, by its full name or the end of it."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "descriptors"
        files = sorted(str(p) for p in (ROOT / "proto").rglob("*.proto"))
        command = ["protoc", f"-I{ROOT / 'proto'}", "--include_imports"]
        subprocess.run([*command, f"--descriptor_set_out={out}", *files], check=True)
        descriptors = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in descriptors.file:
        pool.Add(file)
    for file in descriptors.file:
        for message in file.message_type:
            full_name = f"{file.package}.{message.name}"
            if full_name.endswith(name):
                return message_factory.GetMessageClass(pool.FindMessageTypeByName(full_name))
    raise LookupError(name)


def metrics_message(
    pod: Pod | None, gauges: Iterable[tuple[str, float]] = (), timestamp_ms: int | None = None
):
    """One StreamMetricsMessage; `pod` None leaves the identifier out."""
    message = message_class("StreamMetricsMessage")()
    if pod:
        node = pod.node()
        message.identifier.node.id = node["id"]
        message.identifier.node.metadata.update(node["metadata"])
    stamp = int(time.time() * 1000) if timestamp_ms is None else timestamp_ms
    for name, value in gauges:
        family = message.envoy_metrics.add(name=name, type=GAUGE)
        family.metric.add(timestamp_ms=stamp).gauge.value = value
    return message


def unrelated_families(count: int, tag: str = "", padding: int = 0) -> bytes:
    """Serialized families that no metric matches; concatenate with a message to append them."""
    names = (
        f"cluster.unrelated_{tag}_{i:06}.{'x' * padding}upstream_rq_total" for i in range(count)
    )
    return metrics_message(None, ((n, i) for i, n in enumerate(names))).SerializeToString()


class PushChannel:
    """One connection to the receiver; streams of many pods may share it."""

    def __init__(self, port: int, compression: grpc.Compression | None = None):
        options = [
            ("grpc.max_send_message_length", UNLIMITED),
            ("grpc.use_local_subchannel_pool", 1),
        ]
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}", options, compression)

    def open(self) -> "PushStream":
        return PushStream(self._channel)

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> "PushChannel":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class PushStream:
    """One StreamMetrics call. Messages are sent in order; the receiver answers nothing."""

    _END = None

    def __init__(self, channel: grpc.Channel):
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        call = channel.stream_unary(METHOD, request_serializer=None, response_deserializer=None)
        self._call = call.future(iter(self._messages.get, self._END))

    def send(self, message) -> None:
        """Queues a message, or the bytes of one."""
        self._messages.put(message if isinstance(message, bytes) else message.SerializeToString())

    def push(self, pod: Pod | None, gauges: Mapping[str, float], timestamp_ms: int | None = None):
        self.send(metrics_message(pod, gauges.items(), timestamp_ms))

    def finish(self, deadline_seconds: float = 20) -> grpc.StatusCode:
        """Ends our side cleanly; returns the receiver's status."""
        self._messages.put(self._END)
        return self.status(deadline_seconds)

    def status(self, deadline_seconds: float = 20) -> grpc.StatusCode:
        """Waits for the receiver to end the stream; returns its status."""
        error = self._call.exception(timeout=deadline_seconds)
        return error.code() if error else grpc.StatusCode.OK

    def detail(self) -> str:
        return self._call.details() or ""

    @property
    def ended(self) -> bool:
        return self._call.done()

    def cancel(self) -> None:
        self._call.cancel()
        self._messages.put(self._END)
