"""A replica's store as a process, driven by lines (replica_main.cc)."""

import dataclasses
import itertools
import os
import pathlib
import queue
import re
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(
    os.environ.get("ACTIVESCALE_REDIS_REPLICA", ROOT / "build/release/src/store/redis_replica")
)


@dataclasses.dataclass(frozen=True)
class Reading:
    """One pod's metric: `state` is value, zero or missing."""

    state: str
    value: int = 0
    age_ms: int = 0

    @staticmethod
    def parse(word: str) -> "Reading":
        if word in ("missing", "zero"):
            return Reading(word)
        milli, age = word.split("@")
        assert int(milli) % 1000 == 0, f"a value that nobody wrote: {word}"
        return Reading("value", int(milli) // 1000, int(age))


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a read gave: the pods' readings, or `error`."""

    readings: dict[str, Reading]
    partial: bool = False
    error: str = ""


class Replica:
    """One process. Threads: any, for reading; one at a time for each stream."""

    def __init__(self, name: str, folder: pathlib.Path, env: Mapping[str, str], ttl: str = "20s"):
        self.log_path = folder / f"{name}.log"
        folder.mkdir(parents=True, exist_ok=True)
        self._tags = itertools.count()
        self._waiting: dict[str, queue.SimpleQueue] = {}
        self._said: queue.SimpleQueue = queue.SimpleQueue()
        self._write_lock = threading.Lock()
        self._ask_lock = threading.Lock()
        clean = {k: v for k, v in os.environ.items() if not k.startswith("REDIS_")}
        with open(self.log_path, "ab") as log:
            self._child = subprocess.Popen(
                [str(BINARY), ttl],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**clean, **env},
                text=True,
            )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self._child.stdout:
            kind, _, rest = line.rstrip("\n").partition(" ")
            tag, _, body = rest.partition(" ")
            if kind in ("read", "error") and tag in self._waiting:
                self._waiting.pop(tag).put((kind, body))
            else:
                self._said.put(line.rstrip("\n"))

    def send(self, *lines: str) -> None:
        with self._write_lock:
            self._child.stdin.write("".join(f"{line}\n" for line in lines))
            self._child.stdin.flush()

    def read(self, pods: Sequence[str], kind: int = 0, timeout_seconds: float = 5) -> Answer:
        tag = str(next(self._tags))
        box: queue.SimpleQueue = queue.SimpleQueue()
        self._waiting[tag] = box
        self.send(f"read {tag} {kind} {' '.join(pods)}")
        what, body = box.get(timeout=timeout_seconds)
        if what == "error":
            return Answer({}, error=body)
        status, *words = body.split(" ")
        readings = {p: Reading.parse(w) for p, w in zip(pods, words, strict=True)}
        return Answer(readings, partial=status == "partial")

    def say(self, pod: str, kind: int = 0) -> str:
        """One pod in a word: its value, zero, missing or error."""
        answer = self.read([pod], kind)
        if answer.error:
            return "error"
        reading = answer.readings[pod]
        return str(reading.value) if reading.state == "value" else reading.state

    def _ask(self, question: str) -> str:
        with self._ask_lock:
            self.send(question)
            return self._said.get(timeout=30)

    def check(self) -> tuple[bool, str]:
        """The readiness check: whether it is ok, and its reason."""
        _, state, reason = self._ask("check").split(" ", 2)
        return state == "ok", reason

    def ready(self) -> bool:
        return self.check()[0]

    def settled(self) -> bool:
        """Whether all that was written is in Redis."""
        return self._ask("pending") == "pending 0"

    def metrics(self) -> str:
        with self._ask_lock:
            self.send("metrics")
            lines = list(iter(lambda: self._said.get(timeout=30), "."))
            return "\n".join(lines)

    def metric(self, name: str, labels: str = "") -> float:
        match = re.search(rf"^{name}{re.escape(labels)} (\S+)$", self.metrics(), re.MULTILINE)
        return float(match.group(1)) if match else 0

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def kill(self) -> None:
        """kill -9: nothing is closed, nothing released."""
        self._child.kill()
        self._child.wait()

    def stop(self) -> None:
        if self._child.poll() is None:
            self._child.stdin.close()
            try:
                self._child.wait(5)
            except subprocess.TimeoutExpired:
                self.kill()
                raise


_PATIENCE = 5


def seconds_until(condition, limit_seconds: float, what: str) -> float:
    """How long it took until `condition` held, on a quiet machine within the limit. Fails only
    after several times as long, since a busy one is not the product's fault."""
    start = time.monotonic()
    while not condition():
        waited = time.monotonic() - start
        assert waited < _PATIENCE * limit_seconds, f"not within {waited:.1f} s: {what}"
        time.sleep(0.01)
    return time.monotonic() - start
