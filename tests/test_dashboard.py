"""The dashboard in a real Chromium on the real process."""

import contextlib
import http.client
import socket
import threading
import time
import urllib.parse

import pytest

from tests.lib.browser import chromium, tab
from tests.lib.envoy import EnvoyOptions, Pod
from tests.lib.fleet import Fleet
from tests.lib.process import wait_until

PREFIX = "inbound_0.0.0.0_8080;"
GAUGE = "http.inbound_0.0.0.0_8080;.downstream_rq_active"
ON = "--dashboard-address=127.0.0.1:0"


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


def row(page, name: str) -> list[str]:
    """The texts of a workload's row; empty if there is none."""
    cells = page.locator("table.workloads tbody tr", has=page.get_by_role("link", name=name))
    return cells.first.locator("th, td").all_inner_texts() if cells.count() else []


def push_all(channel, values: list[tuple[Pod, float]]) -> list:
    """A stream of each pod, which says its value."""
    streams = []
    for pod, value in values:
        streams.append(channel.open())
        streams[-1].push(pod, {GAUGE: value})
    return streams


def connect(url: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=20)


def ask(url: str, path: str, host: str) -> http.client.HTTPResponse:
    connection = connect(url)
    connection.request("GET", "/" + path, headers={"Host": host})
    return connection.getresponse()


def test_a_real_envoys_load_moves_on_the_page(lab, browser):
    server = lab.activescale(ON, "--ttl=5s")
    options = EnvoyOptions((PREFIX,), flush_seconds=0.5)
    pod = Pod("web-0", "shop", {"app": "web"}, "web")
    envoy = lab.envoy(pod, [server.grpc_port], lab.backend().port, options)
    load = lab.load(envoy.ports[PREFIX])
    load.set(3)
    with tab(browser) as opened:
        page = opened.open(server.dashboard_url)
        wait_until(lambda: row(page, "web")[1] == "3", 15, "the load is on the page")
        load.set(7)
        wait_until(lambda: row(page, "web")[1] == "7", 10, "the page moves by itself")
        assert page.get_by_text("All checks pass").is_visible()
        assert page.get_by_text("1 stream of Envoys").is_visible()
        wait_until(lambda: "to 7" in row(page, "web")[4], 15, "the plot has the load, too")

        page.get_by_role("link", name="web").click()
        bar = page.locator("table.pods tbody tr")
        wait_until(lambda: bar.locator(".barvalue").inner_text() == "7", 10, "the pod's bar")
        assert page.get_by_text("there is no cluster to ask for HPAs").is_visible()

        # A silent pod is missing, first of all on the page that is open.
        envoy.stop()
        wait_until(lambda: bar.locator(".barvalue").inner_text() == "missing", 15, "a silent pod")
        page.get_by_role("link", name="All workloads").click()
        wait_until(lambda: row(page, "web")[1] == "missing", 10, "a silent workload")
        assert row(page, "web")[7] == "1"


def test_a_lost_server_is_told_and_found_again(lab, browser):
    server = lab.activescale(ON)
    url = server.dashboard_url
    with tab(browser) as opened:
        page = opened.open(url)
        server.stop()
        page.wait_for_selector("#link[data-state=broken]")
        again = f"--dashboard-address={urllib.parse.urlsplit(url).netloc}"
        lab.activescale(again, name="again")
        page.wait_for_selector("#link[data-state=live]")
        opened.complaints.clear()  # the browser's own words on the lost connection


def test_filter_sort_and_keyboard(lab, browser):
    server = lab.activescale(ON)
    channel = lab.channel(server.grpc_port)
    loads = {"api": 5, "checkout": 40, "search": 12}
    pods = [(Pod(f"{name}-0", "shop", workload=name), value) for name, value in loads.items()]
    streams = push_all(channel, [*pods, (Pod("web-0", "blog", workload="web"), 1)])

    def names(page) -> list[str]:
        return page.locator("table.workloads tbody th a").all_inner_texts()

    with tab(browser) as opened:
        page = opened.open(server.dashboard_url)
        by_name = ["web", "api", "checkout", "search"]  # of the namespaces blog and shop
        wait_until(lambda: names(page) == by_name, 10, "all workloads")
        head = page.get_by_role("columnheader", name="inbound")
        head.get_by_role("button").click()
        assert names(page) == ["checkout", "search", "api", "web"]
        assert head.get_attribute("aria-sort") == "descending"
        page.keyboard.press("Enter")  # the button has the focus
        assert names(page) == ["web", "api", "search", "checkout"]
        assert head.get_attribute("aria-sort") == "ascending"

        page.get_by_role("searchbox").fill("shop CH")
        assert names(page) == ["search", "checkout"]
        page.get_by_role("searchbox").fill("nobody")
        assert names(page) == []
        assert page.get_by_text("No workload is like that.").is_visible()
        page.get_by_role("searchbox").fill("blog")
        # From the filter to the workload by keyboard alone.
        for _ in range(30):
            if page.evaluate("document.activeElement.textContent") == "web":
                break
            page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", "the focus can be seen"
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="web").wait_for()
        page.go_back()
        wait_until(lambda: names(page) == ["web"], 10, "the filter is still there")
    assert not any(stream.ended for stream in streams)


# Names of pods and namespaces are checked when a stream begins; those of workloads are anybody's.
def test_hostile_names_are_text(lab, browser):
    server = lab.activescale(ON)
    channel = lab.channel(server.grpc_port)
    names = [
        "<img src=x onerror=alert(1)>",
        "</script><script>alert(2)</script>",
        "'\"><svg/onload=alert(3)>",
        "../../w/x?a=b#c%2F",
        "javascript:alert(4)",
        "\u202eevil\n\ndata: {}",
    ]
    streams = push_all(
        channel, [(Pod(f"pod-{i}", "shop", workload=name), 2) for i, name in enumerate(names)]
    )
    with tab(browser) as opened:
        page = opened.open(server.dashboard_url)
        shown = page.locator("table.workloads tbody th a")
        wait_until(lambda: sorted(shown.all_text_contents()) == sorted(names), 10, "every name")
        for index in range(len(names)):
            link = page.locator("table.workloads tbody th a").nth(index)
            name = link.text_content()
            link.click()
            heading = page.locator("h1")
            wait_until(
                lambda heading=heading, name=name: (
                    heading.evaluate("e => e.firstChild.textContent") == name
                ),
                20,
                "the page of the workload",
            )
            page.wait_for_selector("table.pods tbody tr")
            pod = page.locator("table.pods tbody th").text_content()
            assert pod == f"pod-{names.index(name)}"
            page.get_by_role("link", name="All workloads").click()
            wait_until(lambda: shown.count() == len(names), 10, "the overview")
        assert page.evaluate("document.querySelectorAll('img, svg, script').length") == 2
        # Markup could not get in even by a fault of the page: the policy forbids it.
        blocked = page.evaluate(
            "() => { try { document.body.innerHTML = '<b>'; } catch { return 1; } }"
        )
        assert blocked == 1
        opened.complaints.clear()  # the browser tells of it
    assert not any(stream.ended for stream in streams)


def test_only_our_own_names_and_only_reading(lab):
    server = lab.activescale(ON)
    url = server.dashboard_url
    assert ask(url, "", "localhost:8080").status == 200
    for host in ("evil.example", "evil.example:18081", "127.0.0.1.nip.io"):
        answer = ask(url, "events", host)
        assert answer.status == 403
        assert b"header Host" in answer.read()
    refused = "activescale_dashboard_refused_requests_total"
    assert server.metric(refused, reason="host") == 3
    assert ask(url, "nothing", "localhost").status == 404
    assert server.metric(refused, reason="request") == 1


def test_light_and_dark_as_the_system_or_the_reader_has_it(lab, browser):
    server = lab.activescale(ON)
    channel = lab.channel(server.grpc_port)
    streams = [
        (channel.open(), Pod(f"{name}-{i}", "shop", workload=name), load + 2 * i)
        for name, load in (("api", 4), ("checkout", 17), ("web", 1))
        for i in range(4)
    ]
    for scheme in ("light", "dark"):
        for stream, pod, load in streams:
            stream.push(pod, {GAUGE: load})
        with tab(browser, scheme) as opened:
            page = opened.open(server.dashboard_url)
            wait_until(lambda: row(page, "checkout"), 10, "the workloads")  # noqa: B023
            dark = "rgb(17, 21, 27)"
            background = "getComputedStyle(document.body).backgroundColor"
            assert (page.evaluate(background) == dark) == (scheme == "dark")
            theme = page.get_by_role("button", name="Theme: auto")
            theme.click()
            assert page.evaluate(background) != dark
            page.get_by_role("button", name="Theme: light").click()
            assert page.evaluate(background) == dark
            page.reload()
            assert page.evaluate(background) == dark, "the choice stays"


def share_of_a_core(server, work) -> float:
    """The server's processor time while `work` runs, to the time that it takes."""
    before, start = server.cpu_seconds(), time.monotonic()
    work()
    return (server.cpu_seconds() - before) / (time.monotonic() - start)


def test_a_large_fleet_is_fast_and_a_hundred_pages_share_the_work(lab, browser):
    server = lab.activescale(ON, "--ttl=5m", "--log-metrics-summary-interval=0s")
    with contextlib.closing(Fleet(server.grpc_port, 1_000, 10, GAUGE)) as fleet:
        fleet.start()
        url = server.dashboard_url
        # The plots take one reading in five seconds.
        without = share_of_a_core(server, lambda: time.sleep(5))
        with tab(browser) as opened:
            page = opened.open(url)
            page.get_by_text("of 1,000 workloads").wait_for()
            paint = page.evaluate(
                "performance.getEntriesByName('first-contentful-paint')[0].startTime"
            )
            updates = "performance.getEntriesByName('update').map(e => e.duration)"
            started = time.monotonic()
            for value in (5, 6, 7, 8):
                fleet.push(value)
                total = f"{1_000 * (value + 9):,}"
                page.locator("dl.tiles").get_by_text(total, exact=True).wait_for()
            slowest = max(page.evaluate(updates))
            print(f"first paint {paint:.0f} ms, slowest update of 1,000 workloads {slowest:.1f} ms")
            # Far above what is wanted, which docs/dashboard.md tells: the machine may be busy.
            assert time.monotonic() - started < 60
            assert paint < 20_000
            assert slowest < 2_000

            share = share_of_a_core(server, lambda: time.sleep(5))
            print(f"server: {100 * without:.1f} % of a core, with a page open {100 * share:.1f} %")
            assert share < 0.5

        share_among_pages(server, url, fleet)


def share_among_pages(server, url: str, fleet: Fleet) -> None:
    """A hundred pages get each change; one that never reads slows nobody."""
    connections = [connect(url) for _ in range(100)]
    for connection in connections:
        connection.request("GET", "/events")
    sockets = [connection.sock for connection in connections]  # which an answer without end takes
    streams = [connection.getresponse() for connection in connections]
    counts = [0] * len(streams)

    def read(index: int) -> None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            while line := streams[index].fp.readline():
                counts[index] += line.startswith(b"event: change")

    for index in range(1, len(streams)):  # the first one never reads
        threading.Thread(target=read, args=(index,), daemon=True).start()
    wait_until(lambda: min(counts[1:]) >= 1, 20, "every page has its first change")
    assert server.metric("activescale_dashboard_open_pages") >= 100

    def change() -> None:
        for value in (11, 12, 13, 14, 15):
            fleet.push(value)
            time.sleep(1)

    first = min(counts[1:])
    share = share_of_a_core(server, change)
    got = min(counts[1:]) - first
    print(f"server with 100 pages open: {100 * share:.1f} % of a core, {got} changes each")
    assert got >= 3
    assert server.rss_bytes() < 400 << 20
    for open_socket in sockets:
        # To close the stream would wait for its reader's next line, up to a second each.
        open_socket.shutdown(socket.SHUT_RDWR)
    wait_until(
        lambda: server.metric("activescale_dashboard_open_pages") == 0, 10, "closed pages are gone"
    )
