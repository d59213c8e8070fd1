"""What is measured: each scenario is one call of the driver against a fresh server."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness import build
from harness.server import SERVERS, Server, ServerFailure, running


@dataclass(frozen=True)
class Scenario:
    name: str
    mode: str  # of the driver
    capture: str
    arguments: tuple[str, ...]
    needs_api: bool = False
    shared_pods: int = 0  # pods of which values are kept in a Redis; 0: in memory


SCENARIOS = (
    Scenario("ingest.small", "cpu", "small", ("-streams=32", "-messages=40000")),
    Scenario("ingest.large", "cpu", "large", ("-streams=32", "-messages=4000")),
    Scenario("ingest.streams2000", "idle", "small", ("-streams=2000", "-duration=20s")),
    Scenario("ingest.flood_small", "flood", "small", ("-streams=50", "-duration=5s")),
    Scenario("ingest.flood_large", "flood", "large", ("-streams=50", "-duration=5s")),
    Scenario("ingest.latency", "latency", "small", ("-samples=400",), needs_api=True),
    Scenario(
        "query.pods100", "query", "small", ("-streams=100", "-samples=4000"), needs_api=True
    ),
    Scenario(
        "query.pods1000", "query", "small", ("-streams=1000", "-samples=1000"), needs_api=True
    ),
    Scenario(
        "redis.ingest", "cpu", "small",
        ("-streams=1000", "-messages=40000"), needs_api=True, shared_pods=1000,
    ),
    Scenario(
        "redis.paced", "idle", "small",
        ("-streams=1000", "-interval=1s", "-duration=20s"), needs_api=True, shared_pods=1000,
    ),
    Scenario(
        "redis.pods100", "query", "small",
        ("-streams=100", "-samples=1000"), needs_api=True, shared_pods=100,
    ),
)  # fmt: skip

# figures[scenario][server] = one dictionary of figures a repeat
Runs = dict[str, dict[str, list[dict[str, float]]]]


def measure(
    scenarios: list[Scenario], servers: list[str], repeats: int, captures: dict[str, Path]
) -> Runs:
    """Measures the servers in turns, so that what disturbs the machine disturbs all of them."""
    runs: Runs = {}
    for scenario in scenarios:
        able = [name for name in servers if can(scenario, name)]
        runs[scenario.name] = {name: [] for name in able}
        for repeat in range(repeats):
            turn = repeat % max(len(able), 1)
            for name in able[turn:] + able[:turn]:
                build.say(f"{scenario.name}: {name}, {repeat + 1} of {repeats}")
                with running(name, scenario.shared_pods) as server:
                    figures = drive(scenario, name, server, captures[scenario.capture])
                runs[scenario.name][name].append(figures)
    return runs


def can(scenario: Scenario, name: str) -> bool:
    kind = SERVERS[name]
    return (kind.has_api or not scenario.needs_api) and (kind.share or not scenario.shared_pods)


def drive(scenario: Scenario, name: str, server: Server, capture: Path) -> dict[str, float]:
    command = [
        build.BINARIES / "driver",
        f"-grpc-port={server.grpc_port}",
        f"-secure-port={server.secure_port}",
        f"-redis-port={server.redis_port}",
        f"-pid={server.pid}",
        f"-capture={capture}",
        *scenario.arguments,
        scenario.mode,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise ServerFailure(
            f"{scenario.name} of {name} was not measured (its log: build/bench/{name}.log):\n"
            f"{done.stderr[-2000:]}"
        )
    return json.loads(done.stdout)
