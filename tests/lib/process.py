"""Child processes that never outlive the tests and whose logs stay readable after a failure."""

import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)

# What runs between fork and exec closes all descriptors. With its fork handlers on, gRPC of these
# tests starts its threads again in that child, which then find theirs closed and abort: one child
# in seven never became the program (grpcio 1.85, 1,900 starts), and none without them.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def free_ports(count: int) -> list[int]:
    """Loopback ports that were free a moment ago, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for held in sockets:
            held.bind(("127.0.0.1", 0))
        return [held.getsockname()[1] for held in sockets]
    finally:
        for held in sockets:
            held.close()


def wait_until(
    condition: Callable[[], object],
    deadline_seconds: float,
    what: str,
    interval_seconds: float = 0.1,
):
    """Returns the first truthy value of `condition`; raises TimeoutError naming `what`.

    An exception of `condition` counts as "not yet"; the last one is shown in the error.
    """
    end = time.monotonic() + deadline_seconds
    last_error: Exception | None = None
    while True:
        try:
            if value := condition():
                return value
            last_error = None
        except Exception as error:  # the condition asks a server that may still be starting
            last_error = error
        if time.monotonic() >= end:
            cause = f" (last error: {last_error!r})" if last_error else ""
            raise TimeoutError(f"not within {deadline_seconds:.0f} s: {what}{cause}")
        time.sleep(interval_seconds)


class Process:
    """One child process with its log file. Not thread-safe."""

    def __init__(
        self,
        name: str,
        argv: Sequence[object],
        log_dir: pathlib.Path,
        env: Mapping[str, str] | None = None,
    ):
        self.name = name
        self.argv = [str(part) for part in argv]
        self.log_path = log_dir / f"{name}.log"
        self._env = {**os.environ, **(env or {})}
        self._child: subprocess.Popen | None = None

    def start(self) -> "Process":
        assert not self.running, f"{self.name} runs already"
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.log_path, "ab") as log:
            log.write(f"--- {time.strftime('%H:%M:%S')} {' '.join(self.argv)}\n".encode())
            log.flush()
            self._child = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._env,
                preexec_fn=_die_with_parent,
            )
        return self

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int:
        assert self._child is not None
        return self._child.pid

    def check_running(self) -> None:
        """Raises with the end of the log when the process has ended by itself."""
        if not self.running:
            code = self._child.returncode if self._child else None
            raise RuntimeError(f"{self.name} ended with {code}:\n{self.log_tail()}")

    def wait_ready(self, probe: Callable[[], object], deadline_seconds: float) -> None:
        """Waits for `probe`; fails at once when the process ends before it holds."""

        def ready():
            return not self.running or probe()

        try:
            wait_until(ready, deadline_seconds, f"{self.name} ready")
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.log_tail()}") from None
        self.check_running()

    def stop(self, grace_seconds: float = 10, signal_number: int = signal.SIGTERM) -> int | None:
        """Ends the process, by force after the grace; returns its exit code."""
        if self._child is None:
            return None
        if self.running:
            self._child.send_signal(signal_number)
            try:
                self._child.wait(grace_seconds)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()
        return self._child.returncode

    def cpu_seconds(self) -> float:
        """User and system time used so far, to the nanosecond, without asking the process."""
        # What clock_getcpuclockid(3) makes of a process; Python has no name for it.
        return time.clock_gettime((~self.pid << 3) | 2)

    def log_tail(self, lines: int = 40) -> str:
        text = self.log_path.read_text(errors="replace") if self.log_path.exists() else ""
        return "\n".join(text.splitlines()[-lines:])
