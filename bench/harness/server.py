"""Starts and ends the servers under measurement."""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness import build

START_SECONDS = 20
STOP_SECONDS = 15


class ServerFailure(Exception):
    """A server did not start, did not end or was not measured; the text says where to look."""


@dataclass(frozen=True)
class Ports:
    grpc: int
    secure: int
    health: int


@dataclass(frozen=True)
class ServerKind:
    """How one kind of server is started, and whether it answers queries."""

    command: Callable[[Ports, Path], list[str | Path]]
    has_api: bool


@dataclass(frozen=True)
class Server:
    pid: int
    grpc_port: int
    secure_port: int  # 0 where the server has no API


SERVERS = {
    "activescale": ServerKind(
        lambda ports, folder: [
            build.PRODUCT,
            "serve",
            f"--grpc-port={ports.grpc}",
            f"--secure-port={ports.secure}",
            f"--health-port={ports.health}",
            f"--cert-dir={folder}",
            "--shutdown-delay-duration=0s",
        ],
        has_api=True,
    ),
    "reference": ServerKind(
        lambda ports, _: [
            build.BINARIES / "reference",
            f"-grpc-port={ports.grpc}",
            f"-secure-port={ports.secure}",
        ],
        has_api=True,
    ),
    "floor": ServerKind(lambda ports, _: [build.FLOOR, str(ports.grpc)], has_api=False),
}


def free_ports(count: int) -> list[int]:
    """Ports of loopback that were free a moment ago and differ from each other."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


@contextmanager
def running(name: str) -> Iterator[Server]:
    """A fresh process of the server called name, which listens."""
    kind = SERVERS[name]
    ports = Ports(*free_ports(3))
    log = build.BINARIES / f"{name}.log"
    folder = Path(tempfile.mkdtemp(prefix="activescale-bench-"))
    try:
        with log.open("w") as output:
            process = subprocess.Popen(
                kind.command(ports, folder), stdout=output, stderr=subprocess.STDOUT
            )
        try:
            secure = ports.secure if kind.has_api else 0
            for port in filter(None, (ports.grpc, secure)):
                wait_for_port(port, process, name, log)
            yield Server(process.pid, ports.grpc, secure)
            if process.poll() is not None:
                raise ServerFailure(f"{name} ended during the measurement, see {log}")
        finally:
            stop(process)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wait_for_port(port: int, process: subprocess.Popen, name: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ServerFailure(f"{name} ended with {process.returncode} at its start, see {log}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise ServerFailure(f"{name} does not listen on port {port} after {START_SECONDS} s, see {log}")


def stop(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        build.say(f"process {process.pid} ignored SIGTERM for {STOP_SECONDS} s: killed")
        process.kill()
        process.wait()
