"""The alerts in deploy/prometheus, as the real promtool judges them."""

import pathlib
import re
import subprocess

from tests.lib.prometheus import PROMTOOL

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "deploy/prometheus"


def promtool(*args: str) -> None:
    done = subprocess.run(
        [PROMTOOL, *args], cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_are_valid_and_alert_when_they_should():
    promtool("check", "rules", "rules.yaml")
    promtool("test", "rules", "rules_test.yaml")


def test_the_rules_name_metrics_that_there_are():
    source = "".join(path.read_text() for path in (ROOT / "src").rglob("*.cc"))
    named = set(re.findall(r"\bactivescale_[a-z_]*[a-z]\b", (FOLDER / "rules.yaml").read_text()))
    assert named
    assert [name for name in sorted(named) if f'"{name}"' not in source] == []
