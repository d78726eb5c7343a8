"""Scores of other programs as a front end takes them in: files, what they claim, and scripts that compute them."""

# ruff: noqa: F401 (types and values that come with the verbs)
from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from engine.basics.errors import InvalidInput, WhichfluenceError
from engine.desk.desk import Desk, narrowed
from engine.desk.waiting import Waiting
from engine.estimators.external import LONGEST_NAME
from engine.external.budgets import MOST_BYTES
from engine.external.files import READERS, names, read_table
from engine.external.guess import Guess, guess
from engine.external.header_row import AUTO, CHOICES, Numbering
from engine.external.importing import MEANING, matched, scoring_of
from engine.external.matching import AXES, LISTED, ORDERS, axes_that_fit, check
from engine.external.reading import Interpretation, TablePreview, answered, instead, preview
from engine.external.rebuilt import PROBLEM, WEIGHTS, problem_npz, rebuilt
from engine.external.saved_tables import SavedTable, delete, digest_of, entries, imports, keep, load, require
from engine.external.score_folder import INFO, SCORES, table_of
from engine.external.score_recipes import SCORE_RECIPES, ScoreRecipe, claim_json
from engine.external.table import Table
from engine.problems import Problem, ProblemSource
from engine.question.specification import Specification
from engine.scoring import codes
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.store import external_scores
from engine.store.external_scores import ExternalScores
from engine.store.external_scores import keep as store

ADDED = "scoring"
"""Among the facts of stored scores: the code of the scoring under which they were added."""
SECONDS = 5.0
"""Within which a reference is computed for a page without being asked for."""


@dataclass(frozen=True)
class Held:
    """What a table is held against: scores, or what is waited for; None where there are none. why: it is not the exact
    answer to the claim, or there is none, as a sentence. longer: what answers better, and takes a job."""

    scores: Scores | Waiting | None
    why: str = ""
    longer: Scoring | None = None


def reference(desk: Desk, source: ProblemSource, claim: Specification, candidates: int | None,
              wanted: Scoring | None = None) -> Held:
    """The best scores that answer a claim on a source's first `candidates`: those that are at hand or computed in a
    moment, or those that are `wanted`."""
    longer: list[Scoring] = []
    count = len(narrowed(_problem(desk, source), candidates).candidates)

    def answer(scoring: Scoring) -> Scores | Waiting | None:
        if scoring != wanted and not desk.at_once(source, [scoring], candidates, SECONDS):
            scores = desk.at_hand(source, [scoring], candidates, count).get(scoring)
            longer.extend([scoring] if scores is None else [])
            return scores
        computed = desk.scores(source, [scoring], candidates, SECONDS)
        if isinstance(computed, Waiting) and (failed := desk.jobs.failure(computed, "its run failed.")):
            raise WhichfluenceError(failed)
        return computed if isinstance(computed, Waiting) else computed[0]

    held: Scores | Waiting | None
    held, scoring, trouble = answered(claim, source.problem_class, answer)
    better = next(iter(longer), None)
    return Held(held, instead(scoring or better, trouble), better)


def of_table(problem: Problem, candidates: int | None, table: Table) -> Problem:
    """The problem with the candidates that a table has: all that are sampled, or those that are ranked. Raises
    `InvalidInput` where it fits neither."""
    fewer = narrowed(problem, candidates)
    if axes_that_fit(problem, table) or not axes_that_fit(fewer, table):
        check(problem, table)
        return problem
    check(fewer, table)
    return fewer


def facts(scoring: Scoring) -> ExternalScores | None:
    """The stored scores of an external scoring; None where they are not on this machine."""
    digest = scoring.route.facts["brought"]["scores"]
    return external_scores.load(digest) if external_scores.has(digest) else None


def added(held: ExternalScores, scoring: Scoring) -> None:
    """Store scores with the scoring under which they were added, so that they can be added again."""
    store(replace(held, facts={**held.facts, ADDED: codes.encode(scoring)}))


def imported() -> list[Scoring]:
    """The scorings under which the scores on this machine were added, the newest first."""
    scorings = []
    for result in external_scores.entries():
        with suppress(InvalidInput):
            scorings += [codes.decode(code)] if (code := result.manifest["facts"].get(ADDED)) else []
    return scorings


def restores(problem: Problem, table: Table, scorings: Sequence[Scoring]) -> bool:
    """Whether the table is that of scorings whose scores are not on this machine; they are stored then."""
    missing = {scoring.route.facts["brought"]["scores"] for scoring in scorings
               if not scoring.route.computes and facts(scoring) is None}
    readings = preview(problem, table, None).interpretations if missing else ()
    restored = [held for axes, order in {(one.axes, one.order) for one in readings}
                if (held := matched(problem, table, axes, order)).digest in missing]
    for held in restored:
        store(held)
    return bool(restored)


def _problem(desk: Desk, source: ProblemSource) -> Problem:
    sampled = desk.sampled(source)
    assert not isinstance(sampled, Waiting)
    return sampled.problem
