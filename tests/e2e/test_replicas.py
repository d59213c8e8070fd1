"""Two replicas on one Redis: any of them answers, one may go, and so may Redis."""

import contextlib
import signal
import time

import pytest

from tests.e2e.harness import workloads
from tests.e2e.harness.adapter import grant_rights
from tests.e2e.harness.api import ApiError
from tests.e2e.harness.model import INBOUND
from tests.e2e.harness.service import Shared
from tests.lib.process import wait_until
from tests.redis import servers
from tests.redis.proxy import FaultProxy

pytestmark = pytest.mark.timeout(600)

_GROUP, _VERSION = "custom.metrics.k8s.io", "v1beta2"
_TTL_SECONDS = 6
_REDIS = servers.Flavor("redis")


@pytest.fixture
def cleanup():
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def redis(tmp_path, cleanup):
    """A Redis that is not started."""
    server = servers.Server(_REDIS, tmp_path, "redis")
    cleanup.callback(lambda: server.running and server.kill())
    return server


@pytest.fixture
def share(cluster, cleanup):
    """Starts two adapters on the Redis at the addresses."""
    grant_rights(cluster)

    def start(addresses: list[str], rule: str = "last") -> Shared:
        running = Shared(
            cluster,
            addresses,
            f"--ttl={_TTL_SECONDS}s",
            "--shutdown-delay-duration=1s",
            f"--readiness-on-store-outage={rule}",
        )
        cleanup.callback(running.stop)
        return running.start()

    return start


@pytest.fixture
def shared(redis, share):
    return share([redis.start().address] * 2)


@pytest.fixture
def scale(cluster, namespace):
    """Ten pods, their Envoys spread over both replicas, and an HPA that scales in at once."""

    def start(shared: Shared) -> str:
        cluster.model.configure(namespace, "web", steps=[(0, 250)], sinks=shared.sinks)
        cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", 10)])
        cluster.wait_ready(namespace, "web", 10)
        time.sleep(2)
        metric = workloads.pods_metric(INBOUND, "5")
        cluster.plane.kubectl.apply(
            [workloads.hpa(namespace, "web", [metric], behavior=workloads.quick_behavior())]
        )
        cluster.wait_hpa_active(namespace, "web")
        return namespace

    return start


@pytest.fixture
def scaled(shared, scale):
    return scale(shared)


def _values(replica, ns):
    return replica.direct_pods(ns, INBOUND, "app=web")


def _reads_fail(cluster, ns):
    """The Status with which a read through the aggregator fails, nothing where it does not."""
    path = f"/apis/{_GROUP}/{_VERSION}/namespaces/{ns}/pods/%2A/{INBOUND}"
    try:
        cluster.api.get(path, labelSelector="app=web")
        return None
    except ApiError as error:
        return error.body


def _exists(cluster, ns):
    return ns in [n["metadata"]["name"] for n in cluster.api.get("/api/v1/namespaces")["items"]]


def test_any_replica_gives_the_same_answer(shared, scaled):
    """Case C20."""
    wait_until(lambda: len(_values(shared.replicas[0], scaled)) == 10, 10, "ten values")
    first, second = (_values(replica, scaled) for replica in shared.replicas)
    assert first == second
    assert sum(first.values()) == 50


def test_a_replica_that_drains_costs_nothing(cluster, shared, scaled):
    wait_until(lambda: len(_values(shared.replicas[0], scaled)) == 10, 10, "ten values")
    failures = cluster.count_events("FailedGetPodsMetric", scaled)
    shared.replicas[1].stop()
    end = time.time() + 2 * _TTL_SECONDS
    while time.time() < end:
        assert len(_values(shared.replicas[0], scaled)) == 10
        time.sleep(0.2)
    assert cluster.replicas(scaled, "web") == 10
    assert cluster.count_events("FailedGetPodsMetric", scaled) == failures
    cluster.model.set_in_flight(scaled, "web", 20)
    cluster.wait_replicas(scaled, "web", 4, cluster.syncs(4))


@pytest.mark.parametrize("rule", ["last", "serve"])
def test_c3_redis_outage_keeps_replicas_and_the_cluster(cluster, redis, share, scale, rule):
    """Reads fail with a Status, the HPA keeps its replicas, discovery and so the deletion of
    namespaces go on; all heals when Redis is back."""
    shared = share([redis.start().address] * 2, rule)
    scaled = scale(shared)
    doomed = cluster.new_namespace("doomed")
    redis.kill()
    assert wait_until(lambda: _reads_fail(cluster, scaled), 15, "reads fail")["kind"] == "Status"
    cluster.drop_namespaces([doomed])
    end = time.time() + 3 * _TTL_SECONDS
    while time.time() < end:
        assert cluster.replicas(scaled, "web") == 10
        assert cluster.aggregation.is_available(_GROUP, _VERSION)
        assert cluster.api.get(f"/apis/{_GROUP}/{_VERSION}")["resources"]
        time.sleep(0.5)
    assert shared.service.emptied == 0
    assert shared.service.ready_names == (
        ["replica-0"] if rule == "last" else ["replica-0", "replica-1"]
    )
    assert shared.replicas[0].process.metric("activescale_store_degraded") == 1
    assert not _exists(cluster, doomed)
    redis.start()
    wait_until(lambda: len(_values(shared.replicas[0], scaled)) == 10, 15, "values are back")
    cluster.model.set_in_flight(scaled, "web", 20)
    cluster.wait_replicas(scaled, "web", 4, cluster.syncs(4))
    wait_until(lambda: len(shared.service.ready) == 2, 10, "both replicas are ready")


def test_c3_with_fail_an_outage_of_redis_holds_up_the_deletion_of_namespaces(cluster, redis, share):
    shared = share([redis.start().address] * 2, "fail")
    doomed = cluster.new_namespace("doomed")
    redis.kill()
    wait_until(lambda: not shared.service.ready, 15, "no replica is ready")
    wait_until(
        lambda: not cluster.aggregation.is_available(_GROUP, _VERSION), 60, "it is unavailable"
    )
    cluster.drop_namespaces([doomed])
    time.sleep(15)
    assert _exists(cluster, doomed)
    redis.start()
    wait_until(lambda: len(shared.service.ready) == 2, 15, "both are ready by their probes alone")
    cluster.aggregation.wait_available(_GROUP, _VERSION)
    wait_until(lambda: not _exists(cluster, doomed), 120, "the namespace is deleted")


@pytest.mark.parametrize("lost", [0, 1])
def test_the_replica_that_lost_redis_alone_leaves(redis, share, cleanup, lost):
    redis.start()
    proxies = [FaultProxy(redis.port) for _ in range(2)]
    for proxy in proxies:
        cleanup.callback(proxy.stop)
    shared = share([proxy.address for proxy in proxies])
    other = 1 - lost
    proxies[lost].set("refuse")
    wait_until(lambda: shared.service.ready_names == [f"replica-{other}"], 40, "it leaves")
    # Now that one too: it is the last one, and stays.
    proxies[other].set("refuse")
    end = time.monotonic() + 20
    while time.monotonic() < end:
        assert shared.service.ready_names == [f"replica-{other}"]
        time.sleep(0.2)
    text = shared.replicas[other].process.health("/readyz?verbose").body.decode()
    assert "[+]store ok: degraded" in text
    # The first one gets it back, and the last one may go.
    proxies[lost].set("pass")
    wait_until(lambda: shared.service.ready_names == [f"replica-{lost}"], 40, "they change places")
    proxies[other].set("pass")
    wait_until(lambda: len(shared.service.ready) == 2, 10, "both are ready")
    assert shared.service.emptied == 0


def test_scaling_goes_on_through_a_killed_replica_a_restart_of_redis_and_a_failover(
    cluster, share, scale, tmp_path, cleanup
):
    redis = servers.Cluster(_REDIS, tmp_path)
    cleanup.callback(lambda: [node.kill() for node in redis.nodes if node.running])
    redis.start()
    shared = share([redis.addresses] * 2)
    scaled = scale(shared)
    assert cluster.replicas(scaled, "web") == 10

    def scales_to(replicas: int) -> None:
        """From a load that asks for as many, and never by way of a lower number than both."""
        least = min(replicas, cluster.replicas(scaled, "web"))
        cluster.model.set_in_flight(scaled, "web", 5 * replicas)
        deadline = time.monotonic() + cluster.syncs(8)
        while (now := cluster.replicas(scaled, "web")) != replicas:
            assert now >= least
            assert time.monotonic() < deadline, f"{now} replicas, not {replicas}"
            time.sleep(0.2)

    shared.replicas[0].process.stop(signal_number=signal.SIGKILL)
    scales_to(4)
    shared.replicas[0].process.start()
    wait_until(lambda: len(shared.service.ready) == 2, 30, "both replicas are ready")
    scales_to(8)

    for node in redis.nodes:
        node.kill()
    time.sleep(1)
    for node in redis.nodes:
        node.start()
    wait_until(redis.whole, 30, "the Cluster is whole")
    scales_to(3)
    wait_until(redis.in_step, 30, "all replicas are in step")

    slots = {redis.nodes[0].ask("CLUSTER", "KEYSLOT", f"{{{scaled}/{i}}}") for i in range(16)}
    redis.owner(min(slots)).kill()
    scales_to(7)
    wait_until(redis.whole, 30, "a new master")
    scales_to(2)
    assert shared.service.emptied == 0
