"""Faults in any order while 500 pods push through three replicas and readers check every answer.

Never zero, never older than the TTL, never what was not pushed, never an older stream once a newer
one was seen.

`--faults-seconds` is how long each test goes on; the seed is printed.
"""

import contextlib
import time

import pytest

from tests.lib.process import wait_until
from tests.redis.resp import RedisError
from tests.redis.servers import Cluster, SentinelTrio
from tests.redis.world import World

PODS = 500
TTL_SECONDS = 4
# A replica of Redis that is promoted lacks what it had not received when its master died.
LAG_SECONDS = 5


@pytest.fixture
def run_world(make_replica, cleanup, request):
    """Starts a world and applies faults from `faults` by chance until the time is over."""

    def run(envs: list[dict], faults: dict) -> None:
        seed = time.time_ns() % 2**32
        print(f"seed {seed}")
        starts = iter(range(10_000))
        world = World(
            lambda i: make_replica(f"replica-{i}-{next(starts)}", ttl=f"{TTL_SECONDS}s", **envs[i]),
            replicas=len(envs),
            pods=PODS,
            ttl_seconds=TTL_SECONDS,
            seed=seed,
        )
        cleanup.callback(world.stop)
        world.start()
        wait_until(world.whole, 60, "all pods at each replica")
        faults = {**faults, "kill -9 of a replica": lambda w: w.kill_replica(w.random.randrange(3))}
        end = time.monotonic() + request.config.getoption("--faults-seconds")
        names = list(faults)
        while time.monotonic() < end and not world.wrong:
            name = names.pop(world.random.randrange(len(names)))
            names = names or list(faults)
            before = time.monotonic()
            faults[name](world)
            world.move_some(20)
            deadline = time.monotonic() + 60
            while lack := world.lacking():
                assert time.monotonic() < deadline, f"not whole after {name}: {lack}"
                time.sleep(0.1)
            world.regain()
            print(f"{name}: {time.monotonic() - before:.1f} s until whole; {world.summary()}")
        world.stop()
        assert not world.wrong, world.wrong[:20]

    return run


def spoil(proxies, mode: str, seconds: float = 3, **options):
    """A fault between one replica, or all, and the server."""

    def fault(world: World) -> None:
        chosen = proxies if world.random.random() < 0.5 else [world.random.choice(proxies)]
        for proxy in chosen:
            proxy.set(mode, **options)
        for _ in range(int(seconds / 0.5)):
            world.move_some(10)
            time.sleep(0.5)
        for proxy in chosen:
            proxy.set("pass")

    return fault


def test_network_and_server(make_server, make_proxy, run_world):
    server = make_server().start()
    proxies = [make_proxy(server) for _ in range(3)]

    def restart(world: World) -> None:
        world.lose()
        server.kill()
        time.sleep(world.random.random() * 3)
        server.start()

    def freeze(world: World) -> None:
        server.freeze()
        time.sleep(2)
        server.thaw()

    def ask(*command):
        def fault(_: World) -> None:
            for _ in range(20):
                with contextlib.suppress(ConnectionError):  # it may kill our own connection
                    server.ask(*command)
                time.sleep(0.1)

        return fault

    run_world(
        [{"addr": proxy.address} for proxy in proxies],
        {
            "delay": spoil(proxies, "delay", delay_seconds=0.15),
            "long delay": spoil(proxies, "delay", delay_seconds=0.8),
            "cut": spoil(proxies, "cut"),
            "garbage": spoil(proxies, "garbage"),
            "half-open": spoil(proxies, "half-open"),
            "refuse": spoil(proxies, "refuse"),
            "restart": restart,
            "freeze": freeze,
            "clients killed": ask("CLIENT", "KILL", "TYPE", "normal"),
            "scripts flushed": ask("SCRIPT", "FLUSH"),
        },
    )


def test_sentinel_failovers(flavor, tmp_path, cleanup, run_world):
    trio = SentinelTrio(flavor, tmp_path)
    cleanup.callback(trio.stop)
    trio.start()

    def death(world: World) -> None:
        old = trio.master()
        world.lose(LAG_SECONDS)
        old.kill()
        wait_until(lambda: trio.master() is not old, 60, "a new master")
        old.start()
        wait_until(trio.in_step, 60, "all replicas are in step")

    def order(world: World) -> None:
        old = trio.master()

        def moved() -> bool:
            if trio.master() is not old:
                return True
            with contextlib.suppress(RedisError):  # it is under way; one that timed out is not
                trio.ask(trio.sentinels[0][0], "SENTINEL", "FAILOVER", trio.NAME)
            return False

        wait_until(moved, 60, "a new master", 1)
        wait_until(trio.in_step, 60, "all replicas are in step")

    env = {"addr": trio.addresses, "sentinel_master": trio.NAME}
    run_world([env] * 3, {"death of the master": death, "failover by order": order})


def test_cluster_failovers_and_moves(flavor, tmp_path, cleanup, run_world):
    cluster = Cluster(flavor, tmp_path, node_timeout_ms=2000)
    cleanup.callback(lambda: [node.kill() for node in cluster.nodes if node.running])
    cluster.start()
    slots = sorted({cluster.nodes[0].ask("CLUSTER", "KEYSLOT", f"{{shop/{i}}}") for i in range(16)})

    def death(world: World) -> None:
        victim = cluster.owner(world.random.choice(slots))
        world.lose(LAG_SECONDS)
        victim.kill()
        wait_until(cluster.whole, 60, "a new master")
        victim.start()
        wait_until(cluster.in_step, 60, "all replicas are in step")

    def freeze(world: World) -> None:
        victim = cluster.owner(world.random.choice(slots))
        victim.freeze()
        time.sleep(0.7)  # shorter than the node timeout
        victim.thaw()

    def move(world: World) -> None:
        for slot in world.random.sample(slots, 4):
            masters = cluster.masters()
            target = masters[(masters.index(cluster.owner(slot)) + 1) % len(masters)]
            source = cluster.begin_move(slot, target)
            cluster.move_keys(slot, source, target, count=5)
            world.move_some(10)
            time.sleep(0.3)
            while cluster.move_keys(slot, source, target):
                pass
            cluster.end_move(slot, source, target)
        wait_until(cluster.whole, 60, "all agree")

    run_world(
        [{"addr": cluster.addresses, "cluster": "true"}] * 3,
        {"death of a master": death, "short freeze": freeze, "moving slots": move},
    )
