"""One server: outages, restarts, idle timeouts, several replicas, a killed replica."""

import contextlib
import re
import time

from tests.lib.process import wait_until
from tests.redis.replica import seconds_until

WEB = "shop/web-0"


def write(replica, stream: str, value: int) -> None:
    replica.send(f"write {stream} {value}")
    wait_until(replica.settled, 5, "written", 0.002)


def test_both_replicas_answer_the_same_for_500_pods(make_server, make_replica):
    server = make_server().start()
    replicas = [make_replica(f"replica-{i}", addr=server.address) for i in range(2)]
    for replica in replicas:
        wait_until(replica.ready, 5, "ready")
    pods = [f"shop/web-{i}" for i in range(500)]
    for i, pod in enumerate(pods):
        replicas[i % 2].send(f"open {i} {pod}", f"write {i} {i + 1}")
    for replica in replicas:
        wait_until(replica.settled, 5, "written", 0.01)
    answers = [replica.read(pods) for replica in replicas]
    for i, pod in enumerate(pods):
        assert [answer.readings[pod].value for answer in answers] == [i + 1, i + 1]


def test_ten_thousand_pods_at_five_seconds_on_two_replicas(make_server, make_replica):
    """Nothing is dropped, and both replicas answer the same within a flush."""
    server = make_server().start()
    replicas = [make_replica(f"replica-{i}", addr=server.address) for i in range(2)]
    for replica in replicas:
        wait_until(replica.ready, 5, "ready")
    pods = [f"shop/web-{i}" for i in range(10_000)]
    for i, replica in enumerate(replicas):
        replica.send(*(f"open {p} {pods[p]}" for p in range(i, len(pods), 2)))
    steps, rounds = 100, 3
    start = time.monotonic()
    for turn in range(steps * rounds):
        flush, step = turn // steps + 1, turn % steps
        replicas[step % 2].send(*(f"write {p} {flush}" for p in range(step, len(pods), steps)))
        if flush > 1 and step % 25 == 0:
            for answer in [replica.read(pods) for replica in replicas]:
                assert not answer.error and not answer.partial
                assert {r.value for r in answer.readings.values()} <= {flush - 1, flush}
        time.sleep(max(0, start + (turn + 1) * 5 / steps - time.monotonic()))
    for replica in replicas:
        wait_until(replica.settled, 5, "written", 0.01)
    for replica in replicas:
        assert {r.value for r in replica.read(pods).readings.values()} == {rounds}
        dropped = re.findall(
            r"^activescale_store_dropped_writes_total\S* (\S+)$", replica.metrics(), re.MULTILINE
        )
        assert dropped and not any(float(count) for count in dropped)


def test_b8_starts_with_redis_down_and_heals_by_probes_alone(make_server, make_replica):
    server = make_server()
    replica = make_replica(addr=server.address)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        ok, reason = replica.check()
        assert not ok
        time.sleep(0.2)
    assert "cannot connect" in reason, reason
    assert "failing for" in reason, reason
    server.start()
    took = seconds_until(replica.ready, 2, "ready by probes alone")
    print(f"ready {took * 1000:.0f} ms after Redis listened")


def test_b8_a_servers_idle_timeout_costs_no_answer(make_server, make_replica):
    server = make_server(timeout=1).start()
    replica = make_replica(addr=server.address)
    wait_until(replica.ready, 5, "ready")
    replica.send(f"open a {WEB}")
    write(replica, "a", 7)
    for _ in range(30):
        assert replica.say(WEB) == "7"
        time.sleep(0.13)


def test_b7_a_refused_port_costs_bounded_attempts_and_log_lines(make_server, make_replica):
    server = make_server()
    replica = make_replica(addr=server.address)
    time.sleep(20)
    attempts = replica.metric("activescale_redis_connection_attempts_total")
    assert 20 <= attempts <= 70, attempts
    assert replica.log().count("\n") <= 3, replica.log()


def test_b5_redis_away_is_an_error_and_the_newest_values_come_with_its_return(
    make_server, make_replica, record_property
):
    server = make_server().start()
    replica = make_replica(addr=server.address)
    other = make_replica("other", addr=server.address)
    wait_until(lambda: replica.ready() and other.ready(), 5, "ready")
    replica.send(f"open a {WEB}")
    write(replica, "a", 7)
    server.kill()
    wait_until(lambda: not replica.ready(), 5, "not ready")
    for value in range(8, 20):
        replica.send(f"write a {value}")
        assert replica.say(WEB) == "error"
        time.sleep(0.1)
    assert "Redis does not answer" in replica.read([WEB]).error
    server.start()
    took = seconds_until(lambda: other.say(WEB) == "19", 2, "the newest value at each replica")
    record_property("recovery_seconds", took)
    print(f"{took * 1000:.0f} ms after Redis listened")


def test_b2_pod_comes_back_at_another_replica_while_the_old_stream_is_half_open(
    make_server, make_replica
):
    server = make_server().start()
    old, new = (make_replica(name, addr=server.address) for name in ("old", "new"))
    wait_until(lambda: old.ready() and new.ready(), 5, "ready")
    old.send(f"open a {WEB}")
    write(old, "a", 40)
    new.send(f"open b {WEB}")
    write(new, "b", 2)
    for _ in range(20):
        write(old, "a", 40)
        assert (old.say(WEB), new.say(WEB)) == ("2", "2")
    assert old.metric("activescale_redis_superseded_writes_total") >= 20


def test_killed_replica_is_taken_over_from(make_server, make_replica):
    server = make_server().start()
    owner, heir = (make_replica(name, addr=server.address) for name in ("owner", "heir"))
    wait_until(lambda: owner.ready() and heir.ready(), 5, "ready")
    owner.send(f"open a {WEB}")
    write(owner, "a", 40)
    owner.kill()
    assert heir.say(WEB) == "40", "what it wrote stays until its TTL"
    heir.send(f"open b {WEB}")
    write(heir, "b", 3)
    assert heir.say(WEB) == "3"


def test_b3_nothing_older_than_the_ttl_after_a_replica_was_killed(make_server, make_replica):
    server = make_server().start()
    owner, reader = (make_replica(n, ttl="2s", addr=server.address) for n in ("owner", "reader"))
    wait_until(lambda: owner.ready() and reader.ready(), 5, "ready")
    owner.send(f"open a {WEB}")
    written = time.monotonic()
    write(owner, "a", 40)
    owner.kill()
    seen = set()
    while time.monotonic() < written + 3:
        asked = time.monotonic()
        word = reader.say(WEB)
        assert word == "missing" or asked < written + 2, word
        seen.add(word)
    assert seen == {"40", "missing"}


def test_a_restart_without_data_is_made_good_without_a_flush(make_server, make_replica):
    server = make_server().start()
    replica = make_replica(addr=server.address)
    wait_until(replica.ready, 5, "ready")
    pods = [f"shop/web-{i}" for i in range(500)]
    for i, pod in enumerate(pods):
        replica.send(f"open {i} {pod}", f"write {i} {i + 1}")
    wait_until(replica.settled, 5, "written")
    server.kill()
    server.start()

    def all_there() -> bool:
        answer = replica.read(pods)
        assert all(reading.state != "zero" for reading in answer.readings.values())
        return not answer.error and all(
            answer.readings[pod].value == i + 1 for i, pod in enumerate(pods)
        )

    took = seconds_until(all_there, 2, "all values again")
    print(f"all 500 pods {took * 1000:.0f} ms after Redis listened")


def test_clients_killed_scripts_flushed_and_data_flushed_under_load(make_server, make_replica):
    server = make_server().start()
    replica = make_replica(addr=server.address)
    wait_until(replica.ready, 5, "ready")
    replica.send(f"open a {WEB}")
    for value in range(1, 40):
        command = [("CLIENT", "KILL", "TYPE", "normal"), ("SCRIPT", "FLUSH"), ("FLUSHALL",)]
        with contextlib.suppress(ConnectionError):  # it kills our own connection too
            server.ask(*command[value % 3])
        replica.send(f"write a {value}")
        wait_until(lambda value=value: replica.say(WEB) == str(value), 15, f"value {value}", 0.01)
