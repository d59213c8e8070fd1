"""The recipe of examples/loki on a control plane: model, Envoy, load, and what came of it."""

import contextlib
import dataclasses
import itertools
import json
import pathlib
import subprocess
import sys
import threading
import time
import urllib.request

import yaml

from tests.e2e.harness import binaries, paths, workloads
from tests.e2e.harness.cluster import Cluster
from tests.lib.envoy import Envoy, EnvoyOptions, Pod
from tests.lib.process import Process, wait_until

EXAMPLE = paths.REPO / "examples" / "loki"
QUERIERS = 10
# What of the recipe's times changes with the scale: the range of the expression.
_RANGE_SECONDS = 120
_PREFIX = "query-scheduler"


@dataclasses.dataclass(frozen=True)
class State:
    """Replicas at a moment, in seconds since the load began."""

    t: float
    spec: int
    ready: int


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What one run of the load did."""

    timeline: tuple[State, ...]
    p90_ms: float
    failed: int

    @property
    def peak(self) -> int:
        return max(state.spec for state in self.timeline)

    @property
    def average(self) -> float:
        pairs = list(itertools.pairwise(self.timeline))
        return sum(a.ready * (b.t - a.t) for a, b in pairs) / sum(b.t - a.t for a, b in pairs)

    @property
    def direction_changes(self) -> int:
        steps = [b.spec - a.spec for a, b in itertools.pairwise(self.timeline) if a.spec != b.spec]
        return sum(1 for a, b in itertools.pairwise(steps) if (a > 0) != (b > 0))

    def text(self) -> str:
        every = max(1, len(self.timeline) // 40)
        line = " ".join(str(state.spec) for state in self.timeline[::every])
        return (
            f"replicas {line}\n  peak {self.peak}, average {self.average:.1f}, "
            f"{self.direction_changes} changes of direction, p90 {self.p90_ms:.0f} ms, "
            f"{self.failed} failed"
        )


def documents(name: str, ns: str, scale: float) -> list[dict]:
    """A file of the example for another namespace, its range scaled."""
    text = (EXAMPLE / name).read_text()
    text = text.replace('namespace=~"loki"', f'namespace=~"{ns}"')
    text = text.replace("[2m]", f"[{max(1, round(_RANGE_SECONDS * scale))}s]")
    found = [document for document in yaml.safe_load_all(text) if document]
    for document in found:
        if "metadata" in document:
            document["metadata"]["namespace"] = ns
        for signal in document.get("signals", []):
            signal["namespace"] = ns
    return found


class Recipe:
    """The model of Loki's read path behind a real Envoy, its queriers the pods of a Deployment."""

    def __init__(self, cluster: Cluster, ns: str, sink_port: int, scale: float):
        self._cluster = cluster
        self._ns = ns
        self._sink_port = sink_port
        self._scale = scale
        self._folder = cluster.plane.logs
        self._stack = contextlib.ExitStack()
        self._ending = threading.Event()
        self._timeline: list[State] = []
        self._began = time.monotonic()
        self.port = 0

    def start(self) -> "Recipe":
        self.model = Process(
            f"loki-{self._ns}",
            [sys.executable, EXAMPLE / "model.py", "--port=0", f"--scale={self._scale}"],
            self._folder,
        ).start()
        self._stack.callback(self.model.stop)
        self.port = wait_until(self._port, 20, "the model listens")
        pod = Pod("query-scheduler-0", self._ns, {"app": "query-scheduler"})
        self._envoy = Envoy(
            pod, [self._sink_port], self.port, self._folder, EnvoyOptions((_PREFIX,))
        ).start()
        self._stack.callback(self._envoy.stop)
        querier = workloads.deployment(self._ns, "querier", QUERIERS)
        self._cluster.plane.kubectl.apply([querier])
        self._cluster.wait_ready(self._ns, "querier", QUERIERS)
        follower = threading.Thread(target=self._follow, daemon=True)
        follower.start()
        self._stack.callback(follower.join)
        self._stack.callback(self._ending.set)
        return self

    def stop(self) -> None:
        self._stack.close()

    def run(self, settle_seconds: float) -> Outcome:
        """Runs the load, waits, and tells what the replicas did from its begin."""
        self._timeline.clear()
        self._began = time.monotonic()
        summary = self._folder / f"k6-{self._ns}.json"
        subprocess.run(
            [
                binaries.binary("k6"),
                "run",
                "--quiet",
                "--no-usage-report",
                f"--summary-export={summary}",
                f"--env=TARGET=http://127.0.0.1:{self._envoy.ports[_PREFIX]}",
                f"--env=SCALE={self._scale}",
                EXAMPLE / "k6.js",
            ],
            check=True,
            capture_output=True,
            timeout=600 * self._scale + 120,
        )
        time.sleep(settle_seconds)
        metrics = json.loads(summary.read_text())["metrics"]
        return Outcome(
            tuple(self._timeline),
            p90_ms=metrics["http_req_duration"]["p(90)"],
            failed=metrics["checks"]["fails"],
        )

    def _port(self) -> int:
        return int(self.model.log_path.read_text().rpartition("listening on port ")[2])

    def _follow(self) -> None:
        """Gives the model the queriers that are ready, and notes what the replicas do."""
        path = f"/apis/apps/v1/namespaces/{self._ns}/deployments/querier"
        while not self._ending.wait(0.25):
            with contextlib.suppress(OSError):
                found = self._cluster.api.get(path)
                ready = found["status"].get("readyReplicas", 0)
                url = f"http://127.0.0.1:{self.port}/queriers?count={ready}"
                urllib.request.urlopen(urllib.request.Request(url, method="PUT"), timeout=5).close()
                now = time.monotonic() - self._began
                self._timeline.append(State(now, found["spec"]["replicas"], ready))


def scrape_config(folder: pathlib.Path, ns: str, port: int, scale: float) -> pathlib.Path:
    """--scrape-config for the model's scheduler."""
    targets = {"targets": [f"127.0.0.1:{port}"], "labels": {"namespace": ns}}
    config = {
        "global": {"scrape_interval": f"{max(100, round(1000 * scale))}ms"},
        "scrape_configs": [{"job_name": "loki", "static_configs": [targets]}],
    }
    path = folder / f"scrape-{ns}.yaml"
    path.write_text(json.dumps(config))
    return path
