"""`activescale doctor` without a cluster: a process, an Envoy bootstrap, bad input."""

import json
import pathlib
import shutil
import subprocess

import pytest

from tests.lib import certs
from tests.lib.activescale import BINARY, ROOT
from tests.lib.envoy import EnvoyOptions, Pod
from tests.lib.process import free_ports, wait_until

PREFIX = "inbound_0.0.0.0_8080;"
METRIC = "inbound_active_requests"


def run(*arguments):
    return subprocess.run(
        [BINARY, "doctor", *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def lines(done, level):
    return [line for line in done.stdout.splitlines() if line.startswith(level)]


def addresses(grpc, secure, health):
    return [
        "--standalone",
        f"--grpc-address=127.0.0.1:{grpc}",
        f"--secure-address=127.0.0.1:{secure}",
        f"--health-address=127.0.0.1:{health}",
    ]


@pytest.fixture
def pushed(lab):
    """A server to which a real Envoy with one request in flight pushes, and that Envoy."""
    server = lab.activescale()
    options = EnvoyOptions((PREFIX,), flush_seconds=0.2)
    envoy = lab.envoy(Pod("web-0"), [server.grpc_port], lab.backend().port, options)
    lab.load(envoy.ports[PREFIX]).set(1)
    wait_until(lambda: server.pods(METRIC) == {"web-0": 1}, 10, "its Envoy pushes")
    return server, envoy


def test_a_process_that_works_has_no_problem(pushed):
    server, _ = pushed
    done = run(*addresses(*server.ports))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "0 failures, 0 warnings, 5 ok"
    assert "streams of 127.0.0.1" in done.stdout and " 1 open, " in done.stdout


def test_a_process_that_does_not_run(tmp_path):
    ports = free_ports(3)
    done = run(*addresses(*ports))
    assert done.returncode == 2
    failures = lines(done, "failure")
    assert len(failures) == 3
    assert failures[0].endswith(f"push port: 127.0.0.1:{ports[0]}: Connection refused")


def test_a_process_that_nobody_pushes_to(lab):
    done = run(*addresses(*lab.activescale().ports))
    assert done.returncode == 1
    assert "no Envoy has pushed to it since it started" in lines(done, "warning")[0]
    found = json.loads(run(*addresses(*lab.activescale(name="b").ports), "--output=json").stdout)
    assert (found["level"], found["failures"], found["warnings"]) == ("warning", 0, 1)
    assert [f["level"] for f in found["findings"] if "advice" in f] == ["warning"]


def test_a_certificate_that_could_not_be_taken_up(lab, tmp_path):
    """C19: the old one goes on serving, so nothing else shows it."""
    ca = certs.Authority("ca", tmp_path)
    pair = ca.server("serving", ("localhost",))
    server = lab.activescale(f"--tls-cert-file={pair.cert}", f"--tls-private-key-file={pair.key}")
    shutil.copy(ca.server("other", ("localhost",)).cert, pair.cert)
    wait_until(
        lambda: server.metric("activescale_serving_certificate_reloads_total", result="failed"),
        60,
        "the mismatch is counted",
    )
    done = run(*addresses(*server.ports))
    assert done.returncode == 1
    assert any("a changed certificate could not be taken up" in w for w in lines(done, "warning"))
    assert "tls.crt and tls.key must belong together" in done.stdout


def test_a_port_that_is_not_ours(lab):
    """Something else answers there: that is told, not read as a healthy replica."""
    server = lab.activescale()
    other = lab.backend(hold_seconds=0).port
    done = run(*addresses(server.grpc_port, server.https_port, other))
    assert done.returncode == 2
    assert lines(done, "failure") == [
        f"failure  replica 127.0.0.1:{other}: what answers to /readyz there is no activescale"
    ]


def test_the_bootstrap_of_an_envoy_that_pushes_is_complete(pushed, tmp_path):
    _, envoy = pushed
    [bootstrap] = tmp_path.glob("envoy-*.json")
    done = run(f"--envoy-config={bootstrap}")
    assert (done.returncode, done.stderr) == (0, "")
    dump = envoy.admin("/config_dump").json()["configs"]
    [as_dumped] = [c["bootstrap"] for c in dump if c["@type"].endswith("BootstrapConfigDump")]
    dumped = tmp_path / "dumped.json"
    dumped.write_text(json.dumps({"bootstrap": as_dumped}))
    done = run(f"--envoy-config={dumped}")
    assert done.returncode == 0, done.stdout


def _without_sink(config):
    del config["stats_sinks"]


def _http1(config):
    del config["static_resources"]["clusters"][1]["typed_extension_protocol_options"]


def _nobody(config):
    config["node"] = {"id": "web", "cluster": "web"}


def _no_stats(config):
    config["stats_config"] = {"stats_matcher": {"reject_all": True}}


def _seldom(config):
    config["stats_flush_interval"] = "7s"


@pytest.mark.parametrize(
    ("breaking", "cause"),
    [
        (_without_sink, "stats_sinks: there is no envoy.stat_sinks.metrics_service"),
        (_http1, "cluster activescale: it speaks HTTP/1.1, and gRPC needs HTTP/2"),
        (_nobody, "node: nothing tells the pod: metadata.NAME is missing"),
        (_no_stats, "stats_matcher: reject_all: Envoy keeps no stats at all"),
        (_seldom, "stats_flush_interval: Envoy flushes each 7s, and the TTL is 20s"),
    ],
)
def test_what_a_bootstrap_lacks_is_named_first(pushed, tmp_path, breaking, cause):
    [path] = tmp_path.glob("envoy-*.json")
    config = json.loads(path.read_text())
    breaking(config)
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(config))
    done = run(f"--envoy-config={broken}")
    assert done.returncode == 2
    assert lines(done, "failure")[0].startswith(f"failure  {cause}")
    assert done.stdout.count("\n         -> ") == len(lines(done, "failure"))


def test_the_ttl_of_a_bootstrap_can_be_given(pushed, tmp_path):
    [path] = tmp_path.glob("envoy-*.json")
    assert run(f"--envoy-config={path}", "--ttl=500ms").returncode == 2
    assert run(f"--envoy-config={path}", "--ttl=600ms").returncode == 0


@pytest.mark.parametrize(
    "text", ["a: &x [*x]", "static_resources: {listeners: &x [*x]}", "{", "[" * 5000, "\0", ""]
)
def test_a_hostile_bootstrap_is_refused(tmp_path, text):
    path = tmp_path / "hostile.yaml"
    path.write_text(text)
    done = run(f"--envoy-config={path}")
    assert (done.returncode, done.stderr) == (2, "")
    assert lines(done, "failure")


def test_the_example_says_what_is_to_be_filled_in():
    done = run(f"--envoy-config={ROOT / 'deploy/envoy/bootstrap.yaml'}")
    assert done.returncode == 1
    assert "Envoy expands no variables" in lines(done, "warning")[0]


def test_a_kubeconfig_that_is_none(tmp_path):
    folder = pathlib.Path(tmp_path)
    broken = folder / "broken"
    broken.write_text("token: do-not-tell")
    for path, cause in ((folder / "absent", "absent"), (broken, "broken")):
        done = run(f"--kubeconfig={path}")
        assert done.returncode == 2
        assert lines(done, "failure")[0].startswith("failure  cluster: ")
        assert cause in lines(done, "failure")[0]
        assert "do-not-tell" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["--hpa=web"], "--hpa is NAMESPACE/NAME"),
        (["--hpa=shop/web/x"], "--hpa is NAMESPACE/NAME"),
        (["--service=/x"], "--service is NAMESPACE/NAME"),
        (["--envoy-config=absent.yaml"], "cannot read absent.yaml"),
        (["--envoy-config=/dev/null", "--ttl=soon"], "--ttl"),
        (["--output=yaml"], "--output"),
        (["shop/web"], "shop/web"),
    ],
)
def test_flags_that_cannot_be_used(arguments, cause):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert cause in done.stderr
