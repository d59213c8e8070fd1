"""The counter of `./dev test` must never call a broken run green."""

from pathlib import Path

import pytest
import test_results

GTEST = """<testsuites><testsuite name="A">
<testcase name="Good" classname="A" status="run" result="completed"/>
{extra}</testsuite></testsuites>"""
CTEST = """<testsuite><testcase name="base_test" classname="base_test" status="{status}">{inner}
</testcase></testsuite>"""
FAILURE = '<failure message="x"/>'


def part(tmp_path: Path, status: int = 0, **files: str) -> test_results.PartResult:
    (tmp_path / "outcome").write_text(f"{status} 7")
    for name, text in files.items():
        (tmp_path / name.replace("__", ".")).write_text(text)
    return test_results.read_part(tmp_path)


def ctest(status: str) -> str:
    return CTEST.format(status=status, inner=FAILURE if status == "fail" else "")


def test_gtest_cases_are_counted_and_not_their_process_again(tmp_path):
    r = part(tmp_path, base_test__xml=GTEST.format(extra=""), ctest__xml=ctest("run"))
    assert (r.passed, r.failures, r.seconds) == (1, [], 7)


def test_failed_case_counts_once(tmp_path):
    bad = f'<testcase name="Bad" classname="A" status="run">{FAILURE}</testcase>'
    r = part(tmp_path, 8, base_test__xml=GTEST.format(extra=bad), ctest__xml=ctest("fail"))
    assert (r.passed, r.failures) == (1, ["A.Bad"])


def test_process_that_crashes_after_its_cases_passed_is_a_failure(tmp_path):
    r = part(tmp_path, 8, base_test__xml=GTEST.format(extra=""), ctest__xml=ctest("fail"))
    assert r.passed == 1 and len(r.failures) == 1


def test_process_without_cases_of_its_own_counts_as_one(tmp_path):
    assert part(tmp_path, ctest__xml=ctest("run")).passed == 1


@pytest.mark.parametrize("status", [0, 3])
def test_part_that_ran_nothing_is_a_failure(tmp_path, status):
    assert len(part(tmp_path, status).failures) == 1


def test_truncated_report_is_a_failure(tmp_path):
    assert len(part(tmp_path, a__xml="<testsuites><testc").failures) == 1


def test_disabled_case_is_skipped_not_passed(tmp_path):
    off = '<testcase name="Off" classname="A" status="notrun" result="suppressed"/>'
    r = part(tmp_path, base_test__xml=GTEST.format(extra=off))
    assert (r.passed, r.skipped) == (1, 1)


def test_checks_are_counted(tmp_path):
    r = part(tmp_path, 1, checks="passed layers\nfailed ruff\n")
    assert (r.passed, r.failures) == (1, ["ruff"])


def test_exit_code_and_last_line(tmp_path, capsys):
    part_dir = tmp_path / "unit"
    part_dir.mkdir()
    part(part_dir, checks="passed a\n")
    assert test_results.main(tmp_path, ["unit"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed"
    part(part_dir, 1, checks="passed a\nfailed b\n")
    assert test_results.main(tmp_path, ["unit"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 1 failed"
