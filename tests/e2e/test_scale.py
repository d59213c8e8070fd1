"""Many pods and many HPAs: what a query costs the API server, and the HPA controller's workers."""

import concurrent.futures
import ssl
import statistics
import time
import urllib.request

import pytest

from tests.e2e.harness import exposition, workloads
from tests.e2e.harness.model import INBOUND
from tests.lib.process import wait_until

pytestmark = pytest.mark.timeout(1200)

_GROUP = "custom.metrics.k8s.io"
_OTHERS = 10_000


def _pod_lists(cluster):
    """LIST requests for pods that kube-apiserver has served so far."""
    text = cluster.api.get("/metrics")
    return exposition.total(text, "apiserver_request_total", verb="LIST", resource="pods")


def _query_seconds(cluster, ns, count):
    """How long each of `count` reads of all pods of web takes through the aggregator."""
    path = f"/apis/{_GROUP}/v1beta2/namespaces/{ns}/pods/%2A/{INBOUND}"
    taken = []
    for _ in range(count):
        began = time.perf_counter()
        items = cluster.api.get(path, labelSelector="app=web")["items"]
        taken.append(time.perf_counter() - began)
        assert len(items) == 100
    return taken


_DURATION = "activescale_api_request_duration_seconds"


def _server_figures(adapter, work):
    """Mean seconds of our server for a read of pods while `work` runs, and the shares of the reads
    that it answered within 0.5 ms and within 10 ms; all from its own histogram."""

    def read():
        metric = adapter.process.metric
        return (
            metric(f"{_DURATION}_sum", resource="pods"),
            metric(f"{_DURATION}_count", resource="pods"),
            metric(f"{_DURATION}_bucket", resource="pods", le="0.0005"),
            metric(f"{_DURATION}_bucket", resource="pods", le="0.01"),
        )

    before = read()
    work()
    seconds, count, quick, fair = (now - then for now, then in zip(read(), before, strict=True))
    assert count > 0, f"{_DURATION} counted nothing"
    return seconds / count, quick / count, fair / count


def _add_pods(cluster, ns, count):
    """Pods that nobody runs: they are in the cluster, and that is all they need to be."""

    def add(index):
        pod = workloads.pod(ns, f"other-{index:05}", {"app": f"other-{index % 100}"})
        del pod["spec"]["nodeName"]
        cluster.api.post(f"/api/v1/namespaces/{ns}/pods", pod)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(count)))


def test_query_of_100_pods_in_a_small_and_a_large_cluster(cluster, adapter, namespace, figures):
    """Case C21, besides what the index costs."""
    cluster.model.configure(namespace, "web", steps=[(0, 500)], sinks=[adapter.sink])
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", 100)])
    cluster.wait_ready(namespace, "web", 100, 60)
    time.sleep(3)

    lists = _pod_lists(cluster)
    small = []
    small_server = _server_figures(
        adapter, lambda: small.extend(_query_seconds(cluster, namespace, 500))
    )
    # Who deletes the namespaces of earlier tests lists their pods meanwhile.
    assert _pod_lists(cluster) - lists < len(small) / 10, "reads make kube-apiserver list pods"

    crowd = cluster.new_namespace("crowd")
    rss_before = adapter.process.rss_bytes()
    _add_pods(cluster, crowd, _OTHERS)
    time.sleep(2)
    index_bytes = adapter.process.rss_bytes() - rss_before
    large = []
    large_server = _server_figures(
        adapter, lambda: large.extend(_query_seconds(cluster, namespace, 500))
    )
    began = time.monotonic()
    adapter.restart()
    first_list_seconds = time.monotonic() - began
    cluster.clear_namespaces([crowd])

    for name, seen, server in (("100", small, small_server), ("10,100", large, large_server)):
        figures(
            f"{name} pods in the cluster: through the aggregator median "
            f"{statistics.median(seen) * 1e3:.2f} ms, p99 "
            f"{statistics.quantiles(seen, n=100)[98] * 1e3:.2f} ms; our server's mean "
            f"{server[0] * 1e3:.3f} ms, {server[1]:.1%} within 0.5 ms"
        )
        assert server[2] >= 0.99, "the 99th percentile is above 10 ms"
    figures(
        f"index of {_OTHERS} pods: {index_bytes / 2**20:.1f} MiB; restart to ready with the first "
        f"list: {first_list_seconds:.2f} s"
    )
    assert small_server[1] > 0.5, "the median is above 0.5 ms"
    assert large_server[0] <= 1.5 * small_server[0]
    assert index_bytes < 60 * 2**20
    assert first_list_seconds < 5


def _controller_metrics(cluster):
    """The text of kube-controller-manager's metrics."""
    admin = cluster.plane.client_certificate("metrics-admin", ("system:masters",))
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # it makes its own serving certificate
    context.load_cert_chain(admin.cert, admin.key)
    url = f"https://127.0.0.1:{cluster.plane.controller_manager_port}/metrics"
    with urllib.request.urlopen(url, context=context, timeout=30) as answer:
        return answer.read().decode()


def _worker_seconds(cluster):
    name = "horizontal_pod_autoscaler_controller_reconciliation_duration_seconds_sum"
    return exposition.total(_controller_metrics(cluster), name)


def _our_seconds(adapter):
    return adapter.process.metric(f"{_DURATION}_sum", resource="pods")


def test_1000_hpas(steady, steady_adapter, figures):
    """Case C21: our server's part of the time that the HPA controller's workers need in a sync."""
    names = [steady.new_namespace(f"many-{index}") for index in range(10)]
    targets = [(ns, f"web-{index:03}") for ns in names for index in range(100)]
    for ns, name in targets:
        steady.model.configure(
            ns, name, steps=[(0, 50)], sinks=[steady_adapter.sink], flush_seconds=5
        )
    for ns in names:
        mine = [name for where, name in targets if where == ns]
        steady.plane.kubectl.apply([workloads.deployment(ns, name, 2) for name in mine])
    for ns, name in targets:
        steady.wait_ready(ns, name, 2, 300)
    time.sleep(6)
    metric = workloads.pods_metric(INBOUND, "5")
    for ns in names:
        mine = [name for where, name in targets if where == ns]
        steady.plane.kubectl.apply([workloads.hpa(ns, name, [metric], minimum=2) for name in mine])
    wait_until(
        lambda: all(steady.hpa_status(ns, name).get("conditions") for ns, name in targets),
        300,
        "every HPA was synced once",
        interval_seconds=5,
    )
    time.sleep(steady.hpa_sync_seconds)
    failures = steady.count_events("FailedGetPodsMetric")
    before = _worker_seconds(steady), _our_seconds(steady_adapter)
    syncs = 4
    time.sleep(syncs * steady.hpa_sync_seconds)
    workers = (_worker_seconds(steady) - before[0]) / syncs
    ours = (_our_seconds(steady_adapter) - before[1]) / syncs
    failures = steady.count_events("FailedGetPodsMetric") - failures
    steady.clear_namespaces(names)
    figures(
        f"1,000 HPAs: {workers:.2f} s of worker time in a sync, {ours:.3f} s of it in our server "
        f"({ours / workers:.1%})"
    )
    assert failures == 0
    assert ours <= 0.05 * workers
