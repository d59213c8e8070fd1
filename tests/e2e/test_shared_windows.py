"""Two replicas on one Redis have the same windows, whichever got the samples and the questions."""

import contextlib
import json
import signal
import statistics
import time
import urllib.error
import urllib.parse
import urllib.request

import grpc
import pytest

from tests.e2e.harness import workloads
from tests.e2e.harness.adapter import Adapter, grant_rights
from tests.e2e.harness.model import INBOUND
from tests.lib.api import insecure_tls
from tests.lib.envoy import Pod
from tests.lib.process import free_ports, wait_until
from tests.lib.prometheus import Prometheus
from tests.lib.push import PushChannel
from tests.redis import servers
from tests.test_external_scaler import FAMILY, Scaler

pytestmark = pytest.mark.timeout(300)

_QUEUED = "cluster.queue.upstream_rq_pending_active"
_SERIES = "envoy_cluster_queue_upstream_rq_pending_active"
_WAKES = 10


class _Replica:
    """An adapter with ports for questions, remote_write and KEDA."""

    def __init__(self, cluster, folder, address: str, index: int):
        self.query_port, self.write_port, self.keda_port = free_ports(3)
        self.token = folder / "token"
        self.token.write_text("secret")
        self.adapter = Adapter(
            cluster,
            f"--redis-addr={address}",
            "--shutdown-delay-duration=1s",
            r"--envoy-stats=cluster\..*",
            f"--query-address=127.0.0.1:{self.query_port}",
            f"--query-bearer-token-file={self.token}",
            f"--remote-write-address=127.0.0.1:{self.write_port}",
            f"--remote-write-bearer-token-file={self.token}",
            f"--keda-address=127.0.0.1:{self.keda_port}",
            name=f"windows-{index}",
        )

    def ask(self, expression: str):
        """The series with their values, or the error."""
        url = f"https://127.0.0.1:{self.query_port}/api/v1/query?" + urllib.parse.urlencode(
            {"query": expression}
        )
        request = urllib.request.Request(url, headers={"Authorization": "Bearer secret"})
        try:
            with urllib.request.urlopen(request, timeout=10, context=insecure_tls()) as answer:
                result = json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            return json.load(error)["error"]
        return sorted((json.dumps(s["metric"], sort_keys=True), s["value"][1]) for s in result)

    def value(self, expression: str):
        answer = self.ask(expression)
        return float(answer[0][1]) if isinstance(answer, list) and answer else None


@pytest.fixture
def replicas(cluster, tmp_path):
    grant_rights(cluster)
    with contextlib.ExitStack() as stack:
        redis = servers.Server(servers.Flavor("redis"), tmp_path, "redis").start()
        stack.callback(redis.kill)
        running = [_Replica(cluster, tmp_path, redis.address, index) for index in range(2)]
        for replica in running:
            stack.callback(replica.adapter.stop)
            replica.adapter.start()
        yield running


@pytest.fixture
def pods(cluster, namespace):
    """Two pods of a workload as Envoys name them. Nobody pushes for them yet."""
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", 2)])
    cluster.wait_ready(namespace, "web", 2)
    items = cluster.api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return [Pod(item["metadata"]["name"], namespace=namespace) for item in items]


class _Pusher:
    """One flush of each pod, each to the replica that is its own."""

    def __init__(self, stack, replicas, pods):
        self._streams = []
        self._gauges = {FAMILY: 0.0, _QUEUED: 0.0}
        for replica, pod in zip(replicas, pods, strict=True):
            channel = PushChannel(replica.adapter.process.grpc_port)
            stack.callback(channel.close)
            stream = channel.open()
            stream.push(pod, self._gauges)
            self._streams.append(stream)

    def flush(self, *values: float) -> None:
        for stream, value in zip(self._streams, values, strict=True):
            if value is not None:
                stream.push(None, {FAMILY: value, _QUEUED: 10 * value})


def _prometheus(folder, replica, target_port: int):
    """A real Prometheus that scrapes something and writes it to the replica."""
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [
            {"job_name": "any", "static_configs": [{"targets": [f"127.0.0.1:{target_port}"]}]}
        ],
        "remote_write": [
            {
                "url": f"https://127.0.0.1:{replica.write_port}/api/v1/write",
                "authorization": {"credentials_file": str(replica.token)},
                "tls_config": {"insecure_skip_verify": True},
                "queue_config": {"batch_send_deadline": "200ms"},
            }
        ],
    }
    return Prometheus(folder, config)


def test_replicas_agree_on_every_window_and_the_death_of_one_shrinks_none(
    replicas, pods, namespace, tmp_path
):
    first, second = replicas
    of = f'{{namespace="{namespace}"}}'
    queries = [
        f"sum(max_over_time({INBOUND}{of}[10s]))",
        f"max_over_time({_SERIES}{of}[10s])",
        f"count_over_time({_SERIES}{of}[10s]) > bool 5",
        'min_over_time(up{job="any"}[10s])',
    ]
    # Each question is put to one replica alone; the samples of each come to one as well.
    for index, query in enumerate(queries):
        replicas[index % 2].ask(query)
    with contextlib.ExitStack() as stack:
        prometheus = _prometheus(tmp_path, first, second.adapter.process.health_port).start()
        stack.callback(prometheus.stop)
        time.sleep(1)
        pusher = _Pusher(stack, replicas, pods)
        end = time.monotonic() + 14
        turn = 0
        while time.monotonic() < end:
            turn += 1
            pusher.flush(3 + turn % 2, 5 + turn % 3)
            time.sleep(0.5)
        pusher.flush(3, 5)
        time.sleep(1)
        wait_until(lambda: first.value(queries[3]) == 1, 20, "what Prometheus wrote")
        for query in queries:
            wait_until(
                lambda query=query: (
                    isinstance(first.ask(query), list) and first.ask(query) == second.ask(query)
                ),
                5,
                f"equal answers to {query}",
            )
        assert second.value(queries[0]) == 4 + 7
        assert [value for _, value in second.ask(queries[1])] == ["40", "70"]
        first.adapter.process.stop(signal_number=signal.SIGKILL)
        # The window of what only the first one got is still whole.
        assert [value for _, value in second.ask(queries[1])] == ["40", "70"]
        assert [value for _, value in second.ask(queries[2])] == ["1", "1"]
        assert second.value(queries[3]) == 1


def test_a_stream_wakes_with_a_flush_that_another_replica_got(replicas, pods, namespace, figures):
    """Case D: the replica that gets the push is not the one that KEDA's stream is at."""
    first, second = replicas
    query = f'sum({INBOUND}{{namespace="{namespace}"}})'
    with contextlib.ExitStack() as stack:
        pusher = _Pusher(stack, [first, first], pods)
        scaler = stack.enter_context(contextlib.closing(Scaler(second.keda_port)))

        def heard() -> float:
            return second.adapter.process.metric("activescale_redis_log_entries_read_total")

        def known() -> bool:
            pusher.flush(0, 0)
            try:
                return scaler.value(query=query, threshold="4", namespace=namespace) == 0
            except grpc.RpcError:
                return False

        wait_until(known, 20, "the value of the other replica")
        heard_before = heard()
        events = scaler.stream(query=query, threshold="4", namespace=namespace)
        assert not next(events).result
        delays = []
        for _ in range(_WAKES):
            begun = time.monotonic()
            pusher.flush(3, 0)
            assert next(events).result
            delays.append((time.monotonic() - begun) * 1000)
            time.sleep(
                0.5
            )  # flushes that follow each other at once are one to a replica that polls
            pusher.flush(0, 0)
            time.sleep(1.6)  # that it is inactive again shows in the next full round
        figures(
            "push at one replica to the event at another: median "
            f"{statistics.median(delays):.0f} ms, worst {max(delays):.0f} ms, {_WAKES} wakes"
        )
        # Word of it came from the first replica, each time.
        assert heard() - heard_before >= _WAKES
