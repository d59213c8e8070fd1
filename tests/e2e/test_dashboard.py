"""The dashboard in a cluster: what the real HPA controller does is on the page.

With ACTIVESCALE_PICTURES=FOLDER the pictures of docs/dashboard.md are left there.
"""

import http.client
import os
import pathlib
import re
import ssl

import pytest
import yaml

from tests.e2e.harness import paths, workloads
from tests.e2e.harness.adapter import Adapter, grant_component, grant_rights
from tests.e2e.harness.model import INBOUND
from tests.lib.browser import chromium, tab
from tests.lib.process import wait_until

RIGHTS = paths.REPO / "deploy/kustomize/components/watch-hpas/rbac.yaml"


@pytest.fixture(scope="module")
def shown(cluster):
    """Activescale with a dashboard that knows HPAs, serving the control plane."""
    grant_rights(cluster)
    cluster.plane.kubectl.apply(list(yaml.safe_load_all(RIGHTS.read_text())))
    grant_component(cluster, "scale-ahead")
    flags = (
        "--ttl=4s",
        "--watch-hpas",
        "--dashboard-address=127.0.0.1:0",
        "--scale-ahead=observe",
    )
    running = Adapter(cluster, *flags, name="dashboard").start()
    cluster.aggregation.register(running.https_port)
    try:
        yield running
    finally:
        running.stop()


def _row(page, name: str) -> list[str]:
    cells = page.locator("table.workloads tbody tr", has=page.get_by_role("link", name=name))
    return cells.first.locator("th, td").all_inner_texts() if cells.count() else []


def _picture(page, name: str) -> None:
    if folder := os.environ.get("ACTIVESCALE_PICTURES"):
        page.screenshot(path=pathlib.Path(folder) / f"{name}.png", full_page=True)


def _wait_for_checkout(page) -> None:
    wait_until(lambda: _row(page, "checkout")[10].startswith("5 ("), 60, "five replicas")
    wait_until(lambda: "from " in _row(page, "checkout")[4], 30, "the plots")


def test_what_the_controller_does_is_on_the_page(cluster, shown, namespace):
    loads = {"web": 10, "api": 3, "checkout": 21}
    for name, load in loads.items():
        cluster.model.configure(
            namespace, name, steps=[(0, load / 0.2)], sinks=[shown.sink], flush_seconds=0.5
        )
    cluster.plane.kubectl.apply([workloads.deployment(namespace, name, 2) for name in loads])
    for name in loads:
        cluster.wait_ready(namespace, name, 2)
    metrics = [workloads.pods_metric(INBOUND, "5")]
    behavior = workloads.quick_behavior()
    cluster.plane.kubectl.apply(
        [workloads.hpa(namespace, name, metrics, behavior=behavior) for name in ("web", "checkout")]
    )
    url = shown.process.dashboard_url
    with chromium() as browser, tab(browser) as opened:
        page = opened.open(url)
        wait_until(lambda: _row(page, "web")[1] == "10", 30, "the load is on the page")
        assert _row(page, "web")[9] == "inbound 5 each"
        cluster.model.set_in_flight(namespace, "web", 33)
        wait_until(lambda: _row(page, "web")[10].startswith("7 ("), 60, "seven replicas")
        assert _row(page, "web")[11].endswith(" s ago"), "the last change is now"
        wait_until(lambda: _row(page, "web")[6:9] == ["7", "0", "0"], 60, "seven pods push")
        assert _row(page, "api")[9:12] == ["–", "2 of 2", "–"], "no HPA"

        page.get_by_role("link", name="web").click()
        verdict = page.locator(".verdict")
        keeps = "The next sync keeps 7 replicas: that is what the metrics ask for."
        wait_until(lambda: verdict.inner_text() == keeps, 60, "the explanation in words")
        page.get_by_text("of 7 pods / target 5").wait_for()
        assert page.get_by_role("row", name="ScalingActive True").is_visible()
        assert page.locator("table.pods tbody tr").count() == 7
        assert page.locator("table.pods tbody td:last-child").all_inner_texts() == ["ready"] * 7
        page.get_by_text("The dashed line is the target of 5 times the pods.").wait_for()

        # An HPA that is deleted leaves the page.
        path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/web"
        cluster.api.delete(path)
        page.get_by_text("No HPA scales this workload.").wait_for()
    with chromium() as browser:
        for scheme in ("light", "dark"):
            with tab(browser, scheme) as opened:
                page = opened.open(url)
                _wait_for_checkout(page)
                _picture(page, f"dashboard-overview-{scheme}")
                page.get_by_role("link", name="checkout").click()
                page.locator(".verdict").wait_for()
                page.get_by_text("The dashed line is the target").wait_for()
                _picture(page, f"dashboard-workload-{scheme}")


def test_what_hpas_get_of_steps_ahead_is_on_the_page(cluster, shown, namespace):
    for name in ("asking", "plain"):
        cluster.model.configure(namespace, name, steps=[(0, 50)], sinks=[shown.sink])
        cluster.plane.kubectl.apply([workloads.deployment(namespace, name, 2)])
        cluster.wait_ready(namespace, name, 2)
    metrics = [workloads.pods_metric(INBOUND, "5")]
    asks = {"activescale.io/scale-ahead": "true"}
    cluster.plane.kubectl.apply(
        [
            workloads.hpa(namespace, "asking", metrics, annotations=asks),
            workloads.hpa(namespace, "plain", metrics),
        ]
    )
    with chromium() as browser, tab(browser) as opened:
        page = opened.open(shown.process.dashboard_url)
        wait_until(lambda: "observed" in _row(page, "asking")[10], 60, "the mark")
        assert "⇡" not in _row(page, "plain")[10]
        page.get_by_role("link", name="asking").click()
        page.get_by_text("observed only: Events tell").wait_for()
        # Who takes the annotation away ends it at once.
        path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/asking"
        cluster.api.patch(path, {"metadata": {"annotations": {"activescale.io/scale-ahead": None}}})
        page.get_by_role("link", name="All workloads").click()
        wait_until(lambda: "⇡" not in _row(page, "asking")[10], 20, "the mark is gone")


def _ask(cluster, port: int, host: str, as_admin: bool) -> int:
    context = ssl.create_default_context(cafile=str(cluster.plane.ca.cert))
    if as_admin:
        context.load_cert_chain(cluster.plane.admin.cert, cluster.plane.admin.key)
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=20)
    connection.request("GET", "/", headers={"Host": host})
    status = connection.getresponse().status
    connection.close()
    return status


def test_beyond_loopback_the_api_server_says_who_may_look(cluster):
    grant_rights(cluster)
    running = Adapter(cluster, "--dashboard-address=0.0.0.0:0", name="guarded").start()
    try:
        log = running.process.log_path.read_text()
        (port,) = re.findall(r"dashboard listening on 0\.0\.0\.0:(\d+) \(HTTPS, whom", log)
        assert _ask(cluster, int(port), "10.0.0.5:18081", as_admin=True) == 200
        assert _ask(cluster, int(port), "evil.example", as_admin=True) == 403
        assert _ask(cluster, int(port), "10.0.0.5:18081", as_admin=False) in (401, 403)
    finally:
        running.stop()
