"""What is chosen on the Scorecard page, kept in the address."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from app.widgets.choices.selectors import pick, slider
from app.widgets.pickers import pickers, specification_list
from engine.desk import ProblemSource
from engine.desk.analyses import BENCHMARKS, PROTOCOLS, Sizes
from engine.question.behaviors import BEHAVIORS, reading
from engine.scoring.scoring import Scoring

BEHAVIOR, MODELS, BENCHMARK, MEASURE = "cardbehavior", "cardmodels", "benchmark", "cardmeasure"
PROTOCOL, AMONG = "cardprotocol", "cardamong"
SUBSETS_OF = {"candidates": "the candidates; all others stay in", "all": "all training examples"}
FEWEST, MOST = 10, 200


@dataclass(frozen=True)
class ScorecardChoice:
    """What a card is made of. scores: of other programs, measured beside the methods."""

    source: ProblemSource
    behavior: str
    sizes: Sizes
    scores: tuple[Scoring, ...] = ()


def controls() -> ScorecardChoice:
    """The behavior, how many models are trained on subsets, of what and by which protocol; the data are those of the
    sidebar."""
    left, right = st.columns(2, gap="large")
    offered = [name for name in reading(pickers.problem_class().reads) if BEHAVIORS[name].differentiable]
    behavior = pick(BEHAVIOR, "Behavior that is read", offered, offered[0], lambda name: BEHAVIORS[name].title,
                    area=left)
    models = slider(MODELS, "Models on subsets, of each size", 30, FEWEST, MOST, area=right, step=10)
    protocol = pick(PROTOCOL, "Training on a subset", list(PROTOCOLS), "weights",
                    lambda name: f"{name}: {PROTOCOLS[name].title}", area=left)
    among = pick(AMONG, "Subsets are drawn from", list(SUBSETS_OF), "candidates", SUBSETS_OF.get, area=right)
    source = pickers.source()
    count = max(10, min(pickers.optima_candidates(), source.n_train or pickers.optima_candidates()))
    return ScorecardChoice(source, behavior, Sizes(candidates=count, models=models, queries=5, protocol=protocol,
                                           among=among), specification_list.external())


def benchmark(measured: list[str]) -> str:
    """Which benchmark is looked at, of those that were run."""
    return pick(BENCHMARK, "Benchmark", measured, measured[0], lambda name: BENCHMARKS[name].title)


def measure(measures: list[str]) -> str:
    """Which of its measures."""
    return measures[0] if len(measures) == 1 else pick(MEASURE, "Measure", measures, measures[0], str)
