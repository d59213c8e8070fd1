"""simulate and recommend take their work from a real Prometheus."""

import subprocess
import time

import pytest

from tests.lib.activescale import BINARY
from tests.lib.process import free_ports
from tests.lib.prometheus import PROMTOOL, Prometheus

_STEP = 300
_INFLIGHT = "cortex_query_scheduler_inflight_requests"


def _openmetrics(end):
    """A made-up week of two schedulers: the 0.75 quantile 20 for half a week, then 60, and 8; the
    median with one sample of 150."""
    start = end - 7 * 86400
    lines = [f"# TYPE {_INFLIGHT} gauge"]
    for at in range(start, end + 1, _STEP):
        high = 20 if at < (start + end) / 2 else 60
        median = 150 if at == start + 100 * _STEP else 30
        for pod, quantile, value in (("a", 0.75, high), ("b", 0.75, 8), ("a", 0.5, median)):
            lines.append(f'{_INFLIGHT}{{pod="{pod}",quantile="{quantile}"}} {value} {at}')
    return "\n".join([*lines, "# EOF", ""])


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "week.txt").write_text(_openmetrics(int(time.time()) // _STEP * _STEP))
    server = Prometheus(folder, {})
    subprocess.run(
        [PROMTOOL, "tsdb", "create-blocks-from", "openmetrics", "week.txt", "prometheus-data"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    try:
        server.start()
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.stop()


def _run(*arguments):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=120)


def test_the_estimators_on_a_week_of_two_schedulers(prometheus):
    """Means 40 and 8, so 24, over floor(0.75 x 6) = 4: 6. Highest median 150 / 6 = 25."""
    done = _run(
        "recommend",
        f"--prometheus={prometheus}",
        f'--query={_INFLIGHT}{{quantile="0.75"}}',
        f'--query-median={_INFLIGHT}{{quantile="0.5"}}',
        "--resolution=300s",
        "--workers=6",
        "--latency=2s",
        "--max-wait=5s",
        "--replicas=12",
    )
    assert done.returncode == 0, done.stderr
    found = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()[1:4]}
    assert found["target"] == "4"
    assert found["maxReplicas"] == "25"
    # The halves of the week meet between two points of the answer, so the mean is 24 within 0.1.
    assert found["minReplicas"] in ("6", "7")
    assert "the history covers" not in done.stdout


def test_a_query_is_a_workload(prometheus, tmp_path):
    csv = tmp_path / "timeline.csv"
    done = _run(
        "simulate",
        f"--prometheus={prometheus}",
        f'--query={_INFLIGHT}{{quantile="0.75"}}',
        "--history=24h",
        "--resolution=300s",
        "--latency=2s",
        "--step=60s",
        "--output=csv",
        f"--out={csv}",
    )
    assert done.returncode == 0, done.stderr
    rows = csv.read_text().splitlines()
    header = rows[0].split(",")
    qps = {row.split(",")[header.index("qps")] for row in rows[10:-10]}
    assert {float(value) for value in qps} == {(60 + 8) / 2}  # in flight over the latency


@pytest.mark.parametrize(
    ("query", "want"),
    [
        ("sum(", "Prometheus refuses the query (400)"),
        ("no_such_metric", "has no sample for the query"),
        ("-" + _INFLIGHT, "cannot be below 0"),
    ],
)
def test_what_prometheus_says_is_passed_on(prometheus, query, want):
    done = _run("simulate", f"--prometheus={prometheus}", f"--query={query}", "--history=1h")
    assert done.returncode in (1, 2)
    assert want in done.stderr


def test_nobody_listening_is_no_bad_input():
    [port] = free_ports(1)
    done = _run("simulate", f"--prometheus=http://127.0.0.1:{port}", "--query=up")
    assert done.returncode == 1
    assert str(port) in done.stderr
