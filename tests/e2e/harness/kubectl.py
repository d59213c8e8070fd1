"""The real kubectl."""

import dataclasses
import json
import os
import pathlib
import subprocess
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Answer:
    """What one call of kubectl printed."""

    code: int
    out: str
    err: str


class Kubectl:
    """Runs kubectl as the user of one kubeconfig, with its caches in `home`."""

    def __init__(self, binary: pathlib.Path, kubeconfig: pathlib.Path, home: pathlib.Path):
        self._binary = binary
        self._kubeconfig = kubeconfig
        self._env = {**os.environ, "HOME": str(home), "KUBECONFIG": str(kubeconfig)}

    def run(self, *args: str, stdin: str | None = None, timeout_seconds: float = 60) -> Answer:
        """The answer whatever the exit code."""
        done = subprocess.run(
            [self._binary, *args],
            input=stdin,
            capture_output=True,
            text=True,
            env=self._env,
            timeout=timeout_seconds,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def __call__(self, *args: str, stdin: str | None = None) -> str:
        """Standard output; raises when kubectl fails."""
        answer = self.run(*args, stdin=stdin)
        if answer.code != 0:
            raise RuntimeError(f"kubectl {' '.join(args)}: exit {answer.code}\n{answer.err}")
        return answer.out

    def apply(self, objects: Sequence[dict]) -> None:
        """Applies objects in one call, on the server's side."""
        body = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(body))
