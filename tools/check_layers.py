"""Checks the architecture of src/ as docs/architecture.md states it.

Each module includes only modules named in its row, third-party libraries stay where they are
wrapped, what is costly to compile stays out of other modules' sight, and files stay short.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# Module -> modules it may include. A module may always include itself.
MODULES: dict[str, set[str]] = {
    "base": set(),
    "metric": {"base"},
    "telemetry": {"base"},
    "net": {"base"},
    "hpa": {"base"},
    "redis": {"base", "net"},
    "kube": {"base", "metric", "telemetry", "net", "hpa"},
    "series": {"base", "metric"},
    "store": {"base", "metric", "telemetry", "redis"},
    "promql": {"base", "metric", "series"},
    "ingest": {"base", "metric", "telemetry", "net", "store", "series", "kube"},
    "source": {"base", "metric", "telemetry", "net", "series"},
    "signal": {"base", "metric", "telemetry", "kube", "store", "series", "promql"},
    "scaleahead": {"base", "metric", "telemetry", "kube", "hpa", "store"},
    "sim": {"base", "metric", "hpa", "promql", "net", "scaleahead"},
    "metricsapi": {"base", "metric", "telemetry", "net", "store", "kube", "signal"},
    "keda": {"base", "metric", "telemetry", "promql", "signal"},
    "queryapi": {"base", "metric", "telemetry", "net", "series", "promql", "signal"},
    "insight": {"base", "metric", "telemetry", "net", "kube", "hpa", "store", "signal"},
}
# The one module that wires all others, and may include each of them.
WIRING = "app"

# Prefix of an include -> modules whose product code may use it (tests may use any). The longest
# prefix that fits decides.
THIRD_PARTY: dict[str, set[str]] = {
    "boost/asio": {"net", "redis"},
    "boost/beast": {"net"},
    "boost/json": {"kube", "metricsapi", "queryapi", "scaleahead", "insight", "sim"},
    "openssl/": {"net"},
    "openssl/evp.h": {"net", "kube"},  # kube: Base64 in kubeconfigs and Secrets
    "curl/": {"net"},
    "hiredis/": {"redis"},
    "sqlite3.h": {"series"},
    "re2/": {"metric", "series", "promql", "insight"},
    "snappy": {"source"},
    "google/protobuf": {"source"},
    "zlib.h": {"ingest"},
    "grpcpp/": {"ingest", "keda"},
    "grpc/": {"ingest", "keda"},
    "yaml-cpp/": {"kube", "source", "sim", "signal", "insight", WIRING},
    "CLI/": {WIRING},
    "spdlog/": {"base"},
    "prometheus/": {"telemetry"},
}
# Beast with TLS costs about 18 s a file to compile.
MAX_BEAST_FILES = 3
# No header outside of these modules may bring Asio along.
ASIO_MODULES = {"net", "redis"}
MAX_LINES = 500
LENGTH_CHECKED = {".h", ".cc", ".py", ".sh", ".go", ".ts"}

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


@dataclass
class SourceFile:
    path: str  # relative to src/
    own: list[str]  # "module/x.h"
    third_party: list[str]

    @property
    def module(self) -> str:
        return self.path.split("/")[0]

    @property
    def is_test(self) -> bool:
        """Tests and the code made for them; it never ships."""
        stem = Path(self.path).stem
        return "/testing/" in self.path or stem.endswith(("_test", "_fuzz", "_bench"))


def read_sources(src: Path) -> dict[str, SourceFile]:
    files = {}
    for path in sorted(src.rglob("*")):
        if path.suffix not in (".h", ".cc"):
            continue
        includes = _INCLUDE.findall(path.read_text())
        name = str(path.relative_to(src))
        files[name] = SourceFile(
            name,
            own=[i for quote, i in includes if quote == '"'],
            third_party=[i for quote, i in includes if quote == "<"],
        )
    return files


def check_modules(files: dict[str, SourceFile]) -> list[str]:
    faults = []
    for f in files.values():
        if f.module not in MODULES and f.module != WIRING:
            faults.append(f"src/{f.path}: module '{f.module}' is not in the table of modules")
            continue
        for include in f.own:
            target = include.split("/")[0]
            if "/testing/" in include and not f.is_test:
                faults.append(f"src/{f.path}: product code includes test code {include}")
            if target not in MODULES and target != WIRING:
                continue  # generated code: proto/
            if target != f.module and f.module != WIRING and target not in MODULES[f.module]:
                faults.append(f"src/{f.path}: {f.module} may not include {include}")
    return faults


def check_third_party(files: dict[str, SourceFile]) -> list[str]:
    faults = []
    for f in files.values():
        if f.is_test:
            continue
        for include in f.third_party:
            prefixes = [prefix for prefix in THIRD_PARTY if include.startswith(prefix)]
            allowed = THIRD_PARTY[max(prefixes, key=len)] if prefixes else {f.module}
            if f.module not in allowed:
                faults.append(f"src/{f.path}: only {sorted(allowed)} may include <{include}>")
    beast = [
        f.path for f in files.values() if any(i.startswith("boost/beast") for i in f.third_party)
    ]
    if len(beast) > MAX_BEAST_FILES:
        faults.append(f"more than {MAX_BEAST_FILES} files include Beast: {', '.join(beast)}")
    faults += [f"src/{path}: a header includes Beast" for path in beast if path.endswith(".h")]
    return faults


def _brings_asio(files: dict[str, SourceFile], path: str, seen: set[str]) -> bool:
    if path in seen or path not in files:
        return False
    seen.add(path)
    f = files[path]
    if any(i.startswith("boost/asio") for i in f.third_party):
        return True
    return any(_brings_asio(files, include, seen) for include in f.own)


def check_asio(files: dict[str, SourceFile]) -> list[str]:
    """Asio's headers are seen by the modules that use it alone, not through a header of theirs."""
    return [
        f"src/{f.path}: {include} brings Asio along"
        for f in files.values()
        if f.module not in ASIO_MODULES
        for include in f.own
        if _brings_asio(files, include, set())
    ]


def check_cycles(modules: dict[str, set[str]]) -> list[str]:
    """The table itself has an order."""
    placed: set[str] = set()
    while len(placed) < len(modules):
        ready = {m for m, uses in modules.items() if m not in placed and uses <= placed}
        if not ready:
            return [f"modules in a cycle: {sorted(set(modules) - placed)}"]
        placed |= ready
    return []


def check_lengths(root: Path, names: list[str]) -> list[str]:
    faults = []
    for name in names:
        path = root / name
        if path.suffix in LENGTH_CHECKED and path.is_file():
            lines = len(path.read_text().splitlines())
            if lines >= MAX_LINES:
                faults.append(f"{name}: {lines} lines, the limit is below {MAX_LINES}")
    return faults


def check_sources(src: Path) -> list[str]:
    files = read_sources(src)
    return check_modules(files) + check_third_party(files) + check_asio(files)


def main(root: Path) -> int:
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    faults = check_cycles(MODULES) + check_sources(root / "src")
    faults += check_lengths(root, sorted(set(listing.stdout.splitlines())))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent.parent))
