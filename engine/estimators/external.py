"""Scores of other programs as an estimator of the specification that they claim to answer: nothing is computed.

Its settings say which stored scores they are (`engine.store.external_scores`), what they are called, what their sign
means and how that was decided. So the text of a scoring holds all of it, wherever it stands: in an address, a file, a
saved comparison or a job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self, cast
from urllib.parse import quote, unquote

import numpy as np
import torch
from pydantic import AfterValidator, Field
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.settings import Settings
from engine.basics.values import Number
from engine.estimators.cost import NOTHING
from engine.estimators.estimator import Estimator, Respond
from engine.gradients.response import Given, Response
from engine.problems import Problem
from engine.question.interventions import Intervention
from engine.question.process import ProcessValue
from engine.question.specification import Specification
from engine.store import external_scores
from engine.store.external_scores import ExternalScores

NAME = "external"
LONGEST_NAME = 60
SIGNS: Mapping[str, int] = {"plus": 1, "minus": -1, "unsigned": 0}
"""What a larger score means: that the example supports the behavior, that it works against it, or neither of them, of
scores that say how much it matters alone."""
LEAST_FINITE = 0.5
"""Of a query's scores: with fewer that are finite the query is left out, and not the training examples."""


def _spelled(name: str) -> str:
    """A name as it stands in the text of an estimator, percent-encoded. Raises `InvalidInput` for one that is none."""
    plain = unquote(name).strip()
    if not plain or not plain.isprintable() or len(plain) > LONGEST_NAME:
        raise InvalidInput(f"The name of the scores is not a line of 1 to {LONGEST_NAME} characters; give them one.")
    return quote(plain, safe=" ")


class ExternalSettings(Settings):
    """scores: the digest of stored scores; name: what they are called; sign: one of `SIGNS`; decided: whether the data
    or the user said the sign; tau: Kendall τ with the reference under this sign, None where there is no reference."""

    scores: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    name: Annotated[str, AfterValidator(_spelled)]
    sign: Literal["plus", "minus", "unsigned"]
    decided: Literal["data", "user"]
    tau: Annotated[Number, Field(ge=-1, le=1)] | None = None

    @classmethod
    def of(cls, scores: str, name: str, sign: str, decided: str, tau: float | None = None) -> ExternalSettings:
        """Out of a plain name."""
        return cls.parse({"scores": scores, "name": quote(name, safe=" "), "sign": sign, "decided": decided,
                          "tau": tau if tau is None else round(tau, 3)})

    @classmethod
    def read(cls, given: Mapping[str, Any], of: str) -> Self:
        """As they stand: a name or a digest of digits is no number. Raises `InvalidInput`."""
        return cls.parse(dict(given))

    @property
    def title(self) -> str:
        return unquote(self.name)


@dataclass(frozen=True, kw_only=True)
class External(Estimator):
    """given: its settings; None of the estimator by itself, which stands for no scores. computes: False."""

    given: ExternalSettings | None = None
    computes: bool = False
    proper: bool = True
    needs_gradient: ClassVar[bool] = False

    @property
    def settings_given(self) -> ExternalSettings:
        if self.given is None:
            raise InvalidInput("The estimator `external` names no scores; import a file of scores, which writes it.")
        return self.given

    @property
    def unsigned(self) -> bool:
        return SIGNS[self.settings_given.sign] == 0

    @property
    def facts(self) -> Mapping[str, Any]:
        given = self.settings_given
        return {"brought": {"scores": given.scores, "name": given.title, "sign": given.sign, "sign_decided": {
            "by": "agreement with the reference" if given.decided == "data" else "the user",
            "agreement_with_reference": given.tau}}}

    def configured(self, settings: Settings) -> External:
        given = cast(ExternalSettings, settings)
        return replace(self, title=given.title, given=given)

    def refusal(self, specification: Specification, kind: str | None = None, more: Set[str] = frozenset()
                ) -> str | None:
        """None: what scores of another program claim is for their owner to say."""
        return None

    def serves(self, problem: Problem | type[Problem], more: Set[str] = frozenset()) -> bool:
        return True

    def offered(self, problem: Problem | type[Problem], process_kind: str, more: Set[str] = frozenset()) -> bool:
        return True

    def check_problem(self, problem: Problem) -> None:
        """Raises `InvalidInput` for another problem than that of the scores, and as `external_scores.load` does."""
        if external_scores.load(self.settings_given.scores).data != data_of(problem):
            raise InvalidInput(f"The external scores “{self.title}” belong to different data, queries or a different "
                               "model; choose those that they were imported for, or import scores for these.")

    def route(self, problem: Problem, process_kind: str) -> Respond:
        return self._respond

    def _respond(self, problem: Problem, interventions: Sequence[Intervention], process: ProcessValue,
                 candidates: Tensor, options: Options) -> list[Response]:
        held = external_scores.load(self.settings_given.scores)
        values, known = oriented(held, self.settings_given.sign, candidates.cpu().numpy())
        scores = torch.from_numpy(values).to(problem.device)
        return [Response((Given(intervention.orientation * scores),), torch.from_numpy(known),
                         torch.zeros(len(known)).double()) for intervention in interventions]


def oriented(held: ExternalScores, sign: str, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(scores (m, b), positive where an example supports the behavior or, unsigned, matters; which candidates (b,) have
    any), of training examples `candidates` (b,).

    All scores of a query fewer than half of whose scores are finite are 0, which ranks nothing; a candidate that is not
    there, or has a score that is not finite for another query, has none.
    """
    columns = {int(row): column for column, row in enumerate(held.candidates)}
    at = np.array([columns.get(int(row), -1) for row in candidates], dtype=np.int64)
    left_out = unusable_queries(held.values)
    whole = np.abs(held.values) if SIGNS[sign] == 0 else SIGNS[sign] * held.values
    usable = np.isfinite(np.delete(held.values, left_out, 0)).all(0)
    known = (at >= 0) & usable[at]
    values = np.where(known, whole[:, at], 0.0)
    values[left_out] = 0.0
    return values, known


def unusable_queries(values: np.ndarray) -> np.ndarray:
    """The rows of (queries, candidates) fewer than half of whose scores are finite."""
    return np.flatnonzero(np.isfinite(values).mean(1) < LEAST_FINITE)


def data_of(problem: Problem) -> str:
    """The fingerprint of a problem whatever its candidates: what external scores are tied to."""
    return problem.memo("all candidates", lambda: problem.with_candidates(torch.arange(problem.n)).fingerprint)


EXTERNAL = External(name=NAME, title="external scores", exact=False, note="Scores that another program computed.",
                    settings=ExternalSettings, cost=NOTHING)
