"""Builders of the objects that the scenarios create: plain dictionaries, as the API takes them."""

from tests.e2e.harness.controlplane import NODE


def namespace(name: str) -> dict:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def deployment(ns: str, name: str, replicas: int, **spec: object) -> dict:
    """A Deployment whose pods kwok runs and carry the label app=<name>; `spec` adds fields."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": ns, "name": name},
        "spec": {**_pod_owner_spec(name, replicas), **spec},
    }


def stateful_set(ns: str, name: str, replicas: int) -> dict:
    spec = _pod_owner_spec(name, replicas)
    spec.update(serviceName=name, podManagementPolicy="Parallel")
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"namespace": ns, "name": name},
        "spec": spec,
    }


def pod(ns: str, name: str, labels: dict[str, str], restart_policy: str = "Always") -> dict:
    spec = {**_pod_spec(), "restartPolicy": restart_policy}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": ns, "name": name, "labels": labels},
        "spec": spec,
    }


def hpa(
    ns: str,
    target: str,
    metrics: list[dict],
    minimum: int = 1,
    maximum: int = 20,
    kind: str = "Deployment",
    behavior: dict | None = None,
    annotations: dict[str, str] | None = None,
) -> dict:
    """An HPA of the same name as its target."""
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": kind, "name": target},
        "minReplicas": minimum,
        "maxReplicas": maximum,
        "metrics": metrics,
    }
    if behavior:
        spec["behavior"] = behavior
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"namespace": ns, "name": target, "annotations": annotations or {}},
        "spec": spec,
    }


def pods_metric(metric: str, average: str) -> dict:
    return {
        "type": "Pods",
        "pods": {
            "metric": {"name": metric},
            "target": {"type": "AverageValue", "averageValue": average},
        },
    }


def object_metric(metric: str, kind: str, name: str, target_type: str, amount: str) -> dict:
    """An Object metric; target_type is Value or AverageValue."""
    field = target_type[0].lower() + target_type[1:]
    version = "v1" if kind in ("Service", "Pod") else "apps/v1"
    return {
        "type": "Object",
        "object": {
            "metric": {"name": metric},
            "describedObject": {"apiVersion": version, "kind": kind, "name": name},
            "target": {"type": target_type, field: amount},
        },
    }


def quick_behavior() -> dict:
    """Lets the HPA scale to its proposal at once, out and in, so that tests see the proposal."""
    policy = {"type": "Pods", "value": 1000, "periodSeconds": 1}
    return {
        "scaleUp": {"stabilizationWindowSeconds": 0, "policies": [policy]},
        "scaleDown": {"stabilizationWindowSeconds": 0, "policies": [policy]},
    }


def scale_up_behavior(percent: int) -> dict:
    """Lets the HPA grow by `percent` in 15 s; scaling in stays as by default."""
    policy = {"type": "Percent", "value": percent, "periodSeconds": 15}
    return {"scaleUp": {"stabilizationWindowSeconds": 0, "policies": [policy]}}


def _pod_owner_spec(name: str, replicas: int) -> dict:
    return {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": _pod_spec()},
    }


def _pod_spec() -> dict:
    return {
        # There is no scheduler: the pretended node takes every pod.
        "nodeName": NODE,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
        "containers": [
            {"name": "app", "image": "example.invalid/app:1", "ports": [{"containerPort": 8080}]}
        ],
    }
