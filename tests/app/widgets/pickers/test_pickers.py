import pytest
from streamlit.testing.v1 import AppTest

from app.widgets.pickers import pickers
from engine.desk.fitting import live_pool
from engine.estimators import ESTIMATORS
from engine.problems import ModuleProblem, SoftmaxProblem
from engine.question.processes import Replay
from engine.question.specification import fitting
from engine.scoring import codes


def page():
    import streamlit as st

    from app.widgets.pickers import pickers
    from engine.scoring import codes

    default = codes.decode(st.session_state.get("default", "query_loss/add_occurrence/one_step;eta=0.1"))
    found = pickers.scoring_picker("x", default)
    st.session_state["found"] = None if found is None else codes.encode(found)


def opened(default="query_loss/add_occurrence/one_step;eta=0.1"):
    at = AppTest.from_function(page, default_timeout=60)
    at.session_state["default"] = default
    at.run()
    assert not at.exception
    return at


@pytest.mark.parametrize("code", [
    "query_loss/add_occurrence/one_step;eta=0.1", "hard_margin/upweight;alpha=0.01/reoptimize/cg",
    "query_loss/infinitesimal/local_response;damping=0.5", "query_loss/remove;normalization=n/reoptimize",
    "query_loss/relabel;label=3/retrain", "correct/add_occurrence/unrolled;eta=0.2;steps=7",
    "query_loss/infinitesimal/replay;eta=0.5;steps=70",
    "query_loss/add_occurrence/trajectory;checkpoints=3;eta=0.1/first_order",
    "query_loss/add_occurrence/trajectory;eta=0.1;fractions=0.5,1;weights=step/first_order"])
def test_the_default_comes_back_as_it_was(code):
    assert opened(code).session_state["found"] == codes.encode(codes.decode(code))


def test_fractions_that_are_none_are_refused_in_a_sentence():
    at = opened("query_loss/add_occurrence/trajectory;eta=0.1")
    at.text_input[0].set_value("half").run()
    assert not at.exception and at.session_state["found"] is None
    assert any("is not a list of fractions of a training" in error.value for error in at.error)


@pytest.mark.parametrize("kind", ["remove", "upweight", "infinitesimal", "add_occurrence", "auxiliary", "relabel"])
def test_only_processes_that_fit_are_offered(kind):
    at = opened()
    at.selectbox(key="x:P").set_value(kind).run()
    assert not at.exception
    assert len(at.selectbox(key="x:T").options) == len(fitting(kind))
    assert f"/{kind}" in at.session_state["found"]


@pytest.mark.parametrize(("model", "asked"), [
    (ModuleProblem, {"seeds", "first"}), (SoftmaxProblem, {"seeds", "first", "eta", "steps"})])
def test_only_a_model_without_a_recipe_is_asked_how_it_descends(model, asked, monkeypatch):
    monkeypatch.setattr(pickers, "problem_class", lambda: model)
    at = opened("query_loss/infinitesimal/replay;seeds=2")
    assert {box.key.rpartition(":")[2] for box in at.number_input} == asked
    scoring = codes.decode(at.session_state["found"])
    assert scoring.process == Replay(seeds=2), "the defaults are those of the process"


def test_only_estimators_that_can_target_it_are_offered():
    at = opened("query_loss/infinitesimal/local_response")
    titles = at.selectbox(key="x:E").options
    assert "exact" in titles and ESTIMATORS["cg"].title in titles
    assert ESTIMATORS["cholesky"].title not in titles and ESTIMATORS["first_order"].title not in titles


def test_a_misfit_is_a_sentence_and_no_scoring():
    at = opened("query_loss/infinitesimal/local_response")
    at.selectbox(key="x:B").set_value("correct").run()
    assert at.session_state["found"] is None and "has no gradient" in at.error[0].value


def test_parameters_reach_the_scoring():
    at = opened()
    at.number_input(key="x:OneStep:eta").set_value(0.25).run()
    assert at.session_state["found"] == "query_loss/add_occurrence/one_step;eta=0.25"


def sources():
    import streamlit as st

    from app.widgets.pickers import pickers

    pickers.problem_picker()
    st.session_state["found"] = (pickers.source().model_dump_json(), pickers.source(2).seed,
                                 pickers.optima_candidates(), pickers.seed_count())


def sourced(**address):
    at = AppTest.from_function(sources, default_timeout=60)
    for name, value in address.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception
    return at


def test_the_problem_is_the_addresss():
    at = sourced(train="80", queries="30", seed="4", candidates="12", nseeds="3")
    text, shifted, candidates, seeds = at.session_state["found"]
    assert '"n_train":80' in text and '"n_queries":30' in text and '"seed":4' in text
    assert (shifted, candidates, seeds) == (6, 12, 3)


@pytest.mark.parametrize("name", ["train", "queries", "candidates", "seed", "nseeds"])
@pytest.mark.parametrize("text", ["nan", "-5", "1e99", "many"])
def test_a_nonsense_size_gives_a_message_and_the_default(name, text):
    at = sourced(**{name: text})
    assert any(f"`{name}={text}`" in warning.value for warning in at.warning)
    assert at.session_state["found"] == sourced().session_state["found"]


@pytest.mark.parametrize(("shape", "pool"), [((28, 28), 1), ((8, 8), 1), ((32, 32, 3), 2), ((64, 64, 3), 4),
                                             ((48, 48), 2), ((31, 31, 3), 1)])
def test_own_pictures_are_averaged_until_answers_come_live(shape, pool):
    assert live_pool(shape) == pool
