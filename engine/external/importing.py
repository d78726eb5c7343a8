"""Scores of other programs made scores of a problem: matched to its queries and training examples, and stored.

What they claim to answer is a scoring with the estimator `external`, so that verdicts, comparisons, explanations and
every other view hold for them as for any approximate answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from engine.basics.errors import InvalidInput
from engine.estimators.external import LONGEST_NAME, NAME, SIGNS, ExternalSettings, data_of, oriented, unusable_queries
from engine.external.matching import LISTED, arranged, unusable_sentence
from engine.external.table import Table
from engine.metrics.agreement import MeanAgreement, constant, pairwise, summarize
from engine.problems import Problem
from engine.question.specification import Specification
from engine.scoring.convergence import Convergence
from engine.scoring.scores import Scores, Together
from engine.scoring.scoring import Scoring
from engine.store import external_scores
from engine.store.external_scores import ExternalScores

MEANING: Mapping[str, str] = {
    "plus": "a larger score means that the example supports the behavior",
    "minus": "a larger score means that the example opposes the behavior",
    "unsigned": "a score gives the size of the influence, not its sign"}


def matched(problem: Problem, table: Table, axes: str, order: str = LISTED, facts: Mapping[str, Any] | None = None
            ) -> ExternalScores:
    """The table with a row a query and a column a candidate of the problem. facts: what else is stored of it.

    Raises `InvalidInput` for a shape or names that do not fit, and where nothing is finite.
    """
    values = arranged(problem, table, axes, order)
    left_out = unusable_queries(values)
    if len(left_out) == len(values) or not np.isfinite(np.delete(values, left_out, 0)).all(0).any():
        raise InvalidInput("No training example has finite scores; correct the scores before importing them.")
    return ExternalScores(values, problem.candidates.cpu().numpy(), data_of(problem), {
        **(facts or {}), "array": table.name, "axes": axes, "order": order, "shape": list(table.values.shape),
        "queries_left_out": left_out.tolist(), "note": unusable_sentence(left_out.tolist())})


def scoring_of(held: ExternalScores, claim: Specification, name: str, sign: str, decided: str = "user",
               tau: float | None = None) -> Scoring:
    """The scoring under which scores stand for a claim. sign, decided, tau: as `ExternalSettings` has them.

    Raises `InvalidInput` for a sign or a name that is none.
    """
    if sign not in SIGNS:
        raise InvalidInput(f"The sign is {sign}; give {', '.join(SIGNS)}.")
    settings = ExternalSettings.of(held.digest, name, sign, decided, tau)
    return Scoring(behavior=claim.behavior, intervention=claim.intervention, process=claim.process,
                   estimator=f"{NAME};{settings.text}")


def scores_of(problem: Problem, held: ExternalScores, scoring: Scoring) -> Scores:
    """The scores of the problem's candidates, as `compute` has them of stored ones."""
    external = scoring.route.facts["brought"]
    values, known = oriented(held, external["sign"], problem.candidates.cpu().numpy())
    provenance: dict[str, Any] = {
        "spec": scoring.canonical(), "digest": scoring.digest, "question": scoring.question,
        "orientation": scoring.orientation, "exact": False, "data": problem.fingerprint,
        "sizes": {"train": problem.n, "queries": len(problem.queries), "candidates": len(problem.candidates),
                  **problem.sizes},
        "brought": {**external, **held.facts, "sign_decided": {**external["sign_decided"],
                                                                **held.facts.get("sign_decided", {})}},
        "convergence": Convergence.measured(False, known, np.zeros(len(known)), {}).written,
        "device": NAME, "wall_seconds": 0.0}
    return Scores(scoring, scoring.orientation * values, problem.candidates.cpu().numpy(), known, np.zeros(len(known)),
                  provenance)


def stored(scores: Scores, data: str) -> Scoring:
    """The scoring of external scores that are on the shelf of this machine, where they are put unless they are there
    already. data: `data_of` their problem."""
    known = scores.scoring.route.facts["brought"]
    if external_scores.has(known["scores"]):
        return scores.scoring
    values = np.where(scores.converged, (SIGNS[known["sign"]] or 1) * scores.oriented, np.nan)
    held = ExternalScores(values, scores.candidates, data, {"file": known["name"]})
    external_scores.keep(held)
    return scoring_of(held, scores.scoring.specification, known["name"], known["sign"],
                      "data" if known["sign_decided"]["by"] != "the user" else "user",
                      known["sign_decided"]["agreement_with_reference"])


def is_earlier(record: Mapping[str, Any]) -> bool:
    """Whether a manifest is of an earlier version, whose estimator was `brought:` and a fingerprint."""
    return str(record["spec"].get("estimator")).startswith("brought:")


def earlier(values: np.ndarray, candidates: np.ndarray, converged: np.ndarray, record: Mapping[str, Any]) -> Scores:
    """External scores (m, k) as an earlier version wrote them. They were turned by the orientation that their manifest
    states, which for a negative α was +1 once: what supports the behavior there has to support it here."""
    spec, stated, decided = record["spec"], record["orientation"], record.get("brought", {}).get("sign_decided", {})
    if stated not in (1, -1):
        raise InvalidInput("the orientation is neither 1 nor −1")
    held = ExternalScores(np.where(converged, stated * values, np.nan), candidates, record["data"])
    claim = Scoring.read({name: value for name, value in spec.items() if name not in ("estimator", "name")})
    by_data = str(decided.get("by", "")).startswith("agreement")
    scoring = scoring_of(held, claim, spec["name"][:LONGEST_NAME], "plus", "data" if by_data else "user",
                         decided.get("agreement_with_reference"))
    provenance = {**record, "orientation": scoring.orientation, **scoring.route.facts}
    return Scores(scoring, scoring.orientation * np.where(converged, stated * values, 0.0), candidates, converged,
                  np.zeros(len(candidates)), provenance)


def agreement_with(reference: Scores, external: Scores, metrics: Iterable[str]) -> dict[str, MeanAgreement]:
    """metric -> agreement of external scores with others over the candidates that both have."""
    values_of = Together.of([reference, external]).measured(partial(_measures, metrics=tuple(metrics)))
    return {name: summarize(values[0, 1], interval_over="queries") for name, values in values_of.items()}


def _measures(stack: np.ndarray, *, metrics: Sequence[str]) -> dict[str, np.ndarray]:
    """Every metric of all pairs, NaN for a query that one array ranks as constant."""
    flat = constant(stack).any(0)
    return {name: np.where(flat, np.nan, values) for name, values in pairwise(stack, metrics).items()}
