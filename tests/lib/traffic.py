"""Traffic whose size is exact: a backend that holds requests, and a client that holds them open."""

import asyncio
import contextlib
import socket
import threading


class HoldingBackend:
    """Reads requests and answers each after `hold_seconds`, or never if that is None."""

    def __init__(self, hold_seconds: float | None = None):
        self._hold_seconds = hold_seconds
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        start = asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=4096)
        self._server = asyncio.run_coroutine_threadsafe(start, self._loop).result(10)
        self.port: int = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _shut_down(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                if self._hold_seconds is None:
                    await reader.read()  # until Envoy gives the request up
                    break
                await asyncio.sleep(self._hold_seconds)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok\n")
                await writer.drain()
        writer.close()


class HeldLoad:
    """Holds an exact number of open requests, and of idle connections besides, on one listener."""

    def __init__(self, port: int):
        self._port = port
        self._requests: list[socket.socket] = []
        self._idle: list[socket.socket] = []

    def set(self, requests: int, idle: int = 0) -> None:
        """Afterwards `requests` are in flight over connections of their own, and `idle` more are
        open."""
        self._resize(self._requests, requests, b"GET / HTTP/1.1\r\nhost: test\r\n\r\n")
        self._resize(self._idle, idle, b"")

    def close(self) -> None:
        self.set(0)

    def _resize(self, held: list[socket.socket], count: int, first_bytes: bytes) -> None:
        while len(held) < count:
            connection = socket.create_connection(("127.0.0.1", self._port), timeout=10)
            if first_bytes:
                connection.sendall(first_bytes)
            held.append(connection)
        while len(held) > count:
            held.pop().close()
