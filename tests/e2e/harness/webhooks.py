"""An admission webhook that refuses: kube-apiserver passes its answer on."""

import base64
import contextlib
import http.server
import json
import ssl
import threading

from tests.e2e.harness.cluster import Cluster

_PATH = "/apis/admissionregistration.k8s.io/v1"
_NAME = "refusing"


@contextlib.contextmanager
def refused(cluster: Cluster, code: int, operation: str, group: str, resource: str, condition: str):
    """While it lasts, what is asked so and meets the condition (CEL) gets this HTTP status."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(code))
    pair = cluster.plane.ca.server(_NAME, ("127.0.0.1",))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pair.cert, pair.key)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    rule = {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": [operation],
        "resources": [resource],
    }
    webhook = {
        "name": f"{_NAME}.example.org",
        "clientConfig": {
            "url": f"https://127.0.0.1:{server.server_port}/",
            "caBundle": base64.b64encode(cluster.plane.ca.cert.read_bytes()).decode(),
        },
        "rules": [rule],
        "matchConditions": [{"name": "these", "expression": condition}],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    configuration = {
        "apiVersion": _PATH.removeprefix("/apis/"),
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": _NAME},
        "webhooks": [webhook],
    }
    collection = f"{_PATH}/validatingwebhookconfigurations"
    cluster.api.post(collection, configuration)
    try:
        yield
    finally:
        cluster.api.delete(f"{collection}/{_NAME}")
        server.shutdown()
        server.server_close()


def _handler(code: int) -> type[http.server.BaseHTTPRequestHandler]:
    class Refuse(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = {
                "uid": review["request"]["uid"],
                "allowed": False,
                "status": {"code": code, "message": "refused by the test"},
            }
            body = json.dumps({**review, "response": answer}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args) -> None:
            pass

    return Refuse
