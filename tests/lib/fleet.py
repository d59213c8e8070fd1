"""Many pods that push, by one thread."""

import asyncio
import threading

import grpc

from tests.lib.envoy import Pod
from tests.lib.push import METHOD, metrics_message

_CHANNELS = 8
_AT_ONCE = 200


class Fleet:
    """Pods in workloads of equal size. Each says one value; the first of each workload stays open
    and says another one when it is asked to."""

    def __init__(self, port: int, workloads: int, pods_each: int, gauge: str):
        self._port = port
        self._gauge = gauge
        self._pods = [
            [Pod(f"w{w:04}-{p}", f"ns-{w % 10}", workload=f"w{w:04}") for p in range(pods_each)]
            for w in range(workloads)
        ]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._channels: list[grpc.aio.Channel] = []
        self._calls: list[grpc.aio.StreamUnaryCall] = []

    def start(self) -> "Fleet":
        self._run(self._start())
        return self

    def push(self, value: float) -> None:
        """The first pod of each workload now has this value."""
        self._run(self._push(value))

    def close(self) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self, work) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(120)

    async def _start(self) -> None:
        options = [("grpc.use_local_subchannel_pool", 1)]
        address = f"127.0.0.1:{self._port}"
        self._channels = [grpc.aio.insecure_channel(address, options) for _ in range(_CHANNELS)]
        gate = asyncio.Semaphore(_AT_ONCE)
        jobs = []
        for w, pods in enumerate(self._pods):
            open_stream = self._channels[w % _CHANNELS].stream_unary(METHOD)
            jobs += [self._say_once(gate, open_stream, pod, 1) for pod in pods[1:]]
            self._calls.append(open_stream())
        await asyncio.gather(*jobs)
        firsts = zip(self._calls, self._pods, strict=True)
        await asyncio.gather(*(call.write(self._message(pods[0], 1)) for call, pods in firsts))

    async def _say_once(self, gate: asyncio.Semaphore, open_stream, pod: Pod, value: float) -> None:
        async with gate:
            call = open_stream()
            await call.write(self._message(pod, value))
            await call.done_writing()
            await call.code()

    def _message(self, pod: Pod | None, value: float) -> bytes:
        return metrics_message(pod, [(self._gauge, value)]).SerializeToString()

    async def _push(self, value: float) -> None:
        message = self._message(None, value)
        await asyncio.gather(*(call.write(message) for call in self._calls))

    async def _close(self) -> None:
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*(channel.close() for channel in self._channels))
