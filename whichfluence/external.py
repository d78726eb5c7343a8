"""Scores of another program, with the specification that they are meant for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from engine.basics.errors import InvalidInput
from engine.external.importing import matched, scores_of
from engine.external.importing import scoring_of as imported_scoring
from engine.external.matching import QUERIES
from engine.external.table import Table
from engine.problems import Problem
from engine.question.specification import Specification as Question
from whichfluence.scores import Scores
from whichfluence.specifications import scoring_of

SIGNS = {"supports": "plus", "opposes": "minus", "neither": "unsigned"}
Larger = Literal["supports", "opposes", "neither"]


@dataclass(frozen=True, eq=False)
class Imported:
    """values (m, k) as the other program has them. claims: the question that they are meant to answer. sign: `plus`
    where a larger score means that the example supports the behavior, `minus` where it works against it, `unsigned`
    where it says neither."""

    values: np.ndarray
    claims: Question
    sign: str

    def of(self, problem: Problem, name: str) -> Scores:
        """As scores of a problem. Raises `InvalidInput` where the shape is another one."""
        held = matched(problem, Table(self.values), QUERIES)
        return Scores.of(scores_of(problem, held, imported_scoring(held, self.claims, name, self.sign)), problem)


def imported(values: Any, claims: Question, larger: Larger = "supports") -> Imported:
    """Scores of another program, to be compared as an approximate answer to the question that they claim.

    Args:
        values: (m queries, k candidates), an array or a tensor, in the order of the problem's queries and candidates.
        claims: the specification that they are meant for; its estimator is not read.
        larger: whether a larger score means that the example supports the behavior, or that it opposes it; `neither`
            where it says how much the example matters alone.

    Raises:
        InvalidInput: for what is no table of numbers, and another word than these.

    >>> import numpy as np, whichfluence as wf
    >>> step = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.01))
    >>> wf.imported(np.zeros((5, 8)), claims=step).sign
    'plus'
    """
    if larger not in SIGNS:
        raise InvalidInput(f"`larger` is {larger!r}; give \"supports\", \"opposes\" or \"neither\".")
    try:
        held = values.detach().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)
        table = np.array(held, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("The scores are not a table of numbers; give an array (queries, candidates).") from None
    if table.ndim != 2:
        raise InvalidInput(f"The scores have shape {table.shape}; give one row per query and one column per candidate.")
    return Imported(table, scoring_of(claims).specification, SIGNS[larger])
