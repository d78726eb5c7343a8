"""What a scorecard compares: methods and controls, each as oriented scores of any problem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch

from engine.analysis.groups import effects
from engine.analysis.self_influence import self_influence
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.registry import Registry
from engine.basics.settings import parsed
from engine.estimators import ESTIMATORS, settings_of
from engine.problems import PROBLEMS, Problem
from engine.problems.causal import ANSWERS
from engine.question.behaviors import BEHAVIORS
from engine.question.processes import LocalResponse, Trajectory
from engine.scoring import codes
from engine.scoring.compute import compute
from engine.scoring.named import NAMED, NamedMethod
from engine.scoring.scoring import Scoring

DAMPING = 0.01
BLOCK = 256
BY_DIFFERENCES = "donot_use_mm_for_euclid_dist"
"""Distances as |x − y|: by products, x² + y² − 2xy, a row is not at distance 0 from itself."""


class CardMethod(ABC):
    """name, and title as tables say it. exact: whether it is the exact answer to its own question."""

    name: str
    title: str
    exact: bool = False
    reads_weights: ClassVar[bool] = True
    """Whether its scores depend on the trained model's own weights."""

    @abstractmethod
    def scoring(self, behavior: str) -> Scoring | None:
        """What it computes when a behavior is asked for; None for a control that is no scoring."""

    @abstractmethod
    def scores(self, problem: Problem, behavior: str, options: Options) -> np.ndarray:
        """(m, k) oriented: positive where a candidate supports the behavior; zero where a score is not known."""

    def at_itself(self, problem: Problem, behavior: str, options: Options) -> np.ndarray:
        """(k,): each candidate's score on itself as a query."""
        blocks = problem.candidates.split(BLOCK)
        return np.concatenate([np.diagonal(self.scores(problem.at_itself(block), behavior,
                                                       options.stage(index, len(blocks))))
                               for index, block in enumerate(blocks)])

    def fits(self, kind: str) -> bool:
        """Whether it has an answer on problems of a kind."""
        scoring = self.scoring("query_loss")
        return scoring is None or scoring.route.refusal(scoring.specification, kind) is None

    @property
    def computes(self) -> bool:
        """Whether it has scores of any model, or only those that another program computed of one."""
        return True

    def configured(self, given: Mapping[str, str]) -> CardMethod:
        """The same with settings of its estimator. Raises `InvalidInput` where it has none, or no such."""
        raise InvalidInput(f"The method `{self.name}` has no settings; leave `{next(iter(given))}` out.")


@dataclass(frozen=True)
class Specified(CardMethod):
    """A scoring, given a behavior."""

    name: str
    title: str
    build: Callable[[str], Scoring]
    exact: bool = False

    def scoring(self, behavior: str) -> Scoring:
        return self.build(behavior)

    @property
    def computes(self) -> bool:
        return self.build("query_loss").route.computes

    def configured(self, given: Mapping[str, str]) -> CardMethod:
        estimator = self.build("query_loss").estimator
        settings = settings_of(ESTIMATORS[estimator], given)
        if settings is None or not settings.changed:
            return self

        def build(behavior: str) -> Scoring:
            plain = self.build(behavior)
            return Scoring.of(plain.behavior, plain.intervention, plain.process, f"{estimator};{settings.text}")

        return replace(self, name=f"{self.name};{settings.text}", title=f"{self.title}, {settings.words}", build=build)

    def scoring_of(self, problem: Problem, behavior: str) -> Scoring:
        """Over every checkpoint that a network kept, where the process visits them."""
        scoring = self.build(behavior)
        if not problem.stored_checkpoints or not isinstance(scoring.process, Trajectory):
            return scoring
        process = {**scoring.process.model_dump(), "checkpoints": max(1, len(problem.checkpoints))}
        return Scoring.of(scoring.behavior, scoring.intervention, process, scoring.estimator)

    def scores(self, problem: Problem, behavior: str, options: Options) -> np.ndarray:
        return np.nan_to_num(compute(problem, self.scoring_of(problem, behavior), options)[0].scored)

    def at_itself(self, problem: Problem, behavior: str, options: Options) -> np.ndarray:
        scoring = self.scoring_of(problem, behavior)
        if not scoring.route.implies:
            return super().at_itself(problem, behavior, options)
        return np.nan_to_num(self_influence(problem, scoring, options))


@dataclass(frozen=True)
class Removed(Specified):
    """Exact leave-one-out: every candidate removed and the model trained again, many side by side."""

    exact: bool = True
    reads_weights: ClassVar[bool] = False

    def scores(self, problem: Problem, behavior: str, options: Options) -> np.ndarray:
        scoring = self.build(behavior)
        return scoring.orientation * np.nan_to_num(effects(problem, scoring, problem.candidates.split(1), options))

    def at_itself(self, problem: Problem, behavior: str, options: Options) -> np.ndarray:
        return CardMethod.at_itself(self, problem, behavior, options)


class Nearest(CardMethod):
    """Control: minus the squared distance of the inputs; no model and no label is read."""

    name, title = "nearest", "Nearest neighbour"

    reads_weights: ClassVar[bool] = False

    def scoring(self, behavior: str) -> None:
        return None

    def scores(self, problem: Problem, behavior: str, options: Options) -> np.ndarray:
        queries, own = (inputs.flatten(1).double() for inputs in (problem.queries, problem.x[problem.candidates]))
        apart = torch.cdist(queries, own, compute_mode=BY_DIFFERENCES).square()
        return (0.0 - apart).cpu().numpy()

    def fits(self, kind: str) -> bool:
        return PROBLEMS[kind].reads != "tokens"


def _named(name: str, **process: float) -> Specified:
    method: NamedMethod = NAMED[name]

    def build(behavior: str) -> Scoring:
        """One that reads no behavior raises the answer's logit, where the model reads tokens."""
        own = ANSWERS[0] if BEHAVIORS[behavior].reads == "tokens" else None
        return method.implied(behavior if method.reads else own, **process)

    return Specified(name, method.title, build, method.implied().exact)


METHODS: Registry[CardMethod] = Registry("scorecard method", (
        Removed("loo", "Exact leave-one-out", NAMED["loo"].implied),
        Specified("step", "Exact step", lambda behavior: Scoring.of(
            behavior, {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}), True),
        *(_named(name) for name in ("influence_function", "gradsim", "gradsim_cosine", "repsim",
                                    "repsim_cosine", "tracin", "less", "trak")),
        *(_named(name, damping=DAMPING) for name in ("influence_function_ekfac", "influence_function_datainf")),
        Nearest(), *(_named(name) for name in ("bm25", "gradient_norm", "random"))))



CONTROLS = tuple(name for name, method in METHODS.items()
                 if (scoring := method.scoring("query_loss")) is None or not scoring.route.implies)


def card_method(text: str) -> CardMethod:
    """The method of `trak`, or with settings of its estimator of `trak;models=3`; of a scoring's code what it asks,
    whatever behavior a card reads. Raises `InvalidInput`."""
    if "/" in text.partition(";")[0]:
        scoring = codes.decode(text)
        return Specified(text, scoring.route.title if scoring.route.proper else scoring.title, lambda _: scoring,
                         scoring.exact)
    name, given = parsed(text)
    method = METHODS[name] if name in METHODS or name not in NAMED else _named(name, damping=DAMPING)
    return method.configured(given) if given else method


def defined(text: str, problem: type[Problem]) -> bool:
    """Whether a method has an answer on problems of a class: one of those that fit, or another one of the literature.
    """
    name, _ = parsed(text)
    return name in fitting(problem) or name not in METHODS and card_method(text).fits(problem.kind)


def fitting(problem: type[Problem]) -> list[str]:
    """The methods that have an answer on problems of a class: local responses exactly where the problem is convex, and
    by their approximations, which are quicker, where it is not."""
    return [name for name, method in METHODS.items() if method.fits(problem.kind)
            and not _left_out(method.scoring("query_loss"), problem.convex)]


def _left_out(scoring: Scoring | None, convex: bool) -> bool:
    return scoring is not None and isinstance(scoring.process, LocalResponse) and scoring.exact != convex
