"""The query and remote_write ports in a cluster: whose token may what, and what there is to see."""

import http.client
import http.server
import json
import socket
import ssl
import threading
import time
import urllib.parse

import pytest
import yaml

from tests.e2e.harness import aggregation, paths, workloads
from tests.e2e.harness.adapter import SERVICE_ACCOUNT, Adapter, grant_rights
from tests.lib import remote_write
from tests.lib.process import free_ports, wait_until

_RBAC = "rbac.authorization.k8s.io"
_KEDA_SERVICE = {"namespace": "keda", "name": "keda-operator-metrics-apiserver", "port": 443}
_OWNER = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.external.metrics.k8s.io"
_AT_MAXIMUM = "activescale_hpa_at_max_seconds"


class _Ports:
    """Activescale with both ports, in a cluster whose external metrics are KEDA's."""

    def __init__(self, cluster):
        self.plane = cluster.plane
        self.query_port, self.write_port = free_ports(2)
        grant_rights(cluster)
        for component in ("watch-hpas", "external-metrics"):
            manifest = paths.REPO / "deploy/kustomize/components" / component / "rbac.yaml"
            self.plane.kubectl.apply(list(yaml.safe_load_all(manifest.read_text())))
        endpoints = [
            {
                "apiGroups": ["discovery.k8s.io"],
                "resources": ["endpointslices"],
                "verbs": ["list", "watch"],
            }
        ]
        ours = {
            "kind": "ServiceAccount",
            "namespace": aggregation.NAMESPACE,
            "name": SERVICE_ACCOUNT,
        }
        self.plane.kubectl.apply(_role("activescale-endpoints", endpoints, [ours]))
        self.scrape_config = self.plane.folder / "scrape.yaml"
        self.scrape_config.write_text("scrape_configs: []\n")
        self.adapter = Adapter(
            cluster,
            "--ttl=4s",
            f"--query-address=127.0.0.1:{self.query_port}",
            f"--remote-write-address=127.0.0.1:{self.write_port}",
            "--tenant-queries",
            "--watch-hpas",
            "--external-metrics",
            f"--scrape-config={self.scrape_config}",
            name="activescale-query",
        )
        self.root = self.plane.client_certificate("root", ("system:masters",))

    def _request(self, port, path, token="", pair=None, body=None):
        """Status and body of the answer to a GET, or to a POST of `body` by remote_write."""
        context = ssl.create_default_context(cafile=str(self.plane.ca.cert))
        if pair:
            context.load_cert_chain(pair.cert, pair.key)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if body is not None:
            headers |= remote_write.HEADERS
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=15, context=context)
        try:
            connection.request("GET" if body is None else "POST", path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def ask(self, path, **credentials):
        status, body = self._request(self.query_port, "/api/v1/" + path, **credentials)
        return status, json.loads(body)

    def write(self, token, body=b""):
        return self._request(self.write_port, "/api/v1/write", token=token, body=body)[0]

    def values(self, expression, **credentials):
        """The values of the series, sorted; nothing while there is an error."""
        form = urllib.parse.urlencode({"query": expression, "partial_window": "serve"})
        status, answer = self.ask(f"query?{form}", **(credentials or {"pair": self.root}))
        if status != 200:
            return None
        return sorted(float(series["value"][1]) for series in answer["data"]["result"])


@pytest.fixture(scope="module")
def ports(cluster):
    # KEDA's APIService, without KEDA: who owns external metrics is said by it alone.
    cluster.api.apply(
        _OWNER,
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": _OWNER.rsplit("/", 1)[1]},
            "spec": {
                "group": "external.metrics.k8s.io",
                "version": "v1beta1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "service": _KEDA_SERVICE,
                "insecureSkipTLSVerify": True,
            },
        },
    )
    running = _Ports(cluster)
    try:
        running.adapter.start()
        yield running
    finally:
        running.adapter.stop()
        cluster.aggregation.remove(aggregation.EXTERNAL)


@pytest.fixture(scope="module")
def tokens(cluster, ports):
    """By name: service accounts of two namespaces, and who of them may read and write."""
    names = {"a": cluster.new_namespace("tenant"), "b": cluster.new_namespace("tenant")}
    accounts = {"reader a": "a", "reader b": "b", "writer": "a", "nobody": "b"}
    subjects = {}
    for account, tenant in accounts.items():
        meta = {"namespace": names[tenant], "name": account.replace(" ", "-")}
        cluster.api.post(f"/api/v1/namespaces/{names[tenant]}/serviceaccounts", {"metadata": meta})
        subjects[account] = {"kind": "ServiceAccount", **meta}
    jane = {"kind": "User", "apiGroup": _RBAC, "name": "jane"}
    query = [{"nonResourceURLs": ["/activescale/query"], "verbs": ["get"]}]
    write = [{"nonResourceURLs": ["/activescale/write"], "verbs": ["post"]}]
    readers = [subjects["reader a"], subjects["reader b"], jane]
    cluster.plane.kubectl.apply(_role("activescale-query", query, readers))
    cluster.plane.kubectl.apply(_role("activescale-write", write, [subjects["writer"]]))
    made = {
        account: cluster.plane.token(subject["namespace"], subject["name"])
        for account, subject in subjects.items()
    }
    yield {**made, "names": names}
    cluster.drop_namespaces(list(names.values()))


@pytest.mark.short
def test_tokens_of_service_accounts_are_reviewed(ports, tokens):
    one = "query?query=vector(1)"
    asked = {
        "read without credentials": (ports.ask(one)[0], 403),
        "read with a bad token": (ports.ask(one, token="nonsense")[0], 401),
        "read with a reader's token": (ports.ask(one, token=tokens["reader a"])[0], 200),
        "read with a writer's token": (ports.ask(one, token=tokens["writer"])[0], 403),
        "read with another's token": (ports.ask(one, token=tokens["nobody"])[0], 403),
        "read as master": (ports.ask(one, pair=ports.root)[0], 200),
        "write without credentials": (ports.write(""), 403),
        "write with a bad token": (ports.write("nonsense"), 401),
        "write with a reader's token": (ports.write(tokens["reader a"]), 403),
        # Through to the parser, to which nothing at all is no body.
        "write with a writer's token": (ports.write(tokens["writer"]), 400),
    }
    assert {name: got for name, (got, _) in asked.items()} == {
        name: want for name, (_, want) in asked.items()
    }
    status, answer = ports.ask(one, token=tokens["writer"])
    assert (status, answer["errorType"]) == (403, "forbidden")
    assert "cannot get path" in answer["error"]


@pytest.mark.short
def test_a_tenant_sees_its_namespace_alone(ports, tokens):
    names = tokens["names"]
    ports.values("held")  # from now on it is recorded
    for tenant, value in (("a", 1), ("b", 2)):
        series = {"__name__": "held", "namespace": names[tenant], "secret": tenant}
        sample = remote_write.body([(series, [(value, int(time.time() * 1000))])])
        assert ports.write(tokens["writer"], sample) == 204
    assert ports.values("held") == [1, 2]
    for account, tenant, value in (("reader a", "a", 1), ("reader b", "b", 2)):
        token = tokens[account]
        other = names["b" if tenant == "a" else "a"]
        assert ports.values("sum(held)", token=token) == [value]
        assert ports.values(f'held{{namespace="{other}"}}', token=token) == []
        everything = 'sum(max_over_time(held{namespace=~".*"}[1m]))'
        assert ports.values(everything, token=token) == [value]
        now = time.time()
        ranged = f"query_range?query=sum(held)&start={now}&end={now}&step=1"
        (series,) = ports.ask(ranged, token=token)[1]["data"]["result"]
        assert float(series["values"][0][1]) == value
        (labels,) = ports.ask("series?match[]=held", token=token)[1]["data"]
        assert labels == {"__name__": "held", "namespace": names[tenant], "secret": tenant}
        assert ports.ask("label/secret/values", token=token)[1]["data"] == [tenant]
        assert ports.ask("label/namespace/values", token=token)[1]["data"] == [names[tenant]]
    # She may read, but has no namespace.
    status, answer = ports.ask("labels", pair=ports.plane.client_certificate("jane"))
    assert status == 403
    assert 'User "jane" has no namespace' in answer["error"]


@pytest.mark.short
def test_hpas_and_deployments_are_series(cluster, ports, namespace):
    selected = f'{{namespace="{namespace}"}}'
    hpas = "kube_horizontalpodautoscaler"
    asked = [f"{hpas}_spec_max_replicas", f"{hpas}_status_current_replicas"]
    asked += ["kube_deployment_spec_replicas", "kube_deployment_status_replicas_ready"]
    for name in asked:
        ports.values(name + selected)
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", 1)])
    metrics = [workloads.pods_metric("inbound_active_requests", "4")]
    cluster.plane.kubectl.apply([workloads.hpa(namespace, "web", metrics, maximum=1)])

    def seen():
        return [ports.values(name + selected) for name in asked]

    wait_until(lambda: seen() == [[1], [1], [1], [1]], 30, "the replicas are series")
    labels = {"namespace": namespace, "horizontalpodautoscaler": "web"}
    assert ports.adapter.process.metric(_AT_MAXIMUM, **labels) > 0
    path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/web"
    cluster.api.delete(path)
    wait_until(lambda: ports.values(asked[0] + selected) == [], 20, "the series ends")
    metrics = ports.adapter.process.health("/metrics").body.decode().splitlines()
    left = [line for line in metrics if line.startswith(_AT_MAXIMUM) and namespace in line]
    assert left == [], "an HPA that is deleted has no metric"


@pytest.mark.short
def test_another_owner_of_external_metrics_is_named_and_left_alone(cluster, ports):
    """Case C24."""
    log = ports.adapter.process.log_path.read_text
    named = "belongs to the Service keda/keda-operator-metrics-apiserver, not to ours"
    wait_until(lambda: named in log(), 10, "the log names the owner")
    assert cluster.api.get(_OWNER)["spec"]["service"] == _KEDA_SERVICE
    assert cluster.api.status_of("/apis/external.metrics.k8s.io/v1beta1")[0] == 503


class _Exposer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = b"# HELP waiting_jobs Jobs that wait.\n# TYPE waiting_jobs gauge\nwaiting_jobs 12\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


@pytest.mark.short
def test_endpoints_of_a_service_are_scraped(cluster, ports, namespace):
    """By a configuration that comes while the process runs."""
    host = _own_address()
    server = http.server.ThreadingHTTPServer((host, 0), _Exposer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    cluster.api.post(
        slices,
        {
            "metadata": {"name": "jobs-1", "labels": {"kubernetes.io/service-name": "jobs"}},
            "addressType": "IPv4",
            "ports": [{"name": "metrics", "port": server.server_address[1]}],
            "endpoints": [{"addresses": [host], "conditions": {"ready": False}}],
        },
    )
    targets = {"namespace": namespace, "service": "jobs", "port": "metrics"}
    job = {"job_name": "jobs", "scrape_interval": "500ms", "kubernetes_endpoints": [targets]}
    expression = f'waiting_jobs{{namespace="{namespace}",service="jobs",job="jobs"}}'
    try:
        ports.values(expression)
        ports.scrape_config.write_text(json.dumps({"scrape_configs": [job]}))
        wait_until(lambda: ports.values(expression) == [12], 20, "the endpoint is scraped")
        told = ports.ask("metadata?metric=waiting_jobs", pair=ports.root)[1]["data"]
        assert told == {"waiting_jobs": [{"type": "gauge", "help": "Jobs that wait.", "unit": ""}]}
        cluster.api.delete(f"{slices}/jobs-1")
        wait_until(lambda: ports.values(expression) == [], 20, "the series ends")
    finally:
        server.shutdown()


def _role(name, rules, subjects):
    """A ClusterRole and its binding."""
    api = f"{_RBAC}/v1"
    return [
        {"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {
            "apiVersion": api,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name},
            "subjects": subjects,
        },
    ]


def _own_address():
    """An address of this machine that an EndpointSlice may have, which loopback is not."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            pytest.skip("this machine has no address but loopback")
        return probe.getsockname()[0]
