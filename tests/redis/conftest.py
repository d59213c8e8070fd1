"""Fixtures: the program under the tests (Redis, Valkey), replicas, proxies; all gone afterwards."""

import contextlib

import pytest

from tests.redis.proxy import FaultProxy
from tests.redis.replica import BINARY, Replica
from tests.redis.servers import Flavor, Server


def pytest_addoption(parser):
    parser.addoption("--faults-seconds", type=float, default=20, help="how long test_faults runs")


@pytest.fixture(scope="session", params=["redis", "valkey"])
def flavor(request) -> Flavor:
    flavor = Flavor(request.param)
    if not flavor.available:
        pytest.skip(f"{request.param}-server is not installed (./dev setup)")
    assert BINARY.exists(), f"{BINARY} is not built"
    return flavor


@pytest.fixture
def cleanup():
    """Called in reverse order when the test ends, whatever happened."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def make_server(flavor, tmp_path, cleanup):
    def make(name: str = "server", **options) -> Server:
        server = Server(flavor, tmp_path, name, **options)
        cleanup.callback(lambda: server.running and server.kill())
        return server

    return make


@pytest.fixture
def make_replica(tmp_path, cleanup):
    """Makes a replica with REDIS_* of `env`, given without the prefix and in lower case."""

    def make(name: str = "replica", ttl: str = "20s", **env: object) -> Replica:
        variables = {f"REDIS_{key.upper()}": str(value) for key, value in env.items()}
        replica = Replica(name, tmp_path, variables, ttl)
        cleanup.callback(replica.stop)
        return replica

    return make


@pytest.fixture
def make_proxy(cleanup):
    def make(server: Server) -> FaultProxy:
        proxy = FaultProxy(server.port)
        cleanup.callback(proxy.stop)
        return proxy

    return make
