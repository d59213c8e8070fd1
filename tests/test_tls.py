"""TLS on the ports that Envoy and kube-apiserver use, and certificates that change on disk."""

import shutil
import socket
import ssl

from cryptography import x509

from tests.lib.certs import Authority, KeyPair
from tests.lib.envoy import EnvoyOptions, Pod, ReceiverTls
from tests.lib.process import wait_until

METRIC = "inbound_active_requests"
POD = Pod("web-0")
PREFIX = "inbound_0.0.0.0_8080;"
NAMES = ("localhost", "127.0.0.1")
RELOAD_SECONDS = 70


def copy_pair(pair: KeyPair, cert, key) -> None:
    shutil.copy(pair.cert, cert)
    shutil.copy(pair.key, key)


def serial(port: int) -> int:
    """Serial number of the certificate that a new connection is shown."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        context.wrap_socket(plain) as tls,
    ):
        return x509.load_der_x509_certificate(tls.getpeercert(True)).serial_number


def pem_serial(pair: KeyPair) -> int:
    return x509.load_pem_x509_certificate(pair.cert.read_bytes()).serial_number


def test_envoy_pushes_over_mutual_tls(lab):
    ca, stranger = Authority("ca", lab.folder), Authority("stranger", lab.folder)
    receiver = ca.server("receiver", NAMES)
    server = lab.activescale(
        f"--grpc-tls-cert-file={receiver.cert}",
        f"--grpc-tls-private-key-file={receiver.key}",
        f"--grpc-tls-client-ca-file={ca.cert}",
    )
    backend = lab.backend().port
    for pod, client in (
        (POD, ca.client("envoy")),
        (Pod("web-1"), stranger.client("other")),
        (Pod("web-2"), None),
    ):
        tls = ReceiverTls(ca.cert, client and client.cert, client and client.key)
        envoy = lab.envoy(pod, [server.grpc_port], backend, EnvoyOptions((PREFIX,), tls=tls))
        lab.load(envoy.ports[PREFIX]).set(4)
        if pod is not POD:
            wait_until(
                lambda envoy=envoy: envoy.gauge("cluster.activescale.upstream_cx_total") or False,
                10,
                "the stranger tried",
            )
    wait_until(lambda: server.pods(METRIC) == {"web-0": 4}, 10, "the pod with a certificate")


def test_changed_certificates_are_used_without_a_restart(lab):
    ca = Authority("ca", lab.folder)
    first, second, third = (ca.server(f"pair-{i}", NAMES) for i in range(3))
    files = {}
    for port in ("grpc", "https"):
        files[port] = lab.folder / f"{port}.crt", lab.folder / f"{port}.key"
        copy_pair(first, *files[port])
    server = lab.activescale(
        f"--grpc-tls-cert-file={files['grpc'][0]}",
        f"--grpc-tls-private-key-file={files['grpc'][1]}",
        f"--tls-cert-file={files['https'][0]}",
        f"--tls-private-key-file={files['https'][1]}",
    )
    ports = {"grpc": server.grpc_port, "https": server.https_port}
    for name, port in ports.items():
        assert serial(port) == pem_serial(first)
        copy_pair(second, *files[name])
    for name, port in ports.items():
        wait_until(
            lambda port=port: serial(port) == pem_serial(second), RELOAD_SECONDS, f"{name} reloads"
        )

    # A certificate without its key keeps the old pair until the key comes, too.
    shutil.copy(third.cert, files["https"][0])
    wait_until(
        lambda: server.metric("activescale_serving_certificate_reloads_total", result="failed"),
        RELOAD_SECONDS,
        "the mismatch is counted",
    )
    assert serial(server.https_port) == pem_serial(second)
    shutil.copy(third.key, files["https"][1])
    wait_until(
        lambda: serial(server.https_port) == pem_serial(third), RELOAD_SECONDS, "the pair is whole"
    )
