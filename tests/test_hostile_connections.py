"""Connections that are not what the port is for: they end, and the others do not notice."""

import random
import socket
import ssl
import time

import pytest

from tests.lib.api import insecure_tls
from tests.lib.process import wait_until

PORTS = ("grpc_port", "https_port", "health_port")
CLIENT_HELLO_START = bytes.fromhex("160301020001fc0303")


def connect(port: int, tls: bool = False) -> socket.socket:
    plain = socket.create_connection(("127.0.0.1", port), timeout=10)
    return insecure_tls().wrap_socket(plain, server_hostname="localhost") if tls else plain


def read_to_end(connection: socket.socket, deadline_seconds: float) -> bytes:
    """What the server says until it closes; raises TimeoutError if it does not."""
    end, received = time.monotonic() + deadline_seconds, b""
    try:
        while time.monotonic() < end:
            connection.settimeout(max(0.01, end - time.monotonic()))
            chunk = connection.recv(65536)
            if not chunk:
                return received
            received += chunk
    except (ConnectionError, ssl.SSLError):
        return received
    raise TimeoutError("the server keeps the connection open")


def assert_serving(server) -> None:
    server.check_running()
    assert server.client().get("/apis").status == 200
    assert server.health("/readyz").status == 200


@pytest.mark.parametrize("port", PORTS)
def test_random_bytes(lab, port):
    server = lab.activescale()
    rng = random.Random(port)
    for size in (1, 7, 100, 5_000, 300_000):
        with connect(getattr(server, port)) as connection:
            try:
                connection.sendall(rng.randbytes(size))
            except ConnectionError:
                continue
    assert_serving(server)


def test_tls_garbage_ends_the_connection(lab):
    server = lab.activescale()
    for payload in (b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", CLIENT_HELLO_START + bytes(512)):
        with connect(server.https_port) as connection:
            connection.sendall(payload)
            read_to_end(connection, 15)
    assert_serving(server)


@pytest.mark.parametrize("port, tls", [("https_port", True), ("health_port", False)])
def test_headers_of_one_megabyte_are_refused(lab, port, tls):
    server = lab.activescale()
    with connect(getattr(server, port), tls) as connection:
        answer = b""
        try:
            connection.sendall(b"GET /apis HTTP/1.1\r\nhost: x\r\nx-large: " + b"a" * 1_000_000)
            connection.sendall(b"\r\n\r\n")
            answer = read_to_end(connection, 15)
        except (ConnectionError, ssl.SSLError):
            pass
    assert answer == b"" or answer.split(b" ")[1] in (b"400", b"431"), answer[:200]
    assert_serving(server)


@pytest.mark.parametrize("port, tls", [("https_port", True), ("health_port", False)])
def test_slow_loris_is_cut_off_and_the_others_are_served(lab, port, tls):
    server = lab.activescale()
    slow = [connect(getattr(server, port), tls) for _ in range(100)]
    open_since, closed = time.monotonic(), 0

    def drip() -> bool:
        nonlocal closed
        for connection in list(slow):
            try:
                connection.sendall(b"G" if closed == 0 else b"x")
                connection.setblocking(False)
                if connection.recv(1000) == b"":
                    raise ConnectionError
            except (BlockingIOError, ssl.SSLWantReadError):
                pass
            except (OSError, ssl.SSLError):
                slow.remove(connection)
                connection.close()
                closed += 1
        assert_serving(server)
        return not slow

    wait_until(drip, 60, "every slow connection is cut off", interval_seconds=1)
    assert closed == 100 and time.monotonic() - open_since < 60


def test_connection_that_says_nothing_is_cut_off(lab):
    server = lab.activescale()
    with connect(server.https_port) as connection:
        read_to_end(connection, 60)
    assert_serving(server)
