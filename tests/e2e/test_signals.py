"""Named signals and queries drive the real HPA controller and the real KEDA operator."""

import time

import pytest
import yaml

from tests.e2e.harness import aggregation, paths, workloads
from tests.e2e.harness.adapter import Adapter, grant_rights
from tests.e2e.harness.keda import Keda, scaled_object
from tests.e2e.harness.model import INBOUND, OUTBOUND
from tests.lib.process import free_ports, wait_until

_SIGNALS = """signals:
- name: Web_Load
  expression: max_over_time(sum by (namespace) (inbound_active_requests)[10s:1s])
  target: 4
- name: nothing
  expression: sum(no_such_metric)
  target: 4
"""


class _Scaler:
    """Activescale with signals, external metrics and the external scaler for KEDA."""

    def __init__(self, cluster):
        grant_rights(cluster)
        component = paths.REPO / "deploy/kustomize/components/external-metrics/rbac.yaml"
        cluster.plane.kubectl.apply(list(yaml.safe_load_all(component.read_text())))
        self.file = cluster.plane.folder / "signals.yaml"
        self.file.write_text(_SIGNALS)
        self.address = f"127.0.0.1:{free_ports(1)[0]}"
        self.adapter = Adapter(
            cluster,
            "--ttl=4s",
            f"--signals-file={self.file}",
            "--external-metrics",
            f"--keda-address={self.address}",
            name="activescale-signals",
        )


@pytest.fixture(scope="module")
def scaler(cluster):
    running = _Scaler(cluster)
    try:
        running.adapter.start()
        yield running
    finally:
        running.adapter.stop()


@pytest.fixture
def external(cluster, scaler):
    """External metrics of the cluster are ours."""
    cluster.aggregation.register(scaler.adapter.https_port, aggregation.EXTERNAL)
    yield scaler
    cluster.aggregation.remove(aggregation.EXTERNAL)


@pytest.fixture(scope="module")
def keda(cluster, scaler):
    """External metrics of the cluster are KEDA's from now on; ours only feed its scaler."""
    running = Keda(cluster)
    try:
        yield running.start()
    finally:
        running.stop()


def _deploy(cluster, adapter, namespace, in_flight, replicas=1):
    cluster.model.configure(
        namespace, "web", steps=[(time.time(), in_flight / 0.2)], sinks=[adapter.sink]
    )
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", replicas)])
    cluster.wait_ready(namespace, "web", replicas)


def _external_metric(namespace, target_type, amount):
    field = target_type[0].lower() + target_type[1:]
    selector = {"matchLabels": {"namespace": namespace}}
    return {
        "type": "External",
        "external": {
            "metric": {"name": "web_load", "selector": selector},
            "target": {"type": target_type, field: amount},
        },
    }


@pytest.mark.short
def test_hpa_scales_on_a_signal(cluster, external, namespace):
    """Case E4: 20 in flight and 4 for each replica are 5, and the window delays the way back."""
    _deploy(cluster, external.adapter, namespace, 20)
    hpa = workloads.hpa(
        namespace,
        "web",
        [_external_metric(namespace, "AverageValue", "4")],
        behavior=workloads.quick_behavior(),
    )
    cluster.plane.kubectl.apply([hpa])
    cluster.wait_replicas(namespace, "web", 5, 60)
    dropped = cluster.model.set_in_flight(namespace, "web", 4)
    cluster.wait_replicas(namespace, "web", 1, 60)
    assert time.time() - dropped > 9


def test_value_is_for_all_replicas(cluster, external, namespace):
    """Case E4: by Value, 20 in flight and 4 at 3 replicas are 15."""
    _deploy(cluster, external.adapter, namespace, 20, replicas=3)
    metric = _external_metric(namespace, "Value", "4")
    behavior = workloads.quick_behavior()
    hpa = workloads.hpa(namespace, "web", [metric], maximum=15, behavior=behavior)
    cluster.plane.kubectl.apply([hpa])
    cluster.wait_replicas(namespace, "web", 15, 60)


def test_hpa_scales_on_a_window_of_pods(cluster, adapter, namespace):
    """The largest value of 20 s holds the replicas that long after the load has gone."""
    _deploy(cluster, adapter, namespace, 20)
    metric = workloads.pods_metric(INBOUND, "4")
    metric["pods"]["metric"]["selector"] = {"matchLabels": {"window": "20s", "stat": "max"}}
    hpa = workloads.hpa(namespace, "web", [metric], behavior=workloads.quick_behavior())
    cluster.plane.kubectl.apply([hpa])
    cluster.wait_replicas(namespace, "web", 5, 90)
    dropped = cluster.model.set_in_flight(namespace, "web", 4)
    cluster.wait_replicas(namespace, "web", 1, 90)
    assert time.time() - dropped > 19


def test_discovery_and_what_is_missing(cluster, external, namespace):
    """Cases C1 and C24: never empty, one owner, which is named; missing is 404 and not 0."""
    base = "/apis/external.metrics.k8s.io/v1beta1"
    names = [resource["name"] for resource in cluster.api.get(base)["resources"]]
    assert names == ["nothing", "web_load"]
    raw = cluster.plane.kubectl.run("get", "--raw", f"{base}/namespaces/{namespace}/nothing")
    assert raw.code != 0
    assert "NotFound" in raw.err
    external.adapter.restart()
    log = external.adapter.process.log_path.read_text
    wait_until(
        lambda: "belongs to our Service ns-observability/activescale" in log(),
        20,
        "the owner of external metrics is named",
    )


def test_keda_scales_on_query_and_signal(cluster, scaler, keda, namespace):
    _deploy(cluster, scaler.adapter, namespace, 20)
    query = f'max_over_time(sum({INBOUND}{{namespace="{namespace}"}})[5s:1s])'
    signal = {"name": "Keda_Load", "namespace": namespace, "expression": query, "target": 4}
    scaler.file.write_text(yaml.safe_dump({"signals": [signal]}))
    metadata = {"scalerAddress": scaler.address, "query": query, "threshold": "4"}
    trigger = {"type": "external", "metadata": metadata}
    cluster.plane.kubectl.apply([_quick(scaled_object(namespace, "web", [trigger]))])
    cluster.wait_replicas(namespace, "web", 5, 90)
    trigger["metadata"] = {"scalerAddress": scaler.address, "signal": "keda_load"}
    cluster.plane.kubectl.apply([_quick(scaled_object(namespace, "web", [trigger]))])
    cluster.model.set_in_flight(namespace, "web", 40)
    cluster.wait_replicas(namespace, "web", 10, 90)


def test_keda_wakes_a_workload_by_push(cluster, scaler, keda, namespace, figures):
    """From zero: what waits at a gateway is pushed to KEDA at the flush that brings it."""
    cluster.plane.kubectl.apply([workloads.pod(namespace, "gateway", {"app": "gateway"})])
    gateway = {"sinks": [scaler.adapter.sink], "flush_seconds": 1}
    cluster.model.put_envoy("gw", namespace, "gateway", gauges=_gauge(0), **gateway)
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", 0)])
    trigger = {
        "type": "external-push",
        "metadata": {
            "scalerAddress": scaler.address,
            "query": f'sum({OUTBOUND}{{namespace="{namespace}",pod="gateway"}})',
            "threshold": "10",
        },
    }
    scaled = scaled_object(namespace, "web", [trigger], minimum=0)
    scaled["spec"]["pollingInterval"] = 300
    cluster.plane.kubectl.apply([scaled])
    time.sleep(10)
    assert cluster.replicas(namespace, "web") == 0
    begun = time.time()
    cluster.model.put_envoy("gw", namespace, "gateway", gauges=_gauge(3), **gateway)
    cluster.wait_replicas(namespace, "web", 1, 30)
    figures(f"woken by push {time.time() - begun:.1f} s after the gauge changed (flush each 1 s)")
    cluster.model.delete_envoy("gw")


def test_keda_over_mutual_tls(cluster, keda, namespace):
    """As in deploy/keda: KEDA shows the certificate of a TriggerAuthentication."""
    plane = cluster.plane
    server = plane.ca.server("keda-scaler", aggregation.SERVER_NAMES)
    client = plane.ca.client("keda-operator")
    address = f"localhost:{free_ports(1)[0]}"
    adapter = Adapter(
        cluster,
        f"--keda-address={address.replace('localhost', '127.0.0.1')}",
        f"--keda-tls-cert-file={server.cert}",
        f"--keda-tls-private-key-file={server.key}",
        f"--keda-tls-client-ca-file={plane.ca.cert}",
        name="activescale-tls",
    )
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"namespace": namespace, "name": "activescale-keda-client"},
        "stringData": {
            "ca.crt": plane.ca.pem,
            "tls.crt": client.cert.read_text(),
            "tls.key": client.key.read_text(),
        },
    }
    example = paths.REPO / "deploy/keda/scaledobject-signal.yaml"
    (authentication,) = (
        document
        for document in yaml.safe_load_all(example.read_text())
        if document["kind"] == "TriggerAuthentication"
    )
    authentication["metadata"]["namespace"] = namespace
    trigger = {
        "type": "external",
        "metadata": {"scalerAddress": address, "query": "vector(12)", "threshold": "4"},
        "authenticationRef": {"name": authentication["metadata"]["name"]},
    }
    try:
        adapter.start()
        plane.kubectl.apply([workloads.deployment(namespace, "web", 1), secret, authentication])
        plane.kubectl.apply([scaled_object(namespace, "web", [trigger])])
        cluster.wait_replicas(namespace, "web", 3, 90)
    finally:
        adapter.stop()


def _quick(scaled):
    behavior = workloads.quick_behavior()
    scaled["spec"]["advanced"] = {"horizontalPodAutoscalerConfig": {"behavior": behavior}}
    return scaled


def _gauge(value):
    return {"http.outbound_0.0.0.0_9090;.downstream_rq_active": value}
