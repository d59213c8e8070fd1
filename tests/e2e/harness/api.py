"""A plain client of kube-apiserver: JSON in, JSON out, one kept connection."""

import http.client
import json
import pathlib
import ssl
import threading
import urllib.parse


class ApiError(Exception):
    """An answer outside 2xx; `status` is the HTTP status, `body` the decoded answer."""

    def __init__(self, method: str, path: str, status: int, body: object):
        message = body.get("message", body) if isinstance(body, dict) else body
        super().__init__(f"{method} {path}: {status}: {message}")
        self.status = status
        self.body = body


class ApiClient:
    """Requests with a client certificate. Threads may share it; each keeps its own connection."""

    def __init__(
        self,
        port: int,
        ca: pathlib.Path,
        cert: pathlib.Path | None = None,
        key: pathlib.Path | None = None,
        host: str = "127.0.0.1",
    ):
        self._host = host
        self._port = port
        self._tls = ssl.create_default_context(cafile=str(ca))
        if cert:
            self._tls.load_cert_chain(cert, key)
        self._local = threading.local()

    def get(self, path: str, **query: str):
        return self.request("GET", _with_query(path, query))

    def post(self, path: str, body: object):
        return self.request("POST", path, body)

    def put(self, path: str, body: object):
        return self.request("PUT", path, body)

    def delete(self, path: str, **query: str):
        return self.request("DELETE", _with_query(path, query))

    def patch(self, path: str, body: object):
        """A merge patch."""
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def apply(self, path: str, body: object):
        """A server-side apply."""
        return self.request(
            "PATCH", path + "?fieldManager=e2e&force=true", body, "application/apply-patch+yaml"
        )

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ):
        """The decoded answer: JSON where it is JSON, else text."""
        data = None if body is None else json.dumps(body).encode()
        sent = {"Content-Type": content_type, "Accept": "application/json", **(headers or {})}
        status, raw = self._exchange(method, path, data, sent)
        answer = _decoded(raw)
        if not 200 <= status < 300:
            raise ApiError(method, path, status, answer)
        return answer

    def status_of(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, object]:
        """Status and decoded answer of a GET, whatever the status."""
        status, raw = self._exchange("GET", path, None, headers or {})
        return status, _decoded(raw)

    def raw(self, path: str, headers: dict[str, str]) -> bytes:
        """The bytes of a successful GET."""
        status, raw = self._exchange("GET", path, None, headers)
        if status != 200:
            raise ApiError("GET", path, status, raw)
        return raw

    def _exchange(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        for attempt in (1, 2):
            connection = self._connection()
            try:
                connection.request(method, path, data, headers)
                response = connection.getresponse()
                return response.status, response.read()
            except (http.client.HTTPException, OSError):
                # A kept connection may have been closed by the server meanwhile.
                self._local.connection = None
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")

    def _connection(self) -> http.client.HTTPSConnection:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=35, context=self._tls
            )
            self._local.connection = connection
        return connection


def _decoded(raw: bytes) -> object:
    text = raw.decode(errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        return text


def _with_query(path: str, query: dict[str, str]) -> str:
    return f"{path}?{urllib.parse.urlencode(query)}" if query else path
