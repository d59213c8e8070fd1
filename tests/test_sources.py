"""Where series come from besides Envoy: a real Prometheus writes, and targets are scraped."""

import http.server
import json
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request

import pytest

from tests.lib.activescale import BINARY
from tests.lib.process import free_ports, wait_until
from tests.lib.prometheus import Prometheus

INFLIGHT = "cortex_query_scheduler_inflight_requests"
# The expression of the recipe, with a shorter range.
SEED = f'sum(max_over_time({INFLIGHT}{{namespace=~"loki", quantile="0.75"}}[3s]))'


def ask(port: int, expression: str) -> tuple[int, list]:
    url = f"http://127.0.0.1:{port}/prometheus/api/v1/query?"
    url += urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, json.load(answer)["data"]["result"]
    except urllib.error.HTTPError as error:
        return error.code, []


def value(port: int, expression: str) -> str | None:
    status, result = ask(port, expression)
    return result[0]["value"][1] if status == 200 and len(result) == 1 else None


class Exposer:
    """A target that exposes one summary."""

    def __init__(self):
        self.inflight = 3.0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = f"# TYPE {INFLIGHT} summary\n"
                for quantile in ("0.5", "0.75", "0.99"):
                    body += f'{INFLIGHT}{{quantile="{quantile}"}} {outer.inflight}\n'
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *args):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def exposer():
    target = Exposer()
    yield target
    target.stop()


def scrape(exposer: Exposer, namespace: str = "loki") -> str:
    """A configuration of one target."""
    group = {"targets": [f"127.0.0.1:{exposer.port}"], "labels": {"namespace": namespace}}
    job = {"job_name": "loki", "static_configs": [group]}
    return json.dumps({"global": {"scrape_interval": "200ms"}, "scrape_configs": [job]})


def test_a_scraped_target_answers_the_expression_of_the_recipe(lab, exposer):
    (port,) = free_ports(1)
    config = lab.folder / "scrape.yaml"
    config.write_text(scrape(exposer))
    server = lab.activescale(f"--query-address=127.0.0.1:{port}", f"--scrape-config={config}")
    assert ask(port, SEED)[0] == 503  # nothing was recorded before the question
    wait_until(lambda: value(port, SEED) == "3", 20, "the value of the target")
    exposer.inflight = 9
    wait_until(lambda: value(port, SEED) == "9", 20, "the new maximum")
    exposer.inflight = 2
    assert value(port, SEED) == "9"  # of the window
    wait_until(lambda: value(port, SEED) == "2", 20, "the window to pass")

    table = subprocess.run(
        [BINARY, "query", SEED, f"--server=http://127.0.0.1:{port}/prometheus"],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    assert table.stdout.split() == ["series", "value", "{}", "2"]

    wait_until(lambda: value(port, "up") == "1", 20, "up")
    exposer.stop()
    wait_until(lambda: value(port, "up") == "0", 20, "a target that is down")
    # Its series have ended, as Prometheus does it.
    wait_until(lambda: value(port, f"count({INFLIGHT} or vector(0))") == "1", 20, "staleness")
    assert server.metric("activescale_scrapes_total", result="unreachable") > 0


def test_a_changed_scrape_configuration_counts_and_a_broken_one_does_not(lab, exposer):
    (port,) = free_ports(1)
    config = lab.folder / "scrape.yaml"
    config.write_text(scrape(exposer))
    server = lab.activescale(f"--query-address=127.0.0.1:{port}", f"--scrape-config={config}")
    ask(port, INFLIGHT)
    of_namespace = f'{INFLIGHT}{{quantile="0.5",namespace="%s"}}'
    wait_until(lambda: value(port, of_namespace % "loki") == "3", 20, "the value of the target")
    url = f"http://127.0.0.1:{port}/api/v1/metadata?metric="
    with urllib.request.urlopen(url + INFLIGHT, timeout=10) as answer:
        assert json.load(answer)["data"] == {
            INFLIGHT: [{"type": "summary", "help": "", "unit": ""}]
        }
    with urllib.request.urlopen(url + "inbound_active_requests", timeout=10) as answer:
        (told,) = json.load(answer)["data"]["inbound_active_requests"]
        assert told["type"] == "gauge" and "not answered yet" in told["help"]

    config.write_text("scrape_configs: [{job_name: loki, relabel_configs: []}]")
    faulty = "activescale_scrape_config_file_faulty"
    wait_until(lambda: server.metric(faulty) == 1, 20, "the fault is told")
    assert "line 1: relabel_configs is not known" in server.log_path.read_text()
    exposer.inflight = 5
    wait_until(lambda: value(port, of_namespace % "loki") == "5", 20, "it is scraped as before")

    config.write_text(scrape(exposer, namespace="logs"))
    wait_until(lambda: value(port, of_namespace % "logs") == "5", 20, "the changed target")
    wait_until(lambda: ask(port, of_namespace % "loki") == (200, []), 20, "the old series ends")
    assert server.metric(faulty) == 0


def test_a_real_prometheus_writes(lab, exposer):
    query_port, write_port = free_ports(2)
    server = lab.activescale(
        f"--query-address=127.0.0.1:{query_port}",
        f"--remote-write-address=127.0.0.1:{write_port}",
    )
    ask(query_port, SEED)  # from now on it is recorded
    prometheus = Prometheus(
        lab.folder,
        {
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"},
            "scrape_configs": [
                {
                    "job_name": "loki",
                    "static_configs": [
                        {
                            "targets": [f"127.0.0.1:{exposer.port}"],
                            "labels": {"namespace": "loki"},
                        }
                    ],
                }
            ],
            "remote_write": [
                {
                    "url": f"http://127.0.0.1:{write_port}/api/v1/write",
                    "queue_config": {"batch_send_deadline": "200ms"},
                }
            ],
        },
    ).start()
    try:
        wait_until(lambda: value(query_port, SEED) == "3", 30, "what Prometheus wrote")
        assert prometheus.query(SEED)[0]["value"][1] == "3"
        exposer.inflight = 7.5
        wait_until(lambda: value(query_port, SEED) == "7.5", 30, "the new value")
        name = f'{INFLIGHT}{{quantile="0.75"}}'
        wait_until(lambda: value(query_port, name) == "7.5", 30, "the instant value")
        (ours,) = ask(query_port, name)[1]
        (theirs,) = prometheus.query(name)
        assert ours["metric"] == theirs["metric"]
    finally:
        prometheus.stop()
    assert server.metric("activescale_remote_write_samples_total", outcome="stored") > 0
    assert server.metric("activescale_remote_write_samples_total", outcome="not_wanted") > 0
    assert server.metric("activescale_remote_write_requests_total", result="malformed") == 0
