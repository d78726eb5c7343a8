"""What the Scorecard page asks of the desk, and its tables."""

from __future__ import annotations

from typing import Any

import pandas as pd

from app.scorecard.state import ScorecardChoice
from app.widgets.jobs.desk import desk
from engine.desk import Waiting
from engine.desk.analyses import BENCHMARKS, CEILING, ScorecardRequest
from engine.desk.analyses import card as card_words
from engine.desk.shelves import Result
from engine.scoring import codes

EXACT, APPROXIMATE, CONTROL = "exact for its own question", "approximation", "control"
ANOTHER_SEED = "exact answer of another seed"


def request(chosen: ScorecardChoice) -> ScorecardRequest:
    """What determines the card. Raises `InvalidInput` where benchmarks cannot be run on the model."""
    narrowed: dict[str, Any] = {"methods": chosen.methods} if chosen.methods else {}
    return ScorecardRequest(sizes=chosen.sizes, behavior=chosen.behavior, **narrowed).of(chosen.source)


def external(chosen: ScorecardChoice) -> ScorecardRequest | None:
    """The same card of the scores of other programs alone, beside a shuffled order; None without any. Models on subsets
    are shared with the card of the methods."""
    if not chosen.scores:
        return None
    trained = tuple(name for name, one in BENCHMARKS.items() if one.retrains and one.fits(chosen.source.problem_class))
    return ScorecardRequest(sizes=chosen.sizes, behavior=chosen.behavior, methods=("random",), benchmarks=trained,
                            scores=chosen.scores).of(chosen.source)


def joined(table: pd.DataFrame, own: pd.DataFrame, chosen: ScorecardChoice) -> pd.DataFrame:
    """The card with the rows of the scores of other programs."""
    names = [codes.encode(scoring) for scoring in chosen.scores]
    return pd.concat([table, own[own["method"].isin(names)]], ignore_index=True)


def card(chosen: ScorecardChoice, request: ScorecardRequest) -> pd.DataFrame | Waiting | None:
    """The card; what it waits for; None where nobody requested it."""
    answer = desk().known(request)
    return answer.scorecard.assign(role=_roles) if not isinstance(answer, Waiting | str | None) else answer


def _roles(table: pd.DataFrame) -> pd.Series:
    roles = _of_methods(table)
    return roles.where(table["method"] != CEILING, ANOTHER_SEED)


def _of_methods(table: pd.DataFrame) -> pd.Series:
    return table["control"].map({True: CONTROL, False: ""}) + table["exact"].where(~table["control"], None).map(
        {True: EXACT, False: APPROXIMATE}).fillna("")


def example(request: ScorecardRequest) -> Result | None:
    """The run that came with the program, where `card` answers out of it."""
    return desk().example(request)


def overview(table: pd.DataFrame) -> pd.DataFrame:
    """A row a method, a column a benchmark: the mean of its first measure with its interval, as in `0.31 ± 0.04`."""
    first = table.groupby("benchmark", sort=False)["measure"].transform("first")
    first_rows = table[table["measure"] == first].assign(text=lambda own: [
        "" if pd.isna(mean) else card_words.with_half(mean, half)
        for mean, half in zip(own["mean"], own["ci95"], strict=True)])
    wide = first_rows.pivot(index="title", columns="benchmark", values="text").fillna("")
    wide = wide.loc[list(dict.fromkeys(first_rows["title"])), list(dict.fromkeys(first_rows["benchmark"]))]
    roles = first_rows.drop_duplicates("title").set_index("title")["role"]
    return pd.DataFrame({"method": wide.index,
                         **{BENCHMARKS[name].title: wide[name].to_numpy() for name in wide.columns},
                         "kind": roles[wide.index].to_numpy()})
