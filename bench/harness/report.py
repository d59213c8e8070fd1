"""Medians, ratios and bars."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median

from harness.scenarios import Runs

PRODUCT = "activescale"

# The figure of each scenario that is also given as a ratio of product to the other servers.
COMPARED = {
    "ingest.small": "cpu_us_per_message",
    "ingest.large": "cpu_us_per_message",
    "ingest.streams2000": "rss_mib",
    "ingest.flood_small": "peak_rss_mib",
    "ingest.flood_large": "peak_rss_mib",
    "ingest.latency": "visible_p50_ms",
    "query.pods100": "p50_ms",
    "query.pods1000": "p50_ms",
    "redis.ingest": "cpu_us_per_message",
    "redis.paced": "cpu_us_per_message",
    "redis.pods100": "p50_ms",
    "signals.query": "p50_ms",
}

Figures = dict[str, float]


def figures(runs: Runs) -> Figures:
    """The median of each figure as scenario.server.figure, and scenario.ratio_<server>."""
    result: Figures = {}
    for scenario, servers in runs.items():
        for server, repeats in servers.items():
            for figure in repeats[0]:
                values = [repeat[figure] for repeat in repeats]
                result[f"{scenario}.{server}.{figure}"] = median(values)
        add_ratios(result, scenario, [server for server in servers if server != PRODUCT])
    return result


def add_ratios(result: Figures, scenario: str, others: list[str]) -> None:
    own = result.get(f"{scenario}.{PRODUCT}.{COMPARED[scenario]}")
    for other in others:
        if own is not None:
            theirs = result[f"{scenario}.{other}.{COMPARED[scenario]}"]
            result[f"{scenario}.ratio_{other}"] = own / theirs


@dataclass(frozen=True)
class Bar:
    """One promise: the figure called name is at most limit."""

    name: str
    value: float
    limit: float

    @property
    def met(self) -> bool:
        return self.value <= self.limit

    def as_dict(self) -> dict:
        return {**asdict(self), "met": self.met}

    def __str__(self) -> str:
        verdict = "met   " if self.met else "MISSED"
        return f"bar {verdict} {self.name} = {self.value:.4g} (at most {self.limit:.4g})"


def ten_seconds_later(found: Figures, scenario: str) -> float:
    return 1.2 * found[f"{scenario}.{PRODUCT}.base_rss_mib"] + 10


LIMITS: dict[str, Callable[[Figures], float]] = {
    "ingest.small.ratio_reference": lambda _: 1 / 15,
    "ingest.small.ratio_floor": lambda _: 1.3,
    "ingest.large.ratio_reference": lambda _: 1 / 15,
    "ingest.large.ratio_floor": lambda _: 1.3,
    "ingest.streams2000.ratio_reference": lambda _: 1 / 2,
    "ingest.flood_small.ratio_reference": lambda _: 1 / 3,
    "ingest.flood_large.ratio_reference": lambda _: 1 / 3,
    f"ingest.flood_small.{PRODUCT}.later_rss_mib": lambda found: ten_seconds_later(
        found, "ingest.flood_small"
    ),
    f"ingest.flood_large.{PRODUCT}.later_rss_mib": lambda found: ten_seconds_later(
        found, "ingest.flood_large"
    ),
    f"ingest.latency.{PRODUCT}.visible_p50_ms": lambda _: 1.0,
    f"query.pods100.{PRODUCT}.p50_ms": lambda _: 0.5,
    "redis.ingest.ratio_reference": lambda _: 1 / 8,
    # One; how many messages there were is known from the clock only.
    f"redis.paced.{PRODUCT}.redis_writes_per_message": lambda _: 1.05,
    "redis.pods100.ratio_reference": lambda _: 1 / 10,
    f"redis.pods100.{PRODUCT}.p50_ms": lambda _: 1.5,
    "signals.query.ratio_prometheus": lambda _: 1 / 5,
}


def bars(found: Figures) -> list[Bar]:
    """The bars whose figures were measured."""
    return [Bar(name, found[name], limit(found)) for name, limit in LIMITS.items() if name in found]
