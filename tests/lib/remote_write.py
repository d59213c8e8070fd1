"""Bodies of Prometheus's remote_write 1.0, for tests and benchmarks."""

import struct
from collections.abc import Iterable, Mapping

HEADERS = {
    "Content-Encoding": "snappy",
    "Content-Type": "application/x-protobuf",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}

Series = tuple[Mapping[str, str], Iterable[tuple[float, int]]]


def body(series: Iterable[Series]) -> bytes:
    """Series as labels, which include `__name__`, and samples: value, milliseconds since 1970."""
    message = bytearray()
    for labels, samples in series:
        one = bytearray()
        for name, text in sorted(labels.items()):
            one += _field(1, _field(1, name.encode()) + _field(2, text.encode()))
        for value, time_ms in samples:
            one += _field(2, b"\x09" + struct.pack("<d", value) + b"\x10" + _varint(time_ms))
        message += _field(1, one)
    return _snappy(message)


def _snappy(plain: bytes) -> bytes:
    """Snappy's block format without any compression."""
    out = bytearray(_varint(len(plain)))
    for start in range(0, len(plain), 60):
        literal = plain[start : start + 60]
        out.append((len(literal) - 1) << 2)
        out += literal
    return bytes(out)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))
