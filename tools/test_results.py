"""Counts the results of the parts of `./dev test`.

Prints a table of the parts and, as the very last line, `N passed, N failed`.
Exit code 0 only if nothing failed and every part ran something.
"""

import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class PartResult:
    name: str
    passed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: int = 0


def _case_outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    # "notrun" is GoogleTest's disabled test, "disabled" and "notrun" are ctest's.
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "failed" if case.get("status") == "fail" else "passed"


def _add_cases(result: PartResult, path: Path) -> int:
    """Adds the cases of one JUnit file; returns how many of them failed."""
    failed = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        outcome = _case_outcome(case)
        name = f"{case.get('classname', '')}.{case.get('name')}"
        if outcome == "failed":
            failed += 1
            result.failures.append(name)
        elif outcome == "skipped":
            result.skipped += 1
        else:
            result.passed += 1
    return failed


def _add_ctest(result: PartResult, path: Path, counted: dict[str, int]) -> None:
    """ctest sees processes: those whose cases were counted add a failure only if they crashed."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name, outcome = case.get("name", ""), _case_outcome(case)
        if outcome == "failed" and counted.get(name, 0) == 0:
            result.failures.append(f"{name} (crashed, timed out, or sanitizer report)")
        elif name not in counted:
            result.passed += outcome == "passed"
            result.skipped += outcome == "skipped"


def read_part(folder: Path) -> PartResult:
    result = PartResult(folder.name)
    status, seconds = (folder / "outcome").read_text().split()
    result.seconds = int(seconds)
    counted = {}
    for path in sorted(folder.glob("*.xml")):
        if path.name == "ctest.xml":
            continue
        try:
            counted[path.stem] = _add_cases(result, path)
        except ElementTree.ParseError:
            result.failures.append(f"{path.name} is not whole: the program crashed")
    if (folder / "ctest.xml").exists():
        _add_ctest(result, folder / "ctest.xml", counted)
    if (folder / "checks").exists():
        for line in (folder / "checks").read_text().splitlines():
            outcome, name = line.split(maxsplit=1)
            if outcome == "passed":
                result.passed += 1
            else:
                result.failures.append(name)
    if status != "0" and not result.failures:
        result.failures.append(f"{result.name} ended with {status} (see .cache/logs)")
    if result.passed == 0 and not result.failures:
        result.failures.append(f"{result.name} ran nothing")
    return result


def main(results_dir: Path, parts: list[str]) -> int:
    results = [read_part(results_dir / part) for part in parts]
    print(f"\n{'part':<12}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for r in results:
        print(f"{r.name:<12}{r.passed:>8}{len(r.failures):>8}{r.skipped:>9}{r.seconds:>9}")
    failures = [f"{r.name}: {failure}" for r in results for failure in r.failures]
    if failures:
        print("\nfailed:")
        for failure in failures:
            print(f"  {failure}")
    print(f"\n{sum(r.passed for r in results)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
