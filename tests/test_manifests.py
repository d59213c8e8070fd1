"""What the manifests promise to those that call a replica."""

import pathlib

import yaml

KUSTOMIZE = pathlib.Path(__file__).parents[1] / "deploy" / "kustomize"


def documents(name: str) -> dict[str, dict]:
    """The documents of a file, by kind."""
    loaded = yaml.safe_load_all((KUSTOMIZE / name).read_text())
    return {document["kind"]: document for document in loaded if document}


def test_keda_always_finds_an_address():
    """Case D8: a scaler's Service without any address made KEDA fail again and again."""
    service = documents("components/keda/service.yaml")["Service"]["spec"]
    # KEDA's client sees each replica and goes round; it sees none that cannot answer.
    assert service["clusterIP"] == "None"
    assert not service.get("publishNotReadyAddresses", False)
    pod = documents("base/deployment.yaml")["Deployment"]["spec"]["template"]
    assert service["selector"].items() <= pod["metadata"]["labels"].items()
    probe = pod["spec"]["containers"][0]["readinessProbe"]
    assert probe["httpGet"]["path"] == "/readyz"
    # Nodes that are drained take one replica after the other.
    budget = documents("overlays/ha/poddisruptionbudget.yaml")["PodDisruptionBudget"]["spec"]
    assert budget["minAvailable"] >= 1
    assert budget["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    guide = (KUSTOMIZE.parents[1] / "docs" / "guide.md").read_text()
    assert "The Service is headless, so that" in guide


def test_steps_ahead_see_scaled_objects_and_change_none():
    rules = documents("components/scale-ahead/rbac.yaml")["ClusterRole"]["rules"]
    [keda] = [rule for rule in rules if "keda.sh" in rule["apiGroups"]]
    assert keda == {
        "apiGroups": ["keda.sh"],
        "resources": ["scaledobjects"],
        "verbs": ["list", "watch"],
    }
    chart = KUSTOMIZE.parent / "helm" / "activescale" / "templates" / "_helpers.tpl"
    lines = [line.strip() for line in chart.read_text().splitlines()]
    at = lines.index("- apiGroups: [keda.sh]")
    assert lines[at + 1 : at + 3] == ["resources: [scaledobjects]", "verbs: [list, watch]"]
