"""Real servers of Redis and Valkey: alone, as Sentinel trio, as Cluster."""

import os
import pathlib
import shutil
import signal
import ssl
import subprocess

from tests.lib.process import Process, free_ports, wait_until
from tests.redis.resp import RedisError, ask

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Put there by tools/valkey.sh.
VALKEY = ROOT / ".cache" / "valkey" / "usr" / "bin"
SLOTS = 16384


class Flavor:
    """One of the two programs that tests run."""

    def __init__(self, name: str):
        self.name = name
        folder = VALKEY if name == "valkey" else None
        self.server = _find(f"{name}-server", folder)
        self.cli = _find(f"{name}-cli", folder)

    @property
    def available(self) -> bool:
        return bool(self.server and self.cli)


def _find(program: str, folder: pathlib.Path | None) -> str | None:
    path = f"{folder}{os.pathsep}{os.environ['PATH']}" if folder else None
    return shutil.which(program, path=path)


class Server:
    """One server process with a folder of its own. Options are those of its configuration."""

    def __init__(self, flavor: Flavor, folder: pathlib.Path, name: str, **options: object):
        self.flavor = flavor
        self.port = free_ports(1)[0]
        self.name = name
        self._folder = folder / name
        self._folder.mkdir(parents=True)
        self.tls: ssl.SSLContext | None = None
        self.password = ""
        self._options = {"port": self.port, "bind": "127.0.0.1", "save": "", **options}
        self._process: Process | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def configure(self, **options: object) -> None:
        self._options.update(options)

    def start(self, wait: bool = True) -> "Server":
        arguments = []
        for key, value in self._options.items():
            words = str(value).split(" ") if key != "save" else [str(value)]
            arguments += [f"--{key.replace('_', '-')}", *words]
        self._process = Process(
            self.name,
            [self.flavor.server, *arguments, "--dir", self._folder],
            self._folder,
        ).start()
        if wait:
            self._process.wait_ready(self.answers, 60)
        return self

    def answers(self) -> bool:
        try:
            self.ask("PING")
        except RedisError as error:  # it lives, and may be loading or want a password
            return not str(error).startswith("LOADING")
        return True

    def ask(self, *args: object):
        return ask(self.port, *args, tls=self.tls, password=self.password)

    def kill(self) -> None:
        assert self._process
        self._process.stop(signal_number=signal.SIGKILL)

    def freeze(self) -> None:
        assert self._process
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process
        os.kill(self._process.pid, signal.SIGCONT)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.running


class SentinelTrio:
    """A master with two replicas, watched by three Sentinels."""

    NAME = "mymaster"

    def __init__(self, flavor: Flavor, folder: pathlib.Path, sentinel_password: str = ""):
        self.servers = [Server(flavor, folder, f"data-{i}") for i in range(3)]
        self.sentinels = []
        for i in range(3):
            port = free_ports(1)[0]
            home = folder / f"sentinel-{i}"
            home.mkdir(parents=True)
            config = home / "sentinel.conf"
            config.write_text(self._config(port, sentinel_password))
            self.sentinels.append(
                (port, Process(f"sentinel-{i}", [flavor.server, config, "--sentinel"], home))
            )
        self.sentinel_password = sentinel_password

    def _config(self, port: int, password: str) -> str:
        lines = [
            f"port {port}",
            "bind 127.0.0.1",
            f"sentinel monitor {self.NAME} 127.0.0.1 {self.servers[0].port} 2",
            f"sentinel down-after-milliseconds {self.NAME} 1000",
            f"sentinel failover-timeout {self.NAME} 3000",
        ]
        if password:
            lines += [f"requirepass {password}", f"sentinel sentinel-pass {password}"]
        return "\n".join(lines) + "\n"

    def start(self) -> "SentinelTrio":
        for server in self.servers:
            if server is not self.servers[0]:
                server.configure(replicaof=f"127.0.0.1 {self.servers[0].port}")
            server.start()
        for port, process in self.sentinels:
            process.start()
            process.wait_ready(lambda port=port: self.ask(port, "PING"), 10)
        wait_until(self._complete, 30, "Sentinels know each other and the replicas")
        return self

    def stop(self) -> None:
        for _, process in self.sentinels:
            process.stop(grace_seconds=0)
        for server in self.servers:
            if server.running:
                server.kill()

    def ask(self, port: int, *args: object):
        return ask(port, *args, password=self.sentinel_password)

    def _complete(self) -> bool:
        for port, _ in self.sentinels:
            state = self.ask(port, "SENTINEL", "MASTER", self.NAME)
            fields = dict(zip(state[::2], state[1::2], strict=True))
            if fields["num-slaves"] != "2" or fields["num-other-sentinels"] != "2":
                return False
        return self.in_step()

    def in_step(self) -> bool:
        """One server is the master and the others follow it."""
        roles = [server.ask("ROLE") for server in self.servers]
        return [role[0] for role in roles].count("master") == 1 and all(
            role[0] == "master" or role[3] == "connected" for role in roles
        )

    @property
    def addresses(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port, _ in self.sentinels)

    def master(self) -> Server:
        """The one that says so itself and that a Sentinel names."""
        port = int(
            self.ask(self.sentinels[0][0], "SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.NAME)[1]
        )
        server = next(s for s in self.servers if s.port == port)
        assert server.running and server.ask("ROLE")[0] == "master"
        return server


class Cluster:
    """Three masters with a replica each."""

    def __init__(
        self, flavor: Flavor, folder: pathlib.Path, node_timeout_ms: int = 1000, **options
    ):
        self.flavor = flavor
        self.nodes = [
            Server(
                flavor,
                folder,
                f"node-{i}",
                cluster_enabled="yes",
                cluster_port=free_ports(1)[0],
                cluster_node_timeout=node_timeout_ms,
                cluster_require_full_coverage="no",
                **options,
            )
            for i in range(6)
        ]

    def start(self) -> "Cluster":
        for node in self.nodes:
            node.start()
        addresses = [node.address for node in self.nodes]
        self.cli("create", *addresses, "--cluster-replicas", "1", "--cluster-yes")
        wait_until(self.whole, 30, "the Cluster is whole")
        wait_until(self.in_step, 30, "replicas are in step")
        return self

    def in_step(self) -> bool:
        """Every node that is no master follows one."""
        roles = [node.ask("ROLE") for node in self.nodes]
        return all(role[0] == "master" or role[3] == "connected" for role in roles)

    def cli(self, *args: str) -> str:
        command = [self.flavor.cli, "--cluster", *args]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout} {done.stderr}"
        return done.stdout

    @property
    def addresses(self) -> str:
        return ",".join(node.address for node in self.nodes)

    def whole(self) -> bool:
        """Every running node sees every slot served by a running node."""
        running = {node.port for node in self.nodes if node.running}
        for node in self.nodes:
            if not node.running:
                continue
            covered = 0
            for first, last, master, *_ in node.ask("CLUSTER", "SLOTS"):
                if master[1] in running:
                    covered += last - first + 1
            if covered != SLOTS:
                return False
        return True

    def node(self, port: int) -> Server:
        return next(node for node in self.nodes if node.port == port)

    def any_running(self) -> Server:
        return next(node for node in self.nodes if node.running)

    def owner(self, slot: int) -> Server:
        for first, last, master, *_ in self.any_running().ask("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return self.node(master[1])
        raise LookupError(slot)

    def masters(self) -> list[Server]:
        slots = self.any_running().ask("CLUSTER", "SLOTS")
        return [self.node(port) for port in dict.fromkeys(entry[2][1] for entry in slots)]

    def begin_move(self, slot: int, target: Server) -> Server:
        """Opens the slot at both ends; its keys stay where they are. Returns the source."""
        source = self.owner(slot)
        source_id, target_id = source.ask("CLUSTER", "MYID"), target.ask("CLUSTER", "MYID")
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
        return source

    def move_keys(self, slot: int, source: Server, target: Server, count: int = 1000) -> int:
        keys = source.ask("CLUSTER", "GETKEYSINSLOT", slot, count)
        for key in keys:
            source.ask("MIGRATE", "127.0.0.1", target.port, key, 0, 5000)
        return len(keys)

    def end_move(self, slot: int, source: Server, target: Server) -> None:
        target_id = target.ask("CLUSTER", "MYID")
        for node in (target, source, *self.masters()):
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", target_id)

    def move(self, slot: int, target: Server) -> None:
        if self.owner(slot) is target:
            return
        source = self.begin_move(slot, target)
        while self.move_keys(slot, source, target):
            pass
        self.end_move(slot, source, target)
