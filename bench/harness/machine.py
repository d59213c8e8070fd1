"""What the figures depend on besides the programs."""

import os
import platform
import resource
from pathlib import Path

# 2,000 streams take a descriptor each in the server and in the driver.
OPEN_FILES_NEEDED = 4096


def raise_open_files() -> None:
    """Lets the programs started from here open as many files as the system permits."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < OPEN_FILES_NEEDED:
        raise OSError(
            f"at most {hard} open files are permitted here, {OPEN_FILES_NEEDED} are needed: "
            "raise the hard limit (ulimit -Hn)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def describe() -> dict[str, str | int]:
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return {"cpu": model, "cpus": os.cpu_count() or 0, "kernel": platform.release()}
