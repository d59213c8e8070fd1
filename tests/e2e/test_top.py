"""`activescale top` beside the model: it shows what is in flight, per workload."""

import json
import subprocess

import pytest

from tests.e2e.harness import workloads
from tests.e2e.harness.model import CONNECTIONS, INBOUND
from tests.lib.activescale import BINARY
from tests.lib.process import free_ports, wait_until


def _top(kubeconfig, *arguments):
    command = [BINARY, "top", f"--kubeconfig={kubeconfig}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def _look(cluster, namespace):
    done = _top(cluster.plane.admin_kubeconfig, f"-n{namespace}", "--once", "--output=json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def _push(cluster, adapter, namespace, name, in_flight, muted=False):
    cluster.model.configure(
        namespace,
        name,
        steps=[(0, in_flight / 0.2)],
        sinks=[adapter.sink],
        signals={INBOUND: 1.0, CONNECTIONS: 2.0},
        start_muted=muted,
    )
    cluster.plane.kubectl.apply([workloads.deployment(namespace, name, 2)])


@pytest.fixture
def pushing(cluster, adapter, namespace):
    """Two workloads of two pods that push, and one that is silent."""
    _push(cluster, adapter, namespace, "front", 5)
    _push(cluster, adapter, namespace, "web", 33)
    _push(cluster, adapter, namespace, "quiet", 9, muted=True)

    def all_are_there():
        rows = _look(cluster, namespace)["workloads"]
        return [row.get(INBOUND) for row in rows] == [33, 5]

    wait_until(all_are_there, 30, "both workloads are shown")
    return namespace


def test_it_shows_what_is_in_flight_most_first(cluster, pushing):
    table = _look(cluster, pushing)
    assert table["faults"] == []
    assert table["silentWorkloads"] == 1
    web, front = table["workloads"]
    assert (web["namespace"], web["workload"]) == (pushing, "Deployment/web")
    assert (web["pods"], web["pushing"], web[INBOUND], web[CONNECTIONS]) == (2, 2, 33, 66)
    assert front["workload"] == "Deployment/front"
    assert all(0 <= row["oldestSeconds"] < 4 for row in table["workloads"])

    pod = cluster.pods(pushing, "app=web")[0]["metadata"]["name"]
    cluster.model.set_muted(pushing, "web", pod, True)
    wait_until(
        lambda: _look(cluster, pushing)["workloads"][0]["pushing"] == 1, 20, "a pod is missing"
    )
    text = _top(cluster.plane.admin_kubeconfig, "-n", pushing, "--once").stdout.splitlines()
    assert text[0].split()[:3] == ["NAMESPACE", "WORKLOAD", "PUSHING"]
    assert text[1].split()[:3] == [pushing, "Deployment/web", "1/2"]
    assert text[-2] == "1 workload without telemetry"
    assert text[-1].startswith("steps ahead are not known: no replica"), "and that is no fault"


def test_it_looks_again_until_it_is_ended(cluster, pushing):
    command = [BINARY, "top", f"--kubeconfig={cluster.plane.admin_kubeconfig}", f"-n{pushing}"]
    command += ["--interval=200ms", "--output=json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        looks = [json.loads(running.stdout.readline()) for _ in range(3)]
        running.terminate()
    assert [len(look["workloads"]) for look in looks] == [2, 2, 2]


def test_what_cannot_be_read_is_named(cluster, adapter, namespace, tmp_path):
    plane = cluster.plane
    nobody = plane.kubeconfig("nobody", plane.client_certificate("nobody"))
    done = _top(nobody, "--once", f"-n{namespace}")
    assert done.returncode == 1
    assert 'User "nobody" cannot list resource "pods"' in done.stdout
    [closed] = free_ports(1)
    elsewhere = tmp_path / "kubeconfig"
    elsewhere.write_text(plane.admin_kubeconfig.read_text().replace(str(plane.port), str(closed)))
    done = _top(elsewhere, "--once")
    assert done.returncode == 1
    assert f"127.0.0.1:{closed}" in done.stdout
    done = _top(nobody, "--interval=0s")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--interval is 100ms at least" in done.stderr


def test_no_metrics_api_is_named(cluster, namespace):
    cluster.plane.kubectl.apply([workloads.deployment(namespace, "web", 1)])
    cluster.wait_ready(namespace, "web", 1)
    cluster.aggregation.remove()
    done = _top(cluster.plane.admin_kubeconfig, "--once", f"-n{namespace}")
    assert done.returncode == 1
    assert "page not found; activescale doctor looks for the cause" in done.stdout
