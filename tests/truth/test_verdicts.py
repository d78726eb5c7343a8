"""Every sentence of the verdict, held against the numbers: specifications are drawn, scores are computed."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.analysis.comparison import compare
from engine.basics.errors import InvalidInput
from engine.scoring.said import Says
from engine.scoring.verdict import verdict
from tests.engine.single_thread import one_thread  # noqa: F401
from tests.truth.drawn_specifications import BUILDS, Pool
from tests.truth.verdict_claims import PREDICATES, Case

WORDS = {Says.EQUAL: "equal", Says.PROPORTIONAL: "proportional", Says.SHIFTED: "constant", Says.BLAMED: "error of",
         Says.NEITHER_RIGHT: "neither", Says.TRUSTED: "known to be right", Says.MAY_DIFFER: "may differ"}
"""What a sentence of the reason that makes such a claim must say."""

SIZES = {"network": 14}
"""How many scorings are drawn where each costs much."""


def wrong(pool, a, b, found, measured):
    """The claims of a verdict that the numbers do not bear out, each with the pair."""
    texts = [said.text for said in found.claims]
    heads = next(place for place in range(len(texts) + 1) if "".join(texts[:place]) == found.headline)
    assert " ".join(texts[heads:]) == found.reason, (found.headline, found.reason, texts)
    assert all(word in said.text for said in found.claims[heads:] for says, word in WORDS.items() if said.says is says)
    return [(a.title, a.canonical(), b.canonical(), said) for said in found.claims
            if not PREDICATES[said.says](Case(pool, a, b, said, found.claims, measured))]


def judged(pool, pairs):
    """(claims counted, those that are wrong) of the verdicts on pairs, with their scores and without."""
    counted, faults = Counter(), []
    for a, b in pairs:
        told = [(verdict(a, b, pool.facts), False)]
        try:
            comparison = compare([[pool.scores[a], pool.scores[b]]], problem=type(pool.problem))
            told.append((comparison.verdicts[0][1], True))
        except InvalidInput:
            pass  # nothing is left to compare
        for found, measured in told:
            counted.update(said.says for said in found.claims)
            faults += wrong(pool, a, b, found, measured)
    return counted, faults


@pytest.mark.parametrize("name", BUILDS)
def test_every_sentence_of_some_verdicts_holds_of_the_scores(name, one_thread):  # noqa: F811
    pool = Pool.of(name, seed=0, size=SIZES.get(name, 24))
    counted, faults = judged(pool, pool.pairs(0, 80))
    assert not faults, faults[:3]
    assert counted.total() > 300 and len(counted) > 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", BUILDS)
def test_every_sentence_of_many_verdicts_holds_of_the_scores(name, seed, one_thread):  # noqa: F811
    """In all 5,400 pairs."""
    pool = Pool.of(name, seed, size=36)
    counted, faults = judged(pool, pool.pairs(seed, 450))
    assert not faults, f"{len(faults)} wrong, the first: {faults[:3]}"


def test_every_kind_of_claim_has_a_predicate():
    assert set(PREDICATES) == set(Says)
