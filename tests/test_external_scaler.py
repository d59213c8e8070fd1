"""KEDA's external scaler and external metrics of one process, from a push to the answer."""

import contextlib
import statistics
import time

import grpc

from tests.lib.envoy import Pod
from tests.lib.process import free_ports, wait_until
from tests.lib.push import message_class

FAMILY = "http.inbound_0.0.0.0_8080;.downstream_rq_active"
POD = Pod("web-0")
SIGNALS = "signals:\n- {name: Load, expression: sum(inbound_active_requests), target: 4}\n"
WAKES = 5


class Scaler:
    """The calls of KEDA's operator."""

    def __init__(self, port: int):
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}")

    def stream(self, **metadata: str):
        call = self._channel.unary_stream(
            "/externalscaler.ExternalScaler/StreamIsActive",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=message_class("IsActiveResponse").FromString,
        )
        return call(_name_object(message_class("ScaledObjectRef")(), metadata), timeout=120)

    def value(self, **metadata: str) -> float:
        request = message_class("GetMetricsRequest")()
        _name_object(request.scaledObjectRef, metadata)
        call = self._channel.unary_unary(
            "/externalscaler.ExternalScaler/GetMetrics",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=message_class("GetMetricsResponse").FromString,
        )
        return call(request, timeout=10).metricValues[0].metricValueFloat

    def close(self) -> None:
        self._channel.close()


def _name_object(ref, metadata):
    ref.name, ref.namespace = "web", POD.namespace
    ref.scalerMetadata.update(metadata)
    return ref


def _serve(lab, text: str):
    port = free_ports(1)[0]
    file = lab.folder / "signals.yaml"
    file.write_text(text)
    server = lab.activescale(
        f"--keda-address=127.0.0.1:{port}", f"--signals-file={file}", "--external-metrics"
    )
    return server, port, file


def _answers(scaler: Scaler, value: float) -> bool:
    try:
        return scaler.value(signal="load") == value
    except grpc.RpcError:
        return False


def test_a_stream_wakes_with_the_flush(lab, record_property):
    server, port, _ = _serve(lab, SIGNALS)
    stream = lab.channel(server.grpc_port).open()
    stream.push(POD, {FAMILY: 0})
    with contextlib.closing(Scaler(port)) as scaler:
        events = scaler.stream(signal="load")
        assert not next(events).result
        delays = []
        for _ in range(WAKES):
            begun = time.monotonic()
            stream.push(None, {FAMILY: 3})
            assert next(events).result
            delays.append(time.monotonic() - begun)
            stream.push(None, {FAMILY: 0})
            wait_until(lambda: _answers(scaler, 0), 10, "the load is gone")
            # What is active is looked at once a second.
            time.sleep(1.2)
        events.cancel()
    median, worst = statistics.median(delays) * 1000, max(delays) * 1000
    record_property("wake_ms", f"{median:.0f}")
    print(f"woken {median:.0f} ms after the push (median of {WAKES}, worst {worst:.0f} ms)")


def test_missing_is_an_error_and_a_changed_file_is_served(lab):
    server, port, file = _serve(lab, SIGNALS)
    path = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{POD.namespace}/load"
    with contextlib.closing(Scaler(port)) as scaler:
        try:
            scaler.value(signal="load")
            raise AssertionError("a value without any telemetry")
        except grpc.RpcError as error:
            assert error.code() in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNAVAILABLE)
        assert server.client().get(path).status in (404, 503)
        stream = lab.channel(server.grpc_port).open()
        stream.push(POD, {FAMILY: 7})
        wait_until(lambda: _answers(scaler, 7), 20, "the pushed value")
        assert server.client().get(path).json()["items"][0]["value"] == "7"
        file.write_text("signals: [{name: load}]")
        wait_until(
            lambda: b"activescale_signals_file_faulty 1" in server.health("/metrics").body,
            10,
            "the fault is told",
        )
        assert _answers(scaler, 7)
        file.write_text(SIGNALS.replace("sum(", "10 * sum("))
        wait_until(lambda: _answers(scaler, 70), 20, "the changed signal")
