"""Prometheus's query API of the real process: what a real Envoy pushed, and who may ask."""

import json
import ssl
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from tests.lib.activescale import BINARY
from tests.lib.envoy import EnvoyOptions, Pod
from tests.lib.process import free_ports, wait_until

POD = Pod("web-0")
PREFIX = "inbound_0.0.0.0_8080;"


def ask(url: str, token: str = "") -> tuple[int, dict]:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    request = urllib.request.Request(url)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def query(expression: str, **parameters: str) -> str:
    return "/api/v1/query?" + urllib.parse.urlencode({"query": expression, **parameters})


def test_the_expression_of_scaling_over_what_envoy_pushes(lab):
    (port,) = free_ports(1)
    server = lab.activescale(f"--query-address=127.0.0.1:{port}", "--ttl=5s")
    base = f"http://127.0.0.1:{port}/prometheus"
    expression = 'sum(max_over_time(inbound_active_requests{namespace="shop"}[3s]))'
    # Nothing was recorded before anybody asked: that is not known, and not an empty vector.
    status, answer = ask(base + query(expression))
    assert (status, answer["errorType"]) == (503, "unavailable"), answer

    envoy = lab.envoy(POD, [server.grpc_port], lab.backend().port, EnvoyOptions((PREFIX,)))
    lab.load(envoy.ports[PREFIX]).set(4)

    def served() -> bool:
        status, answer = ask(base + query(expression))
        if status != 200:
            return False
        return [item["value"][1] for item in answer["data"]["result"]] == ["4"]

    wait_until(served, 30, "the window of Envoy's metric")
    status, answer = ask(base + "/api/v1/series?match[]=inbound_active_requests")
    assert status == 200
    (labels,) = answer["data"]
    assert labels["namespace"] == "shop"
    assert labels["pod"] == "web-0"

    # Without a heartbeat the value is not known either, however full the window still is.
    envoy.stop()
    wait_until(
        lambda: ask(base + query(expression.replace("3s", "1m"), partial_window="serve"))[0] == 503,
        30,
        "503 for a silent workload",
    )


def test_a_token_is_asked_for_over_tls(lab):
    (port,) = free_ports(1)
    token = lab.folder / "token"
    token.write_text("s3cret\n")
    lab.activescale(f"--query-address=0.0.0.0:{port}", f"--query-bearer-token-file={token}")
    url = f"https://127.0.0.1:{port}" + query("vector(1)")
    status, answer = ask(url)
    assert (status, answer["errorType"]) == (401, "unauthorized")
    assert ask(url, "guess")[0] == 401
    assert ask(url, "s3cret")[0] == 200
    token.write_text("rotated")
    assert ask(url, "s3cret")[0] == 401
    assert ask(url, "rotated")[0] == 200


def test_a_query_with_an_empty_token_file_is_refused_before_it_is_sent(tmp_path):
    for token in (tmp_path / "empty", tmp_path / "absent"):
        if token.name == "empty":
            token.write_text(" \n")
        done = subprocess.run(
            [BINARY, "query", "1", f"--token-file={token}", "--server=http://127.0.0.1:1"],
            capture_output=True,
            text=True,
            timeout=20,
        )
        assert done.returncode != 0
        assert f"the token file {token} cannot be read or is empty" in done.stderr


def test_the_older_promql_takes_no_duration_for_a_number(lab):
    for version, want in (("2", 400), ("3", 200)):
        (port,) = free_ports(1)
        lab.activescale(
            f"--query-address=127.0.0.1:{port}", f"--promql-compat={version}", name=f"v{version}"
        )
        assert ask(f"http://127.0.0.1:{port}{query('5m')}")[0] == want, version


def test_hostile_queries_get_a_clear_error_in_bounded_time(lab):
    (port,) = free_ports(1)
    server = lab.activescale(f"--query-address=127.0.0.1:{port}")
    base = f"http://127.0.0.1:{port}"
    before = server.rss_bytes()
    hostile = {
        "-" * 10_000 + "1": 400,
        "(" * 10_000 + "1" + ")" * 10_000: 400,
        'a{b=~"' + "(x+)*" * 5_000 + '"}': 503,  # explosive elsewhere, linear here
        'a{b=~"((((((a{100}){100}){100}){100}){100}){100})"}': 400,
        "a" * 60_000: 503,  # a name like another, of which nothing is known
        "rate(a[5m:1ms])[30d:1ms]": 422,
        "sum_over_time(vector(1)[365d:1ms])": 422,
        "1 + " * 3_000 + "1": 400,
    }
    for expression, want in hostile.items():
        form = urllib.parse.urlencode({"query": expression}).encode()
        request = urllib.request.Request(base + "/api/v1/query", form)
        begin = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        assert status == want, (expression[:40], status, text[:200])
        assert json.loads(text)["status"] == "error"
        assert time.monotonic() - begin < 20, expression[:40]
    too_large = urllib.request.Request(base + "/api/v1/query", b"query=" + b"a" * (2 << 20))
    try:
        status = urllib.request.urlopen(too_large, timeout=30).status
    except urllib.error.HTTPError as error:
        status = error.code
    except (urllib.error.URLError, ConnectionError):
        status = 413  # closed before all of it was sent
    assert status == 413
    assert ask(base + query("vector(1)"))[0] == 200
    assert server.rss_bytes() - before < 256 << 20
