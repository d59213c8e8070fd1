"""The harness itself: the real HPA controller scales through the aggregator on the model's own
values, so that what the product adds can be told from what the HPA and the harness do."""

import time

import pytest

from tests.e2e.harness import workloads
from tests.e2e.harness.model import INBOUND


@pytest.mark.short
def test_hpa_scales_out_and_in_on_the_oracle(cluster, namespace):
    cluster.aggregation.register(cluster.model.oracle_port, versions=("v1beta2",))
    cluster.model.configure(namespace, "web", steps=[(time.time(), 50)])
    cluster.plane.kubectl.apply(
        [
            workloads.deployment(namespace, "web", 1),
            workloads.hpa(
                namespace,
                "web",
                [workloads.pods_metric(INBOUND, "5")],
                behavior=workloads.quick_behavior(),
            ),
        ]
    )
    cluster.wait_replicas(namespace, "web", 2, 30 + cluster.syncs(2))
    cluster.model.set_in_flight(namespace, "web", 100)
    cluster.wait_replicas(namespace, "web", 20, cluster.syncs(6))
    cluster.model.set_in_flight(namespace, "web", 11)
    cluster.wait_replicas(namespace, "web", 3, cluster.syncs(3))
