"""The names of what ranks training records: methods, and pairs of a method and a behavior, as in the paper's tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import torch

from engine.applications.language.projection import Projection
from engine.basics.errors import InvalidInput
from engine.basics.heap import trim
from engine.basics.options import Options
from engine.basics.registry import Registry
from engine.basics.settings import Declared, declared
from engine.estimators.trak import TrakSettings
from engine.gradients.cached import CachedFeatures, CachedTerm
from engine.gradients.response import Response
from engine.problems import Problem
from engine.scoring.aggregate import Mean
from engine.scoring.named import NAMED, NamedMethod
from engine.scoring.scoring import Scoring

NONE = "none"
"""Stands for the behavior where a method reads none."""
ANSWER = "answer_logit"
"""Stands in a specification for the behavior where none is chosen, or where a method reads none."""
READOUT = "a readout of the prompt's representation"
"""What a similarity reads, which no behavior names."""


@dataclass(frozen=True)
class RecordMethod:
    """A way to rank training records: a method of `engine.scoring.named`, under the name that addresses and payloads
    have of it. process: what of its process is not as it implies. turned: whether a ranking of what harms turns it
    round."""

    name: str
    named: NamedMethod
    process: Mapping[str, Any] = field(default_factory=dict, hash=False)
    turned: bool = True

    @property
    def label(self) -> str:
        """Its name in the paper's tables."""
        return self.named.label

    @property
    def reads(self) -> bool:
        """Whether it reads the behavior."""
        return self.named.reads

    @property
    def directed(self) -> bool:
        """Whether its sign says if a record helps or harms; one that is not directed is ranked as it is."""
        return self.named.implies and self.turned

    def scoring(self, behavior: str = NONE) -> Scoring | None:
        """The specification that it implies with a behavior, with its estimator; None where it implies none."""
        if not self.named.implies:
            return None
        return self.named.implied(behavior if self.reads and behavior != NONE else ANSWER, **self.process)

    @property
    def undivided(self) -> str:
        """Why its scores are no sums over the tokens of a record, in a sentence; empty where they are."""
        return self.named.undivided

    @property
    def preconditioned(self) -> bool:
        """Whether it reads Adam's updates in place of gradients, at length one."""
        return "moments" in self.named.implied(ANSWER).route.needs

    def score(self, features: CachedFeatures, behavior: str) -> np.ndarray:
        """(m, n) of queries and records, positive where the record supports the behavior; with η = 1."""
        scoring, response = self._answer(features, behavior)
        scores = response.scores(scoring.readout, torch.zeros(features.shape[0]))
        trim()  # of blocks of gradients
        return (scoring.orientation * scores).numpy()

    def mean_score(self, features: CachedFeatures, behavior: str) -> np.ndarray:
        """(n,), the mean of `score` over queries, computed once."""
        return features.memo(f"mean {self!r} {behavior}", lambda: Mean().over(self.score(features, behavior)))

    def directions(self, features: CachedFeatures, behavior: str, query: int | None = None) -> dict[int, np.ndarray]:
        """Checkpoint -> u (k,), where the score of a query, or by default the mean score over queries, is Σ ⟨u, v_k⟩
        over checkpoints, v_k the gradient of a record, or Adam's update at length one where the method is
        `preconditioned`.

        Raises `InvalidInput` where the score is no such sum.
        """
        sign, terms = self._terms(features, behavior)
        return {term.checkpoint: sign * term.direction(behavior, query) for term in terms}

    def query_directions(self, features: CachedFeatures, behavior: str, query: int, record: int
                         ) -> dict[int, np.ndarray]:
        """Checkpoint -> v (k,), where the score of a query and a record is Σ ⟨v, ∇B(q)⟩ over checkpoints. Raises as
        `directions` does."""
        sign, terms = self._terms(features, behavior)
        return {term.checkpoint: sign * term.query_direction(behavior, query, record) for term in terms}

    def _terms(self, features: CachedFeatures, behavior: str) -> tuple[int, Sequence[CachedTerm]]:
        if self.undivided:
            raise InvalidInput(self.undivided)
        scoring, response = self._answer(features, behavior)
        return scoring.orientation, cast(Sequence[CachedTerm], response.terms)

    def _answer(self, features: CachedFeatures, behavior: str) -> tuple[Scoring, Response]:
        scoring = self.named.implied(behavior if self.reads and behavior != NONE else ANSWER, 1.0, **self.process)
        respond = scoring.route.route(cast(Problem, features), scoring.process.kind)
        return scoring, respond(features, [scoring.intervention], scoring.process, features.candidates,
                                Options(seed=features.seed))[0]

    def asks(self, behavior: str = NONE) -> str:
        """What it asks about a behavior, in a sentence: the question of its specification, where it implies one."""
        scoring = self.scoring(behavior)
        return self.named.asks if scoring is None else scoring.plain_question("" if self.reads else READOUT)


METHODS: Registry[RecordMethod] = Registry("method", (
    RecordMethod(name, NAMED["repsim_cosine" if name == "repsim" else name])
    for name in ("gradient_norm", "repsim", "random", "gradsim", "tracin", "trak", "less")))
OF_AUTHORS: Mapping[str, Mapping[str, Any]] = {
    "repsim": {"turned": False}, "tracin": {"process": {"weights": "step"}}, "trak": {"named": NAMED["trak_fisher"]},
    "less": {"named": NAMED["less_final"]}}
AUTHORS: Registry[RecordMethod] = Registry("method", (
    replace(method, **OF_AUTHORS.get(method.name, {})) for method in METHODS.values()))
"""Under the same names what the code of the paper's authors computes: RepSim is not turned round, TracIn weighs a
checkpoint by the learning rate of its step, and TRAK and LESS are other methods."""
SETTINGS: Mapping[str, Declared] = {**declared(Projection), "ridge": declared(TrakSettings)["ridge"]}
"""What decides the numbers of these methods beside the training, as `Setting` has it: fields of its projection, and
TRAK's ridge."""
REPSIM = METHODS["repsim"]
"""The one that reads a layer."""


def pairs(behaviors: Sequence[str], methods: Mapping[str, RecordMethod] = METHODS
          ) -> Iterator[tuple[RecordMethod, str]]:
    """Every method with every behavior that it reads; those that read none have the behavior `none`."""
    for method in methods.values():
        for behavior in behaviors if method.reads else (NONE,):
            yield method, behavior
