"""The tables of a language run: records in rank order, those on top under one behavior alone, known corruptions."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from engine.applications.language.detection import TOP
from engine.applications.language.methods import RecordMethod
from engine.applications.language.rankings import behavior_title
from engine.applications.language.run import column
from engine.applications.language.shading import MOMENTUM
from engine.question import direction
from engine.question.behaviors import BEHAVIORS

CORRUPTED = {"answer": "answer", "poison": "answer", "rationale": "explanation"}
"""Flag -> the span that was changed."""


@dataclass(frozen=True)
class RecordRanking:
    """How the records of a run are ranked: by a method and a behavior, beside the others that its queries allow.

    harmful: whether what opposes the behavior is sought. layer: where RepSim reads, as a fraction of the depth.
    """

    method: RecordMethod
    behavior: str
    behaviors: tuple[str, ...]
    harmful: bool = False
    layer: float = 1.0

    @property
    def own(self) -> str:
        """The behavior that is read; `none` for a method that reads none."""
        return self.behavior if self.method.reads else "none"

    @property
    def column(self) -> str:
        """The column that holds its scores."""
        return column(self.method.name, self.own, self.layer)

    @property
    def opposing_first(self) -> bool:
        """Whether the smallest score is the most sought: a method that is not directed has no such side."""
        return self.harmful and self.method.directed

    @property
    def first(self) -> str:
        """Which end of the ranking stands first, in a sentence."""
        return direction.ranked(BEHAVIORS[self.behavior] if self.method.reads else None, self.opposing_first)

    @property
    def quantity(self) -> str:
        """What its scores say of the behavior."""
        return (f"score: {self.method.label}; "
                f"{direction.larger(BEHAVIORS[self.behavior] if self.method.reads else None)}")

    def ranks(self, records: pd.DataFrame) -> pd.DataFrame:
        """Rank of every record under each behavior, 1 for what is most sought; a single column where none is read."""
        names = self.behaviors if self.method.reads else ("none",)
        ranks = pd.DataFrame({name: records[column(self.method.name, name, self.layer)].rank(
            ascending=False, method="first").astype(int) for name in names})
        return len(records) + 1 - ranks if self.opposing_first else ranks

    def listed(self, records: pd.DataFrame) -> pd.DataFrame:
        """The records, what is sought first, with their text, score, flags and rank under every behavior."""
        ranks = self.ranks(records)
        others = {_rank_title(name): ranks[name] for name in ranks if name != self.own}
        table = pd.DataFrame({"rank": ranks[self.own], "record": records["record"], "score": records[self.column],
                              "known as": [", ".join(json.loads(flags)) for flags in records["flags"]], **others,
                              "prompt": records["prompt"], "response": records["response"]})
        return table.sort_values("rank").reset_index(drop=True)

    def only_under(self, listed: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
        """The rows of `listed` in the top tenth under the behavior `first` and not under `second`."""
        limit = int(np.ceil(TOP * len(listed)))
        one, other = (listed["rank" if name == self.own else _rank_title(name)] for name in (first, second))
        return listed[(one <= limit) & (other > limit)].sort_values("rank").reset_index(drop=True)


def _rank_title(behavior: str) -> str:
    return f"rank · {behavior_title(behavior).lower()}"


def changed(record: pd.Series) -> list[list[int]]:
    """The spans of a record's response that are known to be corrupted."""
    spans, flags = json.loads(record["spans"]), json.loads(record["flags"])
    return [spans[CORRUPTED[flag]] for flag in flags if flag in CORRUPTED and CORRUPTED[flag] in spans]


def contributions(tokens: pd.DataFrame, method: str, behavior: str, record: int) -> tuple[pd.DataFrame, float]:
    """(the tokens of a record in their order, what the optimizer's momentum adds), out of the table `tokens`."""
    own = tokens[(tokens["estimator"] == method) & (tokens["behavior"] == behavior) & (tokens["record"] == record)]
    rest = own["place"] == MOMENTUM
    return own[~rest].sort_values("place"), float(own[rest]["contribution"].sum())
