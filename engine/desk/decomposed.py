"""Which answers split into behavior signal, kernel and training signal on a problem, and the factors of one score."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.exact.decomposition import Decomposition, decompose
from engine.problems import Problem
from engine.question.interventions import AddOccurrence
from engine.question.processes import LocalResponse, OneStep, Unrolled
from engine.scoring.scoring import Scoring

Response = tuple[float, Callable[[Tensor], Tensor] | None]


def splitting(problem: Problem, scorings: Sequence[Scoring]) -> list[Scoring]:
    """The scorings whose local answer splits into the three factors on this problem."""
    return [scoring for scoring in scorings if scoring.readout.differentiable and _response(problem, scoring)]


def decomposed(problem: Problem, scoring: Scoring, query: int, row: int) -> Decomposition:
    """The factors of one score. query: its index; row: of the training set.

    Raises `InvalidInput` for a scoring that does not split.
    """
    form = _response(problem, scoring)
    if form is None:
        raise InvalidInput(f"“{scoring.title}” does not factorise into behavior signal, kernel and training signal "
                           "here; choose a step on an added occurrence of the example.")
    eta, response = form
    return decompose(problem, query, row, scoring.readout, eta=eta, response=response)


def _response(problem: Problem, scoring: Scoring) -> Response | None:
    """(η, rows ↦ R rows) of the process; None where its response is not at hand in a moment."""
    process = scoring.process
    if isinstance(process, (OneStep, Unrolled)) and isinstance(scoring.intervention, AddOccurrence) and (
            scoring.estimator in ("exact", "first_order")):
        return process.eta * process.steps, None
    response = problem.factored_response(process.damping) if isinstance(process, LocalResponse) else None
    return (1.0, response) if response is not None and scoring.exact else None
