"""A client of Activescale's HTTPS and health ports, with one kept connection."""

import http.client
import json
import ssl
import urllib.parse
from dataclasses import dataclass

CUSTOM = "/apis/custom.metrics.k8s.io/v1beta2"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self):
        return json.loads(self.body)


def insecure_tls() -> ssl.SSLContext:
    """For the self-signed certificate of a server that this process started itself."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class HttpClient:
    """Plain answers, whatever their status. One thread at a time."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None):
        self._port = port
        self._tls = tls
        self._connection: http.client.HTTPConnection | None = None

    def get(self, path: str, headers: dict[str, str] | None = None) -> Answer:
        for attempt in (1, 2):
            connection = self._connect()
            try:
                connection.request("GET", path, headers=headers or {})
                response = connection.getresponse()
                return Answer(response.status, dict(response.headers), response.read())
            except (http.client.HTTPException, OSError):
                # The server may have closed the kept connection meanwhile.
                self.close()
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")

    def close(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None

    def _connect(self) -> http.client.HTTPConnection:
        if self._connection is None:
            if self._tls:
                self._connection = http.client.HTTPSConnection(
                    "127.0.0.1", self._port, timeout=30, context=self._tls
                )
            else:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        return self._connection


class MetricsClient(HttpClient):
    """Reads pod metrics as the HPA controller does."""

    def pods(
        self, namespace: str, metric: str, selector: str = "", name: str = "%2A"
    ) -> dict[str, float]:
        """Value by pod name; empty for 404, so that "missing" and "no pod" look alike here."""
        answer = self.read(namespace, metric, selector, name)
        if answer.status == 404:
            return {}
        assert answer.status == 200, answer
        return {
            item["describedObject"]["name"]: quantity(item["value"])
            for item in answer.json()["items"]
        }

    def read(self, namespace: str, metric: str, selector: str = "", name: str = "%2A") -> Answer:
        query = f"?labelSelector={urllib.parse.quote_plus(selector)}" if selector else ""
        return self.get(f"{CUSTOM}/namespaces/{namespace}/pods/{name}/{metric}{query}")


def quantity(text: str) -> float:
    """A Kubernetes quantity in the two forms that Activescale writes: `3` and `2500m`."""
    return int(text[:-1]) / 1000 if text.endswith("m") else int(text)
