"""The pages on a language model: trained by a job, its texts shown as texts, and what does not fit is said."""

import io
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest

from app.widgets.jobs.desk import desk
from app.widgets.pickers import pickers
from engine.analysis.error_curves import ETAS, differentiable, eta_scorings, step_pair
from engine.cli import main
from engine.data import uploads
from engine.desk.commands import specs_json
from engine.desk.language_presets import FIRST
from engine.desk.preset import steps
from engine.desk.presets import CONVEX, LANGUAGE
from engine.external import saved_tables as kept_tables
from engine.external.files import read_table
from engine.external.header_row import Numbering
from engine.jobs import run_job
from engine.problems import CausalProblem, ProblemSource
from engine.question.behaviors import reading
from engine.requests.scores import ScoresRequest
from engine.requests.training import TrainingRequest
from engine.scoring import codes
from engine.scoring.compute import compute
from engine.store import comparisons as saved
from tests.engine.requests_for_tests import scores_payload, training_payload
from tests.pages import support
from tests.pages.support import open, queued, says, sound, texts

SMALL = {"data": "world_corruption", "train": 24, "queries": 8, "candidates": 5, "nseeds": 1}
SOURCE = ProblemSource(dataset="world_corruption", model="World-0.4M", n_train=24, n_queries=8, n_test=8)
LONG = ("vary-b", "vary-p", "vary-t", "table-1", "solvers", "responses")
"""Presets that take long: for every text they train anew, or compute by every method."""
STEP = "add_occurrence/one_step;eta=0.1"
WORDED = [f"span:The answer is/{STEP}/first_order", f"contrast/{STEP}", "bm25"]
LISTED = [codes.encode(scoring) for scoring in steps(*FIRST[:2])]


@pytest.fixture(autouse=True)
def own_home(request, home, monkeypatch):
    monkeypatch.setattr(CausalProblem, "live_seconds", 60.0)
    if "looked_at" not in request.fixturenames:
        support.forget()


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """A home folder in which the model is trained."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHFLUENCE_HOME", str(folder))
        run_job(TrainingRequest.name, training_payload(SOURCE))
    return folder


@pytest.fixture
def trained(home, once):
    shutil.copytree(once, home, dirs_exist_ok=True)
    assert SOURCE.is_trained


@pytest.fixture(scope="module")
def shared(once, tmp_path_factory):
    """The same for tests that only look: what one of them has computed stays in memory for the next."""
    return shutil.copytree(once, tmp_path_factory.mktemp("shared") / "home")


@pytest.fixture
def looked_at(shared, own_home, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(shared))


def test_texts_bring_language_models_with_them_and_pictures_their_own():
    at = sound(open("compare", settle=False, data="digits", model="mlp", parameters="last_layer"))
    assert any(option.startswith("Texts: World") for option in at.selectbox(key="choice:data").options)
    at.selectbox(key="choice:data").set_value("world_corruption").run()
    sound(at)
    assert at.selectbox(key="choice:model").value == "World-0.4M" and not at.error and not at.warning
    assert "softmax" not in at.query_params["model"] and says(at, "Adapters of rank 16 trained for 4 epochs")
    assert at.selectbox(key="choice:parameters").options == ["all", "layers by name"]
    assert not says(at, "my own weights")
    at.selectbox(key="choice:data").set_value("digits").run()
    assert at.selectbox(key="choice:model").value == "softmax" and not at.error and not at.warning


def test_a_model_that_is_not_read_is_refused_when_it_is_chosen(tmp_path, monkeypatch):
    (tmp_path / "reader").mkdir()
    (tmp_path / "reader" / "config.json").write_text(
        '{"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}')
    monkeypatch.setenv("WHICHFLUENCE_MODELS", str(tmp_path))
    at = open("compare", settle=False, data="world_corruption", model="reader", s=[])
    assert "T5ForConditionalGeneration, which does not generate text" in at.error[0].value


def test_specifications_of_other_models_give_way():
    at = open("compare", settle=False, s=[codes.encode(scoring) for scoring in CONVEX["first"].scorings], **SMALL)
    assert sound(at).query_params["s"] == [codes.encode(scoring) for scoring in LANGUAGE["first"].scorings]
    at = open("compare", settle=False, s=["query_logit/add_occurrence/one_step;eta=0.3", LISTED[0]], **SMALL)
    assert sound(at).query_params["s"] == [codes.encode(scoring) for scoring in LANGUAGE["first"].scorings]
    assert queued() == ["Training World-0.4M on World questions, some with wrong answers"]


def test_only_what_has_an_answer_is_offered(looked_at):
    at = sound(open("compare", s=LISTED, **SMALL))
    sound(at.button(key="compare:add").click().run())
    assert len(at.selectbox(key="add:B").options) == len(reading("tokens")) + len(pickers.WORDED)
    assert {"random", "BM25", "gradient norm"} <= set(at.selectbox(key="add:E").options)
    assert "relabel" not in at.selectbox(key="add:P").options
    at.selectbox(key="add:P").set_value("remove").run()
    assert "re-optimise" not in at.selectbox(key="add:T").options


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name
                                  for name in LANGUAGE])
def test_every_preset_is_answered(looked_at, name):
    at = sound(open("compare", s=[codes.encode(scoring) for scoring in LANGUAGE[name].scorings], **SMALL))
    assert not at.error and says(at, "24 training examples"), [error.value for error in at.error]


@pytest.mark.slow
def test_a_query_is_chosen_by_its_words_and_the_command_runs(trained, tmp_path, monkeypatch):
    at = sound(open("compare", s=LISTED, ranks=2, **SMALL))
    assert says(at, 'class="wf-text"') and any("Which of these" in option for option in at.selectbox(
        key="choice:ranks").options)
    lines = next(code.value for code in at.code if "engine compare" in code.value).splitlines()
    monkeypatch.chdir(tmp_path)
    problem = re.fullmatch(r"echo '(.*)' > problem\.json", lines[0])[1]
    (tmp_path / "problem.json").write_text(problem)
    specs = [{"name": code, "spec": codes.decode(code).model_dump(mode="json")} for code in LISTED]
    (tmp_path / "agreement-specs.json").write_text(json.dumps(specs))
    assert main(lines[1].split()[3:]) == 0
    assert (tmp_path / "agreement.csv").read_text().startswith("a,b,metric")


def test_a_disagreement_is_explained(looked_at):
    at = sound(open("compare", s=LISTED, explain=1, **SMALL))
    assert not at.error and says(at, "behavior")


@pytest.mark.slow
def test_marked_words_another_response_and_a_baseline_stand_beside_each_other(looked_at):
    at = sound(open("compare", s=WORDED, pair="1-2", **SMALL))
    assert not at.error and says(at, "span “The answer is”") and says(at, "with its first other choice")
    at = sound(open("compare", s=WORDED, pair="1-3", explain=1, **SMALL))
    assert says(at, "No question to compare: BM25 implies no specification")
    assert [error.value for error in at.error] == [
        "`BM25` implies no specification, so no path of exact specifications starts at it; explain two scorings that "
        "have one."]
    at = sound(open("examples", s=WORDED, query=2, example=3, **SMALL))
    assert not at.error and says(at, "baseline · 24 candidates")
    assert says(at, "change of the log-likelihood of “The answer is” per token")
    assert says(at, '<td class="effect">baseline</td>')
    assert says(at, "Why this score?")


def marked(at, words):
    """How often words are marked on the page as those that are asked about."""
    return sum(element.proto.body.count(f'title="asked about">{words}<') for element in at.get("html"))


def test_the_words_of_a_span_are_marked_in_the_query(looked_at):
    at = sound(open("examples", s=WORDED, query=2, example=3, **SMALL))
    assert marked(at, "The answer is") == 2, "in the chosen query, and beside the opened example"
    assert says(at, '<span class="asked">asked about</span>')
    other = sound(open("examples", s=[WORDED[0].replace("span:", "span@1:"), *LISTED], query=2, **SMALL))
    assert marked(other, "") == 0 and not says(other, "asked about")
    assert marked(sound(open("compare", s=WORDED, pair="1-2", ranks=2, **SMALL)), "The answer is") == 1


def test_texts_have_answers_and_no_labels(looked_at):
    at = sound(open("examples", s=LISTED, example=3, self=1, **SMALL))
    frames = [frame.value for frame in at.dataframe if "training example" in frame.value.columns]
    assert frames and all("answer" in frame and "label" not in frame for frame in frames)
    assert says(at, "<br>answer <strong>") and not says(at, "<br>label <strong>") and not says(at, ">label</span>")
    assert not [button.label for button in at.button if "label" in button.label]
    views = [sound(open("compare", s=LISTED, ranks=2, detail=detail, **SMALL)) for detail in ("dots", "top")]
    frames = [frame.value for at in views for frame in at.dataframe if "example" in frame.value.columns]
    assert len(frames) == 2 and all("answer" in frame and "label" not in frame for frame in frames)
    charts = [element.proto.spec for element in views[1].get("vega_lite_chart")]
    assert sum('"Answer"' in spec for spec in charts) == 1 and '"Label"' not in "".join(charts)
    dots, = views[0].get("plotly_chart")
    said = [text for trace in json.loads(dots.proto.spec)["data"] for text in trace["hovertext"]]
    assert len(said) == 24 and all("<br>answer " in text and "label" not in text for text in said)


def test_records_are_mapped_by_where_the_answer_is_read(trained):
    at = sound(open("map", **SMALL, example=3))
    dots, = at.get("plotly_chart")
    assert "training example 3" in dots.proto.spec and says(at, "24 training examples by principal components")
    assert not at.error and says(at, "3 (row ")


def test_words_that_a_response_lacks_are_said_where_the_answer_would_stand(looked_at):
    at = sound(open("compare", s=[f"span:mammal/{STEP}", LISTED[0]], **SMALL))
    assert [error.value for error in at.error] == ["A comparison needs two specifications that this model can answer."]
    assert any("Number 1 of the list is not computed. “mammal” does not occur in the response of query 1" in one.value
               for one in at.warning)


def test_examples_are_texts(looked_at):
    at = sound(open("examples", s=LISTED, **SMALL))
    assert not at.error and says(at, 'mark class="answer"') and says(at, "lead of the answer")
    assert not says(at, "p(label)") and says(at, "only here")
    place = at.selectbox(key="choice:query")
    place.set_value(3).run()
    assert says(sound(at), "<strong>Query 3</strong>")
    row = next(button for button in at.button if button.key.startswith("open:top:0:")).key.rpartition(":")[2]
    at = sound(open("examples", s=LISTED, example=row, **SMALL))
    assert not at.error and says(at, "known as")


@pytest.mark.slow
def test_self_influence_of_texts(looked_at):
    at = sound(open("examples", s=LISTED, self=1, **SMALL))
    table = next(frame.value for frame in at.dataframe if "self-influence" in frame.value.columns)
    assert not at.error and len(table) == 24 and "lead of the answer" in table.columns


@pytest.mark.slow
def test_curves_come_from_one_run_each(trained):
    run_job(ScoresRequest.name, scores_payload(SOURCE, eta_scorings("causal"), 24, precision="float64"))
    at = sound(open("approximation_error", draws=1, **SMALL))
    table = next(frame.value for frame in at.dataframe if {"series", "x", "n_seeds"} <= set(frame.value.columns))
    assert len(table) == len(ETAS) * len(differentiable("causal")) and not queued()
    assert says(at, "A language model is nonlinear") and says(at, "Which of these")
    at = sound(open("approximation_error", panel="alpha", draws=1, **SMALL))
    assert not at.error and [title for title in queued() if "over α" in title]


def test_curves_of_marked_words_are_asked_for_once_they_are_told(trained):
    at = sound(open("approximation_error", draws=1, **SMALL))
    before = queued()
    at.selectbox(key="choice:behavior").set_value("span").run()
    assert says(sound(at), "Mark words of the response") and queued() == before
    at.text_input(key="behavior:span:words").set_value("The answer is").run()
    assert queued() == before, "not at every word that is marked"
    sound(at.button(key="behavior:draw").click().run())
    assert at.query_params["behavior"] == "span:The answer is"
    assert [title for title in queued() if title not in before] == [
        "Error curves of the span “The answer is” over η on World questions, some with wrong answers, World-0.4M, "
        "seed 0, 24 candidates"]


@pytest.mark.slow
def test_curves_of_another_response_are_shown_from_a_link_and_their_command_gives_the_same(
        trained, tmp_path, monkeypatch):
    run_job(ScoresRequest.name, scores_payload(SOURCE, eta_scorings("causal", ["contrast"]), 24, precision="float64"))
    at = sound(open("approximation_error", draws=1, eta=0.5, behavior="contrast", **SMALL))
    assert at.selectbox(key="choice:behavior").value == "contrast" and not queued() and not at.error
    table = next(frame.value for frame in at.dataframe if {"series", "x", "n_seeds"} <= set(frame.value.columns))
    assert list(table["series"]) == ["contrast to the first other choice"] * len(ETAS)
    assert says(at, "is a difference between two sums") and not [one for one in at.button if one.key == "behavior:draw"]
    lines = next(code.value for code in at.code if "eta-point-specs.json" in code.value).splitlines()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "problem.json").write_text(re.fullmatch(r"echo '(.*)' > problem\.json", lines[0])[1])
    (tmp_path / "eta-point-specs.json").write_text(specs_json(step_pair("contrast", 0.5)))
    assert main(lines[1].split()[3:]) == 0
    again = pd.read_csv(tmp_path / "eta-point.csv")
    tau = again[again["metric"].str.contains("endall")]["mean"].iloc[0]
    assert next(metric.value for metric in at.metric if metric.label == "Kendall tau") == f"{tau:.3f}"


@pytest.mark.parametrize("name, said", [("span:mammal", "mark words that occur"), ("bm25", "which was ignored"),
                                        ("contrast#99", "which was ignored"), ("query_loss", "which was ignored")])
def test_a_behavior_that_has_no_curve_is_said(trained, name, said):
    at = sound(open("approximation_error", draws=1, behavior=name, **SMALL))
    assert says(at, said) and not [title for title in queued() if "of the span" in title]


def test_records_of_ones_own_are_asked_about(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(json.dumps({"prompt": f"Which of these is a tool?\nhammer\n{name}",
                                          "response": "The answer is hammer."}) for name in ["pear"] * 30))
    name = uploads.keep_path(file)
    own = {**SMALL, "data": name, "queries": 3}
    at = open("compare", settle=False, s=LISTED, **own)
    assert says(at, "needs an explanation span in every query") and queued() == []  # before anything is trained
    at = sound(open("compare", settle=False, s=[LISTED[0], LISTED[0].replace("0.1", "0.2")], **own))
    assert at.selectbox(key="choice:model").value == "World-0.4M" and not texts(at).count("Traceback")
    assert queued() == ["Training World-0.4M on mine.jsonl"]


def test_noisy_labels_leave_texts_out():
    at = sound(open("noisy_labels", settle=False, data="world_corruption"))
    assert says(at, "which was ignored") and not any("Texts" in option for option in at.selectbox(
        key="choice:data").options)


def by_ids():
    """The exact scores of the first specification as a CSV that names records by their ids, in another order; its
    digest."""
    problem, rng = SOURCE.build().problem, np.random.default_rng(0)
    exact, (train, asked) = compute(problem, codes.decode(LISTED[0]))[0], problem.ids
    frame = pd.DataFrame(exact.values, index=list(asked), columns=[train[row] for row in exact.candidates])
    frame = frame.iloc[rng.permutation(len(frame)), rng.permutation(len(train))]
    return kept_tables.keep(read_table(io.BytesIO(frame.to_csv().encode()), "mine.csv", known=Numbering.of(problem)),
                            "mine.csv")


def claimed(at, code):
    """The page once the waiting table claims a specification."""
    return sound(next(box for box in at.selectbox if box.key.endswith(":claim")).set_value(code).run())


@pytest.mark.slow
def test_scores_that_name_records_by_their_ids_are_imported_and_saved(trained):
    at = claimed(sound(open("compare", s=LISTED, brought=by_ids(), **SMALL)), LISTED[0])
    assert not at.error and says(at, "The columns are matched by the ids of the records")
    at = sound(next(button for button in at.button if button.label == "Add to the comparison").click().run())
    assert next(metric.value for metric in at.metric if metric.label == "Kendall tau") == "1.000"
    at.text_input(key="saved:name").set_value("Mine").run()
    next(button for button in at.button if button.label == "Save").click().run()
    kept = saved.entries()[0].saved
    assert "World questions" in kept.summary and "mine" in kept.summary
    again = sound(open("compare", **kept.parameters))
    assert not again.error and [metric.value for metric in again.metric] == [metric.value for metric in at.metric]


@pytest.mark.slow
def test_influence_functions_of_a_language_model_have_a_reference_that_is_computed_there(trained):
    """Its exact local response is not computed: once such scores could not be shown at all."""
    at = claimed(sound(open("compare", s=LISTED, brought=by_ids(), **SMALL)),
                 "response_loss/infinitesimal/local_response")
    assert not at.error and says(at, "is not computed on this model") and (
        says(at, "stands for it") or any(button.label.startswith("Determine the sign from") for button in at.button))
    sign = next(box for box in at.radio if ":sign" in box.key)
    if sign.value is None:
        at = sound(sign.set_value("plus").run())
    at = sound(next(button for button in at.button if button.label == "Add to the comparison").click().run())
    assert codes.decode(at.query_params["s"][-1]).route.title == "mine" and not at.error


def subset_models(at):
    """What the job is told that the button for models on subsets asks for."""
    sound(next(button for button in at.button if button.label.startswith("Train 3 models")).click().run())
    job = next(job for job in desk().jobs.queue.jobs("queued") if job.kind == "datamodel")
    return job.payload


@pytest.mark.slow
def test_models_on_subsets_are_asked_for_the_words_of_the_list(trained, monkeypatch):
    monkeypatch.setattr("app.compare.datamodels.SUBSETS", 3)
    at = sound(open("compare", s=[WORDED[0], LISTED[0]], **SMALL))
    assert subset_models(at)["behaviors"] == ["span:The answer is"]


@pytest.mark.slow
def test_models_on_subsets_say_what_they_were_not_asked_for(trained, monkeypatch):
    monkeypatch.setattr("app.compare.datamodels.SUBSETS", 3)
    run_job("datamodel", subset_models(sound(open("compare", s=LISTED, **SMALL))))
    listed = {"s": [WORDED[0], LISTED[0]], **SMALL}
    at = sound(open("compare", **listed))
    assert says(at, "Spans and contrasts are left out")
    run_job("datamodel", subset_models(at))
    at = sound(open("compare", **listed))
    table = next(frame.value for frame in at.dataframe if "linear datamodeling score" in frame.value.columns)
    assert list(table["behavior"]) == ["span “The answer is”", "response loss"] and not says(at, "are left out:")
