"""When the HPA controller last looked at each workload, from its log: it writes a line at each
sync, whether or not the HPA's status changes."""

import datetime
import re

from tests.e2e.harness.controlplane import ControlPlane

_SYNC = re.compile(
    r'^I(\d{4} \d\d:\d\d:\d\d\.\d{6}) .*"Proposing desired replicas".*'
    r'scaleTarget="[^/"]+/([^/"]+/[^/"]+)"'
)


def last_syncs(plane: ControlPlane) -> dict[str, float]:
    """The moment (Unix seconds) of the last sync that was seen, by namespace/name of the target."""
    year = datetime.datetime.now().year
    seen = {}
    with open(plane.controller_manager.log_path, encoding="utf-8", errors="replace") as log:
        for line in log:
            if found := _SYNC.match(line):
                moment, target = found.groups()
                seen[target] = _unix_seconds(year, moment)
    return seen


def _unix_seconds(year: int, moment: str) -> float:
    """klog writes local time without a year."""
    return datetime.datetime.strptime(f"{year}{moment}", "%Y%m%d %H:%M:%S.%f").timestamp()
