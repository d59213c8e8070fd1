"""Stands for kube-apiserver where a server under measurement knows the pods from there.

It lists the pods web-0, web-1, ... of the driver and sends nothing in watches but bookmarks.
"""

import contextlib
import http.server
import json
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

NAMESPACE = "bench"
BOOKMARK_SECONDS = 5


def pod(index: int) -> dict:
    return {
        "metadata": {
            "namespace": NAMESPACE,
            "name": f"web-{index}",
            "resourceVersion": "1",
            "labels": {"app": "web"},
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        try:
            if "watch" in query:
                self.watch()
            else:
                self.list(url.path)
        except ConnectionError:
            self.close_connection = True

    def list(self, path: str) -> None:
        items = self.server.pods if path == "/api/v1/pods" else []
        answer = {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": items}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def watch(self) -> None:
        bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "1"}}}
        line = json.dumps(bookmark).encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while not self.server.ended.wait(BOOKMARK_SECONDS):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_) -> None:
        pass


@contextlib.contextmanager
def serving(kubeconfig: Path, count: int) -> Iterator[None]:
    """Serves `count` pods and writes a kubeconfig that leads here."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.pods = [pod(index) for index in range(count)]
    server.ended = threading.Event()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    kubeconfig.write_text(json.dumps({
        "current-context": "bench",
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        "clusters": [{"name": "bench", "cluster": {"server": url}}],
        "users": [{"name": "bench", "user": {}}],
    }))  # fmt: skip
    try:
        yield
    finally:
        server.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
