"""Two replicas on one Redis: any of them answers, one may go, and so may Redis."""

import time

import pytest

from tests.e2e.harness import workloads
from tests.e2e.harness.adapter import Adapter, grant_rights
from tests.e2e.harness.api import ApiError
from tests.e2e.harness.model import INBOUND
from tests.lib.process import Process, free_ports, wait_until

pytestmark = pytest.mark.timeout(600)

_GROUP, _VERSION = "custom.metrics.k8s.io", "v1beta2"
_TTL_SECONDS = 6


class Shared:
    """Redis and two adapters that keep their state there."""

    def __init__(self, cluster):
        [self.port] = free_ports(1)
        self.redis = Process(
            "redis",
            ["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--save", ""],
            cluster.plane.logs,
        ).start()
        self.replicas = [
            Adapter(
                cluster,
                f"--ttl={_TTL_SECONDS}s",
                f"--redis-addr=127.0.0.1:{self.port}",
                "--shutdown-delay-duration=1s",
                name=f"replica-{index}",
            ).start()
            for index in range(2)
        ]

    @property
    def sinks(self):
        return [replica.sink for replica in self.replicas]

    def stop(self):
        for replica in self.replicas:
            replica.stop()
        self.redis.stop()


@pytest.fixture
def shared(cluster):
    grant_rights(cluster)
    running = Shared(cluster)
    cluster.aggregation.register(running.replicas[0].https_port)
    yield running
    running.stop()


@pytest.fixture
def scaled(cluster, shared, namespace):
    """Ten pods, their Envoys spread over both replicas, and an HPA that scales in at once."""
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


def _values(replica, ns):
    return replica.direct_pods(ns, INBOUND, "app=web")


def test_any_replica_gives_the_same_answer(shared, scaled):
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


def test_redis_outage_keeps_replicas_and_the_cluster(cluster, shared, scaled):
    """Reads fail with a Status, the HPA keeps its replicas, discovery and so the deletion of
    namespaces go on; all heals when Redis is back."""
    doomed = cluster.new_namespace("doomed")
    shared.redis.stop()
    path = f"/apis/{_GROUP}/{_VERSION}/namespaces/{scaled}/pods/%2A/{INBOUND}"

    def refused():
        try:
            cluster.api.get(path, labelSelector="app=web")
            return None
        except ApiError as error:
            return error

    error = wait_until(refused, 15, "reads fail")
    assert error.body["kind"] == "Status"
    cluster.drop_namespaces([doomed])
    end = time.time() + 2 * _TTL_SECONDS
    while time.time() < end:
        assert cluster.replicas(scaled, "web") == 10
        assert cluster.aggregation.is_available(_GROUP, _VERSION)
        assert cluster.api.get(f"/apis/{_GROUP}/{_VERSION}")["resources"]
        time.sleep(0.5)
    names = [n["metadata"]["name"] for n in cluster.api.get("/api/v1/namespaces")["items"]]
    assert doomed not in names
    shared.redis.start()
    wait_until(lambda: len(_values(shared.replicas[0], scaled)) == 10, 15, "values are back")
    cluster.model.set_in_flight(scaled, "web", 20)
    cluster.wait_replicas(scaled, "web", 4, cluster.syncs(4))
