import re

import pandas as pd
import pytest
import streamlit as st

from app.approximation import surface
from app.widgets.jobs.desk import desk
from engine.analysis.error_curves import ETAS, alpha_scorings, alphas, differentiable
from engine.analysis.linear_range import LinearRangeRequest
from engine.analysis.over_seeds import SeedRunsRequest
from engine.analysis.run_errors import RunErrorsRequest
from engine.curvature import solvers_for
from engine.desk import Waiting, published
from engine.jobs import run_job
from engine.problems import ProblemSource, SoftmaxProblem
from engine.question.behaviors import BEHAVIORS
from engine.question.interventions import Remove
from engine.question.processes import Replay, Retrain
from engine.requests.scores import ScoresRequest
from engine.scoring.scoring import Scoring
from tests.engine.requests_for_tests import answered, scores_payload
from tests.pages.support import open, says, sound, texts

pytestmark = pytest.mark.core

HESSIANS = solvers_for(SoftmaxProblem)
SMALL = {"data": "digits", "train": 60, "queries": 20, "candidates": 8, "nseeds": 1}
SOURCE = ProblemSource(n_train=60, n_queries=20, n_test=500)


def address(at, name):
    """The values of one address parameter, as a list."""
    value = at.query_params[name]
    return value if isinstance(value, list) else [value]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A store of this file, and nothing in memory: what one test has computed is there for the next."""
    st.cache_resource.clear()
    yield tmp_path_factory.mktemp("home")
    st.cache_resource.clear()


@pytest.fixture(autouse=True)
def own_home(shared, monkeypatch):
    """No worker processes: jobs stay queued unless a test runs them."""
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(shared))


def finished(at, draws, most=40):
    """Run until no point of the η curves is missing."""
    parts = len(differentiable()) * len(ETAS)
    while most and (len(curve_table(at)) < parts or (curve_table(at)["n_seeds"] < draws).any()):
        at, most = at.run(), most - 1
    return at


def metrics(at):
    return {metric.label: float(metric.value) for metric in at.metric}


def curve_table(at):
    return next(frame.value for frame in at.dataframe if {"series", "x", "n_seeds"} <= set(frame.value.columns))


def test_curves_over_eta_for_every_differentiable_behavior():
    at = finished(sound(open("approximation_error", draws=2, **SMALL)), 2)
    table = curve_table(sound(at))
    assert set(table["series"]) == {BEHAVIORS[name].title for name in differentiable()}
    assert sorted(set(table["x"])) == list(ETAS) and set(table["n_seeds"]) == {2}
    logit = table[table["series"] == "query logit"]
    assert (logit["mean"] > 0.999).all()


def test_the_box_recomputes_between_grid_points():
    at = sound(open("approximation_error", draws=1, eta=0.37, **SMALL))
    between = metrics(at)
    at.number_input(key="choice:eta").set_value(1.0).run()
    assert address(sound(at), "eta") == ["1"]
    assert metrics(at)["Kendall tau"] < between["Kendall tau"] < 1.0
    assert says(at, "Same question, one answer is approximate")


def test_the_logit_stays_exact():
    at = sound(open("approximation_error", draws=1, eta=1.0, behavior="query_logit", **SMALL))
    assert set(metrics(at).values()) == {1.0}


def test_alpha_point_is_live_while_the_curves_are_queued():
    at = sound(open("approximation_error", panel="alpha", draws=1, alpha="0.001", **SMALL))
    assert 0.5 < metrics(at)["Kendall tau"] <= 1.0
    assert says(at, "0 of 1 seeds are ready") and says(at, "Error curves over α on Handwritten digits, seed 0")
    assert says(at, "8 of 8 converged")


def test_alpha_curves_of_a_finished_run_show_every_solver(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    run_job(ScoresRequest.name, scores_payload(SOURCE, alpha_scorings(), 8, precision="float64"))
    at = sound(open("approximation_error", panel="alpha", draws=1, **SMALL))
    table = curve_table(at)
    assert set(table["series"]) == {solver.title for solver in HESSIANS.values()}
    assert sorted(set(table["x"])) == list(alphas())
    residuals = next(frame.value for frame in at.dataframe if "median residual" in frame.value.columns)
    assert len(residuals) == len(HESSIANS) and residuals["largest residual"].notna().all()
    assert not says(at, "seeds are ready")


def test_complete_curves_stay_while_a_point_is_waited_for(monkeypatch):
    finished(sound(open("approximation_error", draws=1, **SMALL)), 1)
    monkeypatch.setattr(surface.desk(), "scores", lambda *arguments, **rest: Waiting("Somebody else's scores"))
    at = sound(open("approximation_error", draws=1, eta=0.33, **SMALL))
    assert drawn(at, "at_place")
    assert len(curve_table(at)) == len(differentiable()) * len(ETAS) and not at.metric
    assert says(at, "The interpolation error at a held-out computed point is at most")


def published_on(dataset, monkeypatch):
    rows = [{"curve": "eta", "dataset": dataset, "axis": "approximation", "comparison": "first-order",
             "parameter": f"eta={eta!r}", "behavior": behavior, "metric": "Kendall tau", "mean": 0.9, "ci95": 0.01,
             "n_seeds": 3, "n_queries": 1000, "n_dropped": 0, "seed_means": "0.9 0.9 0.9"}
            for eta in ETAS for behavior in ("query_loss", "query_logit")]
    monkeypatch.setattr(published, "results", lambda name, preset: pd.DataFrame(rows))


def test_published_results_of_the_same_data_are_overlaid_on_demand_and_named(monkeypatch):
    published_on("digits", monkeypatch)
    at = sound(open("approximation_error", draws=1, **SMALL))
    assert at.toggle(key="choice:published").value is False and not drawn(at, "published run on")
    at.toggle(key="choice:published").set_value(True).run()
    assert address(sound(at), "published") == ["1"] and drawn(at, "published run on Handwritten digits")


def test_a_published_run_on_other_data_is_not_offered(monkeypatch):
    published_on("fashion_mnist", monkeypatch)
    at = sound(open("approximation_error", draws=1, published=1, **SMALL))
    assert "choice:published" not in [toggle.key for toggle in at.toggle] and not drawn(at, "published run on")


def drawn(at, words):
    """Whether a chart holds these words in its data."""
    return any(words.encode() in chart.proto.SerializeToString() for chart in at.get("vega_lite_chart"))


def test_without_published_results_there_is_no_toggle(monkeypatch):
    monkeypatch.setattr(published, "results", lambda name, preset: None)
    at = sound(open("approximation_error", draws=1, **SMALL))
    assert "choice:published" not in [toggle.key for toggle in at.toggle]


@pytest.mark.parametrize("name, value", [("eta", "-1"), ("eta", "huge"), ("alpha", "5"), ("panel", "beta"),
                                         ("behavior", "correct"), ("metric", "pearson"), ("draws", "7"),
                                         ("query", "1e9"), ("solver", "gauss")])
def test_nonsense_is_ignored_with_a_message(name, value):
    panel = "alpha" if name in ("alpha", "solver") else "eta"
    at = sound(open("approximation_error", **{**SMALL, "draws": 1, "panel": panel, name: value}))
    assert says(at, "which was ignored")
    assert metrics(at)


def test_every_choice_stands_in_the_address():
    at = sound(open("approximation_error", draws=1, **SMALL))
    assert {"panel", "metric", "behavior", "draws", "eta", "query"} <= set(at.query_params)
    at.segmented_control(key="choice:panel").set_value("alpha").run()
    assert {"alpha", "solver"} <= set(sound(at).query_params)


def test_a_behavior_of_this_page_is_no_fault_of_the_address_on_another():
    at = sound(open("approximation_error", draws=1, **SMALL))
    at.switch_page("../pages/language_models.py")
    at.query_params.clear()  # as the browser does
    at.run()
    assert not [warning.value for warning in sound(at).warning if "was ignored" in warning.value]


def test_plain_words():
    said = " ".join(texts(sound(open("approximation_error", draws=1, **SMALL))))
    assert "Same question: the distance of an approximation from the exact answer" in said
    assert "query logit** is linear" in said


def test_one_example_is_followed_along_the_path():
    at = sound(open("approximation_error", panel="alpha", draws=1, alpha="0.1", **SMALL))
    assert not says(at, "Area under the curve")
    at.toggle(key="choice:path").set_value(True).run()
    at.number_input(key="choice:path_example").set_value(7).run()
    said = next(text for text in texts(sound(at)) if "Area under the curve" in text)
    area, ends, tangent = (float(number.replace("−", "-")) for number in re.findall(r"\*\*([^*]+)\*\*", said))
    assert area == pytest.approx(ends, rel=1e-2) and abs(tangent) > abs(area)
    assert any("path-integral" in code.value and "--example 7" in code.value for code in at.code)
    assert address(at, "path") == ["1"] and address(at, "path_example") == ["7"]


NETWORK = {"panel": "run", "model": "mlp", "tried": 1, **SMALL}


def asked_run(behavior="query_loss", process=Replay(), **source):
    """The payload of the check that the page asks for."""
    return LinearRangeRequest(behavior=behavior, candidates=1, process=process).of(
        ProblemSource(n_train=60, n_queries=20, n_test=500, **source)).payload


def test_the_derivative_of_a_descent_is_checked_by_a_job():
    at = sound(open("approximation_error", **{**NETWORK, "model": "softmax"}, run_eta=0.5, run_steps=9))
    assert says(at, "Derivative of the training against actual retraining") and not at.get("vega_lite_chart")
    run_job(LinearRangeRequest.name, asked_run(process=Replay(eta=0.5, steps=9)))
    at = sound(at.run())
    assert says(at, "Is this run differentiable?") and says(at, "float64 throughout")
    assert says(at, "The derivative is within 10% of actual retraining")
    table = next(frame.value for frame in at.dataframe if "epsilon" in frame.value.columns)
    assert len(table) == 10 and at.get("vega_lite_chart")
    assert any("--eta 0.5 --steps 9" in code.value and "linear-range" in code.value for code in at.code)
    assert {"tried": ["1"], "run_eta": ["0.5"], "run_steps": ["9"]}.items() <= {
        name: address(at, name) for name in ("tried", "run_eta", "run_steps")}.items()


def test_approximations_of_a_descent_are_compared_by_a_job():
    process = Replay(eta=0.5, steps=9)
    run_job(LinearRangeRequest.name, asked_run(process=process))
    address_of = {**NETWORK, "model": "softmax", "run_eta": 0.5, "run_steps": 9}
    at = sound(open("approximation_error", **address_of))
    assert not says(at, "Approximations of the training run on")
    at = sound(at.toggle(key="choice:approximated").set_value(True).run())
    assert says(at, "Approximations of the training run on") and address(at, "approximated") == ["1"]
    run_job(RunErrorsRequest.name, RunErrorsRequest(candidates=50, process=process).of(
        ProblemSource(n_train=60, n_queries=20, n_test=500)).payload)
    at = sound(at.run())
    assert says(at, "its largest single cause is") and says(at, "Influence of one example by training time")
    assert any("run-errors" in code.value and "--parts moments.csv" in code.value for code in at.code)
    example = at.selectbox(key="choice:moment")
    example.set_value(example.options[1]).run()
    assert address(sound(at), "moment") == [str(example.options[1])]


def test_a_run_without_a_derivative_says_so(monkeypatch):
    monkeypatch.setattr("engine.requests.request.Request.answered",
                        lambda *_: "Descent from zero diverged; choose a smaller η.")
    run_job(LinearRangeRequest.name, asked_run(process=Replay(eta=0.5, steps=1)))
    at = sound(open("approximation_error", **{**NETWORK, "model": "softmax"}, run_eta=0.5, run_steps=1))
    assert says(at, "not differentiable") and says(at, "choose a smaller η")


def test_runs_are_all_one_where_nothing_is_drawn():
    run_job(LinearRangeRequest.name, asked_run(process=Replay(eta=0.5, steps=9)))
    at = sound(open("approximation_error", **{**NETWORK, "model": "softmax"}, run_eta=0.5, run_steps=9, runs=1))
    assert at.toggle(key="choice:runs").disabled and "is deterministic" in at.toggle(key="choice:runs").help


@pytest.mark.slow  # a network is trained a dozen times
def test_a_network_is_asked_of_several_runs():
    run_job(LinearRangeRequest.name, asked_run(model="mlp"))
    at = sound(open("approximation_error", **NETWORK, runs=1, runs_of="removal"))
    assert says(at, "over 4 seeds on")
    scoring = Scoring.of("query_loss", Remove(), Retrain(seeds=4))
    answered(SeedRunsRequest(scoring=scoring, candidates=20, seeds=4),
             ProblemSource(n_train=60, n_queries=20, n_test=500, model="mlp"))
    at = sound(at.run())
    assert says(at, "two halves of them agree") and says(at, "The ranking of a single run agrees with the mean over")
    frame = next(one.value for one in at.dataframe if "± standard error" in one.value.columns)
    assert len(frame) == 20 and "Wasserstein" in frame.columns
    assert any("over-seeds" in code.value and "--stable 1" in code.value for code in at.code)


@pytest.mark.slow  # a network is trained a dozen times
def test_a_network_says_which_of_its_settings_matter():
    run_job(LinearRangeRequest.name, asked_run(model="mlp"))
    at = sound(open("approximation_error", **NETWORK))
    knobs = next(frame.value for frame in at.dataframe if "worth trying" in frame.value.columns)
    assert "GELU for ReLU" in set(knobs["worth trying"]) and "128" in set(knobs["here"])
    assert says(at, "in float32 the derivative differs from its float64 value by")


def test_the_verdict_knows_that_the_logit_of_a_linear_model_is_its_tangent():
    at = sound(open("approximation_error", **SMALL, panel="eta", behavior="query_logit"))
    assert says(at, "Same question, same answer") and says(at, "linear in the parameters")


@pytest.mark.parametrize("panel, said", [("eta", "one step: the curve above"), ("alpha", "damping 0: Cholesky")])
def test_the_error_surface_is_a_run_and_has_the_curve_as_its_slice(panel, said):
    address = {**SMALL, "panel": panel, "surface": 1, "draws": 1}
    at = sound(open("approximation_error", **address))
    assert not at.get("plotly_chart")
    job = next(job for job in desk().jobs.queue.jobs() if job.kind == "error-surface")
    run_job(job.kind, job.payload, desk().jobs.root)
    at = sound(open("approximation_error", **address))
    figure, = at.get("plotly_chart")
    assert said in figure.proto.spec and says(at, {
        "eta": "error-surface --data", "alpha": "--surface damping"}[panel])
