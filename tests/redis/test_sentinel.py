"""A master with two replicas and three Sentinels: failovers by death and by order."""

import time

import pytest

from tests.lib.process import wait_until
from tests.redis.replica import seconds_until
from tests.redis.servers import SentinelTrio

PODS = [f"shop/web-{i}" for i in range(100)]


@pytest.fixture
def start_trio(flavor, tmp_path, cleanup):
    def start(**options) -> SentinelTrio:
        trio = SentinelTrio(flavor, tmp_path, **options)
        cleanup.callback(trio.stop)
        return trio.start()

    return start


def push(replica, value: int) -> None:
    replica.send(*(f"write {i} {value + i}" for i in range(len(PODS))))


def sees(replica, value: int) -> bool:
    answer = replica.read(PODS)
    assert all(reading.state != "zero" for reading in answer.readings.values())
    return not answer.error and [answer.readings[pod].value for pod in PODS] == [
        value + i for i in range(len(PODS))
    ]


def start_pair(trio, make_replica, **env):
    pair = [
        make_replica(name, addr=trio.addresses, sentinel_master=trio.NAME, **env)
        for name in ("writer", "reader")
    ]
    for replica in pair:
        wait_until(replica.ready, 5, f"ready: {replica.check()[1]}")
    pair[0].send(*(f"open {i} {pod}" for i, pod in enumerate(PODS)))
    push(pair[0], 1000)
    wait_until(lambda: sees(pair[1], 1000), 5, "first values", 0.01)
    return pair


def test_death_of_the_master(start_trio, make_replica, record_property):
    trio = start_trio()
    writer, reader = start_pair(trio, make_replica)
    old = trio.master()
    old.kill()
    wait_until(lambda: trio.master() is not old, 30, "a new master that answers", 0.01)
    push(writer, 2000)
    took = seconds_until(lambda: sees(reader, 2000), 5, "written and read at the new master")
    record_property("recovery_seconds", took)
    print(f"recovered {took * 1000:.0f} ms after the new master answered")
    assert reader.metric("activescale_redis_failovers_total") == 1
    old.start()  # comes back, and is made a replica
    time.sleep(3)
    push(writer, 3000)
    wait_until(lambda: sees(reader, 3000), 5, "still at the new master")


def test_failover_by_order_loses_nothing(start_trio, make_replica):
    trio = start_trio()
    writer, reader = start_pair(trio, make_replica)
    old = trio.master()
    trio.ask(trio.sentinels[1][0], "SENTINEL", "FAILOVER", trio.NAME)
    value = 1000
    deadline = time.monotonic() + 20
    while trio.master() is old:
        assert time.monotonic() < deadline
        value += 1000
        push(writer, value)
        time.sleep(0.1)
    wait_until(lambda: sees(reader, value), 5, "the last value pushed meanwhile", 0.01)


def test_two_sentinels_dead_and_a_password_for_them(start_trio, make_replica):
    trio = start_trio(sentinel_password="watch-dogs")
    for _, process in trio.sentinels[1:]:
        process.stop(grace_seconds=0)
    writer, reader = start_pair(trio, make_replica, sentinel_password="watch-dogs")
    assert "sentinel" in reader.check()[1]
    push(writer, 5000)
    wait_until(lambda: sees(reader, 5000), 5, "written and read", 0.01)


def test_wrong_name_and_wrong_sentinel_password(start_trio, make_replica):
    trio = start_trio(sentinel_password="watch-dogs")
    for env, text in (
        ({"sentinel_master": "other", "sentinel_password": "watch-dogs"}, 'named "other"'),
        ({"sentinel_master": trio.NAME, "sentinel_password": "cat"}, "WRONGPASS"),
        ({"sentinel_master": trio.NAME}, "NOAUTH"),
    ):
        replica = make_replica(f"wrong-{len(text)}", addr=trio.addresses, **env)
        wait_until(lambda r=replica, t=text: t in r.check()[1], 5, text)
        assert not replica.ready()
