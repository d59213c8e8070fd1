"""Fixtures of the scenarios."""

import pytest

from tests.e2e.harness import paths
from tests.e2e.harness.cluster import Cluster

# The functional scenarios run with a quick HPA controller; its arithmetic is the same.
_QUICK_SYNC_SECONDS = 3


@pytest.fixture(scope="session")
def cluster():
    """The control plane that the functional scenarios share."""
    running = Cluster(paths.REPO / "build" / "e2e" / "quick", _QUICK_SYNC_SECONDS)
    try:
        yield running.start()
    finally:
        running.stop()


@pytest.fixture
def namespace(cluster):
    """A namespace of the test's own."""
    name = cluster.new_namespace()
    yield name
    cluster.drop_namespaces([name])
