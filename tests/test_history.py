"""What a server kept on disk, asked when the server is gone."""

import csv
import io
import subprocess

from tests.lib.activescale import BINARY
from tests.lib.envoy import EnvoyOptions, Pod
from tests.lib.process import wait_until

METRIC = "inbound_active_requests"
POD = Pod("web-0", "shop", {"app": "web"}, "web")
PREFIX = "inbound_0.0.0.0_8080;"


def run(*args: object) -> subprocess.CompletedProcess:
    return subprocess.run([BINARY, *map(str, args)], capture_output=True, text=True, timeout=60)


def kept(folder) -> list[float]:
    """The loads of the last minute, one a second."""
    flags = (f"--data-dir={folder}", "--range=1m", "--step=1s", "--output=csv")
    done = run("query", f"sum({METRIC})", *flags)
    assert done.returncode == 0, done.stderr
    return [float(row["value"]) for row in csv.DictReader(io.StringIO(done.stdout))]


def test_what_was_kept_answers_when_the_server_is_gone(lab):
    folder = lab.folder / "data"
    server = lab.activescale(f"--data-dir={folder}", f"--keep={METRIC}")
    options = EnvoyOptions((PREFIX,), flush_seconds=0.5)
    envoy = lab.envoy(POD, [server.grpc_port], lab.backend().port, options)
    lab.load(envoy.ports[PREFIX]).set(3)
    wait_until(lambda: kept(folder).count(3) >= 3, 20, "the load is on disk")
    server.stop()
    assert max(kept(folder)) == 3

    asked = (f"--data-dir={folder}", f"--query=sum({METRIC})", "--history=1m", "--resolution=1s")
    advised = run("recommend", *asked, "--workers=4", "--latency=1s")
    assert (advised.returncode, advised.stderr) == (0, "")
    assert "minReplicas" in advised.stdout and "history" in advised.stdout


def test_a_folder_without_history_is_told(tmp_path):
    for command in (["query", "up"], ["recommend", "--query=up", "--workers=4"]):
        done = run(*command, f"--data-dir={tmp_path}")
        assert done.returncode != 0
        assert str(tmp_path) in done.stderr
