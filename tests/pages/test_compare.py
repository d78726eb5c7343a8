import json

import numpy as np
import pytest

from app.compare import data as comparisons
from app.compare import editor, search
from app.widgets.jobs.desk import desk
from app.widgets.pickers import specification_list
from app.widgets.results import agreements
from engine.analysis.comparison import compare
from engine.basics.errors import InvalidInput
from engine.desk import Desk, Waiting
from engine.desk.presets import CONVEX as PRESETS
from engine.jobs import run_job
from engine.problems import ProblemSource, SoftmaxProblem
from engine.scoring import codes
from engine.scoring.compute import compute
from tests.pages.support import open, queued, says, sound

pytestmark = pytest.mark.core

SMALL = {"data": "digits", "train": 60, "queries": 20, "candidates": 8, "nseeds": 1}


def opened(preset="first", **more):
    address = specification_list.address(preset)
    return sound(open("compare", **{**SMALL, **address, **more}))


def address(at, name):
    value = at.query_params[name]
    return value if isinstance(value, list) else [value]


def charts(at):
    return len(at.get("vega_lite_chart") or at.get("arrow_vega_lite_chart"))


def press(at, act, place=0):
    """As if the reader had pressed a button of the form that does what the menu of a row does."""
    at.selectbox(key=editor.WHICH).set_value(place).run()
    return sound(at.button(key=f"compare:row:{act}").click().run())


def matrix(at):
    """The HTML of the matrix."""
    found = at.get("bidi_component")
    return json.loads(found[0].proto.json)["html"]


def test_the_page_opens_with_a_first_look():
    at = sound(open("compare", **SMALL))
    assert address(at, "s") == [codes.encode(scoring) for scoring in PRESETS["first"].scorings]
    assert says(at, "Different question: the intervention and training process differ") and charts(at) == 1
    assert matrix(at).count('class="wf-cell') == 12 and matrix(at).count('aria-pressed="true"') == 2


def test_a_list_that_was_emptied_stays_empty_until_something_is_chosen():
    at = sound(open("compare", s=["query_loss/add_occurrence/one_step;eta=0.1"], **SMALL))
    assert says(at, "Add one more") and charts(at) == 0
    press(at, "remove")
    assert says(at, "Nothing to compare yet") and charts(at) == 0
    button = next(button for button in at.button if "Four questions" in button.label)
    sound(button.click().run())
    assert len(address(at, "s")) == 4 and not says(at, "Nothing to compare yet")


def test_a_network_is_not_asked_before_anything_is_chosen(home):
    at = sound(open("compare", model="mlp", **SMALL))
    assert says(at, "Nothing to compare yet") and queued() == []


def test_a_comparison_shows_heatmap_verdict_questions_and_numbers():
    at = opened()
    assert charts(at) == 1 and at.get("plotly_chart")
    assert says(at, "Different question: the intervention and training process differ")
    assert says(at, "as the optimum starts to move") and says(at, 'class="wf-mark T"')
    assert says(at, "60 training examples · 60 candidates (all training examples) · 20 queries · seed 0")
    assert [metric.label for metric in at.metric][:3] == ["Kendall tau", "Top-5% overlap", "Sign agreement"]
    assert all("over queries" in metric.delta for metric in at.metric)


def test_the_numbers_are_the_engines():
    at = opened("vary-b", pair="1-4")
    problem = ProblemSource(n_train=60, n_queries=20, n_test=500).build().problem
    scorings = [PRESETS["vary-b"].scorings[place] for place in (0, 3)]
    found = compare([compute(problem, scorings)]).agreement("kendall_tau", 0, 1)
    assert at.metric[0].value == agreements.signed(found.mean)
    assert at.metric[0].delta.startswith(f"± {found.ci95:.3f}")


def test_everything_chosen_is_in_the_address():
    at = opened(metric="sign", ranks="3", detail="top")
    assert address(at, "pair") == ["1-4"] and address(at, "metric") == ["sign"] and address(at, "ranks") == ["3"]
    assert address(at, "detail") == ["top"]
    assert address(at, "s") == [codes.encode(scoring) for scoring in PRESETS["first"].scorings]
    assert says(at, "for query 3")


@pytest.mark.parametrize("name, text", [("s", "nonsense"), ("s", "query_loss/remove/one_step;eta=0.1"),
                                        ("s", "query_loss/upweight;alpha=-1/reoptimize"), ("pair", "1-99"),
                                        ("pair", "two"), ("pair", "2-2"), ("metric", "tau2"), ("ranks", "999")])
def test_nonsense_in_the_address_is_said_and_ignored(name, text):
    given = specification_list.address("first")
    given[name] = [*given["s"], text] if name == "s" else text
    at = sound(open("compare", **SMALL, **given))
    assert says(at, f"The address said `{name}={text}`, which was ignored")
    assert charts(at) == 1 and len(address(at, "s")) == 4 and text not in address(at, name)


def test_a_repeated_specification_is_said_and_ignored():
    given = specification_list.address("first")
    at = sound(open("compare", **SMALL, **{**given, "s": [*given["s"], given["s"][0]]}))
    assert says(at, "it is listed twice") and len(address(at, "s")) == 4


def test_the_boxes_open_a_pair_and_never_the_same_one_twice():
    at = opened()
    sound(at.selectbox(key="compare:second").set_value(1).run())
    assert address(at, "pair") == ["1-2"]
    sound(at.selectbox(key="compare:second").set_value(0).run())
    assert address(at, "pair") == ["2-1"]


def test_removing_keeps_the_pair_where_it_can():
    at = opened(pair="2-4")
    press(at, "remove")
    assert len(address(at, "s")) == 3 and address(at, "pair") == ["1-3"]
    press(at, "remove")
    assert len(address(at, "s")) == 2 and address(at, "pair") == ["1-2"]


def test_a_row_that_moves_takes_the_open_pair_with_it():
    at = opened(pair="2-4")
    before = address(at, "s")
    press(at, "down", 1)
    assert address(at, "s") == [before[0], before[2], before[1], before[3]] and address(at, "pair") == ["3-4"]
    press(at, "up", 3)
    assert address(at, "s") == [before[0], before[2], before[3], before[1]] and address(at, "pair") == ["4-3"]


def test_a_row_is_edited_and_copied_in_the_dialog():
    at = press(opened(), "edit", 2)
    assert at.selectbox(key="add:B").value == "query_logit" and at.button(key="compare:done").disabled
    at.selectbox(key="add:B").set_value("soft_margin").run()
    sound(at.button(key="compare:done").click().run())
    assert address(at, "s")[2] == "soft_margin/add_occurrence/one_step;eta=0.1" and len(address(at, "s")) == 4
    press(at, "copy", 0)
    assert says(at, "This is already number 1 in the list")
    at.selectbox(key="add:B").set_value("query_logit").run()
    sound(at.button(key="compare:done").click().run())
    assert address(at, "s")[-1] == "query_logit/add_occurrence/one_step;eta=0.1" and address(at, "pair") == ["1-5"]
    assert not any(box.key == "add:B" for box in at.selectbox)


def test_another_number_of_candidates_is_announced():
    at = opened()
    assert not says(at, "candidates are ranked (")
    sound(at.pills(key=specification_list.PILLS).set_value("vary-p").run())
    assert says(at, "8 candidates are ranked (60 before)")
    sound(at.pills(key=specification_list.PILLS).set_value("vary-b").run())
    assert says(at, "60 candidates are ranked (8 before)")
    at.selectbox(key="compare:second").set_value(2).run()
    assert says(sound(at), "60 candidates are ranked")


def test_a_chosen_row_of_the_queries_is_the_query_of_the_page():
    at = opened(detail="queries")
    listed = next(frame for frame in at.dataframe if "picture" in frame.value)
    assert listed.value.agreement.is_monotonic_increasing and len(listed.value) == 20
    assert listed.value.picture.str.startswith("data:image/png").all()
    key, _ = at.session_state["compare:queries:handled"]
    at.session_state[key] = {"selection": {"rows": [3], "columns": [], "cells": []}}
    at.run()
    assert address(sound(at), "ranks") == [str(listed.value["query"].iloc[3])]


def test_a_specification_is_added_and_its_double_refused():
    at = opened()
    at.button(key="compare:add").click().run()
    add = next(button for button in at.button if button.label == "Add to the comparison")
    assert add.disabled and says(at, "This is already number 4 in the list")
    at.selectbox(key="add:B").set_value("hard_margin").run()
    add = next(button for button in at.button if button.label == "Add to the comparison")
    assert not add.disabled
    sound(add.click().run())
    assert address(at, "s")[-1] == "hard_margin/infinitesimal/local_response" and address(at, "pair") == ["1-5"]


def test_a_method_is_added_by_its_name_and_the_dialog_reopens_as_it_was_left():
    at = opened()
    at.button(key="compare:add").click().run()
    at.selectbox(key="compare:search:box").set_value("method:influence_function_lissa").run()
    assert says(at, "as the optimum starts to move")
    assert says(at, "answered by") and says(at, "times the size of the intervention") and says(at, "iterations 50")
    assert says(at, "for 60 candidates") and at.selectbox(key="add:E").value == "lissa"
    at.number_input(key="add:lissa:iterations").set_value(70).run()
    sound(at.button(key="compare:done").click().run())
    assert address(at, "s")[-1] == "query_loss/infinitesimal/local_response/lissa;iterations=70"
    at.button(key="compare:add").click().run()
    assert at.number_input(key="add:lissa:iterations").value == 70 and says(at, "This is already number 5 in the list")
    at.selectbox(key="compare:search:box").set_value("method:less").run()
    assert says(at, "LESS is not defined for") and not any(button.key == "compare:done" for button in at.button)


def test_what_the_last_state_cannot_carry_over_is_said():
    at = opened()
    at.button(key="compare:add").click().run()
    at.selectbox(key="compare:search:box").set_value("question:hard_margin/remove/reoptimize").run()
    assert not says(at, "Not carried over") and at.selectbox(key="add:B").value == "hard_margin"
    at.session_state[search.LAST] = "query_loss/infinitesimal/local_response/ekfac"
    at.button(key="compare:add").click().run()
    assert says(at, "Not carried over, as it does not fit this model: inverse Hessian (EK-FAC)")


def test_named_methods_stand_by_question_with_what_was_measured():
    at = opened("table-1")
    html = matrix(at)
    assert html.count('class="wf-asks"') == 5 and html.count('class="wf-method"') == 8
    assert "τ with exact: This is the exact answer" in html and "not measured" not in html
    assert says(at, "Kendall τ with the exact answer to the method")


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_opens(preset):
    at, n = opened(preset), len(PRESETS[preset].scorings)
    assert address(at, "s") == [codes.encode(scoring) for scoring in PRESETS[preset].scorings]
    assert matrix(at).count('class="wf-cell') == n * (n - 1) and charts(at) == 1


def test_a_preset_replaces_the_list():
    at = opened()
    sound(at.pills(key=specification_list.PILLS).set_value("vary-b").run())
    assert len(address(at, "s")) == 5 and address(at, "pair") == ["1-2"]


def test_many_specifications_are_warned_of():
    given = specification_list.address("first")
    given["s"] = [f"query_loss/add_occurrence/one_step;eta={eta}" for eta in range(1, specification_list.MANY + 2)]
    at = sound(open("compare", **SMALL, **given))
    assert says(at, f"{specification_list.MANY + 1} specifications make a large heatmap")


def test_reoptimisation_ranks_the_same_candidates_everywhere():
    at = opened("table-a6")
    assert says(at, "· 8 candidates (sampled at random from 60 training examples) ·")
    assert says(at, "converged (gradient norm at most")


def test_the_top_list_says_what_ranks_it_and_what_it_is_query_by_query():
    at = opened(detail="top")
    assert says(at, "in both, ranked by the mean score over all queries · query by query, as the agreements above are")
    at.segmented_control(key="choice:ranked").set_value("often").run()
    assert says(sound(at), "by the number of queries that have it in the top") and address(at, "ranked") == ["often"]
    one = opened(detail="top", ranks=3)
    assert says(one, "are in both, for query 3") and "choice:ranked" not in [box.key for box in one.segmented_control]


def test_several_seeds_are_averaged():
    at = opened(nseeds=2)
    assert says(at, "means over seeds 0, 1") and all("over seeds" in metric.delta for metric in at.metric)


def test_candidates_that_did_not_converge_are_counted(monkeypatch):
    whole = Desk.scores

    def flagging(*arguments):
        found = whole(*arguments)
        if isinstance(found, Waiting):
            return found
        return [scores.__class__(scores.scoring, scores.values, scores.candidates,
                                 np.arange(len(scores.candidates)) > 1, scores.residual, scores.provenance)
                for scores in found]

    monkeypatch.setattr("engine.desk.desk.PATIENCE_SECONDS", 0.0)  # the model is never there at once
    desk().memory.clear()
    monkeypatch.setattr(Desk, "scores", flagging)
    at = opened()
    desk().memory.clear()
    assert says(at, "2 candidates left out because they did not converge")
    assert says(at, "2 candidates did not converge")


def test_what_takes_long_becomes_a_job(home, monkeypatch):
    monkeypatch.setattr(SoftmaxProblem, "live_seconds", 0.0)
    desk().memory.clear()
    at = opened("vary-p")
    assert charts(at) == 0 and any(button.label == "Cancel" for button in at.button)


def test_an_error_of_the_engine_is_a_sentence(monkeypatch):
    def refuse(*_):
        raise InvalidInput("The digits have gone; fetch them again.")

    monkeypatch.setattr(comparisons, "ask", refuse)
    at = opened()
    assert [error.value for error in at.error] == ["The digits have gone; fetch them again."]


def test_a_range_of_agreement_is_told_by_the_address_and_by_its_slider():
    at = opened("vary-b", detail="queries", between="kendall:0.5:1.0")
    tables = [shown.value for shown in opened("vary-b", detail="queries").dataframe]
    whole = next(table for table in tables if "agreement" in table)
    kept = whole[whole["agreement"].between(0.5, 1.0)]
    assert at.slider(key="compare:between:kendall_tau").value == (0.5, 1.0)
    assert 0 < len(kept) < len(whole) and says(at, f"{len(kept)} of {len(whole)}, those between 0.50 and 1.00")
    at.slider(key="compare:between:kendall_tau").set_range(-1.0, -0.99).run()
    assert address(at, "between") == ["kendall:-1.00:-0.99"] and says(at, "No query of this pair has a")
    at.slider(key="compare:between:kendall_tau").set_range(-1.0, 1.0).run()
    assert "between" not in at.query_params


@pytest.mark.parametrize("text", ["kendall", "kendall:0.5", "kendall:0.9:0.1", "kendall:-2:1", "none:0:1", "sign:a:1"])
def test_a_range_that_is_none_is_dropped_with_a_message(text):
    at = opened("vary-b", detail="queries", between=text)
    assert says(at, f"between={text}") and says(at, "which was ignored") and says(at, "Select a range in the histogram")


def test_finished_seeds_show_hatched_while_others_are_computed(monkeypatch):
    monkeypatch.setattr("engine.desk.desk.cost.guess", lambda *_: 1e6)
    at = opened(seed=41, nseeds=2)  # of which no other test computes anything
    while not (jobs := desk().jobs.queue.jobs("queued")) or len(jobs) < 2:
        at = at.run()
    assert len({job.batch for job in jobs}) == 1 and says(at, ", 2 seeds**") and "wf-cell" not in matrix(at)
    first = next(job for job in jobs if job.part == "seed 41")
    run_job(first.kind, first.payload)
    desk().jobs.queue.submit(first.kind, first.payload)
    at = sound(at.run())
    assert matrix(at).count(" few") == 12 and says(at, "Hatched cells: computed over 1 of 2 seeds.")
    assert says(at, "seed 41 of 2, the others are not done") and says(at, "Different question")
    assert "seed 42: not started yet" in " ".join(bar.proto.text for bar in at.get("progress"))
