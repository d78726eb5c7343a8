"""The noise floor on the Compare page: what another seed reaches, beside every cell that is about a single run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from app.widgets.jobs import guesses, job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results.agreements import plus_minus
from app.widgets.words import chips, glossary
from engine.basics.values import signed
from engine.desk import noise_floor
from engine.desk.analyses import at_ceiling, two_runs
from engine.desk.compared import Compared
from engine.desk.noise_floor import Floors
from engine.metrics.agreement import METRICS

LEGEND = ("*seed*, in cells about a single run: agreement of the exact answer with that of another seed, the noise "
          "floor; *≥ seed*: the cell reaches it; *seed ?*: not measured.")
ASK = "Measure agreement between seeds"


@dataclass(frozen=True)
class FloorWords:
    """What a cell says of its noise floor: in itself, and in words."""

    mark: str = ""
    words: str = ""


def known(compared: Compared) -> Floors:
    """What is known of the floors, without waiting."""
    return noise_floor.floors(desk(), compared)


def marked(cells: pd.DataFrame, compared: Compared, floors: Floors, metric: str) -> pd.DataFrame:
    """The cells of the matrix with `floor`, what each says of its noise floor, and `floor_words`."""
    said = [floor_words(compared, floors, metric, (row, column)) for row,
            column in zip(cells.row, cells.column, strict=True)]
    return cells.assign(floor=[one.mark for one in said], floor_words=[one.words for one in said])


def floor_words(compared: Compared, floors: Floors, metric: str, pair: tuple[int, int]) -> FloorWords:
    """What a pair says of its noise floor: nothing where neither side is about a single run."""
    a, b = (compared.scorings[index] for index in pair)
    if pair[0] == pair[1] or not {a, b} & set(floors.pairs):
        return FloorWords()
    if a in floors.pairs and b in floors.pairs and two_runs(a, b):
        return FloorWords("two seeds", "Both are single runs of one question: their agreement is the noise floor.")
    reached, words = [], []
    for own in dict.fromkeys(floors.pairs[one] for one in (a, b) if one in floors.pairs):
        comparison = floors.measured.get(own)
        if comparison is None:
            words.append(f"The agreement with another seed of “{own.own.title}” is not measured{_why(floors, own)}.")
            continue
        agreement = comparison.agreement(metric, 0, 1)
        reached += [] if math.isnan(agreement.mean) else [agreement]
        words.append(f"The exact answers to “{own.own.title}” under two seeds, +{own.seeds[0]} and +{own.seeds[1]}, "
                     f"agree with {METRICS[metric].title} {plus_minus(agreement.mean, agreement.ci95)}.")
    lowest = min(reached, key=lambda one: one.mean, default=None)
    if lowest is None:
        return FloorWords("seed ?", " ".join(words))
    if not at_ceiling(compared.comparison.agreement(metric, *pair), lowest):
        return FloorWords(f"seed {signed(lowest.mean, 2)}", " ".join(words))
    words.append("This pair is at the noise floor: the two rankings agree at least as well as those of two seeds.")
    return FloorWords(f"≥ seed {signed(lowest.mean, 2)}", " ".join(words))


def _why(floors: Floors, own: noise_floor.RunPair) -> str:
    """Why a floor is not measured: what stands in the way, or what it costs."""
    if own in floors.trouble:
        return f": {floors.trouble[own].rstrip('.')}"
    if floors.seconds is None:
        return ""
    return f"; measuring all that are missing takes {guesses.between(floors.seconds)} on two cores"


def below(floors: Floors, compared: Compared) -> None:
    """Under the matrix: how its marks are read, and a button for what is not measured, or the run that measures it."""
    if not floors.pairs:
        return
    glossary.caption(LEGEND)
    if floors.waiting is not None:
        job_panel.watch(floors.waiting)
    elif any(floors.missing):
        st.button(ASK, icon=":material/casino:", key="compare:floor", on_click=job_panel.act,
                  args=(noise_floor.ask, desk(), compared, floors.missing),
                  help="Computes the same exact answers for one more training run, with another seed"
                       + (f": {guesses.between(floors.seconds)} on two cores." if floors.seconds is not None else "."))


def beside(compared: Compared, floors: Floors, metric: str, pair: tuple[int, int]) -> None:
    """The words of the opened pair."""
    if words := floor_words(compared, floors, metric, pair).words:
        chips.note(words)
