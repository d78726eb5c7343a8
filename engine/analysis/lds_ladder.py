r"""Why is this linear datamodeling score low? A ladder from a score to the models that it is held against.

Each rung changes one thing, and its bar is what that does to the LDS, measured on the same subsets:

    seed            models of another training, or with batches of their own → the recorded run, weight 0 for what is
                    not in the subset
    behavior        the behavior that the score reads → the one that the models are read by
    checkpoints     those that a trajectory visits → all that the training stored
    layers          the last layer alone → all layers
    a setting       such as `dimension` of a projection, `iterations` or TRAK's `ridge_rule`, one after the other → four
                    times the work, or the value that is declared as finer
    approximation   the approximation → the exact answer to its own question
    damping         the damping of that question → a tenth of it, none where training has one optimum
    question        that question → the exact derivative of the training by the examples' weights
    size            that derivative → exact removal of single examples: a weight moved by 1, not by little
    linearity       the sum over single removals → the models trained without all of them at once, whose LDS is 1

so that the bars sum from the score's LDS to 1. A rung that the model has no answer for is left out with its reason, and
its part is in the next bar. Of scores of another program the first step leads to the exact answer of their claim. ± are
95% t intervals over queries of the paired differences; what the draw of the subsets adds to the score's own LDS is its
jackknife interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from engine.analysis import options as texts
from engine.analysis.datamodels import linear_datamodeling_score
from engine.analysis.protocols import ProtocolName
from engine.analysis.scorecard.card import with_half
from engine.analysis.scorecard.retrained import agreement_of_banks, jackknife_error
from engine.analysis.subset_bank import Among, Draw, bank
from engine.basics.errors import InvalidInput, Undifferentiable
from engine.basics.options import Options
from engine.basics.settings import GROWS, Declared, declared, parsed
from engine.basics.values import Count, Number, Seed
from engine.estimators import configured, settings_of, written
from engine.metrics.intervals import t_interval, t_quantile
from engine.problems import Problem
from engine.question.interventions import Infinitesimal, Remove
from engine.question.processes import LocalResponse, Process, Replay, Retrain
from engine.requests import OfCandidates
from engine.requests.fields import StoredScoring
from engine.requests.request import Option
from engine.scoring import cost
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from engine.store.results import Store

MORE = 4
"""How many times the work a setting gets."""
LESS_DAMPED = 10
"""How many times less the damping is."""
SCORE, SEED, LINEARITY = "score", "seed", "linearity"


@dataclass(frozen=True)
class Ladder:
    """rungs: a row a rung, from the score up: `lds` after it with `ci95` over queries, its gain `bar` with `bar_ci95`,
    what is `measured`, and a `note` where a rung is left out. subsets: the half width of the interval of the score's
    own LDS over the draw of subsets."""

    rungs: pd.DataFrame
    subsets: float

    @property
    def tables(self) -> list[pd.DataFrame]:
        return [self.rungs]


class LadderRequest(OfCandidates[Ladder]):
    """Find out why a linear datamodeling score is low: change one thing at a time towards exact models.

    Raises `InvalidInput` for a baseline, which answers no question, and for a scoring that does not fit the model.
    """

    name: ClassVar = "lds-ladder"
    doing: ClassVar = "rungs"
    outputs: ClassVar = {"out": "Output ladder, one row per rung."}

    scoring: Annotated[StoredScoring, Option(read="scored")]
    behavior: Annotated[str, Field(description="Training protocol of the models (default: that of the score).")] = ""
    models: Annotated[Count, Field(ge=3, le=10_000, description="Models on subsets.")] = 50
    share: Annotated[Number, Field(gt=0, lt=1, description="Fraction of the examples in a subset.")] = 0.5
    seed: Annotated[Seed, Field(description="Seed of the subsets.")] = 0
    protocol: Annotated[ProtocolName, Field(description=texts.PROTOCOL)] = "subset"
    among: Annotated[Among, Field(description=texts.AMONG)] = "candidates"
    later: Annotated[Count, Field(ge=0, le=1_000, description="Training seed of the models, counted after the model's "
                                                              "own."
                                  )] = 1
    most_seconds: Annotated[float, Field(ge=0, description=(
        "Estimated seconds above which a rung is left out."))] = 3600.0

    def title(self, problem: str) -> str:
        return f"Ladder of the LDS of {self.scoring.title} on {problem}"

    @property
    def trainings(self) -> float:
        return float(self.models)

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Ladder:
        if not self.scoring.route.implies:
            raise InvalidInput(f"`{self.scoring.route.title}` implies no specification, so no step leads from its "
                               "question to another; choose another score.")
        draw = Draw(count=self.models, share=self.share, seed=self.seed, among=self.among, protocol=self.protocol,
                    later=0 if problem.convex or problem.replays_batches else self.later)
        own = draw.model_copy(update={"protocol": "weights", "later": 0})
        behavior = self.behavior or self.scoring.behavior
        first, same = (bank(problem, one, store, options.stage(index, 3)) for index, one in enumerate((draw, own)))
        others, outcomes = first.outcomes(behavior), same.outcomes(behavior)
        scores = _scores(problem, self.scoring, options.between(0.67, 0.7))
        rungs = [_rung(SCORE, self.scoring.title, lds=linear_datamodeling_score(scores, others, first.members))]
        if draw != own and not problem.convex:
            rungs.append(_rung(SEED, "models of the recorded run", lds=linear_datamodeling_score(
                scores, outcomes, same.members)))
        for name, scoring in steps(self.scoring, behavior, problem):
            values = self._tried(problem, scoring, options.between(0.7, 1))
            rungs.append(_rung(name, scoring.title, note=values) if isinstance(values, str) else _rung(
                name, scoring.title, lds=linear_datamodeling_score(values, outcomes, same.members)))
        rungs.append(_rung(LINEARITY, "the models themselves", lds=agreement_of_banks([outcomes]).values[0]))
        error = jackknife_error(scores @ first.members.T.astype(float), others)
        return Ladder(table(rungs), t_quantile(self.models) * error)

    def _tried(self, problem: Problem, scoring: Scoring, options: Options) -> np.ndarray | str:
        seconds = cost.guess([scoring], problem, len(problem.candidates))
        if seconds > self.most_seconds:
            return f"It would take about {seconds / 3600:.1f} hours."
        try:
            return _scores(problem, scoring, options)
        except (InvalidInput, Undifferentiable) as error:
            return str(error)

    def sentences(self, answer: Ladder) -> Iterator[str]:
        for row in answer.rungs.itertuples():
            yield (f"{row.rung}: left out. {row.note}" if row.note else
                   f"{row.rung}: LDS {with_half(row.lds, row.ci95)}, {with_half(row.bar, row.bar_ci95)} of it here "
                   f"({row.measured})")
        yield f"Sampling the subsets adds ± {answer.subsets:.2f} to the first."


def steps(scoring: Scoring, behavior: str, problem: Problem) -> list[tuple[str, Scoring]]:
    """Rung -> the scoring that is measured there: each differs from the one before, and none is there twice."""
    derivative = LocalResponse() if problem.convex else Replay()
    removal = Scoring(behavior=behavior, intervention=Remove(), process=Retrain())
    listed = [*(_towards_exact if scoring.route.computes else _claimed)(scoring, behavior, problem)]
    exact = listed[-1][1]
    listed += [("damping", exact.model_copy(update={"process": _less_damped(exact.process, problem)})),
               ("question", Scoring(behavior=behavior, intervention=Infinitesimal(), process=derivative)),
               ("size", removal)]
    before, different = scoring, []
    for name, one in listed:
        if one != before and before != removal:
            different.append((name, one))
            before = one
    return different


def _towards_exact(scoring: Scoring, behavior: str, problem: Problem) -> Iterator[tuple[str, Scoring]]:
    """From a score to the exact answer to its own question."""
    P, T = scoring.intervention, scoring.process
    visited = Scoring.of(behavior, P, _all_checkpoints(T, problem), scoring.estimator)
    in_all_layers = Scoring.of(behavior, P, visited.process, scoring.route.all_layers or scoring.estimator)
    finest = [("layers", in_all_layers), *_finer(in_all_layers)]
    yield from [("behavior", Scoring.of(behavior, P, T, scoring.estimator)), ("checkpoints", visited), *finest]
    yield "approximation", finest[-1][1].exact_answer


def _claimed(scoring: Scoring, behavior: str, problem: Problem) -> Iterator[tuple[str, Scoring]]:
    """The same from scores of another program, of which nothing but the claim is known."""
    yield "approximation", scoring.exact_answer
    yield "behavior", Scoring.of(behavior, scoring.intervention, scoring.process)


def _all_checkpoints(process: Process, problem: Problem) -> Process:
    """The same trajectory through all checkpoints that the training stored."""
    values, stored = process.model_dump(), len(problem.checkpoints) if problem.stored_checkpoints else 0
    fewer = values.get("fractions", "") or values.get("checkpoints", stored) < stored
    return process.model_copy(update={"checkpoints": stored, "fractions": ""}) if stored and fewer else process


def _less_damped(process: Process, problem: Problem) -> Process:
    """The same response with less damping; a process without any as it is."""
    own = process.model_dump().get("damping", 0.0)
    return process.model_copy(update={"damping": 0.0 if problem.convex else own / LESS_DAMPED}) if own else process


def _finer(scoring: Scoring) -> Iterator[tuple[str, Scoring]]:
    """Setting -> the same estimator with this one and those before it finer."""
    name, given = parsed(scoring.estimator)
    settings = settings_of(configured(name), given)
    for one in declared(type(settings)).values() if settings is not None else ():
        value = _refined(one, getattr(settings, one.name))
        if value is not None:
            given = {**given, one.name: value}
            yield one.name, Scoring.of(scoring.behavior, scoring.intervention, scoring.process,
                                       written({"name": name, **given}))


def _refined(setting: Declared, value: Any) -> Any:
    """The finer value of a setting; None where it has none."""
    if isinstance(setting.finer, str) and setting.finer:
        return setting.finer if value == setting.default else None
    factor = setting.finer or (MORE if setting.cost.startswith(GROWS) else 0)
    return int(min(factor * value, setting.high or np.inf)) if factor and setting.kind is int else None


def _scores(problem: Problem, scoring: Scoring, options: Options) -> np.ndarray:
    """Oriented (m, k), zero where one is not usable."""
    return np.nan_to_num(compute(problem, scoring, options)[0].scored)


def _rung(name: str, measured: str, lds: np.ndarray | None = None, note: str = "") -> dict[str, Any]:
    return {"rung": name, "measured": measured, "values": lds, "note": note}


def table(rungs: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """The rungs with their bars, which sum to the last LDS; one that was left out has none."""
    rows, before = [], np.zeros(1)
    for rung in rungs:
        lds = rung.pop("values")
        if lds is None:
            rows.append({**rung, "lds": np.nan, "ci95": np.nan, "bar": np.nan, "bar_ci95": np.nan})
            continue
        (mean, half), (bar, bar_half) = t_interval(lds), t_interval(lds - before)
        rows.append({**rung, "lds": mean, "ci95": half, "bar": bar, "bar_ci95": bar_half})
        before = lds
    return pd.DataFrame(rows)
