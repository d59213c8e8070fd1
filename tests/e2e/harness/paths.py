"""Where things are: the repository, the cache of built programs, the folder of one test run."""

import os
import pathlib

REPO = pathlib.Path(__file__).resolve().parents[3]
E2E = REPO / "tests" / "e2e"


def cache_root() -> pathlib.Path:
    """The folder that keeps built programs; ACTIVESCALE_CACHE lets several checkouts share it."""
    return pathlib.Path(os.environ.get("ACTIVESCALE_CACHE", REPO / ".cache"))


def activescale_binary() -> pathlib.Path:
    """The product under test; ACTIVESCALE_BINARY names another build of it."""
    return pathlib.Path(
        os.environ.get("ACTIVESCALE_BINARY", REPO / "build" / "release" / "activescale")
    )


# Folders of the runs: logs, certificates, kubeconfigs, results.
RUNS = REPO / "build" / "e2e"
