"""What the search of the Add dialog lists: methods by every name, questions that fit, and what the reader has."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app.compare.aliases import ALIASES
from engine.desk import external, shelves
from engine.scoring import codes
from engine.scoring.named import NAMED
from engine.scoring.scoring import Scoring
from engine.store.external_scores import ExternalScores

STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.25})


def page():
    import streamlit as st

    from app.compare.entries import entries, named

    st.session_state["listed"] = entries()
    st.session_state["named"] = named


def listed(**address):
    at = AppTest.from_function(page, default_timeout=60)
    for name, value in {"data": "digits", **address}.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception
    return at.session_state["listed"]


def test_every_named_method_has_its_further_names():
    assert set(ALIASES) == set(NAMED)


@pytest.mark.parametrize(("model", "missing"), [("softmax", {"trak", "less", "bm25", "influence_function_ekfac"}),
                                                ("mlp", {"less", "bm25"})])
def test_methods_come_first_and_those_that_the_model_lacks_last(model, missing):
    entries = listed(model=model)
    methods = {key.removeprefix("method:"): entry for key, entry in entries.items() if key.startswith("method:")}
    unfit = {name for name, entry in methods.items() if entry.unfit}
    assert set(methods) == set(NAMED) and missing <= unfit and "gradsim" not in unfit
    assert list(entries)[-len(unfit):] == [f"method:{name}" for name in methods if name in unfit]
    assert model == "mlp" or "computed on a neural network or a language model" in methods["trak"].unfit
    assert codes.decode(methods["gradsim"].code).route.name == "first_order"
    assert "Charpiat" in methods["gradsim"].title and "GradDot" in methods["gradsim"].title


def test_questions_are_all_that_can_be_answered_each_once():
    questions = [entry.code for key, entry in listed().items() if key.startswith("question:")]
    scorings = [codes.decode(code) for code in questions]
    assert len(set(questions)) == len(questions) and all(scoring.exact for scoring in scorings)
    kinds = {(scoring.behavior, scoring.intervention.kind, scoring.process.kind) for scoring in scorings}
    assert ("hard_margin", "remove", "reoptimize") in kinds and ("query_loss", "upweight", "retrain") in kinds
    assert ("correct", "infinitesimal", "local_response") not in kinds, "it has no gradient"


def test_recorded_runs_are_listed_for_networks_alone(monkeypatch):
    monkeypatch.setattr("app.compare.entries.recorded_runs", lambda: ["run-0123456789abcdef"])
    assert listed(model="mlp")["mine:run-0123456789abcdef · my recorded run"].run == "run-0123456789abcdef"
    assert not any(entry.run for entry in listed().values())


def test_what_the_reader_has_is_listed(home):
    held = ExternalScores(np.ones((2, 3)), np.arange(3), "some data")
    scoring = external.scoring_of(held, STEP.specification, "run 7", "plus")
    external.added(held, scoring)
    shelves.save("Tuesday", "", shelves.address({"s": [codes.encode(STEP), "nonsense"]}))
    mine = {entry.title: entry.code for key, entry in listed().items() if key.startswith("mine:")}
    assert mine == {"run 7 · my imported scores": codes.encode(scoring),
                    f"{STEP.title} · of my comparison “Tuesday”": codes.encode(STEP)}
