"""Scores of other programs that say of every label how suspicious it is, beside the rankings of a search.

One number a searched example, such as a self-influence or a data value. Which way round they stand is told by their
agreement with the consensus of the search's own methods, never by which labels are known to be wrong; where that does
not tell it, the user says it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.applications.noisy_labels.detectors.probabilities import confident_learning
from engine.applications.noisy_labels.pairs import CONSENSUS, Pair
from engine.applications.noisy_labels.rankings import agreements
from engine.applications.noisy_labels.search import Scored
from engine.applications.noisy_labels.source import NoisyData
from engine.basics.errors import InvalidInput
from engine.basics.settings import parsed
from engine.basics.values import signed
from engine.estimators.external import SIGNS, ExternalSettings
from engine.external.reading import LEAST
from engine.external.table import Table
from engine.store import external_scores
from engine.store.external_scores import ExternalScores

MEANING = {"plus": "a larger score means that the label is more likely to be wrong",
           "minus": "a smaller score means that the label is more likely to be wrong"}

PROBABILITIES = "probabilities"
"""What the facts of scores hold that were made of predicted probabilities."""


@dataclass(frozen=True)
class Direction:
    """sign: which of `MEANING` the consensus tells, empty where it tells none; tau: Kendall τ of the scores as they
    stand with the consensus; by: what else tells it; sentence: what was read, and by what."""

    sign: str
    tau: float
    by: str = ""

    @property
    def sentence(self) -> str:
        if self.by:
            return (f"They are predicted probabilities, one column per class: {MEANING[self.sign]}, as confident "
                    "learning makes of them. Only out-of-sample probabilities are informative.")
        shown = f"τ = {signed(self.tau, 2, '+')}"
        if self.sign:
            return (f"The agreement of the scores with the consensus of the methods is {shown}, so "
                    f"{MEANING[self.sign]}. Labels known to be wrong were not used for this.")
        return (f"The agreement with the consensus of the methods ({shown}) does not determine the sign of the "
                "scores; give it, as in the program's documentation.")


def matched(data: NoisyData, table: Table, file: str) -> ExternalScores:
    """One score for each searched label, in the order of the training set or by the rows that the file names. Of a
    table of predicted probabilities, one column per class, these are what confident learning makes of them.

    Raises `InvalidInput` for another number of scores, a matrix, and scores that are not finite.
    """
    n, (r, c) = len(data.evidence.y), table.values.shape
    if (r, c) == (n, data.evidence.classes) and _are_probabilities(table.values):
        return _of_probabilities(data, table, file)
    if 1 not in (r, c) or r * c != n:
        square = " (the diagonal of a square matrix is the self-influence)" if r == c else ""
        raise InvalidInput(f"The table is {r:,} × {c:,}, but {n:,} labels are searched; give one score for each of "
                           f"them{square}.")
    values = _in_order(table.values.ravel(), table.rows if c == 1 else table.candidates)
    if not np.isfinite(values).all():
        raise InvalidInput(f"{int((~np.isfinite(values)).sum()):,} of the {n:,} scores are not finite numbers, so "
                           "they cannot be ranked; correct them first.")
    return ExternalScores(values[None], np.arange(n), data.fingerprint, {"file": file})


def _in_order(values: np.ndarray, names: np.ndarray | None) -> np.ndarray:
    """Values (n, …) in the order of the training set, whose rows they may be named by."""
    n = len(values)
    if names is None or len(names) != n:
        return values
    if not np.array_equal(np.sort(names), np.arange(n)):
        raise InvalidInput(f"The scores are numbered {int(names.min()):,} to {int(names.max()):,}, but the labels "
                           f"are rows 0 to {n - 1:,} of the training set; number each once.")
    return values[np.argsort(names)]


def _are_probabilities(values: np.ndarray) -> bool:
    return bool(np.isfinite(values).all() and (values >= 0).all() and np.allclose(values.sum(1), 1, atol=1e-3))


def _of_probabilities(data: NoisyData, table: Table, file: str) -> ExternalScores:
    evidence = data.evidence
    values = confident_learning(evidence.y, _in_order(table.values, table.rows))
    return ExternalScores(values[None], np.arange(len(values)), data.fingerprint, {"file": file, PROBABILITIES: True})


def direction(scored: Scored, held: ExternalScores) -> Direction:
    """Which way round scores stand, as the consensus tells."""
    theirs = Pair("theirs")
    tau = agreements({CONSENSUS: scored.suspicion[CONSENSUS], theirs: held.values[0]}, CONSENSUS, theirs,
                     ("kendall",))["kendall"]
    if PROBABILITIES in held.facts:
        return Direction("plus", tau, PROBABILITIES)
    return Direction("" if not abs(tau) > LEAST else "plus" if tau > 0 else "minus", tau)


def settings_of(held: ExternalScores, name: str, sign: str, consensus: Direction) -> ExternalSettings:
    """What an address holds of scores: where they are, their name and sign, and who said it."""
    if sign not in MEANING:
        raise InvalidInput(f"The sign is {sign}; give {', '.join(MEANING)}.")
    tau = None if np.isnan(consensus.tau) else SIGNS[sign] * consensus.tau
    return ExternalSettings.of(held.digest, name, sign, "data" if sign == consensus.sign else "user", tau)


def settings_in(text: str) -> ExternalSettings:
    """Out of the text that `settings.text` is. Raises `InvalidInput`."""
    return ExternalSettings.read(dict[str, Any](parsed(f";{text}")[1]), "scores")


def with_external(scored: Scored, data: NoisyData, several: Sequence[ExternalSettings]) -> Scored:
    """The search with stored scores among its rankings, each under its name. Raises `InvalidInput` for scores of other
    labels and a name that is there, and as `external_scores.load` does."""
    suspicion = dict(scored.suspicion)
    for one in several:
        held, pair = external_scores.load(one.scores), Pair(one.title)
        if held.data != data.fingerprint:
            raise InvalidInput(f"The scores “{one.title}” belong to other labels; choose the data that they were "
                               "imported for, or import scores for these.")
        if pair in suspicion:
            raise InvalidInput(f"A ranking of this name exists already: “{one.title}”; give the scores another name.")
        suspicion[pair] = SIGNS[one.sign] * held.values[0]
    return replace(scored, suspicion=suspicion)
