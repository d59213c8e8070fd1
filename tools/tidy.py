"""Runs clang-tidy over the own .cc files of a build folder, one a core.

    tools/tidy.py BUILD [FILE...]      all of them, or only the files named

Tests are left out: they are compiled with all warnings as errors, and would double the time. A
file that passed is not checked again until it, an own header it sees, the configuration, the
compile command or clang-tidy changes: the digests of passed files are kept in .cache/tidy.

Most of the time goes into reading the libraries' headers, so files that are compiled alike are
checked in batches of one translation unit. What a batch complains of may come of the joining: its
files are then checked one by one, and only that counts.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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
BATCH_FILES = 12

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


@dataclass(frozen=True)
class Job:
    source: Path
    flags: tuple[str, ...]  # of the compiler, without what names this file
    mark: Path  # there once the file has passed


def flags_of(command: str) -> tuple[str, ...]:
    """A compile command without the compiler, its launcher, the source and the outputs."""
    words = shlex.split(command)
    first = next(i for i, word in enumerate(words) if word.startswith("-"))
    flags, skip = [], False
    for word in words[first:]:
        if skip or word == "-c":
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        elif word.startswith("-") or flags[-1] == "-isystem":
            flags.append(word)
    return tuple(flags)


def findings_in(source: Path, flags: tuple[str, ...], more: tuple[str, ...] = ()) -> str:
    run = subprocess.run(
        [CLANG_TIDY, "--quiet", *EXTRA_ARGS, *more, str(source), "--", *flags],
        capture_output=True,
        text=True,
    )
    return run.stdout + run.stderr if run.returncode else ""


def check(batch: list[Job]) -> list[tuple[Path, str]]:
    """Checks files of the same flags; returns the findings of each, empty if there are none."""
    if len(batch) > 1:
        joined = CACHE / f"batch-{batch[0].mark.name}.cc"
        joined.write_text("".join(f'#include "{job.source}"\n' for job in batch))
        found = findings_in(joined, batch[0].flags, ("--checks=-bugprone-suspicious-include",))
        joined.unlink()
        if found:
            return [result for job in batch for result in check([job])]
    else:
        found = findings_in(batch[0].source, batch[0].flags)
    if not found:
        for job in batch:
            job.mark.touch()
    return [(job.source, found) for job in batch]


def batches_of(jobs: list[Job]) -> list[list[Job]]:
    """Neighbours of the same flags, at least two batches where there is work for two cores."""
    alike = defaultdict(list)
    for job in jobs:
        alike[job.source.parent, job.flags].append(job)
    size = min(BATCH_FILES, max(1, len(jobs) // (os.cpu_count() or 1)))
    return [group[i : i + size] for group in alike.values() for i in range(0, len(group), size)]


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
            todo.append(Job(source, flags_of(entry["command"]), mark))
    print(f"{len(todo)} files to check, {known} unchanged", flush=True)
    failed = checked = 0
    start = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for results in pool.map(check, batches_of(todo)):
            checked += len(results)
            folder = results[0][0].parent.relative_to(ROOT)
            print(f"{time.monotonic() - start:.0f} s: {checked}/{len(todo)}, {folder}", flush=True)
            for source, found in results:
                if found:
                    failed += 1
                    print(f"{source.relative_to(ROOT)}\n{found}", flush=True)
    print(f"{failed} files with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    build, *only = (Path(argument).resolve() for argument in sys.argv[1:])
    sys.exit(main(build, set(only)))
