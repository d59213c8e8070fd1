"""Starts and ends the servers under measurement."""

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness import build, pods

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
    # What is added to the command to keep values in the Redis at this port; the folder is its own.
    share: Callable[[int, Path], list[str]] | None = None


@dataclass(frozen=True)
class Server:
    pid: int
    grpc_port: int
    secure_port: int  # 0 where the server has no API
    redis_port: int  # 0 where values are kept in memory


def share_through_redis(port: int, folder: Path) -> list[str]:
    """Several replicas know the pods from kube-apiserver, which pods.py stands for."""
    return [
        f"--redis-addr=127.0.0.1:{port}",
        f"--kubeconfig={folder / 'kubeconfig'}",
        "--insecure-no-auth",
        "--ingest-peer-check=off",
    ]


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
        share=share_through_redis,
    ),
    "reference": ServerKind(
        lambda ports, _: [
            build.BINARIES / "reference",
            f"-grpc-port={ports.grpc}",
            f"-secure-port={ports.secure}",
        ],
        has_api=True,
        share=lambda port, _: [f"-redis-addr=127.0.0.1:{port}"],
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


@contextlib.contextmanager
def running(name: str, shared_pods: int = 0) -> Iterator[Server]:
    """A fresh process of the server called name; shared_pods says how many are kept in a Redis."""
    kind = SERVERS[name]
    ports = Ports(*free_ports(3))
    with contextlib.ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="activescale-bench-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        command = kind.command(ports, folder)
        redis_port = 0
        if shared_pods:
            redis_port = stack.enter_context(running_redis(folder))
            stack.enter_context(pods.serving(folder / "kubeconfig", shared_pods))
            command += kind.share(redis_port, folder)
        secure = ports.secure if kind.has_api else 0
        listening = [port for port in (ports.grpc, secure) if port]
        process = stack.enter_context(running_process(name, command, listening))
        yield Server(process.pid, ports.grpc, secure, redis_port)
        if process.poll() is not None:
            raise ServerFailure(f"{name} ended during the measurement, see {log_of(name)}")


@contextlib.contextmanager
def running_redis(folder: Path) -> Iterator[int]:
    """The port of a fresh Redis that keeps nothing on disk."""
    [port] = free_ports(1)
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
               "--dir", str(folder)]  # fmt: skip
    with running_process("redis", command, [port]):
        yield port


@contextlib.contextmanager
def running_process(name: str, command: list, ports: list[int]) -> Iterator[subprocess.Popen]:
    """A process that listens on ports; it is stopped at the end."""
    log = log_of(name)
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        for port in ports:
            wait_for_port(port, process, name, log)
        yield process
    finally:
        stop(process)


def log_of(name: str) -> Path:
    return build.BINARIES / f"{name}.log"


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
