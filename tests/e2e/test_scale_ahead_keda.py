"""Steps ahead for the HPA that the real KEDA makes of a ScaledObject."""

import time

import pytest

from tests.e2e.harness import measures, workloads
from tests.e2e.harness.adapter import Adapter, grant_component, grant_rights
from tests.e2e.harness.ahead import ANNOTATION, ROLE, WARM_SECONDS
from tests.e2e.harness.keda import Keda, scaled_object
from tests.e2e.harness.model import INBOUND
from tests.lib.process import free_ports, wait_until

pytestmark = pytest.mark.timeout(300)

_APP = "web"
_HPA = "keda-hpa-web"
_THRESHOLD = 4


@pytest.fixture(scope="module")
def keda(steady):
    running = Keda(steady)
    try:
        yield running.start()
    finally:
        running.stop()


@pytest.fixture
def scaler(steady):
    """Activescale as KEDA's external scaler, with steps ahead. Returns where it listens, too."""
    grant_rights(steady)
    grant_component(steady, "scale-ahead")
    address = f"127.0.0.1:{free_ports(1)[0]}"
    running = Adapter(steady, "--scale-ahead=on", f"--keda-address={address}", name="ahead-keda")
    try:
        running.start()
        yield running, address
    finally:
        running.stop()


@pytest.fixture
def workload(steady):
    """A namespace of the test's own."""
    name = steady.new_namespace("ahead-keda")
    yield name
    steady.drop_namespaces([name])


def _scaled_object(ns: str, address: str) -> dict:
    """Two pods at their target are its least."""
    query = f'sum({INBOUND}{{namespace="{ns}"}})'
    metadata = {"scalerAddress": address, "query": query, "threshold": str(_THRESHOLD)}
    scaled = scaled_object(ns, _APP, [{"type": "external", "metadata": metadata}], minimum=2)
    scaled["metadata"]["annotations"] = {ANNOTATION: "true"}
    behavior = workloads.scale_up_behavior(900)
    scaled["spec"]["advanced"] = {"horizontalPodAutoscalerConfig": {"behavior": behavior}}
    return scaled


def _start(cluster, adapter, ns: str, scaled: dict) -> None:
    load = 2 * _THRESHOLD / 0.2
    cluster.model.configure(ns, _APP, steps=[(0, load)], sinks=[adapter.sink])
    cluster.plane.kubectl.apply([workloads.deployment(ns, _APP, 2)])
    cluster.wait_ready(ns, _APP, 2)
    cluster.plane.kubectl.apply([scaled])
    wait_until(lambda: cluster.api.get(_path(ns)), 60, "KEDA's HPA")
    cluster.wait_hpa_active(ns, _HPA)


def _path(ns: str) -> str:
    return f"/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers/{_HPA}"


def _events(cluster, ns: str, reason: str) -> list[str]:
    return [event["message"] for event in cluster.events(reason, ns)]


def _wait_event(cluster, ns: str, reason: str, word: str, seconds: float) -> None:
    def seen() -> bool:
        return any(word in message for message in _events(cluster, ns, reason))

    wait_until(seen, seconds, f"{reason} with {word}")


def test_the_hpa_of_a_scaled_object_is_scaled_ahead(steady, keda, scaler, workload):
    adapter, address = scaler
    scaled = _scaled_object(workload, address)
    _start(steady, adapter, workload, scaled)
    [metric] = steady.api.get(_path(workload))["spec"]["metrics"]
    assert metric["external"]["metric"] == {
        "name": "s0-query",
        "selector": {"matchLabels": {"scaledobject.keda.sh/name": _APP}},
    }
    time.sleep(WARM_SECONDS)
    began = time.time()
    steady.model.set_in_flight(workload, _APP, 5 * _THRESHOLD)
    steady.wait_replicas(workload, _APP, 5, 3)
    _wait_event(steady, workload, "ScaledAhead", "replicas: External s0-query", 5)
    assert _events(steady, workload, "ScaledAhead")[0].startswith("2 -> 5 replicas")
    assert not _events(steady, workload, "ScaleAheadRefused")
    # The controller's next sync is answered as of the step, which it remembers then.
    steady.model.set_in_flight(workload, _APP, 2 * _THRESHOLD)
    time.sleep(steady.syncs(2))
    assert measures.turns(steady.model.timeline(workload, _APP), began, time.time()) == 0
    assert steady.replicas(workload, _APP) == 5

    # Another scaler, whom KEDA does not reach: nobody knows what the metric would be.
    other = f"127.0.0.1:{free_ports(1)[0]}"
    scaled["spec"]["triggers"][0]["metadata"]["scalerAddress"] = other
    steady.plane.kubectl.apply([scaled])
    _wait_event(steady, workload, "ScaleAheadRefused", other, 10)
    steady.model.set_in_flight(workload, _APP, 9 * _THRESHOLD)
    time.sleep(5)
    assert len(_events(steady, workload, "ScaledAhead")) == 1


def test_the_annotation_follows_the_scaled_object(steady, keda, scaler, workload):
    """KEDA copies it with the next change of the spec: it does not look at annotations alone."""
    adapter, address = scaler
    scaled = _scaled_object(workload, address)
    _start(steady, adapter, workload, scaled)

    def told() -> str:
        return steady.api.get(_path(workload))["metadata"]["annotations"][ANNOTATION]

    assert told() == "true"
    scaled["metadata"]["annotations"] = {ANNOTATION: "false"}
    steady.plane.kubectl.apply([scaled])
    time.sleep(10)
    assert told() == "true"
    scaled["spec"]["maxReplicaCount"] = 19
    steady.plane.kubectl.apply([scaled])
    wait_until(lambda: told() == "false", 30, "it is switched off")


def test_a_missing_right_is_told_and_keda_scales(steady, keda, workload):
    grant_rights(steady)
    grant_component(steady, "scale-ahead")
    role = steady.api.get(ROLE)
    steady.api.patch(
        ROLE, {"rules": [rule for rule in role["rules"] if "keda.sh" not in rule["apiGroups"]]}
    )
    address = f"127.0.0.1:{free_ports(1)[0]}"
    adapter = Adapter(
        steady, "--scale-ahead=on", f"--keda-address={address}", name="ahead-keda-forbidden"
    )
    try:
        adapter.start()
        _start(steady, adapter, workload, _scaled_object(workload, address))
        right = "the right to list and watch scaledobjects of keda.sh is missing"
        _wait_event(steady, workload, "ScaleAheadRefused", right, 10)
        log = adapter.process.log_path.read_text()
        assert log.count("no steps ahead for HPAs that KEDA made") == 1
        steady.model.set_in_flight(workload, _APP, 5 * _THRESHOLD)
        steady.wait_replicas(workload, _APP, 5, steady.syncs(1) + 5)
        assert not _events(steady, workload, "ScaledAhead")
    finally:
        adapter.stop()
        steady.api.patch(ROLE, {"rules": role["rules"]})
