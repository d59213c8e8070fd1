"""Settings that name something else than they should."""

import subprocess

import pytest

from tests.lib.activescale import BINARY, Activescale
from tests.lib.process import free_ports
from tests.test_query_api import ask, query


@pytest.mark.parametrize(
    "flags",
    [
        ("config",),
        ("signals-file",),
        ("scrape-config",),
        ("kubeconfig",),
        ("tls-cert-file", "tls-private-key-file"),
        ("grpc-tls-cert-file", "grpc-tls-private-key-file"),
    ],
    ids=lambda flags: flags[0],
)
def test_a_folder_in_place_of_a_file_is_told_and_no_crash(tmp_path, flags):
    given = [f"--{flag}={tmp_path}" for flag in flags]
    ports = ["--secure-port=0", "--grpc-port=0", "--health-port=0"]
    if "kubeconfig" not in flags:
        ports.append("--pod-source=envoy")
    done = subprocess.run(
        [BINARY, "serve", f"--cert-dir={tmp_path / 'certs'}", *ports, *given],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode in (1, 2), done.stderr
    assert str(tmp_path) in done.stderr and "terminate" not in done.stderr


def test_a_token_file_that_becomes_a_folder_refuses_and_the_server_lives(lab):
    (port,) = free_ports(1)
    token = lab.folder / "token"
    token.write_text("s3cret\n")
    server: Activescale = lab.activescale(
        f"--query-address=127.0.0.1:{port}", f"--query-bearer-token-file={token}"
    )
    url = f"https://127.0.0.1:{port}{query('1')}"
    assert ask(url, "s3cret")[0] == 200
    token.unlink()
    token.mkdir()
    assert ask(url, "s3cret")[0] == 503
    server.check_running()
