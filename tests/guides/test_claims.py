"""Every judgement of a method and every number on a page, in a guide and in README has its evidence, and it holds."""

import re
from collections import Counter

import pytest

from tests.guides.claims import language, predicates, scan, settings  # noqa: F401
from tests.guides.claims.table import REASONS, TABLES, Claim, claims, exists

TEXTS = scan.texts()
TABLE = claims()
ROOMS = {"app/learn/": "tests/pages/test_learn.py"}
"""Rooms whose sentences are proved by tests of their own, on the numbers that they show."""
MOST_EXEMPT = 0.5
"""Of all claims in the table; more would make it a list of excuses."""


def test_the_table_is_well_formed():
    assert len({(claim.file, claim.text) for claim in TABLE}) == len(TABLE)
    for claim in TABLE:
        assert claim.file in TEXTS, claim
        assert claim.kind in ("holds", "test", "exempt"), claim
        if claim.kind == "exempt":
            assert claim.evidence in REASONS, claim
        elif claim.kind == "test":
            assert exists(claim.evidence), claim
    named = {claim.evidence for claim in TABLE if claim.kind == "holds"}
    assert named == set(predicates.PREDICATES), "a predicate without a claim, or a claim without one"
    assert all((scan.ROOT / path).is_file() for path in ROOMS.values())


@pytest.mark.parametrize("claim", TABLE, ids=str)
def test_what_is_claimed_is_said(claim: Claim):
    assert claim.text in TEXTS[claim.file], "the sentence is gone: change the table with it"


@pytest.mark.parametrize("claim", [claim for claim in TABLE if claim.kind == "holds"], ids=str)
def test_what_is_claimed_holds(claim: Claim):
    """The predicate is true, or gives the numbers of the claim, which stand there in the same order."""
    found = predicates.PREDICATES[claim.evidence]()
    if isinstance(found, list):
        assert said_numbers(claim.text) == found
    else:
        assert found is True


def said_numbers(text: str) -> list[str]:
    numbers = (found.word for found in scan.triggers("", text) if re.search(r"\d", found.word))
    return [number.lstrip("±+") for number in numbers]


def uncovered(file: str) -> list[scan.Trigger]:
    """What stands in a file outside all claims on it."""
    text, spans = TEXTS[file], []
    for claim in TABLE:
        if claim.file == file:
            spans += [found.span() for found in re.finditer(re.escape(claim.text), text)]
    return [found for found in scan.triggers(file, text)
            if not any(start <= found.start and found.end <= end for start, end in spans)]


@pytest.mark.parametrize("file", [name for name in TEXTS if not name.startswith(tuple(ROOMS))])
def test_nothing_is_claimed_beside_the_table(file):
    left = Counter(f"{found.sentence}  [{found.word}]" for found in uncovered(file))
    assert not left, "write what proves it into tests/guides/claims/claims.txt, or take it back:\n" + "\n".join(left)


def test_every_table_of_numbers_has_its_evidence():
    found = {head for path in sorted(scan.GUIDES.glob("*.md")) for head in scan.tables(path.read_text("utf-8"))}
    assert found == set(TABLES)
    for evidence in TABLES.values():
        kind, _, name = evidence.partition(" ")
        assert exists(name) if kind == "test" else name in REASONS


@pytest.mark.parametrize(("text", "found", "fits"), [
    ("It falls from 0.65 ± 0.11 to −0.23 for 5 of the 20 groups.", ["0.65", "0.11", "−0.23", "5", "20"], True),
    ("It falls from 0.65 to 0.24.", ["0.65", "0.23"], False), ("It falls to 0.23.", ["0.65", "0.23"], False),
    ("It is best.", True, True), ("It is best.", False, False)])
def test_a_claim_that_does_not_fit_is_caught(text, found, fits, monkeypatch):
    monkeypatch.setitem(predicates.PREDICATES, "made", lambda: found)
    claim = Claim("README", text, "holds", "made")
    if fits:
        test_what_is_claimed_holds(claim)
    else:
        with pytest.raises(AssertionError):
            test_what_is_claimed_holds(claim)


def test_most_of_the_table_is_evidence():
    assert sum(claim.kind == "exempt" for claim in TABLE) <= MOST_EXEMPT * len(TABLE)


@pytest.mark.parametrize("text", ["LESS is best here.", "TracIn falls to 0.23.", "It takes about a minute.",
                                  "This hardly matters.", "SOURCE is no stand-in for it.", "They never agree."])
def test_the_scan_sees_a_claim(text):
    assert list(scan.triggers("", text))


@pytest.mark.parametrize("text", ["Table 5-1 has `0.5` and ResNet-18 in float64.", "A query and its candidates."])
def test_the_scan_leaves_names_and_code_alone(text):
    assert not list(scan.triggers("", text))


def test_the_scan_reads_what_a_page_says():
    module = 'TITLE = "no words"\n\ndef show(n):\n    """The best of all."""\n    write(f"The best of {n} methods.")\n'
    assert scan.strings(module) == "The best of … methods."
