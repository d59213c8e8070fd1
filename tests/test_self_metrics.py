"""What we say of ourselves, as Prometheus, its linter and the Grafana dashboard read it."""

import json
import pathlib
import subprocess

from tests.lib.envoy import EnvoyOptions, Pod
from tests.lib.process import wait_until
from tests.lib.prometheus import PROMTOOL, Prometheus

METRIC = "inbound_active_requests"
PREFIX = "inbound_0.0.0.0_8080;"
DASHBOARD = pathlib.Path(__file__).resolve().parents[1] / "deploy/grafana/activescale.json"


def panel_queries() -> list[tuple[str, str]]:
    """Panel and expression, the dashboard's variables filled in as for "All"."""
    dashboard = json.loads(DASHBOARD.read_text())
    return [
        (panel["title"], target["expr"].replace("$job", ".+"))
        for panel in dashboard["panels"]
        for target in panel.get("targets", [])
    ]


def test_exposition_is_clean_and_every_panel_has_series(lab):
    server = lab.activescale()
    pod = Pod("web-0", "shop", {"app": "web"})
    options = EnvoyOptions((PREFIX,), flush_seconds=0.5)
    envoy = lab.envoy(pod, [server.grpc_port], lab.backend().port, options)
    lab.load(envoy.ports[PREFIX]).set(3)
    wait_until(lambda: server.pods(METRIC) == {"web-0": 3}, 10, "the load is visible")

    page = server.health("/metrics")
    lint = subprocess.run(
        [PROMTOOL, "check", "metrics"], input=page.body, capture_output=True, timeout=30
    )
    assert (lint.returncode, lint.stdout + lint.stderr) == (0, b"")

    scrape = {
        "job_name": "activescale",
        "scrape_interval": "1s",
        "static_configs": [{"targets": [f"127.0.0.1:{server.health_port}"]}],
    }
    prometheus = Prometheus(lab.folder, {"scrape_configs": [scrape]}).start()
    try:
        wanted = panel_queries()
        assert len(wanted) > 20

        def without_series() -> list[str]:
            server.pods(METRIC)  # so that answers have rates
            return [title for title, expression in wanted if not prometheus.query(expression)]

        wait_until(lambda: not without_series(), 30, "every panel has series")
    finally:
        prometheus.stop()
