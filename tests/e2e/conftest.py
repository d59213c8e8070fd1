"""Fixtures of the scenarios."""

import pytest

from tests.e2e.harness import paths
from tests.e2e.harness.adapter import Adapter, grant_rights
from tests.e2e.harness.cluster import Cluster
from tests.e2e.harness.doctor import Doctor

# The functional scenarios run with a quick HPA controller; its arithmetic is the same. Telemetry
# of the model flushes each second there, so three flushes are a sensible TTL.
_QUICK_SYNC_SECONDS = 3
_QUICK_TTL = "--ttl=4s"

_FIGURES = pytest.StashKey[list[str]]()


def pytest_collection_modifyitems(items):
    """What fills the machine goes last: it disturbs nobody, and nobody waits until it is gone. The
    very last is what leaves thousands of pods in clusters that others use, too."""
    measured = ("test_scale_ahead.py", "test_responsiveness.py")
    items.sort(key=lambda item: next((i for i, n in enumerate(measured, 1) if n in item.nodeid), 0))


@pytest.fixture
def figures(request):
    """Takes text with measured figures; all of it is printed at the end of the run."""
    return request.config.stash.setdefault(_FIGURES, []).append


def pytest_terminal_summary(terminalreporter, config):
    collected = config.stash.get(_FIGURES, [])
    if collected:
        terminalreporter.section("measured")
        terminalreporter.write_line("\n\n".join(collected))


@pytest.fixture(scope="session")
def cluster():
    """The control plane that the functional scenarios share."""
    running = Cluster(paths.RUNS / "quick", _QUICK_SYNC_SECONDS)
    try:
        yield running.start()
    finally:
        running.stop()


@pytest.fixture(scope="session")
def _running_adapter(cluster):
    grant_rights(cluster)
    running = Adapter(cluster, _QUICK_TTL)
    try:
        yield running.start()
    finally:
        running.stop()


@pytest.fixture
def adapter(cluster, _running_adapter):
    """Activescale, serving both versions of the custom metrics API to the control plane."""
    cluster.aggregation.register(_running_adapter.https_port)
    return _running_adapter


@pytest.fixture(scope="session")
def steady():
    """A control plane with Kubernetes' default sync of 15 s, for what is measured."""
    running = Cluster(paths.RUNS / "steady", hpa_sync_seconds=15)
    try:
        yield running.start()
    finally:
        running.stop()


@pytest.fixture(scope="session")
def _running_steady_adapter(steady):
    grant_rights(steady)
    running = Adapter(steady)
    try:
        yield running.start()
    finally:
        running.stop()


@pytest.fixture(scope="module")
def steady_adapter(steady, _running_steady_adapter):
    """Activescale with its default TTL, serving the control plane `steady`, whoever did before."""
    steady.aggregation.register(_running_steady_adapter.https_port)
    return _running_steady_adapter


@pytest.fixture(scope="module")
def oracle_cluster():
    """A control plane whose metrics are the model's own: the oracle, asked beside the product."""
    running = Cluster(paths.RUNS / "oracle", hpa_sync_seconds=15)
    try:
        running.start()
        running.aggregation.register(running.model.oracle_port, versions=("v1beta2",))
        yield running
    finally:
        running.stop()


@pytest.fixture
def namespace(cluster):
    """A namespace of the test's own."""
    name = cluster.new_namespace()
    yield name
    cluster.drop_namespaces([name])


@pytest.fixture(scope="session")
def _doctors_adapter(cluster):
    """A process of its own: doctor judges by counters, which other scenarios move."""
    grant_rights(cluster)
    # All Envoys of the model are at the same address.
    running = Adapter(cluster, _QUICK_TTL, "--ingest-peer-check=off", name="doctored")
    try:
        yield running.start()
    finally:
        running.stop()


@pytest.fixture
def doctor(cluster, _doctors_adapter, namespace):
    """`doctor`, and an installation that is whole before and after the test."""
    ready = Doctor(cluster, _doctors_adapter, namespace)
    ready.installation.restore()
    yield ready
    ready.installation.restore()


@pytest.fixture
def start_adapter(doctor):
    """Starts another process with flags of its own; it need not become ready."""
    started = []

    def start(*args):
        adapter = Adapter(doctor.cluster, *args, name=f"doctored-{len(started)}")
        started.append(adapter)
        adapter.process.start()
        return adapter

    yield start
    for adapter in started:
        adapter.stop()


@pytest.fixture
def healthy(doctor):
    """A workload that pushes and whose HPA gets its metric."""
    doctor.push()
    doctor.deploy()
    doctor.cluster.wait_hpa_active(doctor.ns, "web")
    return doctor
