"""Candidates outside the training data on the pages: uploaded, scored, shown as new, and recomputed elsewhere."""

import io
import re
import shlex
import time
from pathlib import Path

import numpy as np
import pytest

import whichfluence as wf
from app.widgets.jobs.desk import desk
from app.widgets.pickers import specification_list
from engine.cli import main
from engine.data import new_files
from engine.desk import Waiting, commands
from engine.desk.analyses import SubsetModelsRequest
from engine.jobs import run_job
from engine.problems import ProblemSource
from engine.requests.scores import ScoresRequest
from engine.scoring import codes
from engine.scoring.scoring import Scoring
from engine.store import comparisons as saved
from tests.pages.support import open, says, settled, sound

SIZES = {"n_train": 60, "n_queries": 5, "n_test": 500, "seed": 0}
SMALL = {"data": "digits", "train": 60, "queries": 5, "candidates": 4, "nseeds": 1,
         **specification_list.address("first")}
STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
FIRST = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}, "first_order")
REMOVE = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"})
UP = Scoring.of("query_loss", {"kind": "upweight", "alpha": 0.01}, {"kind": "reoptimize"})


@pytest.fixture
def file(home):
    dataset = ProblemSource(dataset="digits").draw()[0]
    buffer = io.BytesIO()
    np.savez(buffer, x=dataset.x_test[100:106], y=dataset.y_test[100:106])
    return buffer.getvalue()


def uploaded(file, page="compare", name="new.npz", **address):
    at = open(page, **{**SMALL, **address})
    at.file_uploader(key="new:file").upload(name, file, "application/octet-stream")
    return sound(settled(at.run()))


def scores_of(source, scorings):
    """As the page has them, once the model is trained."""
    while isinstance(found := desk().scores(source, scorings, None, 60.0), Waiting):
        time.sleep(0.1)
    return [scores.values for scores in found]


def name_of(at):
    return at.query_params["new"][0] if isinstance(at.query_params["new"], list) else at.query_params["new"]


def test_page_command_and_python_give_the_same_scores(file, tmp_path, monkeypatch):
    at = uploaded(file)
    assert says(at, "60 training examples · 6 candidates (new) · 5 queries")
    source = ProblemSource(dataset="digits", new_candidates=name_of(at), **SIZES)
    assert any(commands.problem_file(source)[0] == "problem.json" and name_of(at) in element.value
               for element in at.code)
    of_page = scores_of(source, [STEP, UP])
    monkeypatch.chdir(tmp_path)
    words = shlex.split(commands.problem_file(source)[1])
    Path("problem.json").write_text(words[1], encoding="utf-8")
    drawn = ProblemSource(dataset="digits", **SIZES).draw()[1]
    with np.load(io.BytesIO(file)) as arrays:
        problem = wf.problem("softmax", (drawn.x_train, drawn.y_train), (drawn.x_query, drawn.y_query),
                             new_candidates=(arrays["x"], arrays["y"]))
    for scoring, values in zip([STEP, UP], of_page, strict=True):
        Path("spec.json").write_text(scoring.model_dump_json(), encoding="utf-8")
        assert main(["influence", "--data", "problem.json", "--spec", "spec.json", "--out", "scores.npz"]) == 0
        written = np.load("scores.npz")
        np.testing.assert_allclose(written["scores"], values, rtol=1e-12, atol=0)
        assert written["candidates"].tolist() == list(range(60, 66))
        np.testing.assert_allclose(wf.influence(problem, scoring).values, values, rtol=1e-12, atol=1e-15)
    assert '"first": 60' in Path("scores.json").read_text() and "row 5" in Path("scores.json").read_text()


def test_a_job_computes_the_same_and_other_analyses_refuse(file):
    source = ProblemSource(dataset="digits", new_candidates=name_of(uploaded(file)), **SIZES)
    request = ScoresRequest(scorings=(STEP,), candidates=6).of(source)
    scores = ScoresRequest.answered(run_job(request.name, request.payload))[0]
    np.testing.assert_allclose(scores.values, scores_of(source, [STEP])[0], rtol=1e-12)
    other = ProblemSource(dataset="digits", **SIZES)
    assert source.key != other.key and "new_candidates" not in other.model_dump()
    with pytest.raises(wf.InvalidInput, match="applies to training examples, but the candidates are new"):
        SubsetModelsRequest().of(source)


def test_a_link_and_a_saved_view_reopen_them(file):
    at = uploaded(file)
    next(button for button in at.button if button.label == "Save").click().run()
    parameters = saved.entries()[0].saved.parameters
    assert parameters["new"] == [name_of(at)]
    assert says(sound(open("compare", **parameters)), "6 new candidates")
    at = sound(open("compare", **{**SMALL, "new": "new-0123456789abcdef.npz"}))
    assert says(at, "the file of new candidates is not on this machine") and not says(at, "candidates (new)")


def test_what_takes_away_is_refused_in_the_picker_and_left_out_of_the_presets(file):
    at = uploaded(file)
    assert "vary-p" not in at.button_group(key="compare:preset").options
    sound(at.button(key="compare:add").click().run())
    at.selectbox(key="add:P").set_value("remove").run()
    assert says(at, "`remove` asks about training examples, and the candidates are new ones; score new candidates with")
    listed = [codes.encode(one) for one in (STEP, REMOVE, FIRST)]
    compared = sound(open("compare", **{**SMALL, "s": listed, "new": name_of(at)}))
    assert says(compared, "Number 2 of the list is not computed. `remove` asks about training examples")
    assert says(compared, "6 candidates (new)") and not compared.error
    examples = sound(open("examples", **{**SMALL, "s": listed[1:2], "new": name_of(at)}))
    assert says(examples, "Number 1 of the list is not computed") and says(examples, "6 candidates (new)")


def test_they_are_brought_before_anything_is_listed(file):
    name = name_of(at := uploaded(file, s=[codes.encode(STEP)]))
    assert says(at, "6 new candidates (row 0, row 1, row 2, …)") and name.startswith("new-")


def test_examples_show_them_by_their_names_and_can_go_back(file):
    name = name_of(uploaded(file))
    at = sound(open("examples", **{**SMALL, "new": name, "self": 1, "example": 62}))
    cards = [element.proto.body for element in at.get("html") if 'class="wf-example"' in element.proto.body]
    named = {re.search(r'<div class="once" title="(.*?)">\1</div>', card)[1] for card in cards
             if "rank in each column" in card}
    assert named == {f"row {row}" for row in range(6)}
    assert says(at, "row 2 (outside the training data)")
    at = sound(at.button(key="new:forget").click().run())
    assert "new" not in at.query_params and says(at, "60 training examples · 60 of them candidates")


@pytest.mark.parametrize(("name", "content", "said"), [
    ("new.npz", b"no archive", "damaged"), ("new.pdf", b"", "not one of"), ("new.csv", b"a,label\n1,2\n", "is a table"),
    ("new.jsonl", b"{}", "`new.jsonl` is a table")])
def test_what_does_not_fit_is_refused_and_not_stored(home, name, content, said):
    with pytest.raises(wf.InvalidInput, match=said):
        new_files.keep(io.BytesIO(content), name, ProblemSource(dataset="digits").draw()[0])
    assert new_files.entries() == []
