"""Numbers at the top of modules: a sentence says what each is, and what chose it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / "bayesvb"

NUMBER = re.compile(r"^([A-Z_]+(?:, [A-Z_]+)*) = [(\-]*\d[^a-df-z\n]*\n(.*)", re.MULTILINE)
"""Names of numbers without a comment behind, and the line below."""


def unexplained(source: str) -> list[str]:
    """Names of the numbers of a module that no sentence explains."""
    return [
        found[1]
        for found in NUMBER.finditer(source)
        if not found[2].startswith('"""')
        and not source[: found.start()].rstrip("\n").rsplit("\n", 1)[-1].startswith("#")
    ]


def test_numbers_without_a_sentence_are_found():
    source = 'A = 1\n\nB, C = 0.5, (2\n"""Why."""\n\nD = -3  # why\n\n# Why.\nE = 4\n\nF = 1 << 3\n'
    assert unexplained(source) == ["A", "F"]


def test_every_number_has_a_sentence():
    bare = {
        str(path.relative_to(ROOT)): names
        for path in sorted(ROOT.rglob("*.py"))
        if (names := unexplained(path.read_text(encoding="utf-8")))
    }
    assert bare == {}
