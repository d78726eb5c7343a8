"""What L-BFGS searches from in the non-convex check, what is searched, and for what linear systems are solved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from engine.basics.options import Options
from engine.exact.refined import refined
from engine.experiments.conventions import as_authors
from engine.models.recipe import Recipe
from engine.problems import ModuleProblem, Problem, SampledProblem
from engine.problems.families.network import NETWORK_RECIPE
from engine.scoring.controlled import damped_upweighting, search_scoring, upweighting
from engine.scoring.scoring import Scoring

ALPHAS = (1e-5, 1e-3, 1e-1)
CURVES = ("query_loss", "hard_margin", "query_logit")
REMOVAL = {"kind": "remove", "normalization": "n-1"}
REFINED, CG_ITERATIONS, QUERIES = 100, 10, 20
"""Of the authors' code: iterations of L-BFGS before a search, and of CG at most. Ours: queries of a preset that solves
for fewer candidates."""
FEW_ITERATIONS = f"cg;tolerance=1e-12;iterations={CG_ITERATIONS}"


@dataclass(frozen=True)
class SearchPoint:
    """What L-BFGS searches from: the P rows and the curves over α.

    own: what its source changes of the study's; empty where it searches from the model of all other rows, with all its
    candidates. refined: whether from where L-BFGS leads without a change, and what the curves compare is searched
    without damping too.
    """

    own: Mapping[str, int]
    alphas: tuple[float, ...] = ALPHAS
    refined: bool = False

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> SearchPoint:
        """As the settings say; what they do not say is that of the study."""
        own = dict(settings.get("searched", {}))
        alphas = tuple(own.pop("alphas", ALPHAS))
        return cls(own, alphas, as_authors(settings))

    @property
    def curve(self) -> str:
        """What stands in a chunk before the searches that the curves compare."""
        return "undamped" if self.refined else "damped"

    @property
    def solves(self) -> bool:
        """Whether its curves need an inverse Hessian of their own."""
        return self.refined or bool(self.own)

    def problem(self, sampled: SampledProblem, options: Options) -> Problem:
        """The model that is searched from."""
        return refined(cast(ModuleProblem, sampled.problem), REFINED, options) if self.refined else sampled.problem

    def source(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What is searched, as the settings of a source without its seed."""
        return {**settings["source"], **self.own}

    def scorings(self) -> dict[str, Scoring]:
        """Name -> what is searched."""
        scorings = {"remove": search_scoring(REMOVAL)}
        scorings |= {f"upweight|{alpha!r}": search_scoring(upweighting(alpha)) for alpha in self.alphas}
        return scorings | {f"{self.curve}|{b}|{alpha!r}": search_scoring(upweighting(alpha), b) if self.refined
                           else damped_upweighting(b, alpha) for alpha in self.alphas for b in CURVES}


def solved_candidates(settings: Mapping[str, Any]) -> int:
    """How many candidates the T row of the inverse Hessian compares."""
    fewer = {} if as_authors(settings) else settings.get("solved", {})
    return {**settings["source"], **fewer}["n_candidates"]


def solved_queries(settings: Mapping[str, Any]) -> int:
    """For how many queries a system is solved, where one is solved for each."""
    queries = settings["source"]["n_queries"]
    return min(queries, QUERIES) if "solved" in settings else queries


def longer(source: Mapping[str, Any]) -> dict[str, Any]:
    """A source that is trained for 6 epochs in place of 5."""
    recipe = Recipe.parse(source.get("recipe", NETWORK_RECIPE.model_dump()))
    epochs = {"epochs": recipe.epochs * 6 // 5}
    return {**source, "recipe": recipe.model_copy(update=epochs).model_dump(mode="json")}
