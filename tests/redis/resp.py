"""A small client of Redis's protocol, for what tests ask servers themselves."""

import socket
import ssl


class RedisError(Exception):
    """An error reply."""


def ask(
    port: int,
    *args: object,
    tls: ssl.SSLContext | None = None,
    password: str = "",
    timeout_seconds: float = 5,
):
    """Sends one command on a connection of its own and returns its answer."""
    with socket.create_connection(("127.0.0.1", port), timeout_seconds) as plain:
        connection = tls.wrap_socket(plain, server_hostname="localhost") if tls else plain
        stream = connection.makefile("rwb")
        if password:
            _send(stream, ("AUTH", password))
            _receive(stream)
        _send(stream, args)
        return _receive(stream)


def _send(stream, args) -> None:
    words = [word if isinstance(word, bytes) else str(word).encode() for word in args]
    stream.write(b"*%d\r\n" % len(words))
    for word in words:
        stream.write(b"$%d\r\n%s\r\n" % (len(word), word))
    stream.flush()


def _receive(stream):
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        raise ConnectionError("closed")
    kind, rest = line[:1], line[1:-2]
    if kind == b"+":
        return rest.decode()
    if kind == b":":
        return int(rest)
    if kind == b"-":
        raise RedisError(rest.decode())
    if kind == b"$":
        if int(rest) < 0:
            return None
        data = stream.read(int(rest) + 2)[:-2]
        return data.decode("utf-8", "surrogateescape")
    assert kind == b"*", line
    return None if int(rest) < 0 else [_receive(stream) for _ in range(int(rest))]
