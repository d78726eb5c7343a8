r"""Whether a training run can be differentiated for practical purposes: what its derivative tells of real trainings.

`replay` says at which rate a behavior moves with an example's weight w_k. Real trainings with w_k = 1 ± ε tell:

    error(k, ±ε) = ‖[B(w_k = 1 ± ε) − B(w_k = 1)] ∓ (ε/n) dB/dα‖ / ‖(ε/n) dB/dα‖,      norms over the queries

ε = 1 with the lower sign leaves the example out, with the mean over n. A change ε is *linear* where the middle error,
over candidates and both signs, is within TOLERANCE. That is no threshold below which all is well: a ReLU that turns in
some step makes a training jump by as much whatever ε was, so that small changes can be told worse than large ones.
A real training that diverges has the error ∞. Beside it stand two further measures of the same run:

    smoothness   the cosine between the derivatives by all n weights of the mean behavior, at w = 1 and after a step of
                 root-mean-square size h along them (cf. metasmoothness, Engstrom et al. 2025): 1 where they do not turn
    precision    how far the derivative in float32 is from that in float64, relative to it
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite, isinf, nan
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
import torch
from pydantic import Field
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import Count, short
from engine.exact.replay import by_all_weights, replay
from engine.exact.reweighted import LEAVING_OUT, reweighted
from engine.models.knobs import Knob, advice
from engine.problems import Problem
from engine.question.behavior import Behavior
from engine.question.interventions import Infinitesimal
from engine.question.processes import Replay
from engine.requests import WHOLE, OfCandidates
from engine.requests.codec import Measured
from engine.requests.fields import Descent, Differentiable
from engine.scoring.compute import check
from engine.scoring.scoring import Scoring
from engine.store.results import Store

EPSILONS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
TOLERANCE = 0.1
STEPS = (1e-3, 1e-2, 1e-1)
"""Sizes h of the steps along which the derivative may turn."""


@dataclass(frozen=True)
class LinearRange:
    """errors: a row a candidate and signed ε, with its error; NaN where no query's change is above resolution, ∞ where
    the training diverges. smoothness: (h, cosine), NaN where the run diverges there. precision: NaN where the problem
    is in float64 itself. knobs: what of the training matters for it."""

    behavior: str
    errors: pd.DataFrame = field(default_factory=pd.DataFrame)
    smoothness: tuple[tuple[float, Measured], ...] = ()
    precision: Measured = nan
    knobs: tuple[Knob, ...] = ()

    @property
    def middle(self) -> dict[float, float]:
        """ε -> the middle error over candidates and signs, of those that are known."""
        known = self.errors.dropna()
        middle = known.groupby(known["epsilon"].abs())["error"].median()
        return {float(epsilon): float(error) for epsilon, error in middle.items()}

    @property
    def linear(self) -> tuple[float, ...]:
        """The changes that the derivative tells within TOLERANCE, ascending."""
        return tuple(epsilon for epsilon, error in self.middle.items() if error <= TOLERANCE)

    @property
    def left_out(self) -> float:
        """The middle error where the example is left out."""
        return float(self.errors.loc[self.errors["epsilon"] == LEAVING_OUT, "error"].median())

    @property
    def sentence(self) -> str:
        """Of which changes the derivative tells what they do, and what may make the training smoother."""
        errors, linear = self.middle, self.linear
        if not errors:
            return "No change of a weight moved this training beyond rounding, so the derivative cannot be tested."
        within, tried = f"within {TOLERANCE:.0%} of actual retraining", _listed(errors)
        further = advice(self.knobs)
        if not linear:
            return f"Not smooth: the derivative is not {within} for any tested change of a weight, {tried}. {further}"
        left_out = self.left_out
        without = "" if np.isnan(left_out) else f"; when an example is left out, it is off by {_off(left_out)}"
        if len(linear) == len(errors):
            return f"The derivative is {within} for every tested change of a weight, {tried}{without}."
        off = ", ".join(f"{_off(error)} for {short(epsilon)}" for epsilon, error in errors.items()
                        if epsilon not in linear)
        return (f"The derivative is {within} for changes of a weight by {_listed(linear)}; its error is "
                f"{off}{without}. {further}")

    @property
    def smoothness_sentence(self) -> str:
        """How much the derivative by all weights turns along itself."""
        turned = ", ".join(f"{cosine:.3f} after {h:g}" if isfinite(cosine) else f"no number after {h:g}, where the run "
                           "diverges" for h, cosine in self.smoothness)
        return f"Smoothness: the derivative with respect to all weights keeps its direction to a cosine of {turned}."

    @property
    def precision_sentence(self) -> str:
        """How far a derivative in single precision is off."""
        if not isfinite(self.precision):
            return "Precision: this run is computed in float64 throughout."
        return f"Precision: in float32 the derivative differs from its float64 value by {self.precision:.1e} of it."


def _off(error: float) -> str:
    return "infinite, because a training diverges" if isinf(error) else f"{100 * error:.3g}%"


def _listed(epsilons: Iterable[float]) -> str:
    *others, last = map(short, epsilons)
    return f"{', '.join(others)} and {last}" if others else last


class LinearRangeRequest(OfCandidates[LinearRange]):
    """Check `replay`: the derivative of a training against actual retraining with other weights.

    Each candidate is trained 2·|EPSILONS| times, in the one run of the process. Raises `InvalidInput` for a behavior
    without a gradient, for several runs, and as `replay` does.
    """

    name: ClassVar = "linear-range"
    doing: ClassVar = "training runs with other weights"
    outputs: ClassVar = {"out": "Output table, one row per candidate and change."}
    shared: ClassVar = True

    behavior: Differentiable = "query_loss"
    candidates: Annotated[Count | None, Field(ge=1, le=1_000, description=(
        "Number of tested candidates; the model is retrained ten times for each."))] = 3
    process: Descent = Replay()
    trainings: ClassVar[float] = 1.0

    def title(self, problem: str) -> str:
        return f"Derivative of the training against actual retraining on {problem}, examples tried: {self.candidates}"

    @property
    def computed(self) -> list[Scoring]:
        return [Scoring.of(self.behavior, Infinitesimal(), self.process)]

    @property
    def chunks(self) -> list[str]:
        """What is measured once for the run, and each candidate."""
        return [WHOLE, *map(str, range(self.count))]

    def weight(self, chunk: str) -> float:
        """In trainings: a differentiated one takes as long as several."""
        return 20.0 if chunk == WHOLE else 2.0 * len(EPSILONS)

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> LinearRange:
        check_one_run(problem, self.process)
        if chunk != WHOLE:
            one = problem.with_candidates(problem.candidates[int(chunk):int(chunk) + 1])
            return LinearRange(self.behavior, reach(one, self.behavior, self.process, options=options))
        first = problem.with_candidates(problem.candidates[:1])
        off = precision(first, self.behavior, self.process, options.between(0, 0.5))
        turned = smoothness(problem, self.behavior, self.process, options.between(0.5, 1))
        return LinearRange(self.behavior, smoothness=turned, precision=off, knobs=problem.knobs(self.process))

    def together(self, problem: Problem, options: Options, store: Store) -> LinearRange:
        """All candidates by one derivative of the run."""
        run = self.compute(problem, WHOLE, options.between(0, 0.5), store)
        return replace(run, errors=reach(problem, self.behavior, self.process, options=options.between(0.5, 1)))

    def sentences(self, answer: LinearRange) -> list[str]:
        return [answer.sentence, answer.smoothness_sentence, answer.precision_sentence]

    def combine(self, parts: Mapping[str, LinearRange]) -> LinearRange:
        rows = pd.concat([parts[chunk].errors for chunk in self.chunks if chunk != WHOLE], ignore_index=True)
        return replace(parts[WHOLE], errors=rows)


def check_one_run(problem: Problem, process: Replay) -> None:
    """Raises `InvalidInput` for a process of several runs, where a seed tells them apart."""
    if not problem.convex:
        process.run(0)


def reach(problem: Problem, behavior: str, process: Replay, epsilons: Sequence[float] = EPSILONS,
          options: Options | None = None) -> pd.DataFrame:
    """candidate, epsilon, error: a row a candidate and signed ε. Raises `InvalidInput` for an ε that is not
    in (0, 1], and as `replay` does."""
    if not all(0 < epsilon <= 1 for epsilon in epsilons):
        raise InvalidInput("A change of weight must be above 0 and at most 1 (1 leaves the example out); correct it.")
    options, (held, read) = options or Options(), in_double(problem, behavior, process)
    signed = [sign * epsilon for epsilon in epsilons for sign in (-1, 1)]
    with held.exclusive:
        rates = rate(held, read, process, options)
        changes = reweighted(held, signed, process, held.candidates, options)
    rows = []
    for epsilon, response in zip(signed, changes, strict=True):
        values = response.scores(read, held.query_labels)
        reached = response.reached(values)
        known = ~(response.errors(values, read, held.query_labels) >= values.abs()) & reached
        for index, candidate in enumerate(held.candidates.tolist()):
            error = _error(values[:, index], epsilon / held.n * rates[:, index], known[:, index])
            rows.append({"candidate": candidate, "epsilon": epsilon, "error": error if reached[index] else np.inf})
    return pd.DataFrame(rows)


def in_double(problem: Problem, behavior: str, process: Replay) -> tuple[Problem, Behavior]:
    """In float64, with the behavior as it is read there."""
    scoring = Scoring.of(behavior, Infinitesimal(), process)
    check(problem, scoring)
    held, read = problem.double().asking([scoring.readout])
    return held, read[0]


def rate(problem: Problem, read: Behavior, process: Replay, options: Options) -> Tensor:
    """dB/dα, (m, b)."""
    response = replay(problem, [Infinitesimal()], process, problem.candidates, options)[0]
    return response.scores(read, problem.query_labels)


def _error(change: Tensor, predicted: Tensor, known: Tensor) -> float:
    """‖change − told‖ / ‖told‖ over the queries whose change is known; NaN where there is none."""
    if not known.any():
        return nan
    return float((change[known] - predicted[known]).norm() / predicted[known].norm())


def smoothness(problem: Problem, behavior: str, process: Replay, options: Options) -> tuple[tuple[float, float], ...]:
    """(h, cosine) for each h of STEPS. Raises as `replay` does."""
    held, read = in_double(problem, behavior, process)
    ones = torch.ones(held.n, dtype=torch.float64, device=held.device)
    with held.exclusive:
        here = by_all_weights(held, process, read, ones, options.stage(0, 1 + len(STEPS)))
        along = here / here.square().mean().sqrt()
        return tuple((h, torch.nn.functional.cosine_similarity(here, by_all_weights(
            held, process, read, ones + h * along, options.stage(index, 1 + len(STEPS))), 0).item())
            for index, h in enumerate(STEPS, 1))


def precision(problem: Problem, behavior: str, process: Replay, options: Options) -> float:
    """‖narrow − wide‖ / ‖wide‖ over queries and candidates; NaN where the problem is in float64 itself."""
    if problem.precision == "float64":
        return nan
    rates = []
    for version in (problem, problem.double()):
        held, read = version.asking([Scoring.of(behavior, Infinitesimal(), process).readout])
        with held.exclusive:
            rates.append(rate(held, read[0], process, options).double())
    narrow, wide = rates
    return float((narrow - wide).norm() / wide.norm())
