"""A real Prometheus, as the other side of what we expose and of what we take."""

import json
import pathlib
import urllib.parse
import urllib.request
from collections.abc import Mapping

from tests.lib.process import Process, free_ports

_BIN = pathlib.Path(__file__).resolve().parents[2] / ".cache/prometheus/usr/bin"
PROMTOOL = _BIN / "promtool"


class Prometheus(Process):
    """Debian's Prometheus 2.42; `config` is what its configuration file says."""

    def __init__(self, folder: pathlib.Path, config: Mapping, name: str = "prometheus"):
        (self.port,) = free_ports(1)
        path = folder / f"{name}.yaml"
        path.write_text(json.dumps(config))
        argv = [_BIN / "prometheus", f"--config.file={path}"]
        argv += [f"--storage.tsdb.path={folder / name}-data"]
        argv += [f"--web.listen-address=127.0.0.1:{self.port}"]
        super().__init__(name, argv, folder)

    def start(self) -> "Prometheus":
        super().start()
        self.wait_ready(lambda: self._get("/-/ready"), 30)
        return self

    def query(self, expression: str) -> list[dict]:
        """The result of an instant query; HTTPError if Prometheus refuses it."""
        answer = self._get("/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        return json.loads(answer)["data"]["result"]

    def _get(self, path: str) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
            return answer.read()
