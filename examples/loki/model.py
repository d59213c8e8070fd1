#!/usr/bin/env python3
"""A model of Loki's read path: a query scheduler with a queue, and queriers of six workers each.

    GET /loki/api/v1/query_range   a query: its parts wait for workers, then it is answered
    GET /metrics                   the summary of queued and running parts, as Loki has it
    PUT /queriers?count=N          how many queriers there are now
    GET /state                     what is queued and running, as JSON

The summary is sampled each 250 ms and covers the last 60 s. With --scale 0.1 all times of the model
are a tenth, so that a test takes a tenth of the time.
"""

import argparse
import asyncio
import collections
import json
import math
import random
import urllib.parse

METRIC = "cortex_query_scheduler_inflight_requests"
QUANTILES = (0.5, 0.75, 0.8, 0.9, 0.95, 0.99)
WORKERS = 6
SAMPLE_SECONDS = 0.25
SUMMARY_SECONDS = 60.0
MOST_QUEUED = 10_000


class Scheduler:
    """Parts of queries, first come first served."""

    def __init__(self, queriers: int, seconds: float, spread: float, seed: int):
        self._queriers = queriers
        self._mean = math.log(seconds) - spread**2 / 2
        self._spread = spread
        self._random = random.Random(seed)
        self._queue: collections.deque[asyncio.Future] = collections.deque()
        self.running = 0

    @property
    def queued(self) -> int:
        return len(self._queue)

    @property
    def inflight(self) -> int:
        return self.queued + self.running

    def set_queriers(self, count: int) -> None:
        self._queriers = count
        self._start()

    async def work(self) -> None:
        """One part: waits for a worker and keeps it busy."""
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._start()
        await turn
        try:
            await asyncio.sleep(self._random.lognormvariate(self._mean, self._spread))
        finally:
            self.running -= 1
            self._start()

    def _start(self) -> None:
        while self._queue and self.running < WORKERS * self._queriers:
            self.running += 1
            self._queue.popleft().set_result(None)


class Summary:
    """Quantiles over the last while of a number that is sampled."""

    def __init__(self, samples: int):
        self._recent: collections.deque[int] = collections.deque(maxlen=samples)
        self._sum = 0
        self._count = 0

    def add(self, value: int) -> None:
        self._recent.append(value)
        self._sum += value
        self._count += 1

    def text(self) -> str:
        ordered = sorted(self._recent)
        lines = [f"# TYPE {METRIC} summary"]
        for quantile in QUANTILES:
            at = math.ceil(quantile * len(ordered)) - 1
            value = ordered[at] if ordered else "NaN"
            lines.append(f'{METRIC}{{quantile="{quantile}"}} {value}')
        lines += [f"{METRIC}_sum {self._sum}", f"{METRIC}_count {self._count}", ""]
        return "\n".join(lines)


class Server:
    def __init__(self, scheduler: Scheduler, summary: Summary, parts: int):
        self._scheduler = scheduler
        self._summary = summary
        self._parts = parts

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """HTTP/1.1 with kept connections, as Envoy and scrapers speak it."""
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
                method, target, _ = head.split(" ", 2)
                status, kind, body = await self._answer(method, target)
                writer.write(
                    f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n"
                    f"content-length: {len(body)}\r\n\r\n{body}".encode()
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, method: str, target: str) -> tuple[str, str, str]:
        url = urllib.parse.urlsplit(target)
        if url.path == "/metrics":
            return "200 OK", "text/plain; version=0.0.4", self._summary.text()
        if url.path == "/state":
            state = {"queued": self._scheduler.queued, "running": self._scheduler.running}
            return "200 OK", "application/json", json.dumps(state)
        if url.path == "/queriers" and method == "PUT":
            self._scheduler.set_queriers(int(urllib.parse.parse_qs(url.query)["count"][0]))
            return "200 OK", "text/plain", ""
        if url.path == "/loki/api/v1/query_range":
            if self._scheduler.queued + self._parts > MOST_QUEUED:
                return "429 Too Many Requests", "text/plain", "too many outstanding requests"
            await asyncio.gather(*(self._scheduler.work() for _ in range(self._parts)))
            return "200 OK", "application/json", '{"status":"success"}'
        return "404 Not Found", "text/plain", ""


async def run(options: argparse.Namespace) -> None:
    scheduler = Scheduler(
        options.queriers, options.seconds * options.scale, options.spread, options.seed
    )
    summary = Summary(round(SUMMARY_SECONDS / SAMPLE_SECONDS))
    server = await asyncio.start_server(
        Server(scheduler, summary, options.parts).serve, options.address, options.port
    )
    print(f"listening on port {server.sockets[0].getsockname()[1]}", flush=True)
    while True:
        summary.add(scheduler.inflight)
        await asyncio.sleep(SAMPLE_SECONDS * options.scale)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=3100)
    parser.add_argument("--queriers", type=int, default=10, help="(default: %(default)s)")
    parser.add_argument("--parts", type=int, default=2, help="of a query (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=2.0, help="a part's mean work")
    parser.add_argument("--spread", type=float, default=0.5, help="of its logarithm")
    parser.add_argument("--scale", type=float, default=1.0, help="of all times")
    parser.add_argument("--seed", type=int, default=1)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
