"""What is chosen on the Scorecard page, kept in the address."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from app.widgets.choices import choice
from app.widgets.choices.selectors import pick, slider
from app.widgets.frame.guard import guarded
from app.widgets.pickers import pickers, settings_picker, specification_list
from app.widgets.words import glossary
from engine.basics.settings import parsed
from engine.desk import ProblemSource
from engine.desk.analyses import BENCHMARKS, PROTOCOLS, Sizes, card_method, card_methods
from engine.question.behaviors import BEHAVIORS, reading
from engine.scoring.scoring import ESTIMATORS, Scoring

BEHAVIOR, MODELS, BENCHMARK, MEASURE = "cardbehavior", "cardmodels", "benchmark", "cardmeasure"
METHOD, SET = "cardmethod", "cardset"
PROTOCOL, AMONG = "cardprotocol", "cardamong"
SUBSETS_OF = {"candidates": "the candidates", "all": "all training examples"}
FEWEST, MOST = 10, 200


@dataclass(frozen=True)
class ScorecardChoice:
    """What a card is made of. scores: of other programs, measured beside the methods. methods: names, with settings
    as `trak;dimension=8`; none for all that fit."""

    source: ProblemSource
    behavior: str
    sizes: Sizes
    scores: tuple[Scoring, ...] = ()
    methods: tuple[str, ...] = ()


def controls() -> ScorecardChoice:
    """The behavior, how many models are trained on subsets, of what and by which protocol; the data are those of the
    sidebar."""
    settings = st.expander("Behavior, training on subsets and methods", icon=":material/tune:", key="card:settings",
                           expanded=choice.is_set(METHOD))
    with settings:
        first, second, third, fourth = st.columns([3.2, 5, 3.6, 3.4], gap="medium")
    offered = [name for name in reading(pickers.problem_class().reads) if BEHAVIORS[name].differentiable]
    behavior = pick(BEHAVIOR, "Behavior", offered, offered[0], lambda name: BEHAVIORS[name].title, area=first)
    models = slider(MODELS, "Models on subsets, of each size", 30, FEWEST, MOST, area=fourth, step=10)
    protocol = pick(PROTOCOL, "Training on a subset", list(PROTOCOLS), "weights",
                    lambda name: f"{name}: {PROTOCOLS[name].title}", area=second)
    among = pick(AMONG, "Subsets are sampled from", list(SUBSETS_OF), "candidates", SUBSETS_OF.get, area=third,
                 help="With the candidates, all other training examples are in every subset.")
    source = pickers.source()
    count = max(10, min(pickers.optima_candidates(), source.n_train or pickers.optima_candidates()))
    with settings:
        methods = _methods()
    return ScorecardChoice(source, behavior, Sizes(candidates=count, models=models, queries=5, protocol=protocol,
                                           among=among), specification_list.external(), methods)


def _methods() -> tuple[str, ...]:
    """The methods that are measured, one with several settings as often; none for all that fit, each as usual."""
    usual, key = card_methods(pickers.problem_class()), choice.widget(METHOD)

    def known(name: str) -> str:
        if parsed(name)[0] not in usual:
            raise ValueError("the model has no such method")
        return card_method(name).name

    chosen = choice.several(METHOD, known) or usual
    options = [*usual, *(name for name in chosen if name not in usual)]
    st.session_state[key] = [name for name in st.session_state.get(key, chosen) if name in options]
    left, right = st.columns(2, gap="large")
    selected = left.multiselect("Methods and controls", options, key=key, placeholder="All applicable",
                                format_func=lambda name: card_method(name).title)
    if selected != usual or choice.is_set(METHOD):
        choice.keep(METHOD, selected)
    with right:
        _add(usual, selected)
    return () if selected == usual else tuple(selected)


def _add(usual: list[str], selected: list[str]) -> None:
    """Method with other settings, and the button that measures it beside the selected ones."""
    estimators = {name: parsed(scoring.estimator)[0] for name in usual
                  if (scoring := card_method(name).scoring("query_loss")) is not None}
    offered = [name for name, estimator in estimators.items() if ESTIMATORS[estimator].settings is not None]
    if not offered:
        glossary.caption("None of these methods has settings; some methods for networks do.")
        return
    name = pick(SET, "Method with other settings", offered, offered[0], lambda one: card_method(one).title)
    with guarded("These settings"):
        written = settings_picker.show(f"card:{name}", estimators[name], estimators[name])
        row = card_method(name + written.removeprefix(estimators[name]))
        st.button("Add to the scorecard", key="card:add", icon=":material/add:", on_click=choice.put,
                  args=(METHOD, [*(selected or usual), row.name]), disabled=row.name in selected,
                  help=f"Adds the row {row.title}.")


def benchmark(measured: list[str]) -> str:
    """Which benchmark is looked at, of those that were run."""
    return pick(BENCHMARK, "Benchmark", measured, measured[0], lambda name: BENCHMARKS[name].title)


def measure(measures: list[str]) -> str:
    """Which of its measures."""
    return measures[0] if len(measures) == 1 else pick(MEASURE, "Measure", measures, measures[0], str)
