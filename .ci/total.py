"""Print 'N passed, N failed' over all JUnit files of a folder; exit 1 when anything failed."""

import sys
from pathlib import Path
from xml.etree import ElementTree


def count(folder: Path) -> tuple[int, int]:
    """Tests passed and tests failed (errors included) in the files ``folder/*.xml``."""
    passed = failed = 0
    for file in folder.glob("*.xml"):
        for suite in ElementTree.parse(file).iter("testsuite"):
            tests, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
            bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            passed, failed = passed + tests - skipped - bad, failed + bad
    return passed, failed


def failed_stages(folder: Path) -> list[str]:
    """Names in the file ``folder/failed``, which stages that fail add to."""
    file = folder / "failed"
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    stages = failed_stages(folder)
    passed, failed = count(folder)
    failed = max(failed, len(stages))  # a stage can fail without a failing test
    if stages:
        print(f"FAILED: {'; '.join(stages)}: see above")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)
