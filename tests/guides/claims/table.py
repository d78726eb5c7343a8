"""The table of claims: what guides, README and pages say of a method or give as a number, and what proves it.

`claims.txt` has blocks: a line `@ FILE | EVIDENCE`, and below it the claims, one a line, as they stand in the file (of
a guide without addresses of links and line breaks, of a page with `…` where a value is put in). EVIDENCE is one of

    holds NAME       the predicate NAME of `predicates`: reads published results, and gives whether the claim holds, or
                     the numbers that it prints, in their order
    test PATH::NAME  a test that computes what is said
    exempt REASON    no claim about a method: REASON is one of `REASONS`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.guides.claims.scan import ROOT

TABLE = Path(__file__).with_name("claims.txt")
REASONS = {
    "meaning": "says what a word, a measure, an option or a file means, or what an order on the page is",
    "rule": "says what the program does or refuses; tests of that part hold it",
    "formula": "a formula, or what follows from one in a line",
    "history": "what was tried before something was published; there is no file that could be read again",
    "timing": "a time or a size that was measured once on the machine that is named; `make bench`, `make load` measure",
    "advice": "tells the reader what to do or to look at, and claims nothing of how it turns out",
    "question": "asks the reader, or offers an answer to choose",
    "template": "the value is computed where it is shown, and is no part of the sentence",
}


@dataclass(frozen=True)
class Claim:
    """What a file says, and the kind and name of its evidence."""

    file: str
    text: str
    kind: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.file}: {self.text[:60]}"


def claims() -> list[Claim]:
    """The whole table."""
    found: list[Claim] = []
    file = kind = evidence = ""
    for line in TABLE.read_text("utf-8").splitlines():
        if line.startswith("@ "):
            file, _, rest = line.removeprefix("@ ").partition(" | ")
            kind, _, evidence = rest.partition(" ")
        elif line.strip():
            found.append(Claim(file, line.strip(), kind, evidence))
    return found


def tests_of(path: Path) -> Iterator[str]:
    """The names of the tests of a module."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name


def exists(evidence: str) -> bool:
    """Whether `PATH::NAME` is a test."""
    path, _, name = evidence.partition("::")
    return (ROOT / path).is_file() and name in tests_of(ROOT / path)
