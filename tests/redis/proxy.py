"""A TCP proxy that spoils what passes: late, cut, garbage, or not at all."""

import contextlib
import random
import select
import socket
import threading
import time

_CHUNK = 65536


class FaultProxy:
    """Stands before one server. Fault modes hold for what passes from then on.

    pass      as it comes
    delay     every piece `delay_seconds` later
    cut       closes each connection in the middle of an answer
    garbage   an answer now and then has bytes in it that the server did not send
    half-open swallows everything, and keeps the connections
    refuse    closes the connections and takes no new ones
    """

    def __init__(self, target_port: int, seed: int = 1):
        self._target_port = target_port
        self._random = random.Random(seed)
        self.mode = "pass"
        self.delay_seconds = 0.0
        self._stop = False
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._lock = threading.Lock()
        self._listener = self._listen(0)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def set(self, mode: str, delay_seconds: float = 0.0) -> None:
        self.delay_seconds = delay_seconds
        before, self.mode = self.mode, mode
        if mode == "refuse":
            self._listener.close()
            self.cut()
        elif before == "refuse":
            self._listener = self._listen(self.port)
            threading.Thread(target=self._accept, daemon=True).start()
        elif before == "half-open":
            self.cut()  # what was swallowed never comes

    def cut(self) -> None:
        """Closes all connections now."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            _close(pair)

    def stop(self) -> None:
        self._stop = True
        self._listener.close()
        self.cut()

    @staticmethod
    def _listen(port: int) -> socket.socket:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(64)
        return listener

    def _accept(self) -> None:
        listener = self._listener
        while not self._stop:
            try:
                # A closed listener does not wake accept.
                if not select.select([listener], [], [], 0.1)[0]:
                    continue
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target_port), 5)
            except (OSError, ValueError):
                if listener.fileno() < 0:
                    return
                with contextlib.suppress(UnboundLocalError, OSError):
                    client.close()
                continue
            server.settimeout(None)
            pair = (client, server)
            with self._lock:
                self._pairs.add(pair)
            for source, sink, answers in ((client, server, False), (server, client, True)):
                threading.Thread(
                    target=self._pump, args=(pair, source, sink, answers), daemon=True
                ).start()

    def _pump(self, pair, source, sink, answers: bool) -> None:
        try:
            while data := source.recv(_CHUNK):
                mode = self.mode
                if mode == "half-open":
                    continue
                if mode == "delay":
                    time.sleep(self.delay_seconds)
                if answers and mode == "cut":
                    sink.sendall(data[: len(data) // 2])
                    break
                if answers and mode == "garbage" and self._random.random() < 0.05:
                    at = self._random.randrange(len(data) + 1)
                    data = data[:at] + self._random.randbytes(16) + data[at:]
                sink.sendall(data)
        except OSError:
            pass
        with self._lock:
            self._pairs.discard(pair)
        _close(pair)


def _close(pair) -> None:
    for end in pair:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
