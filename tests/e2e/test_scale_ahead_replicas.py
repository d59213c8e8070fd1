"""Steps ahead by two replicas on one Redis: one acts for each HPA, whichever gets the pushes, and
the other one takes over."""

import contextlib
import dataclasses
import datetime
import itertools
import os
import signal
import statistics
import time

import pytest

from tests.e2e.harness import workloads
from tests.e2e.harness.adapter import grant_component, grant_rights
from tests.e2e.harness.ahead import ASKS, WARM_SECONDS
from tests.e2e.harness.model import INBOUND, STAT_NAMES
from tests.e2e.harness.service import Shared
from tests.lib.envoy import Pod
from tests.lib.process import wait_until
from tests.lib.push import PushChannel
from tests.redis import servers

pytestmark = pytest.mark.timeout(300)

_TARGET = 10
_REPLICAS = ("replica-0", "replica-1")

_PUSHED = 24  # workloads, of which the replica that gets the pushes acts for a half
_JUMP = 4
# Seen within 200 ms: the rest is for a machine that does other things as well.
_MEDIAN_SECONDS, _WORST_SECONDS = 0.2, 0.4

_RISING = 4
_MOST = 60
_TAKEOVER_SECONDS = 3


@dataclasses.dataclass(frozen=True)
class Step:
    """A step ahead, from its Event."""

    t: float  # when it is told, in Unix seconds
    by: str
    to: int


class World:
    """Workloads in one namespace whose HPAs ask for steps ahead, and the two replicas."""

    def __init__(self, cluster, shared: Shared, ns: str):
        self.cluster = cluster
        self.replicas = shared.replicas
        self.shared = shared
        self.ns = ns
        self.names: list[str] = []

    def add(self, count: int, pods: int, sinks: list[str]) -> None:
        """Workloads at their target. Without sinks nobody pushes for them."""
        self.names = [f"web-{index}" for index in range(count)]
        load = [(0, pods * _TARGET / 0.2)]
        metric = workloads.pods_metric(INBOUND, str(_TARGET))
        for name in self.names:
            self.cluster.model.configure(self.ns, name, steps=load, sinks=sinks)
            self.cluster.plane.kubectl.apply([workloads.deployment(self.ns, name, pods)])
        for name in self.names:
            self.cluster.wait_ready(self.ns, name, pods)
        behavior = workloads.scale_up_behavior(900)
        self.cluster.plane.kubectl.apply(
            [
                workloads.hpa(self.ns, name, [metric], pods, _MOST, "Deployment", behavior, ASKS)
                for name in self.names
            ]
        )

    def wait_warm(self, meanwhile=lambda: None) -> None:
        def active(name: str) -> bool:
            meanwhile()
            condition = self.cluster.hpa_condition(self.ns, name, "ScalingActive")
            return condition.get("status") == "True"

        for name in self.names:
            wait_until(lambda name=name: active(name), 60, f"HPA {name} gets its metrics", 1)
        end = time.monotonic() + WARM_SECONDS
        while time.monotonic() < end:
            meanwhile()
            time.sleep(1)

    def rise(self) -> None:
        """From now on each second asks for a fifth more replicas."""
        now = time.time()
        steps = [(now + second, 2 * _TARGET / 0.2 * 1.2**second) for second in range(1, 19)]
        for name in self.names:
            self.cluster.model.set_steps(self.ns, name, steps)

    def steps(self, name: str) -> list[Step]:
        path = f"/apis/events.k8s.io/v1/namespaces/{self.ns}/events"
        found = self.cluster.api.get(path, fieldSelector="reason=ScaledAhead")["items"]
        steps = [
            Step(
                datetime.datetime.fromisoformat(event["eventTime"]).timestamp(),
                event["reportingInstance"],
                int(event["note"].split()[2]),
            )
            for event in found
            if event["regarding"]["name"] == name
        ]
        return sorted(steps, key=lambda step: step.t)

    def written(self, name: str) -> list[tuple[float, int]]:
        """When the count of replicas was seen to change, and to what."""
        states = self.cluster.model.timeline(self.ns, name)
        return [
            (state.t, state.spec)
            for before, state in itertools.pairwise(states)
            if state.spec != before.spec
        ]

    def disagreements(self) -> list[str]:
        """What two replicas would do that act on one HPA, each with data of its own."""
        found = []
        for name in self.names:
            steps = self.steps(name)
            written = self.written(name)  # afterwards: the load still rises
            counts = [count for _, count in written]
            if counts != sorted(counts):
                found.append(f"{name} was scaled back: {counts}")
            for first, second in itertools.pairwise(steps):
                if first.to >= second.to:
                    found.append(f"{name}: {first} before {second}")
            moments = [(next(t for t, n in written if n >= s.to), s) for s in steps]
            for (t1, first), (t2, second) in itertools.pairwise(moments):
                if first.by != second.by and t2 - t1 < 1:
                    found.append(f"{name}: {first} and {t2 - t1:.2f} s later {second}")
        return found


@pytest.fixture
def world(steady, tmp_path, request):
    grant_rights(steady)
    grant_component(steady, "scale-ahead")
    with contextlib.ExitStack() as stack:
        redis = servers.Server(servers.Flavor("redis"), tmp_path, "redis").start()
        stack.callback(redis.kill)
        shared = Shared(steady, [redis.address] * 2, "--scale-ahead=on")
        stack.callback(shared.stop)
        shared.start()
        # Who acts is a hash of this name, too, so it is always the same one.
        ns = request.node.name.replace("_", "-")[:40].strip("-")
        steady.api.post("/api/v1/namespaces", workloads.namespace(ns))
        stack.callback(steady.drop_namespaces, [ns])
        yield World(steady, shared, ns)


def test_a_push_is_a_step_within_200_ms_whichever_replica_got_it(world, figures):
    world.add(_PUSHED, 1, [])
    with contextlib.ExitStack() as stack:
        channels = [PushChannel(replica.process.grpc_port) for replica in world.replicas]
        for channel in channels:
            stack.callback(channel.close)
        streams = {}
        for index, name in enumerate(world.names):
            [pod] = world.cluster.pods(world.ns, f"app={name}")
            streams[name] = channels[index % 2].open()
            streams[name].push(Pod(pod["metadata"]["name"], namespace=world.ns), {})

        def push(name: str, in_flight: float) -> None:
            streams[name].push(None, {STAT_NAMES[INBOUND]: in_flight})

        def keep() -> None:
            for name in world.names:
                push(name, _TARGET)

        world.wait_warm(keep)
        pushed = {}
        for name in world.names:
            pushed[name] = time.time()
            push(name, _JUMP * _TARGET)
            time.sleep(0.13)  # at all phases of what looks each 100 ms
        for name in world.names:
            world.cluster.wait_replicas(world.ns, name, _JUMP, 3)

    delays = {True: [], False: []}  # by whether the replica that acted got the push
    for index, name in enumerate(world.names):
        steps = wait_until(lambda name=name: world.steps(name), 3, f"the Event of {name}")
        acted = steps[0].by == _REPLICAS[index % 2]
        stepped = next(t for t, count in world.written(name) if count == _JUMP)
        delays[acted].append(stepped - pushed[name])
    for acted, found in delays.items():
        where = "the replica that acts" if acted else "the other replica"
        figures(
            f"push at {where} to the step: median {statistics.median(found) * 1000:.0f} ms, "
            f"worst {max(found) * 1000:.0f} ms, {len(found)} workloads"
        )
    assert not world.disagreements()
    through_store = delays[False]
    assert statistics.median(through_store) <= _MEDIAN_SECONDS
    assert max(through_store) <= _WORST_SECONDS


def _first_steps(world) -> dict[str, str]:
    """Who took the first step of each workload."""
    for name in world.names:
        wait_until(lambda name=name: world.steps(name), 5, f"a step for {name}")
    return {name: world.steps(name)[0].by for name in world.names}


def _taken_over(world, names: list[str], lost: str, at: float) -> list[float]:
    """How long after `at` the other replica took its first step for each."""

    def first(name: str) -> Step | None:
        return next((s for s in world.steps(name) if s.by != lost and s.t > at), None)

    return [
        wait_until(lambda name=name: first(name), 10, f"a step for {name}").t - at for name in names
    ]


def test_when_the_acting_replica_is_killed_the_other_one_goes_on(world, figures):
    world.add(_RISING, 2, world.shared.sinks)
    world.wait_warm()
    world.rise()
    acting = _first_steps(world)
    lost = acting[world.names[0]]
    world.replicas[_REPLICAS.index(lost)].process.stop(signal_number=signal.SIGKILL)
    killed = time.time()
    delays = _taken_over(world, [name for name, by in acting.items() if by == lost], lost, killed)
    figures(
        f"SIGKILL of the replica that acts to the other one's step: {len(delays)} workloads, "
        f"worst {max(delays):.2f} s"
    )
    assert max(delays) <= _TAKEOVER_SECONDS
    time.sleep(5)
    assert not world.disagreements()


def test_a_frozen_replica_that_wakes_up_disturbs_nothing(world):
    """It wakes up with what it knew; what its watches missed and its readiness come later."""
    world.add(_RISING, 2, [world.replicas[1].sink])
    world.wait_warm()
    world.rise()
    frozen = world.replicas[0].process
    names = [name for name, by in _first_steps(world).items() if by == frozen.name]
    os.kill(frozen.pid, signal.SIGSTOP)
    at = time.time()
    try:
        _taken_over(world, names, frozen.name, at)
    finally:
        os.kill(frozen.pid, signal.SIGCONT)
    awake = time.time()
    for name in names:
        wait_until(
            lambda name=name: (
                world.steps(name)[-1].by == frozen.name and world.steps(name)[-1].t > awake
            ),
            10,
            f"{frozen.name} acts for {name} again",
        )
    assert names
    time.sleep(5)
    assert not world.disagreements()
