r"""Whether a training run can be differentiated for practical purposes: what its derivative tells of real trainings.

`replay` says at which rate a behavior moves with an example's weight w_k. Real trainings with w_k = 1 ± ε tell:

    error(k, ±ε) = ‖[B(w_k = 1 ± ε) − B(w_k = 1)] ∓ (ε/n) dB/dα‖ / ‖(ε/n) dB/dα‖,      norms over the queries

ε = 1 with the lower sign leaves the example out, with the mean over n. A change ε is *told* where the middle error,
over candidates and both signs, is within TOLERANCE. That is no threshold below which all is well: a ReLU that turns in
some step makes a training jump by as much whatever ε was, so that small changes can be told worse than large ones.
Beside it stand two further measures of the same run:

    smoothness   the cosine between the derivatives by all n weights of the mean behavior, at w = 1 and after a step of
                 root-mean-square size h along them (cf. metasmoothness, Engstrom et al. 2025): 1 where they do not turn
    precision    how far the derivative in float32 is from that in float64, relative to it
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import short
from engine.exact.replay import replay, run_of
from engine.exact.response import signal_of
from engine.gradients.vectorised import along_signal, gradients_of
from engine.problems import ModuleProblem, Problem
from engine.question.behaviors import BEHAVIORS
from engine.question.interventions import Infinitesimal, Intervention, Remove, Upweight
from engine.question.processes import Replay, Retrain
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

EPSILONS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
TOLERANCE = 0.1
STEPS = (1e-3, 1e-2, 1e-1)
"""Sizes h of the steps along which the derivative may turn."""
LEAVING_OUT = -1.0


@dataclass(frozen=True)
class LinearRange:
    """table: a row a candidate and signed ε, with its error; NaN where no query's change is above resolution.
    smoothness: h -> cosine. precision: NaN where the problem is in float64 itself."""

    behavior: str
    table: pd.DataFrame
    smoothness: dict[float, float]
    precision: float

    @property
    def errors(self) -> dict[float, float]:
        """ε -> the middle error over candidates and signs, of those that are known."""
        known = self.table.dropna()
        middle = known.groupby(known["epsilon"].abs())["error"].median()
        return {float(epsilon): float(error) for epsilon, error in middle.items()}

    @property
    def told(self) -> tuple[float, ...]:
        """The changes that the derivative tells within TOLERANCE, ascending."""
        return tuple(epsilon for epsilon, error in self.errors.items() if error <= TOLERANCE)

    @property
    def left_out(self) -> float:
        """The middle error where the example is left out."""
        return float(self.table.loc[self.table["epsilon"] == LEAVING_OUT, "error"].median())

    @property
    def sentence(self) -> str:
        """Of which changes the derivative tells what they do, and what would make the training smoother."""
        errors, told = self.errors, self.told
        if not errors:
            return "No change of a weight moved this training by more than rounding does, so nothing can be said."
        share, tried = f"within {TOLERANCE:.0%} of real trainings", _listed(errors)
        if not told:
            return f"Rough: for no change of a weight that was tried, {tried}, is the derivative {share}. {ADVICE}"
        left_out = self.left_out
        without = "" if np.isnan(left_out) else f"; where an example is left out, it is off by {left_out:.0%}"
        if len(told) == len(errors):
            return f"The derivative is {share} for every change of a weight that was tried, {tried}{without}."
        off = ", ".join(f"{error:.0%} for {short(epsilon)}" for epsilon, error in errors.items() if epsilon not in told)
        return (f"The derivative is {share} for changes of a weight by {_listed(told)}; it is off by {off}{without}. "
                f"{ADVICE}")


def _listed(epsilons: Iterable[float]) -> str:
    *others, last = map(short, epsilons)
    return f"{', '.join(others)} and {last}" if others else last


ADVICE = ("Smaller learning rates, larger batches, a longer warm-up, a larger ε of Adam, and smooth parts (GELU for "
          "ReLU, average for max-pooling) make trainings smoother.")


def linear_range(problem: Problem, behavior: str, epsilons: Sequence[float] = EPSILONS,
                 options: Options | None = None) -> LinearRange:
    """The check for all candidates of a network, with the seed it was trained by: 2·|epsilons| trainings each.

    Raises `InvalidInput` for softmax regression, whose training ends at its one optimum, for a behavior without a
    gradient, for an ε that is not in (0, 1], and as `replay` does.
    """
    options = options or Options()
    if not isinstance(problem, ModuleProblem):
        raise InvalidInput("Softmax regression has one optimum, at which training ends however it got there; how far "
                           "its derivative reaches is what the curves over α show.")
    if not all(0 < epsilon <= 1 for epsilon in epsilons):
        raise InvalidInput("A change of a weight is above 0 and at most 1, where the example is left out; give others.")
    derivative = Scoring.of(behavior, Infinitesimal(), Replay())
    signed = [sign * epsilon for epsilon in epsilons for sign in (-1, 1)]
    real = [Scoring.of(behavior, _weighted(epsilon, problem.n), Retrain()) for epsilon in signed]
    rate, *changes = compute(problem, [derivative, *real], options.share(0, 2))
    rows = []
    for epsilon, change in zip(signed, changes, strict=True):
        for place, candidate in enumerate(rate.candidates.tolist()):
            known = change.known[:, place]
            told = epsilon / problem.n * rate.values[known, place]
            error = np.linalg.norm(change.values[known, place] - told) / np.linalg.norm(told) if known.any() else np.nan
            rows.append({"candidate": candidate, "epsilon": epsilon, "error": float(error)})
    return LinearRange(behavior, pd.DataFrame(rows), _smoothness(problem.double(), behavior, options.share(1, 2)),
                       _precision(problem, behavior, rate.values, options))


def _weighted(epsilon: float, n: int) -> Intervention:
    """w_k = 1 + ε."""
    return Remove(normalization="n") if epsilon == LEAVING_OUT else Upweight(alpha=epsilon / n)


def _smoothness(problem: ModuleProblem, behavior: str, options: Options) -> dict[float, float]:
    ones = torch.ones(problem.n, dtype=problem.network.dtype, device=problem.device)
    here = _by_all_weights(problem, behavior, ones, options)
    along = here / here.square().mean().sqrt()
    return {h: torch.nn.functional.cosine_similarity(
        here, _by_all_weights(problem, behavior, ones + h * along, options), 0).item() for h in STEPS}


def _by_all_weights(problem: ModuleProblem, behavior: str, weights: torch.Tensor, options: Options) -> torch.Tensor:
    """dB̄/dα of the mean behavior of the queries by every weight, (n,), of the run with these weights."""
    run = run_of(problem, problem.seed, options, weights)
    network = run.steps.trained(run.end)
    signal = signal_of(BEHAVIORS[behavior], network.predict(problem.queries), problem.query_labels)
    slope = gradients_of(network, problem.queries, signal, along_signal).mean(0, keepdim=True)
    return run.adjoint(slope, options)[0]


def _precision(problem: ModuleProblem, behavior: str, wide: np.ndarray, options: Options) -> float:
    if problem.network.dtype == torch.float64:
        return float("nan")
    response = replay(problem, [Infinitesimal()], Replay(), problem.candidates, options)[0]
    narrow = response.scores(BEHAVIORS[behavior], problem.query_labels).double().cpu().numpy()
    return float(np.linalg.norm(narrow - wide) / np.linalg.norm(wide))
