"""Runs clang-tidy over the own .cc files of a build folder, one a core.

    tools/tidy.py BUILD [FILE...]      all of them, or only the files named

Tests are left out: they are compiled with all warnings as errors, and would double the time. A
file that passed is not checked again until it, an own header it sees, the configuration, the
compile command or clang-tidy changes: the digests of passed files are kept in .cache/tidy.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "tidy"
CLANG_TIDY = "clang-tidy-19"
# clang checks the lock annotations of base/mutex.h; g++ ignores them.
# libstdc++ uses functions of its own that it deprecated.
EXTRA_ARGS = [
    f"--extra-arg=-W{flag}"
    for flag in ("thread-safety", "no-unknown-warning-option", "no-deprecated-declarations")
]
FOLDERS = ("src/", "bench/", "tests/")

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def own_headers(path: Path, include_dirs: list[Path], seen: set[Path]) -> set[Path]:
    """The quoted includes of a file, and of those, and so on."""
    for name in _INCLUDE.findall(path.read_text(errors="replace")):
        for folder in [path.parent, *include_dirs]:
            header = (folder / name).resolve()
            if header.is_file():
                if header not in seen:
                    seen.add(header)
                    own_headers(header, include_dirs, seen)
                break
    return seen


def digest(source: Path, command: str, fixed: bytes) -> str:
    h = hashlib.sha256(fixed)
    h.update(command.replace(str(ROOT), "").encode())
    dirs = [
        Path(d) for d in re.findall(r"-(?:I|isystem )(\S+)", command) if d.startswith(str(ROOT))
    ]
    for path in [source, *sorted(own_headers(source, dirs, set()))]:
        name = str(path.relative_to(ROOT)).encode()
        h.update(name + b"\0" + path.read_bytes() + b"\0")
    return h.hexdigest()


def check(source: Path, build: Path, mark: Path) -> tuple[Path, float, str]:
    """Returns the findings of one file, empty if there are none."""
    start = time.monotonic()
    run = subprocess.run(
        [CLANG_TIDY, "-p", str(build), "--quiet", *EXTRA_ARGS, str(source)],
        capture_output=True,
        text=True,
    )
    if run.returncode == 0:
        mark.touch()
        return source, time.monotonic() - start, ""
    return source, time.monotonic() - start, run.stdout + run.stderr


def main(build: Path, only: set[Path]) -> int:
    CACHE.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([CLANG_TIDY, "--version"], capture_output=True, check=True).stdout
    fixed = version + (ROOT / ".clang-tidy").read_bytes() + " ".join(EXTRA_ARGS).encode()
    todo, known = [], 0
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = Path(entry["file"])
        if not str(source).startswith(tuple(str(ROOT / f) for f in FOLDERS)):
            continue
        if source.stem.endswith("_test") or "testing" in source.parts:
            continue
        if only and source not in only:
            continue
        mark = CACHE / digest(source, entry["command"], fixed)
        if mark.exists():
            mark.touch()
            known += 1
        else:
            todo.append((source, mark))
    print(f"{len(todo)} files to check, {known} unchanged", flush=True)
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: check(job[0], build, job[1]), todo)
        for source, seconds, findings in results:
            print(f"{source.relative_to(ROOT)} {seconds:.1f} s", flush=True)
            if findings:
                failed += 1
                print(findings, flush=True)
    print(f"{failed} files with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    build, *only = (Path(argument).resolve() for argument in sys.argv[1:])
    sys.exit(main(build, set(only)))
