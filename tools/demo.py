"""`./dev run`: a real Envoy pushes; once a second the API says what is in flight.

Everything runs on loopback and ends with Ctrl-C; with --once, after the first non-zero answer.
"""

import argparse
import contextlib
import itertools
import pathlib
import signal
import sys
import tempfile
import threading
import time

from tests.lib.activescale import Activescale
from tests.lib.api import CUSTOM, HttpClient
from tests.lib.envoy import Envoy, EnvoyOptions, Pod
from tests.lib.traffic import HoldingBackend

DASHBOARD = "--dashboard-address=127.0.0.1:0"
METRICS = ("inbound_active_requests", "active_connections")
POD = Pod("web-0", "shop", {"app": "web"}, "web")
PREFIX = "inbound_0.0.0.0_8080;"
REQUEST_SECONDS = 0.4
# Clients at work; each step lasts a few seconds, so that the numbers move.
LOAD_STEPS = (3, 8, 5, 12, 1)
STEP_SECONDS = 5
ONCE_DEADLINE_SECONDS = 30


class Clients:
    """Clients that each send one request after the other over a kept connection."""

    def __init__(self, port: int):
        self._port = port
        self._wanted = 0
        self._stopping = False
        self._threads: list[threading.Thread] = []

    def set(self, count: int) -> None:
        self._wanted = count
        while len(self._threads) < count:
            index = len(self._threads)
            self._threads.append(threading.Thread(target=self._work, args=(index,), daemon=True))
            self._threads[-1].start()

    def close(self) -> None:
        self._stopping = True
        for thread in self._threads:
            thread.join(2)

    def _work(self, index: int) -> None:
        client = HttpClient(self._port)
        while not self._stopping:
            if index < self._wanted:
                with contextlib.suppress(OSError):
                    client.get("/")
            else:
                client.close()
                time.sleep(0.1)


def print_introduction(server: Activescale, envoy: Envoy) -> None:
    url = f"https://127.0.0.1:{server.https_port}{CUSTOM}/namespaces/{POD.namespace}/pods/*"
    print(f"pod {POD.name} of namespace {POD.namespace}: http://127.0.0.1:{envoy.ports[PREFIX]}/")
    print("ask yourself:")
    print(f"  curl -gks '{url}/{METRICS[0]}?labelSelector=app%3Dweb'")
    print(f"  curl -s 'http://127.0.0.1:{server.health_port}/readyz?verbose'")
    print(f"see it move: {server.dashboard_url}")
    print(f"\n{'time':<10}{'clients':>8}{METRICS[0]:>26}{METRICS[1]:>21}", flush=True)


def watch(server: Activescale, clients: Clients, once: bool) -> int:
    """Prints a line a second; returns the exit code."""
    api, start = server.client(), time.monotonic()
    for second in itertools.count():
        clients.set(LOAD_STEPS[second // STEP_SECONDS % len(LOAD_STEPS)])
        time.sleep(max(0.0, start + second + 1 - time.monotonic()))
        server.check_running()
        values = [api.pods(POD.namespace, m, "app=web").get(POD.name) for m in METRICS]
        shown = ["missing" if v is None else f"{v:g}" for v in values]
        clock = time.strftime("%H:%M:%S")
        wanted = LOAD_STEPS[second // STEP_SECONDS % len(LOAD_STEPS)]
        print(f"{clock:<10}{wanted:>8}{shown[0]:>26}{shown[1]:>21}", flush=True)
        if once and values[0]:
            return 0
        if once and second >= ONCE_DEADLINE_SECONDS:
            print("no non-zero answer came; the end of the log:", server.log_tail(), sep="\n")
            return 1
    raise AssertionError("unreachable")


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev run")
    parser.add_argument("--once", action="store_true", help="end after the first non-zero answer")
    parser.add_argument("--binary", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        backend = stack.enter_context(contextlib.closing(HoldingBackend(REQUEST_SECONDS)))
        server = Activescale(folder, DASHBOARD, binary=options.binary).start()
        stack.callback(server.stop)
        envoy_options = EnvoyOptions((PREFIX,), flush_seconds=1)
        envoy = Envoy(POD, [server.grpc_port], backend.port, folder, envoy_options).start()
        stack.callback(envoy.stop)
        clients = stack.enter_context(contextlib.closing(Clients(envoy.ports[PREFIX])))
        print_introduction(server, envoy)
        try:
            return watch(server, clients, options.once)
        except KeyboardInterrupt:
            print("\nstopping")
            return 0


if __name__ == "__main__":
    sys.exit(main())
