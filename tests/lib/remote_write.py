"""Bodies of Prometheus's remote_write 1.0, as short as they can be."""

import struct

HEADERS = {
    "Content-Encoding": "snappy",
    "Content-Type": "application/x-protobuf",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}


def body(series: dict[str, str], value: float, time_seconds: float) -> bytes:
    """One sample of a series, whose labels include `__name__`."""
    labels = b"".join(
        _field(1, _field(1, name.encode()) + _field(2, text.encode()))
        for name, text in sorted(series.items())
    )
    sample = b"\x09" + struct.pack("<d", value) + b"\x10" + _varint(int(time_seconds * 1000))
    message = _field(1, labels + _field(2, sample))
    # Snappy's block format with one literal, which is no compression.
    return _varint(len(message)) + b"\xf4" + struct.pack("<H", len(message) - 1) + message


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))
