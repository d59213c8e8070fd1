"""The commands that need no cluster, run as a person runs them."""

import json
import re
import subprocess

import pytest

from tests.lib.activescale import BINARY

HPA = """apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 20
  metrics:
    - type: Pods
      pods:
        metric: {name: inbound_active_requests}
        target: {type: AverageValue, averageValue: "10"}
"""


def run(*arguments):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=120)


def test_tc1_from_a_manifest_compares_paths(tmp_path):
    manifest = tmp_path / "hpa.yaml"
    manifest.write_text(HPA)
    done = run(
        "simulate",
        f"--hpa={manifest}",
        "--load=tc1",
        "--warmup=5s",
        "--start=1s",
        "--step=250ms",
        "--runs=20",
        "--compare=metrics-server",
        "--output=json",
    )
    assert done.returncode == 0, done.stderr
    push, cpu = (run["summary"] for run in json.loads(done.stdout)["runs"])
    assert push["max_replicas"] == 20
    assert 3 <= push["scaling_start_seconds"] <= 34
    assert 75.88 <= push["scale_out_coverage_percent"] <= 97.86
    assert push["scale_out_coverage_percent"] > cpu["scale_out_coverage_percent"]


def test_the_report_is_written_whole(tmp_path):
    page = tmp_path / "report.html"
    done = run("simulate", "--output=html", f"--out={page}")
    assert done.returncode == 0, done.stderr
    assert page.read_text().endswith("</body></html>\n")
    assert list(tmp_path.iterdir()) == [page]


def test_a_sweep_has_a_line_for_each_combination():
    done = run("simulate", "--sweep=target=5|10,window=0..600/300")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1 + 6


def test_a_recommendation_names_its_reasons(tmp_path):
    history = tmp_path / "inflight.csv"
    rows = "\n".join(f"{at},{20 + at % 3600 / 100:.0f}" for at in range(0, 14400, 60))
    history.write_text(f"time,inflight\n{rows}\n")
    done = run("recommend", f"--inflight={history}", "--workers=6", "--latency=2s", "--max-wait=5s")
    assert done.returncode == 0, done.stderr
    assert re.search(r"floor\(0.75 . 6 workers\)", done.stdout)
    assert "warning: the history covers 0.2 of 7.0 days" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        (["simulate", "--load=nope"], "no load shape is called 'nope'"),
        (["simulate", "--load=missing.csv"], "cannot read missing.csv"),
        (["simulate", "--flush=5"], "--flush"),
        (["simulate", "--ttl=1s"], "ttl"),
        (["simulate", "--sweep=size=3"], "'size' is no setting"),
        (["simulate", "--path=pigeon"], "--path"),
        (["recommend"], "--inflight"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(tmp_path, arguments, want):
    out = tmp_path / "out"
    done = run(*arguments, f"--out={out}")
    assert done.returncode == 2
    assert want in done.stderr
    assert not out.exists()
