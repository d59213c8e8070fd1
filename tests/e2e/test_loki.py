"""The recipe of examples/loki: a queue and its queriers, scaled by what is queued and running.

Three ways to wire it, one after the other, with the same result. LOKI_SCALE is the share of the
recipe's own times, 1 for the recipe as it stands; LOKI_WINDOW the stabilization window of its
scale-down in seconds, 1800 for the calmer form.
"""

import contextlib
import json
import os

import pytest

from tests.e2e.harness import aggregation, loki
from tests.e2e.harness.adapter import Adapter, grant_rights
from tests.e2e.harness.keda import Keda
from tests.lib.process import free_ports, wait_until

_SCALE = float(os.environ.get("LOKI_SCALE", "0.1"))
_STABILIZATION_SECONDS = int(os.environ.get("LOKI_WINDOW", "300"))
pytestmark = pytest.mark.timeout(900 + (900 + _STABILIZATION_SECONDS) * _SCALE)

# 50 users keep 100 parts in flight, which is 25 queriers at a threshold of 4; a spike to 100 users
# is more, and above its 75th percentile only for a while.
_STEADY_QUERIERS = 25
_MOST_QUERIERS = 50


@pytest.fixture(scope="module")
def rights(cluster):
    grant_rights(cluster)


@contextlib.contextmanager
def _recipe(cluster, namespace, wiring):
    """Activescale, the model that it scrapes, and the autoscaler that asks it."""
    query_port, keda_port = free_ports(2)
    with contextlib.ExitStack() as stack:
        folder = cluster.plane.folder
        signals = folder / f"signals-{namespace}.yaml"
        (catalogue,) = loki.documents("signals.yaml", namespace, _SCALE)
        signals.write_text(json.dumps(catalogue))
        (grpc_port,) = free_ports(1)
        recipe = loki.Recipe(cluster, namespace, grpc_port, _SCALE)
        stack.callback(recipe.stop)
        recipe.start()
        flags = [
            "--insecure-no-auth",
            f"--grpc-port={grpc_port}",
            f"--query-address=127.0.0.1:{query_port}",
            f"--scrape-config={loki.scrape_config(folder, namespace, recipe.port, _SCALE)}",
            f"--signals-file={signals}",
        ]
        if wiring == "keda-external":
            flags.append(f"--keda-address=127.0.0.1:{keda_port}")
        if wiring == "external-metrics":
            flags.append("--external-metrics")
        adapter = Adapter(cluster, *flags, name=f"activescale-{wiring}")
        stack.callback(adapter.stop)
        adapter.start()
        if wiring == "external-metrics":
            cluster.aggregation.register(adapter.https_port, aggregation.EXTERNAL)
            stack.callback(cluster.aggregation.remove, aggregation.EXTERNAL)
        else:
            keda = Keda(cluster)
            stack.callback(keda.stop)
            keda.start()
        cluster.plane.kubectl.apply(_autoscaler(wiring, namespace, query_port, keda_port))
        yield recipe


def _autoscaler(wiring: str, ns: str, query_port: int, keda_port: int) -> list[dict]:
    """The example's own object, with the addresses and times of the test."""
    names = {
        "keda-prometheus": "scaledobject.yaml",
        "keda-external": "scaledobject-external.yaml",
        "external-metrics": "hpa.yaml",
    }
    (document,) = loki.documents(names[wiring], ns, _SCALE)
    seconds = round(_STABILIZATION_SECONDS * _SCALE)
    behavior = {"scaleDown": {"stabilizationWindowSeconds": seconds}}
    spec = document["spec"]
    if wiring == "external-metrics":
        spec["behavior"] = behavior
        return [document]
    spec["pollingInterval"] = max(1, round(spec["pollingInterval"] * _SCALE))
    spec["advanced"] = {"horizontalPodAutoscalerConfig": {"behavior": behavior}}
    metadata = spec["triggers"][0]["metadata"]
    if wiring == "keda-prometheus":
        metadata["serverAddress"] = f"http://127.0.0.1:{query_port}/prometheus"
    else:
        metadata["scalerAddress"] = f"127.0.0.1:{keda_port}"
    return [document]


_WIRINGS = (
    "keda-prometheus",
    "keda-external",
    pytest.param("external-metrics", marks=pytest.mark.short),
)


@pytest.mark.parametrize("wiring", _WIRINGS)
def test_the_recipe_scales(cluster, rights, namespace, figures, wiring):
    with _recipe(cluster, namespace, wiring) as recipe:
        name = "querier" if wiring == "external-metrics" else "keda-hpa-querier"
        # The window must have been observed whole, after all has started.
        cluster.wait_hpa_active(namespace, name, 120 + 150 * _SCALE)
        outcome = recipe.run(0)
        window = f"window {_STABILIZATION_SECONDS} s"
        figures(f"{wiring}, scale {_SCALE:g}, {window}: {outcome.text()}")
        assert _STEADY_QUERIERS <= outcome.peak <= _MOST_QUERIERS
        assert outcome.failed == 0
        # Down again when the window of the scale-down has passed, and not below the minimum.
        deadline = (_STABILIZATION_SECONDS + 180) * _SCALE + cluster.syncs(10) + 60
        wait_until(
            lambda: cluster.replicas(namespace, "querier") == loki.QUERIERS,
            deadline,
            "the queriers are as few as before",
        )
