"""What a reader sees when one side dies, hangs, restarts or moves."""

import os
import signal
import time

from tests.lib.activescale import Activescale
from tests.lib.envoy import EnvoyOptions, Pod
from tests.lib.process import free_ports, wait_until

METRIC = "inbound_active_requests"
POD = Pod("web-0", "shop", {"app": "web"})
PREFIX = "inbound_0.0.0.0_8080;"


def loaded_envoy(lab, server: Activescale, requests: int):
    envoy = lab.envoy(POD, [server.grpc_port], lab.backend().port, EnvoyOptions((PREFIX,)))
    lab.load(envoy.ports[PREFIX]).set(requests)
    wait_until(lambda: server.pods(METRIC) == {"web-0": requests}, 10, "the load is visible")
    return envoy


def values_until_gone(server: Activescale, name: str = "web-0") -> tuple[set, float]:
    """The values served until the pod's metric is 404, and the seconds that took."""
    client, seen, start = server.client(), set(), time.monotonic()
    while (answer := client.read("shop", METRIC, name=name)).status == 200:
        seen.update(item["value"] for item in answer.json()["items"])
        assert time.monotonic() - start < 30, "still served"
        time.sleep(0.02)
    assert answer.status == 404
    status = answer.json()
    assert (status["kind"], status["reason"]) == ("Status", "NotFound")
    return seen, time.monotonic() - start


def test_killed_envoy_is_missing_after_the_ttl_and_never_zero(lab):
    server = lab.activescale("--ttl=2s")
    envoy = loaded_envoy(lab, server, 5)
    envoy.stop(signal_number=signal.SIGKILL)
    seen, seconds = values_until_gone(server)
    assert seen == {"5"} and seconds < 5


def test_hung_envoy_is_missing_after_the_ttl_and_never_zero(lab):
    """Its connection stays open: only the silence tells."""
    server = lab.activescale("--ttl=2s")
    envoy = loaded_envoy(lab, server, 5)
    os.kill(envoy.pid, signal.SIGSTOP)
    try:
        seen, seconds = values_until_gone(server)
    finally:
        os.kill(envoy.pid, signal.SIGCONT)
    assert seen == {"5"} and 1 < seconds < 5
    wait_until(lambda: server.pods(METRIC) == {"web-0": 5}, 10, "it is back")


def test_receiver_restart_heals_by_itself_and_never_shows_zero(lab):
    server = lab.activescale("--ttl=5s")
    loaded_envoy(lab, server, 5)
    again = Activescale(lab.folder, name="again", ports=server.ports)
    assert server.stop() == 0
    again.start()
    try:
        seen = []
        wait_until(
            lambda: seen.append(again.pods(METRIC)) or seen[-1] == {"web-0": 5}, 10, "value again"
        )
        assert all(values in ({}, {"web-0": 5}) for values in seen), seen
    finally:
        again.stop()


def test_stop_ends_open_streams_in_time(lab):
    server = lab.activescale()
    loaded_envoy(lab, server, 1)
    start = time.monotonic()
    assert server.stop(grace_seconds=20) == 0
    assert time.monotonic() - start < 15


def test_readiness_turns_red_before_the_ports_close(lab):
    server = lab.activescale("--shutdown-delay-duration=2s")
    assert server.health("/readyz").status == 200
    os.kill(server.pid, signal.SIGTERM)
    wait_until(lambda: server.health("/readyz").status == 503, 2, "readyz 503")
    assert server.health("/livez").status == 200
    assert server.client().get("/apis").status == 200
    wait_until(lambda: not server.running, 20, "it ends")
    assert server.stop() == 0


def test_second_signal_ends_it_at_once(lab):
    server = lab.activescale("--shutdown-delay-duration=60s")
    os.kill(server.pid, signal.SIGTERM)
    wait_until(lambda: server.health("/readyz").status == 503, 5, "readyz 503")
    assert server.stop(grace_seconds=5) == -signal.SIGTERM


def test_streams_spread_to_a_new_receiver_within_the_connection_age(lab):
    """Long-lived streams stay where they are (envoyproxy/envoy#17331) unless their age is bound."""
    pods, flush, age = 12, 0.5, 3
    flags = (f"--grpc-max-connection-age={age}s", "--ttl=2s")
    servers = [lab.activescale(*flags, name=f"receiver-{i}") for i in range(2)]
    ports = free_ports(3)
    third = Activescale(lab.folder, *flags, name="receiver-2", ports=ports)
    receivers = [s.grpc_port for s in servers] + ports[:1]
    options = EnvoyOptions((PREFIX,), flush_seconds=flush)
    backend = lab.backend().port
    for i in range(pods):
        envoy = lab.envoy(Pod(f"web-{i}"), receivers, backend, options)
        lab.load(envoy.ports[PREFIX]).set(i + 1)
    want = {f"web-{i}": i + 1 for i in range(pods)}

    def union() -> dict:
        values: dict = {}
        for s in servers:
            values.update({k: v for k, v in s.pods(METRIC).items() if v or k not in values})
        return values

    wait_until(lambda: union() == want, 20, "all pods are visible")
    third.start()
    try:
        servers.append(third)
        end = time.monotonic() + 4 * age
        spread = False
        while time.monotonic() < end:
            assert union() == want, "a value expired while its stream moved"
            spread = spread or len(third.pods(METRIC)) >= 2
            time.sleep(0.1)
        assert spread, "the third receiver got no share"
    finally:
        third.stop()


def test_arguments_and_environment_of_the_go_program_work(lab):
    """Only flags means serve; flags of Kubernetes components that are not needed just warn."""
    environment = {"METRIC_TTL": "7s", "GRPC_PORT": "0", "LOG_VERBOSITY": "4"}
    environment |= {"GRPC_MAX_RECV_MSG_SIZE": "8388608", "LOG_METRICS_SUMMARY_INTERVAL": "1s"}
    server = Activescale(lab.folder, env=environment)
    server.argv = [
        server.argv[0],
        "--secure-port=0",
        "--health-port=0",
        f"--cert-dir={lab.folder / 'certs'}",
        "--tls-min-version=VersionTLS12",
        "--audit-log-maxage=1",
        "--v=4",
    ]
    server.start()
    try:
        loaded_envoy(lab, server, 3)
        log = wait_until(
            lambda: "stored_metrics" in server.log_path.read_text() and server.log_path.read_text(),
            5,
            "the summary line",
        )
        for text in (f"stored {METRIC}", "skipping metric name=", "messages", "dropped_by_names"):
            assert text in log
        assert "tls-min-version" in log and "audit-log-maxage" in log
    finally:
        assert server.stop() == 0


def test_all_faults_of_a_configuration_are_told_together(lab):
    server = Activescale(lab.folder, "--ttl=soon", "--grpc-port=99999", "--no-such-flag=1")
    super(Activescale, server).start()
    wait_until(lambda: not server.running, 10, "it ends by itself")
    assert server.stop() == 2
    log = server.log_tail()
    assert "ttl" in log and "grpc-port" in log
