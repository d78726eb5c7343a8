"""Which rows are verified to be trusted: a random sample that represents the classes, never what a ranking put first.

Labels that a method flags are the hardest ones: a model that is right on nearly all others can miss every one of them,
so that they tell neither how good it is nor what a right label looks like. The sample is drawn from all labels,
whatever their suspicion; decisions about other rows correct the data, and go along to the reading that trusts the
sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np

from engine.applications.decisions import FINE, WRONG, Decision
from engine.applications.noisy_labels.source import NoisyData
from engine.applications.noisy_labels.wrong_labels import Fraction, sampled, verified
from engine.data import uploads
from engine.data.upload_options import UploadOptions

SIZE, PART = 60, 3
"""Rows that are sampled at random, at most one in `PART`, before classes that they lack are added to."""
LEAST = 3
"""Rows of every class at least: two are needed to trust one and measure with the other, and one may be wrong."""


@dataclass(frozen=True, eq=False)
class VerifiedSample:
    """The rows to verify. random (m,): a simple random sample. added (a,): more of the classes that it lacks."""

    random: np.ndarray
    added: np.ndarray

    @property
    def rows(self) -> list[int]:
        """All of them, those that were sampled at random first."""
        return [int(row) for row in (*self.random, *self.added)]

    def decided(self, decisions: Mapping[int, Decision]) -> dict[int, Decision]:
        """The decisions about its rows whose right label is known, or known to be none of the classes."""
        return {row: decisions[row] for row in self.rows if row in decisions
                and decisions[row].verdict in (FINE, WRONG)}

    def fraction(self, flags: np.ndarray, decisions: Mapping[int, Decision]) -> Fraction | None:
        """The fraction of all labels that is wrong, by the random rows up to the first one that nobody decided; None
        before that. Later ones may have been decided for being suspicious, and rows that nobody can tell say nothing.

        flags (n,): what confident learning flags; all False where that is not known."""
        known, first = self.decided(decisions), list(takewhile(decisions.__contains__, map(int, self.random)))
        rows = np.array([row for row in first if row in known], dtype=np.int64)
        wrong = np.array([decisions[int(row)].verdict == WRONG for row in rows], dtype=bool)
        return verified(flags, rows, wrong) if len(rows) else None


def sample_to_verify(data: NoisyData) -> VerifiedSample:
    """The sample of these data, the same at each call."""
    y = data.evidence.y
    return VerifiedSample(*sampled(y, min(SIZE, len(y) // PART), LEAST, data.source.mask))


def verified_by(data: NoisyData, decisions: Mapping[int, Decision]) -> dict[str, str]:
    """file -> the verified class of each example of the sample whose label somebody looked at and knows: an empty text
    where it is the given one. What `engine.data.upload_options.UploadOptions` takes as trusted."""
    files, names = data.dataset.files, data.dataset.class_names
    decided = sample_to_verify(data).decided(decisions)
    return {files[data.rows[row]]: "" if one.label is None else names[one.label]
            for row, one in decided.items() if one.verdict == FINE or one.label is not None}


def trusting(data: NoisyData, decisions: Mapping[int, Decision]) -> UploadOptions:
    """The reading of a user's own data that trusts the verified sample, beside what it trusted before."""
    chosen = uploads.reading(data.source.dataset)
    return chosen.model_copy(update={"trusted": {**chosen.trusted, **verified_by(data, decisions)}})


def by_file(data: NoisyData, decisions: Mapping[int, Decision]) -> dict[str, Decision]:
    """file -> the decision about it."""
    return {data.dataset.files[data.rows[row]]: one for row, one in decisions.items()}


def carried(data: NoisyData, decided: Mapping[str, Decision]) -> list[Decision]:
    """Decisions by file as those of another reading of the same classes, for the examples that it searches."""
    rows = {data.dataset.files[at]: row for row, at in enumerate(data.rows)}
    return [replace(one, row=rows[file]) for file, one in decided.items() if file in rows]
