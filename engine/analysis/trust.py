"""Which end of a disagreement is trusted, and why: what the exact answers along the way are known to be."""

from __future__ import annotations

from collections.abc import Mapping

from engine.analysis.chain import ERROR_A, ERROR_B, Chain
from engine.scoring.reference import How, SolveEvidence, Standing, standing
from engine.scoring.scoring import Scoring

SIDES = {ERROR_A: "first", ERROR_B: "second"}


def ends(chain: Chain, evidence: Mapping[Scoring, SolveEvidence]) -> tuple[str, ...]:
    """A sentence on each of the two answers: whether it is known to be right, or what it is measured against.

    evidence: of the scorings whose scores are at hand, A and B among them.
    """
    if chain.a == chain.b:
        return ()
    return tuple(_end(chain, error, evidence) for error in SIDES)


def titles(chain: Chain, evidence: Mapping[Scoring, SolveEvidence]) -> dict[str, str]:
    """What a sentence calls each cause: an approximation has an error only where its reference is known to be right."""
    result = chain.titles
    for error in SIDES:
        reference = chain.reference(error)
        if reference is None or reference not in evidence:
            continue
        if _of_reference(chain, error, reference, evidence).how is How.SEARCH:
            named = f"the distance between {chain.route(error)} and {reference.process.title}, which is a search"
            result[error] = f"{chain.own_question(error)}{named}"
    return result


def _end(chain: Chain, error: str, evidence: Mapping[Scoring, SolveEvidence]) -> str:
    side, own = SIDES[error], chain.side(error)
    if own.exact:
        standing_of = standing(own, chain.facts, evidence.get(own), None)
        other = chain.side(ERROR_B if error == ERROR_A else ERROR_A)
        as_reference = standing(own, chain.facts, evidence.get(own), other)
        if standing_of.trusted and as_reference.how is How.SEARCH:
            return (f"The {side} answer is right for its own definition, as {standing_of.why}; but it is not a "
                    f"reference for {other.route.title}: {as_reference.why}.")
        return f"The {side} answer is {_known(standing_of)}."
    reference = chain.reference(error)
    if reference is None or reference not in evidence:
        return (f"The {side} answer, {chain.route(error)}, is an approximation, and no exact answer to its question "
                "is available to measure its error.")
    standing_of = _of_reference(chain, error, reference, evidence)
    return (f"The {side} answer, {chain.route(error)}, is an approximation; the exact answer to its question, which it "
            f"is measured against, is {_known(standing_of)}.")


def _of_reference(chain: Chain, error: str, reference: Scoring, evidence: Mapping[Scoring, SolveEvidence]) -> Standing:
    return standing(reference, chain.facts, evidence.get(reference), chain.side(error))


def _known(standing_of: Standing) -> str:
    return f"{'known' if standing_of.trusted else 'not known'} to be right: {standing_of.why}"
