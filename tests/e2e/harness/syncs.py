"""When the HPA controller looked at each workload, from its log: it writes a line at each
sync, whether or not the HPA's status changes."""

import datetime
import math
import re

from tests.e2e.harness.controlplane import ControlPlane

_SYNC = re.compile(
    r'^I(\d{4} \d\d:\d\d:\d\d\.\d{6}) .*"Proposing desired replicas".*'
    r'scaleTarget="[^/"]+/([^/"]+/[^/"]+)"'
)


def seen(plane: ControlPlane) -> dict[str, list[float]]:
    """The moments (Unix seconds) of all syncs so far, by namespace/name of the target."""
    year = datetime.datetime.now().year
    moments: dict[str, list[float]] = {}
    with open(plane.controller_manager.log_path, encoding="utf-8", errors="replace") as log:
        for line in log:
            if found := _SYNC.match(line):
                moment, target = found.groups()
                moments.setdefault(target, []).append(_unix_seconds(year, moment))
    return moments


def predict(moments: list[float], after: float) -> float:
    """The first sync after a moment, by the last ones that were seen: the next comes one period
    after the end of one, so they drift by what a sync takes."""
    recent = moments[-4:]
    period = (recent[-1] - recent[0]) / (len(recent) - 1)
    return recent[-1] + math.ceil((after - recent[-1]) / period) * period


def late(moments: list[float], steps: list[float], planned_wait: float) -> list[float]:
    """How many seconds later than planned the first sync after each step came, from the syncs that
    were seen."""
    return [min(m for m in moments if m >= step) - step - planned_wait for step in steps]


def _unix_seconds(year: int, moment: str) -> float:
    """klog writes local time without a year."""
    return datetime.datetime.strptime(f"{year}{moment}", "%Y%m%d %H:%M:%S.%f").timestamp()
