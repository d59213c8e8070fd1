"""Getting in: TLS, passwords, rights; and what a wrong address or password looks like."""

import http.server
import os
import ssl
import threading
import time

import pytest

from tests.lib.certs import Authority
from tests.lib.process import wait_until
from tests.redis.replica import Replica

WEB = "shop/web-0"
PASSWORD = "correct-horse-battery"


def works(replica: Replica) -> None:
    wait_until(replica.ready, 5, f"ready: {replica.check()[1]}")
    replica.send(f"open a {WEB}", "write a 7")
    wait_until(lambda: replica.say(WEB) == "7", 5, "written and read")


def fails_with(replica: Replica, *texts: str) -> None:
    """It is not ready, its reason has all of `texts`, reads are errors, and nothing is secret."""
    deadline = time.monotonic() + 5
    while not all(text in replica.check()[1] for text in texts):
        assert time.monotonic() < deadline, f"{texts} not in: {replica.check()[1]}"
        time.sleep(0.02)
    assert not replica.ready()
    assert replica.say(WEB) == "error"
    for place in (replica.check()[1], replica.log(), replica.metrics(), replica.read([WEB]).error):
        assert PASSWORD not in place
    wait_until(lambda: any(text in replica.log() for text in texts), 7, f"{texts} in the log")


@pytest.fixture
def authority(tmp_path) -> Authority:
    return Authority("redis-ca", tmp_path)


@pytest.fixture
def tls_server(make_server, authority, tmp_path):
    pair = authority.server("server", ("127.0.0.1", "localhost"))
    server = make_server(port=0)
    server.configure(
        port=0,
        tls_port=server.port,
        tls_cert_file=pair.cert,
        tls_key_file=pair.key,
        tls_ca_cert_file=authority.cert,
        tls_auth_clients="yes",
    )
    client = authority.client("tester")
    context = ssl.create_default_context(cafile=str(authority.cert))
    context.load_cert_chain(client.cert, client.key)
    server.tls = context
    return server.start()


def test_tls_with_client_certificate(tls_server, authority, make_replica):
    client = authority.client("activescale")
    works(
        make_replica(
            addr=f"rediss://localhost:{tls_server.port}",
            ca_file=authority.cert,
            cert_file=client.cert,
            key_file=client.key,
        )
    )


def test_tls_faults_say_what_to_do(tls_server, authority, make_replica, tmp_path):
    (tmp_path / "other").mkdir()
    stranger = Authority("stranger", tmp_path / "other")
    client = authority.client("activescale")
    own = {"cert_file": client.cert, "key_file": client.key}
    addr = f"rediss://127.0.0.1:{tls_server.port}"
    fails_with(make_replica("ca", addr=addr, ca_file=stranger.cert, **own), "REDIS_CA_FILE")
    fails_with(make_replica("no-ca", addr=addr, **own), "REDIS_CA_FILE")
    fails_with(
        make_replica("name", addr=addr, ca_file=authority.cert, tls_server_name="redis.x", **own),
        "REDIS_TLS_SERVER_NAME",
    )
    fails_with(make_replica("no-cert", addr=addr, ca_file=authority.cert), "REDIS_CERT_FILE")
    fails_with(make_replica("gone", addr=addr, ca_file=tmp_path / "none.pem", **own), "none.pem")
    fails_with(make_replica("plain", addr=tls_server.address), "rediss://")
    works(make_replica("insecure", addr=addr, tls_insecure="true", **own))


def test_tls_to_a_plaintext_port(make_server, make_replica):
    server = make_server().start()
    fails_with(make_replica(addr=f"rediss://{server.address}", tls_insecure="true"), "redis://")


def test_client_certificate_that_is_replaced_is_used_without_restart(
    tls_server, authority, make_replica, tmp_path
):
    (tmp_path / "other").mkdir()
    stranger = Authority("stranger", tmp_path / "other").client("activescale")
    good = authority.client("activescale")
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    cert.write_bytes(stranger.cert.read_bytes())
    key.write_bytes(stranger.key.read_bytes())
    replica = make_replica(
        addr=f"rediss://localhost:{tls_server.port}",
        ca_file=authority.cert,
        cert_file=cert,
        key_file=key,
    )
    wait_until(lambda: "failing" in replica.check()[1], 5, "refused")
    cert.write_bytes(good.cert.read_bytes())
    key.write_bytes(good.key.read_bytes())
    works(replica)


def test_acl_user_with_the_rights_that_the_page_names(make_server, make_replica):
    server = make_server().start()
    rights = ["+ping", "+time", "+role", "+get", "+set", "+mget", "+eval", "+evalsha"]
    rights += ["+xadd", "+xread", "+pexpire"]
    server.ask("ACL", "SETUSER", "ops", "on", f">{PASSWORD}", "~activescale:*", *rights)
    server.ask("ACL", "SETUSER", "default", "off")
    works(make_replica("url", addr=f"redis://ops:{PASSWORD}@{server.address}"))
    works(make_replica("env", addr=server.address, username="ops", password=PASSWORD))


def test_wrong_and_missing_passwords(make_server, make_replica):
    server = make_server(requirepass=PASSWORD)
    server.password = PASSWORD
    server.start()
    fails_with(make_replica("none", addr=server.address), "NOAUTH", "REDIS_PASSWORD")
    fails_with(make_replica("wrong", addr=server.address, password=f"not-{PASSWORD}"), "WRONGPASS")
    fails_with(make_replica("gone", addr=server.address, password_file="/none"), "/none")
    works(make_replica("right", addr=f"redis://:{PASSWORD}@{server.address}"))


def test_password_where_the_server_has_none(make_server, make_replica):
    server = make_server().start()
    fails_with(make_replica(addr=server.address, password=PASSWORD), "refused AUTH")


def test_password_file_that_is_rotated_is_used_without_restart(make_server, make_replica, tmp_path):
    server = make_server(requirepass="first")
    server.password = "first"
    server.start()
    file = tmp_path / "password"
    file.write_text("first\n")
    replica = make_replica(addr=server.address, password_file=file)
    works(replica)
    server.ask("CONFIG", "SET", "requirepass", "second")
    server.password = "second"
    server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    wait_until(lambda: "WRONGPASS" in replica.check()[1], 5, "the old one is refused")
    file.write_text("second\n")
    wait_until(lambda: replica.say(WEB) == "7", 5, "in again")


def test_a_replica_given_as_master(make_server, make_replica):
    master = make_server("master").start()
    other = make_server("other", replicaof=f"127.0.0.1 {master.port}").start()
    replica = make_replica(addr=other.address)
    fails_with(replica, f"it is a replica of 127.0.0.1:{master.port}", "REDIS_SENTINEL_MASTER")
    other.ask("REPLICAOF", "NO", "ONE")
    works(replica)


def test_a_master_that_becomes_a_replica_is_left_and_taken_up_again(make_server, make_replica):
    master = make_server("master").start()
    other = make_server("other").start()
    replica = make_replica(addr=master.address)
    works(replica)
    master.ask("REPLICAOF", "127.0.0.1", other.port)
    replica.send("write a 8")
    wait_until(lambda: "it is a replica of" in replica.check()[1], 5, "noticed by a write")
    master.ask("REPLICAOF", "NO", "ONE")
    wait_until(lambda: replica.say(WEB) == "8", 5, "written when it returned")


def test_a_server_that_is_no_redis(make_replica, cleanup):
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    cleanup.callback(web.server_close)
    cleanup.callback(web.shutdown)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    fails_with(
        make_replica(addr=f"127.0.0.1:{web.server_port}"), "it does not speak Redis's protocol"
    )


def test_a_server_that_loads_its_data(make_server, make_replica, tmp_path):
    server = make_server().start()
    for i in range(200):
        server.ask("SET", f"filler:{i}", os.urandom(512))
    server.ask("SAVE")
    server.kill()
    # 30 ms a key, and a look at the clients after each few.
    server.configure(key_load_delay=30000, loading_process_events_interval_bytes=1024)
    replica = make_replica(addr=server.address)
    server.start(wait=False)
    fails_with(replica, "LOADING", "reads its data")
    wait_until(replica.ready, 20, "ready when it is loaded")
