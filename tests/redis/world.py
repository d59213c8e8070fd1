"""Pods that push through several replicas and readers that check every answer."""

import dataclasses
import math
import random
import threading
import time

from tests.redis.replica import Answer, Reading, Replica

# A value is the number of its stream and of its flush, so that it tells where it came from.
_STREAM = 100_000
_PUSH_SECONDS = 0.5
# Between a push and its arrival at the replica's store on a busy machine.
_PIPE_SECONDS = 0.5
# Streams of one pod open at least so far apart: replicas know the server's clock to some ms only,
# less well on a busy machine, and the order of what is closer together is nobody's promise.
_OPEN_SECONDS = 0.5
# An answer that takes longer never comes. That it comes within 0.5 s is for tests of one fault.
_ANSWER_SECONDS = 20


@dataclasses.dataclass
class Stream:
    """One Envoy's stream: `number` grows with each stream of the pod."""

    name: str
    number: int
    replica: int
    pushed: list[float] = dataclasses.field(default_factory=list)  # when, for each flush


class Pod:
    def __init__(self, name: str):
        self.name = name
        self.streams: list[Stream] = []  # the last one counts; others are half open
        self.history: dict[int, Stream] = {}
        self.seen = 0  # the newest stream that any finished read showed
        self.opened = 0.0  # when the last stream was certainly open
        self.lossy_until = 0.0  # its record may be lost: an older stream may show until it is not


class World:
    """Threads: one pusher, some readers; faults come from the test's own."""

    def __init__(self, start_replica, replicas: int, pods: int, ttl_seconds: float, seed: int):
        self.random = random.Random(seed)
        self._start_replica = start_replica
        self._ttl = ttl_seconds
        self.replicas: list[Replica] = [start_replica(i) for i in range(replicas)]
        self.pods = [Pod(f"shop/web-{i}") for i in range(pods)]
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self.wrong: list[str] = []
        self.reads = self.values = self.missing = self.errors = self.partial = 0
        self.slowest = 0.0
        self._threads = [threading.Thread(target=self._push_all, daemon=True)]
        self._threads += [threading.Thread(target=self._read_all, daemon=True) for _ in range(2)]

    def start(self) -> None:
        self._open_all([(p, self.random.randrange(len(self.replicas))) for p in self.pods])
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)

    def _open(self, pod: Pod, replica: int) -> None:
        number = len(pod.history) + 1
        stream = Stream(f"{pod.name}#{number}", number, replica)
        pod.history[number] = stream
        pod.streams.append(stream)
        self.replicas[replica].send(f"open {stream.name} {pod.name}")

    def _open_all(self, moves: list[tuple[Pod, int]]) -> None:
        """Opens streams at replicas, and returns when these have done so."""
        for pod, replica in moves:
            self._open(pod, replica)
        for replica in {replica for _, replica in moves}:
            self.replicas[replica].settled()  # it answers in order
        now = time.monotonic()
        for pod, _ in moves:
            pod.opened = now

    def move_some(self, count: int) -> None:
        """Pods reconnect elsewhere; half of the old streams stay half open and go on pushing."""
        with self._lock:
            now = time.monotonic()
            settled = [pod for pod in self.pods if now - pod.opened >= _OPEN_SECONDS]
            moved = self.random.sample(settled, min(count, len(settled)))
            before = {pod: list(pod.streams) for pod in moved}
            self._open_all([(p, self.random.randrange(len(self.replicas))) for p in moved])
            for pod, old in before.items():
                for stream in old:
                    if len(old) > 1 or self.random.random() < 0.5:
                        self.replicas[stream.replica].send(f"close {stream.name}")
                        pod.streams.remove(stream)

    def lose(self, opened_within_seconds: float = math.inf) -> None:
        """Redis is about to lose the records of streams that opened so recently."""
        with self._lock:
            now = time.monotonic()
            for pod in self.pods:
                if now - pod.opened < opened_within_seconds:
                    pod.lossy_until = math.inf

    def regain(self) -> None:
        """What was lost is written again."""
        with self._lock:
            for pod in self.pods:
                pod.lossy_until = min(pod.lossy_until, time.monotonic())

    def kill_replica(self, index: int) -> None:
        """kill -9: its streams end without a word, and Envoys connect to the others."""
        with self._lock:
            self.replicas[index].kill()
            self.replicas[index] = self._start_replica(index)
            lost = [pod for pod in self.pods if pod.streams[-1].replica == index]
            for pod in self.pods:
                pod.streams = [s for s in pod.streams if s.replica != index]
            self._open_all([(pod, (index + 1) % len(self.replicas)) for pod in lost])

    def _push_all(self) -> None:
        while not self._stop.wait(_PUSH_SECONDS):
            with self._lock:
                lines: list[list[str]] = [[] for _ in self.replicas]
                now = time.monotonic()
                for pod in self.pods:
                    for stream in pod.streams:
                        stream.pushed.append(now)
                        value = stream.number * _STREAM + len(stream.pushed)
                        lines[stream.replica].append(f"write {stream.name} {value}")
                for replica, batch in zip(self.replicas, lines, strict=True):
                    replica.send(*batch)

    def _read_all(self) -> None:
        choose = random.Random(self.random.random())
        while not self._stop.wait(0.02):
            pods = choose.sample(self.pods, choose.choice([1, 50, len(self.pods)]))
            replica = choose.choice(self.replicas)
            with self._lock:
                seen = {pod.name: pod.seen for pod in pods}
            start = time.monotonic()
            try:
                answer = replica.read([pod.name for pod in pods], timeout_seconds=_ANSWER_SECONDS)
            except Exception as error:
                with self._lock:  # with it kill_replica kills and replaces
                    if replica in self.replicas:
                        self.wrong.append(f"no answer: {error!r}")
                continue
            self._check(pods, answer, seen, start)

    def _check(self, pods: list[Pod], answer: Answer, seen: dict[str, int], start: float) -> None:
        took = time.monotonic() - start
        with self._lock:
            self.reads += 1
            self.slowest = max(self.slowest, took)
            self.errors += bool(answer.error)
            self.partial += answer.partial
            for pod in pods:
                reading = answer.readings.get(pod.name)
                if reading and reading.state == "value":
                    self.values += 1
                    self._check_value(pod, reading, seen[pod.name], start)
                elif reading:
                    self.missing += 1
                    if reading.state == "zero":
                        self.wrong.append(f"{pod.name}: zero")

    def _check_value(self, pod: Pod, reading: Reading, seen: int, start: float) -> None:
        number, flush = divmod(reading.value, _STREAM)
        stream = pod.history.get(number)
        if stream is None or not 0 < flush <= len(stream.pushed):
            self.wrong.append(f"{pod.name}: {reading.value} was never pushed")
            return
        age = start - stream.pushed[flush - 1]
        if age > self._ttl + _PIPE_SECONDS or reading.age_ms > self._ttl * 1000:
            self.wrong.append(f"{pod.name}: {age:.2f} s old, said {reading.age_ms} ms")
        if number < seen and start > pod.lossy_until:
            self.wrong.append(f"{pod.name}: stream {number} after {seen} was seen")
        pod.seen = max(pod.seen, number) if start > pod.lossy_until else number

    def whole(self) -> bool:
        """Every replica shows a value of each pod's newest stream."""
        return not self.lacking()

    def lacking(self) -> str:
        """What whole lacks, for a person."""
        names = [pod.name for pod in self.pods]
        for replica in list(self.replicas):
            answer = replica.read(names, timeout_seconds=_ANSWER_SECONDS)
            if answer.error or answer.partial:
                return answer.error or "partial"
            for pod in self.pods:
                reading = answer.readings[pod.name]
                if reading.state != "value" or reading.value // _STREAM != len(pod.history):
                    open_at = [(s.number, s.replica) for s in pod.streams]
                    return f"{pod.name}: {reading}, open streams and replicas: {open_at}"
        return ""

    def summary(self) -> str:
        return (
            f"{self.reads} reads, {self.values} values, {self.missing} missing, {self.errors} "
            f"errors, {self.partial} partial, slowest {self.slowest * 1000:.0f} ms, "
            f"{len(self.wrong)} wrong"
        )
