"""What steps ahead never do, on the real controller: whom they leave alone, what they say of it,
and that the plain HPA goes on."""

import contextlib
import json
import subprocess
import time

import pytest

from tests.e2e.harness import aggregation, measures, webhooks, workloads
from tests.e2e.harness.adapter import (
    SERVICE_ACCOUNT,
    Adapter,
    grant_component,
    grant_rights,
)
from tests.e2e.harness.ahead import ANNOTATION, ROLE, WARM_SECONDS
from tests.e2e.harness.model import INBOUND
from tests.lib.activescale import BINARY
from tests.lib.process import wait_until
from tests.redis.proxy import FaultProxy

pytestmark = pytest.mark.timeout(300)

_APP = "web"
_TARGET = 10


@pytest.fixture
def start_ahead(steady):
    """Starts an adapter with steps ahead that serves the control plane."""
    grant_rights(steady)
    grant_component(steady, "scale-ahead")
    with contextlib.ExitStack() as stack:

        def start(kubeconfig=None) -> Adapter:
            running = Adapter(
                steady, "--scale-ahead=on", name="ahead-limits", kubeconfig=kubeconfig
            )
            stack.callback(running.stop)
            running.start()
            steady.aggregation.register(running.https_port)
            return running

        yield start


@pytest.fixture
def ahead(start_ahead):
    return start_ahead()


class _World:
    """Workloads of two pods at their target, each in a namespace of its own."""

    def __init__(self, cluster, adapter):
        self._cluster = cluster
        self._adapter = adapter
        self.names: dict[str, str] = {}

    def add(
        self,
        name: str,
        annotation: str | None,
        maximum: int = 20,
        twins: int = 0,
        behavior: dict | None = None,
    ) -> None:
        ns = self.names[name] = self._cluster.new_namespace(f"ahead-{name}")
        load = 2 * _TARGET / 0.2
        self._cluster.model.configure(ns, _APP, steps=[(0, load)], sinks=[self._adapter.sink])
        self._cluster.plane.kubectl.apply([workloads.deployment(ns, _APP, 2)])
        metric = workloads.pods_metric(INBOUND, str(_TARGET))
        hpa = workloads.hpa(
            ns,
            _APP,
            [metric],
            2,
            maximum,
            behavior=behavior or workloads.scale_up_behavior(900),
            annotations={ANNOTATION: annotation} if annotation else {},
        )
        second = {**hpa, "metadata": {**hpa["metadata"], "name": f"{_APP}-2"}}
        self._cluster.wait_ready(ns, _APP, 2)
        self._cluster.plane.kubectl.apply([hpa] + [second] * twins)

    def flap(self, low: int, high: int, seconds: int) -> float:
        """The load of so many pods in turn, each for a second, everywhere; returns the end."""
        now = time.time()
        steps = [
            (now + second, (high, low)[second % 2] * _TARGET / 0.2) for second in range(seconds)
        ]
        for ns in self.names.values():
            self._cluster.model.set_steps(ns, _APP, steps)
        return now + seconds

    def timeline(self, name: str):
        return self._cluster.model.timeline(self.names[name], _APP)

    def jump(self, pods: int) -> None:
        """The load of so many pods, everywhere."""
        for ns in self.names.values():
            self._cluster.model.set_in_flight(ns, _APP, pods * _TARGET)

    def replicas(self, name: str) -> int:
        return self._cluster.replicas(self.names[name], _APP)

    def top(self) -> dict[str, str]:
        """What `activescale top` says of steps ahead, by name."""
        command = [BINARY, "top", f"--kubeconfig={self._cluster.plane.admin_kubeconfig}"]
        health = f"--health-address=127.0.0.1:{self._adapter.process.health_port}"
        done = subprocess.run(
            [*command, health, "--once", "--output=json"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        told = {row["namespace"]: row["scaleAhead"] for row in json.loads(done.stdout)["workloads"]}
        return {name: told.get(ns) for name, ns in self.names.items()}

    def events(self, name: str, reason: str) -> list[str]:
        return [event["message"] for event in self._cluster.events(reason, self.names[name])]

    def wait_event(self, name: str, reason: str, seconds: float = 5) -> str:
        wait_until(lambda: self.events(name, reason), seconds, f"{reason} for {name}")
        return self.events(name, reason)[0]


@contextlib.contextmanager
def _forbidden(cluster):
    """Takes the right to patch scales away."""
    role = cluster.api.get(ROLE)
    rules = [rule for rule in role["rules"] if "patch" not in rule["verbs"]]
    cluster.api.patch(ROLE, {"rules": rules})
    try:
        yield
    finally:
        cluster.api.patch(ROLE, {"rules": role["rules"]})


@pytest.mark.short
def test_who_is_scaled_ahead_and_who_is_not(steady, ahead):
    world = _World(steady, ahead)
    world.add("on", "true")
    world.add("observed", "observe")
    world.add("other-value", "yes")
    world.add("plain", None)
    world.add("narrow", "true", maximum=3)
    world.add("twice", "true", twins=1)
    for name in ("on", "observed", "plain", "narrow"):
        steady.wait_hpa_active(world.names[name], _APP)
    assert '"yes"' in world.wait_event("other-value", "ScaleAheadRefused")
    time.sleep(WARM_SECONDS)
    assert world.top() == {
        "on": "on",
        "observed": "observe",
        "other-value": "off",
        "plain": "off",
        "narrow": "on",
        "twice": "off",
    }

    world.jump(6)
    steady.wait_replicas(world.names["on"], _APP, 6, 3)
    assert world.wait_event("on", "ScaledAhead").startswith("2 -> 6 replicas")
    assert world.wait_event("narrow", "ScaledAhead").startswith("2 -> 3 replicas")
    assert world.wait_event("observed", "WouldScaleAhead").startswith("2 -> 6 replicas")
    # The controller does for the others what it always does, and keeps what was done ahead.
    for name in ("observed", "plain", "other-value"):
        steady.wait_replicas(world.names[name], _APP, 6, steady.syncs(1) + 5)
        assert not world.events(name, "ScaledAhead"), name
    time.sleep(steady.hpa_sync_seconds)
    assert [world.replicas(name) for name in ("on", "narrow", "twice")] == [6, 3, 2]
    assert len(world.events("on", "ScaledAhead")) == 1
    steady.drop_namespaces(list(world.names.values()))


def test_a_forbidden_step_is_told_and_left_to_the_controller(steady, ahead):
    world = _World(steady, ahead)
    world.add("forbidden", "true")
    steady.wait_hpa_active(world.names["forbidden"], _APP)
    time.sleep(WARM_SECONDS)
    with _forbidden(steady):
        world.jump(6)
        assert "RBAC" in world.wait_event("forbidden", "ScaleAheadFailed")
        steady.wait_replicas(world.names["forbidden"], _APP, 6, steady.syncs(1) + 5)
    assert not world.events("forbidden", "ScaledAhead")
    steady.drop_namespaces(list(world.names.values()))


def test_two_steps_that_are_undone_are_the_last_for_a_while(steady, ahead):
    """A load that twitches, and a scale-down without stabilization that follows each twitch."""
    world = _World(steady, ahead)
    behavior = {
        **workloads.scale_up_behavior(900),
        "scaleDown": {"stabilizationWindowSeconds": 0},
    }
    world.add("nervous", "true", behavior=behavior)
    ns = world.names["nervous"]
    steady.wait_hpa_active(ns, _APP)
    for count in (1, 2):
        time.sleep(WARM_SECONDS)
        world.jump(6)
        steady.wait_replicas(ns, _APP, 6, 3)
        world.jump(2)
        wait_until(
            lambda count=count: len(world.events("nervous", "ScaleAheadUndone")) == count,
            16 + steady.syncs(2),
            f"{count} steps are undone",
        )
    assert world.top() == {"nervous": "broken"}
    time.sleep(WARM_SECONDS)
    world.jump(6)
    steady.wait_replicas(ns, _APP, 6, steady.syncs(1) + 3)
    assert len(world.events("nervous", "ScaledAhead")) == 2
    steady.drop_namespaces([ns])


def test_values_that_flap_do_no_more_than_with_the_plain_hpa(steady, ahead):
    """A load that is high and low in turn each second. Its peak comes at once and stays for the
    controller's window; where there is no window, two steps that were undone are the last."""
    world = _World(steady, ahead)
    no_window = {
        **workloads.scale_up_behavior(900),
        "scaleDown": {"stabilizationWindowSeconds": 0},
    }
    for annotation in ("true", None):
        suffix = "ahead" if annotation else "plain"
        world.add(f"steady-{suffix}", annotation)
        world.add(f"nervous-{suffix}", annotation, behavior=no_window)
    for ns in world.names.values():
        steady.wait_hpa_active(ns, _APP)
    time.sleep(WARM_SECONDS)
    began = time.time()
    end = world.flap(2, 6, 90)
    time.sleep(end - time.time())
    turns = {name: measures.turns(world.timeline(name), began, end) for name in world.names}
    most = {name: max(state.spec for state in world.timeline(name)) for name in world.names}
    assert most["steady-ahead"] == most["nervous-ahead"] == 6, most
    assert turns["steady-ahead"] == 0, turns
    assert len(world.events("steady-ahead", "ScaledAhead")) == 1
    assert len(world.events("nervous-ahead", "ScaledAhead")) <= 2
    # Two steps and the way back of each; the rest is the controller's.
    assert turns["nervous-ahead"] <= turns["nervous-plain"] + 4, turns
    steady.drop_namespaces(list(world.names.values()))


@contextlib.contextmanager
def _spoiled(proxy: FaultProxy, mode: str, delay_seconds: float = 0.0):
    proxy.set(mode, delay_seconds)
    try:
        yield
    finally:
        proxy.set("pass")


def _steps_refused(cluster, code: int):
    us = f"system:serviceaccount:{aggregation.NAMESPACE}:{SERVICE_ACCOUNT}"
    condition = f"request.userInfo.username == '{us}'"
    return webhooks.refused(cluster, code, "UPDATE", "apps", "deployments/scale", condition)


def test_a_step_is_kept_while_none_of_its_pods_is_there(steady, ahead):
    """The controller sees the old pods alone: their values must be those that the last step was
    taken from, not those of the one before."""
    world = _World(steady, ahead)
    world.add("late", "true")
    ns = world.names["late"]
    steady.wait_hpa_active(ns, _APP)
    time.sleep(WARM_SECONDS)
    here = f"request.namespace == '{ns}'"
    with webhooks.refused(steady, 403, "CREATE", "", "pods", here):
        time.sleep(1)  # for kube-apiserver to know of it
        began = time.time()
        for pods in (6, 9):
            world.jump(pods)
            steady.wait_replicas(ns, _APP, pods, 4)
        time.sleep(steady.syncs(2))
        assert len(steady.pods(ns, f"app={_APP}")) == 2
        assert world.replicas("late") == 9
        assert measures.turns(world.timeline("late"), began, time.time()) == 0
    assert len(world.events("late", "ScaledAhead")) == 2
    assert ahead.process.metric("activescale_scale_ahead_standing_values_total") > 0
    steady.drop_namespaces([ns])


@pytest.mark.parametrize("fault", ["slow", "away", "silent", "429", "500"])
def test_an_api_server_in_trouble_is_left_in_peace(steady, start_ahead, fault):
    """No step can be taken: the controller scales as it always does, once it gets its metrics, and
    steps come again when kube-apiserver is well."""
    kubeconfig = steady.plane.service_account_kubeconfig(aggregation.NAMESPACE, SERVICE_ACCOUNT)
    proxy = FaultProxy(steady.plane.port)
    through = kubeconfig.with_name("ahead-proxy.kubeconfig")
    through.write_text(kubeconfig.read_text().replace(f":{steady.plane.port}", f":{proxy.port}"))
    faults = {
        "slow": lambda: _spoiled(proxy, "delay", 1.3),  # there and back: later than a step may take
        "away": lambda: _spoiled(proxy, "refuse"),
        "silent": lambda: _spoiled(proxy, "half-open"),
        "429": lambda: _steps_refused(steady, 429),
        "500": lambda: _steps_refused(steady, 500),
    }
    with contextlib.ExitStack() as stack:
        stack.callback(proxy.stop)
        adapter = start_ahead(through)
        world = _World(steady, adapter)
        world.add("fault", "true")
        ns = world.names["fault"]
        steady.wait_hpa_active(ns, _APP)
        time.sleep(WARM_SECONDS)
        metric = adapter.process.metric
        began = time.time()
        with faults[fault]():
            time.sleep(1)  # for kube-apiserver to know of a webhook
            world.jump(6)
            wait_until(
                lambda: metric("activescale_scale_ahead_steps_total", outcome="away") > 0,
                10,
                "a step that had no good answer",
            )
            assert metric("activescale_scale_ahead_paused") == 1
            assert "no steps ahead for" in adapter.process.log_path.read_text()
            if fault not in ("away", "silent"):  # there we cannot ask who may read metrics, either
                steady.wait_replicas(ns, _APP, 6, steady.syncs(1) + 5)
            time.sleep(steady.syncs(1))
            asked = metric("activescale_scale_ahead_steps_total", outcome="away")
            assert asked <= 6, f"{asked} steps in {time.time() - began:.0f} s"
            assert not world.events("fault", "ScaledAhead")
        steady.wait_replicas(ns, _APP, 6, steady.syncs(1) + 15)
        wait_until(lambda: metric("activescale_scale_ahead_paused") == 0, 60, "the pause is over")
        time.sleep(WARM_SECONDS)
        assert measures.turns(world.timeline("fault"), began, time.time()) == 0

        world.jump(9)
        steady.wait_replicas(ns, _APP, 9, 4)
        wait_until(
            lambda: any("6 -> 9 replicas" in e for e in world.events("fault", "ScaledAhead")),
            5,
            "the step's Event",
        )
        steady.drop_namespaces([ns])
