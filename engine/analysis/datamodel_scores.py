"""The linear datamodeling scores of several specifications, by models on drawn subsets or by those of a bank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import pandas as pd
from pydantic import InstanceOf

from engine.analysis.datamodels import Retrained, agreement_of_outcomes, compared
from engine.analysis.subset_bank import Bank, Draw, bank
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.metrics.agreement import summarize
from engine.metrics.intervals import t_interval
from engine.problems import Problem
from engine.question.behavior import Behavior
from engine.requests import Option, Request, Table
from engine.requests.fields import Named, scores_of
from engine.scoring.scores import Scores
from engine.store.results import Store


class DatamodelScoresRequest(Request[Table]):
    """Measure how well summed scores predict models that are trained on random subsets."""

    name: ClassVar = "datamodel-scores"
    command: ClassVar = "datamodel"
    job: ClassVar = False
    doing: ClassVar = "models on subsets"
    outputs: ClassVar = {"out": "Output scores, one row per specification."}

    named: Named
    draw: Annotated[Draw, Option(parts=("count", "share", "seed", "protocol", "among"))] = Draw()
    bank: Annotated[InstanceOf[Bank] | None, Option(read="optional_bank")] = None
    other: Annotated[InstanceOf[Bank] | None, Option(read="other_bank")] = None

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Table:
        if self.bank is None:
            self.draw.members(problem)  # refused before anything is computed
        scores = scores_of(problem, self.named, options.between(0, 0.2))
        pairs, names = compared([one.scoring for one in scores.values()]), list(scores)
        used = self._bank(problem, [one for _, one in pairs], options.between(0.2, 1), store)
        repeated = self._other(used.draw)
        return Table(pd.DataFrame(
            {"name": names[at], **_score(scores[names[at]], one.name, used.models), **_sampling(problem, used.draw),
             **_ceiling(used.models, repeated, one.name)} for at, one in pairs))

    def _bank(self, problem: Problem, behaviors: Sequence[Behavior], options: Options, store: Store) -> Bank:
        """The given one, or that of the draw; of the behaviors it has to be asked for those with a user's words."""
        for given in filter(None, (self.bank, self.other)):
            given.models.check(behaviors)
        worded = {one.name: one for one in behaviors if one.words}
        return self.bank or Bank(self.draw, bank(problem, self.draw, store, options, list(worded.values())))

    def _other(self, draw: Draw) -> Retrained | None:
        """The models of the other bank. Raises `InvalidInput` where it is not of the same subsets with other seeds."""
        if self.other is None:
            return None
        second = self.other.draw
        if second.later == draw.later or second.model_copy(update={"later": draw.later}) != draw:
            raise InvalidInput("The other bank does not hold the same subsets under the same protocol with another "
                               "training seed; write it with the same options and a later seed.")
        return self.other.models


def _sampling(problem: Problem, draw: Draw) -> dict[str, Any]:
    """How many subsets of what the models are trained on, which share of the data that is, and by which protocol."""
    return {"subsets": draw.count, "share": draw.share, "among": draw.among,
            "trained_on": draw.fraction(problem.n, len(problem.candidates)), "protocol": draw.protocol,
            "later": draw.later}


def _ceiling(models: Retrained, repeated: Retrained | None, behavior: str) -> dict[str, float]:
    """What the exact answer of another seed reaches, with its interval over queries."""
    if repeated is None:
        return {}
    mean, half = t_interval(agreement_of_outcomes(models.outcomes(behavior), repeated.outcomes(behavior)))
    return {"ceiling": mean, "ceiling_ci95": half}


def _score(scores: Scores, behavior: str, models: Retrained) -> dict[str, Any]:
    """The linear datamodeling score of a behavior over queries."""
    return {"behavior": behavior, **summarize(models.score(scores, behavior), interval_over="queries").columns}
