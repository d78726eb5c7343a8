"""What work on a drawn problem costs before anything of it is drawn: in seconds on two idle cores, roughly."""

from __future__ import annotations

from collections.abc import Sequence

from engine.models.causal import catalogue
from engine.problems import ProblemSource
from engine.scoring.cost import network, softmax
from engine.scoring.scoring import Scoring

USUAL = 1_000
"""Examples where a source does not say how many."""
FLOPS = 4.0
"""Operations that the forward pass of an example takes for each parameter; pictures read each several times."""
EXAMPLES = 20_000.0
"""Examples a second that a network is trained on, however small it is."""
OPTIMUM, PASS = 60.0, 3e-4
"""Passes over the data that an optimum takes, and the seconds of one however small it is."""


def scoring_seconds(source: ProblemSource, scorings: Sequence[Scoring], candidates: int) -> float:
    """Of scores of so many candidates, once the model is trained."""
    scorings, parameters = [scoring for scoring in scorings if scoring.route.computes], source.parameters()
    sizes = {"n": source.n_train or USUAL, "queries": source.n_queries or USUAL, "candidates": candidates,
             "parameters": parameters}
    if source.problem_class.linear:
        return softmax.preparation(scorings, sizes["n"], parameters)[1] + softmax.seconds(scorings, **sizes)
    return network.seconds(scorings, flops=FLOPS * parameters, epochs=_epochs(source), **sizes)


def training_seconds(source: ProblemSource) -> float:
    """Of a training of the model."""
    n = source.n_train or USUAL
    if source.problem_class.reads == "tokens":
        return n * _epochs(source) * catalogue.pass_seconds(source.model)
    parameters = source.parameters()
    if source.problem_class.linear:
        return OPTIMUM * (PASS + 4.0 * n * parameters / softmax.DOUBLE)
    examples = n * _epochs(source)
    return 3 * FLOPS * parameters * examples / network.NETWORK + examples / EXAMPLES


def _epochs(source: ProblemSource) -> int:
    recipe = source.training_recipe
    return recipe.epochs if recipe else 1
