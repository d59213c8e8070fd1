"""`activescale explain` on a saved file, as a person runs it who was sent one."""

import json
import subprocess

import pytest

from tests.lib.activescale import BINARY


def pod(name, phase="Running"):
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d9c", "controller": True}
    ready = {"type": "Ready", "status": "True" if phase == "Running" else "False"}
    return {
        "metadata": {
            "namespace": "shop",
            "name": name,
            "labels": {"app": "web", "pod-template-hash": "5d9c"},
            "ownerReferences": [owner],
        },
        "status": {"phase": phase, "conditions": [ready]},
    }


def snapshot():
    """Four replicas: one without a value, one still Pending; the second metric is missing."""
    target = {"type": "AverageValue", "averageValue": "5"}
    described = {"apiVersion": "v1", "kind": "Service", "name": "front"}
    values = {"web-5d9c-a": "12", "web-5d9c-b": "9500m"}
    metrics = [
        {"type": "Pods", "pods": {"metric": {"name": "inbound_active_requests"}, "target": target}},
        {
            "type": "Object",
            "object": {
                "metric": {"name": "active_connections"},
                "describedObject": described,
                "target": {"type": "AverageValue", "averageValue": "50"},
            },
        },
    ]
    return {
        "kind": "ActivescaleHpaSnapshot",
        "takenAt": "2026-11-30T06:00:00Z",
        "hpa": {
            "metadata": {"namespace": "shop", "name": "web"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": 2,
                "maxReplicas": 20,
                "metrics": metrics,
            },
        },
        "scale": {"spec": {"replicas": 4}, "status": {"replicas": 4, "selector": "app=web"}},
        "pods": [
            pod("web-5d9c-a"),
            pod("web-5d9c-b"),
            pod("web-5d9c-c"),
            pod("web-5d9c-d", "Pending"),
        ],
        "answers": [
            {"items": [{"describedObject": {"name": n}, "value": v} for n, v in values.items()]},
            {"error": {"status": 404, "message": "no telemetry for service front"}},
        ],
        "events": [],
    }


def run(*arguments):
    return subprocess.run(
        [BINARY, "explain", *arguments], capture_output=True, text=True, timeout=60
    )


def test_a_saved_file_is_explained_without_a_cluster(tmp_path):
    saved = tmp_path / "web.json"
    saved.write_text(json.dumps(snapshot()))
    text = run(f"--from={saved}", "--replicas=10")
    assert text.returncode == 0, text.stderr
    assert "keeps 4" in text.stdout or "makes it" in text.stdout
    assert "To reach 10 replicas" in text.stdout
    explained = json.loads(run(f"--from={saved}", "--output=json").stdout)
    counted = {p["name"][-1]: p["countedAs"] for p in explained["metrics"][0]["pods"]}
    assert counted == {"a": "its value", "b": "its value", "c": "idle (0)", "d": "idle (0)"}
    # (12 + 9.5 + 0 + 0) / 4 = 5.375 is ratio 1.075: no change, with the second metric away.
    assert explained["desiredReplicas"] == 4
    assert explained["metrics"][1]["error"] == "no telemetry for service front"


@pytest.mark.parametrize(
    ("arguments", "want", "code"),
    [
        (["web"], "hpa/NAMESPACE/NAME", 2),
        (["hpa/shop/web/x"], "hpa/NAMESPACE/NAME", 2),
        (["hpa//web"], "hpa/NAMESPACE/NAME", 2),
        (["--from=missing.json"], "cannot read missing.json", 2),
        (["hpa/shop/web", "--kubeconfig=missing"], "missing", 1),
        (["hpa/shop/web", "--output=yaml"], "--output", 2),
    ],
)
def test_bad_input_is_named(arguments, want, code):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert want in done.stderr


def test_a_broken_file_is_named(tmp_path):
    saved = tmp_path / "web.json"
    document = snapshot()
    del document["hpa"]["spec"]["maxReplicas"]
    saved.write_text(json.dumps(document))
    done = run(f"--from={saved}")
    assert done.returncode == 2
    assert f"{saved} " in done.stderr and "spec.maxReplicas" in done.stderr
