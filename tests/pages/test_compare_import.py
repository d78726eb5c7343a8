"""Scores of other programs on the Compare page: several files at once, each with its claim and its sign, which stay
what they are in every view."""

import io

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app.widgets.pickers import specification_list
from engine.desk import external
from engine.external import saved_tables
from engine.external.files import read_table
from engine.problems import ProblemSource
from engine.scoring import codes
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from engine.store import external_scores
from tests.pages.support import open, says, sound

SMALL = {"data": "digits", "train": 60, "queries": 20, "candidates": 8, "nseeds": 1}
SOURCE = ProblemSource(n_train=60, n_queries=20, n_test=500)
STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
PAIR = (STEP, Scoring.of("query_logit", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}))


def opened(pair=PAIR, **more):
    return sound(open("compare", **{**SMALL, **specification_list.address_of(pair, (0, 1)), **more}))


def scores(turned=False, sign=1, rows=20):
    exact = compute(SOURCE.build().problem, STEP)[0].oriented
    noisy = exact + 0.1 * exact.std(1, keepdims=True) * np.random.default_rng(0).normal(size=exact.shape)
    return (sign * noisy)[:rows].T if turned else (sign * noisy)[:rows]


def content(values, name):
    buffer = io.BytesIO()
    if name.endswith(".npy"):
        np.save(buffer, values)
    else:
        pd.DataFrame(values).to_csv(buffer, index=False)
    return name, buffer.getvalue(), "application/octet-stream"


def upload(at, *files):
    uploader = next(box for box in at.file_uploader if box.key.startswith("bring:file:"))
    return sound(uploader.set_value([content(values, name) for name, values in files]).run())


def press(at, label):
    return sound(next(button for button in at.button if button.label == label).click().run())


def widget(at, kind, part, index=0):
    return [box for box in getattr(at, kind) if box.key.startswith("bring:") and part in box.key][index]


def imported(at, name="captum.npy", values=None, claim=None):
    """With one file in the list."""
    at = upload(at, (name, scores() if values is None else values))
    if claim is not None:
        sound(widget(at, "selectbox", ":claim").set_value(codes.encode(claim)).run())
    return press(at, "Add to the comparison")


def address(at):
    return {name: at.query_params[name] for name in at.query_params}


def listed(at):
    return [codes.decode(text) for text in at.query_params["s"]]


def test_several_files_are_read_at_once_each_with_its_name_its_claim_and_its_sign(home):
    at = upload(opened(), ("captum.npy", scores(sign=-1)), ("theirs.csv", scores(turned=True)))
    assert says(at, "The name says captum") and says(at, "sign read as minus") and says(at, "one row per query")
    assert widget(at, "selectbox", ":claim").value == codes.encode(STEP)
    assert widget(at, "selectbox", ":claim", 1).value is None and says(at, "The file does not state which question")
    assert not any(button.label.startswith("Add all") for button in at.button)
    sound(widget(at, "selectbox", ":claim", 1).set_value(codes.encode(STEP)).run())
    at = press(at, "Add all 2 to the comparison")
    theirs = listed(at)[2:]
    assert [one.route.title for one in theirs] == ["captum", "theirs"]
    assert [one.route.facts["brought"]["sign"] for one in theirs] == ["minus", "plus"]
    assert [one.route.facts["brought"]["sign_decided"]["by"] for one in theirs] == ["agreement with the reference"] * 2
    assert all(one.exact_answer == STEP for one in theirs) and "brought" not in at.query_params
    assert any("4. theirs" in box.options for box in at.selectbox) and says(at, "Sign read as minus")


def test_scores_that_were_taken_out_are_added_again_by_the_search(home):
    at = imported(opened(), claim=STEP)
    code = codes.encode(listed(at)[-1])
    at = sound(next(button for button in at.button if "bring:remove:" in (button.key or "")).click().run())
    assert codes.encode(listed(at)[-1]) != code
    at.button(key="compare:add").click().run()
    at = sound(at.selectbox(key="compare:search:box").set_value("mine:captum · my imported scores").run())
    assert says(at, "captum, scores of another program") and says(at, "none; the scores are stored")
    at = sound(at.button(key="compare:done").click().run())
    assert codes.encode(listed(at)[-1]) == code


def test_a_stored_file_whose_question_is_open_waits_at_the_foot_of_the_page(home):
    at = opened()
    digest = saved_tables.keep(read_table(io.BytesIO(content(scores(), "mine.npy")[1]), "mine.npy"), "mine.npy")
    at.button(key="compare:add").click().run()
    title = f"mine:mine.npy · my file of scores, {digest[:6]}"
    at = sound(at.selectbox(key="compare:search:box").set_value(title).run())
    assert says(at, "This file is at the foot of the page") and digest in at.query_params["brought"]


def test_the_open_pair_shows_agreement_verdict_and_explanation_with_the_claim(home):
    at = imported(opened(explain=1))
    assert at.query_params["pair"] in ("1-3", ["1-3"])
    assert float(at.metric[0].value) > 0.8 and says(at, "the approximation error of captum")
    assert says(at, "Same question, one answer is approximate")


def test_the_verdict_on_imported_scores_knows_the_problem(home):
    """At the optimum of a convex problem nothing drifts, so that both baselines are one question."""
    optimum, other = (Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize", "baseline": baseline})
                      for baseline in ("factual", "reoptimized"))
    values = 1.1 * compute(SOURCE.build().problem, optimum)[0].values
    at = imported(opened((optimum, other)), "theirs.npy", values, optimum)
    at = sound(open("compare", **{**address(at), "pair": "2-3"}))
    assert says(at, "Same question, one answer is approximate") and not says(at, "Both: the training process differs")


def test_another_program_s_scores_two_millionths_away_are_the_same_scores(home):
    """Our GradSim beside another program's, in single precision: no approximation error parts them."""
    ours = Scoring.of(STEP.behavior, STEP.intervention, STEP.process, "first_order")
    values = compute(SOURCE.build().problem, ours)[0].values
    theirs = values + 2e-6 * values.std(1, keepdims=True) * np.sign(np.random.default_rng(0).normal(size=values.shape))
    at = imported(opened((ours, STEP)), values=theirs)
    assert says(at, "Same question, same scores to 3e-6")


def test_tables_that_do_not_fit_are_a_sentence_each_and_the_others_are_taken(home):
    at = upload(opened(), ("few.npy", scores(rows=7)), ("captum.npy", scores()))
    assert any("few.npy: The table is 7 × 60, but the problem has 20 queries" in error.value for error in at.error)
    assert [one.file for one in saved_tables.entries()] == ["captum.npy"] and at.query_params["brought"]


def test_a_sign_that_the_data_do_not_tell_is_asked_once_and_kept(home):
    at = upload(opened(), ("captum.npy", np.random.default_rng(9).normal(size=(20, 60))))
    assert says(at, "does not determine the sign") and widget(at, "radio", ":sign").value is None
    add = next(button for button in at.button if button.label == "Add to the comparison")
    assert add.disabled
    sound(widget(at, "radio", ":order").set_value("candidates").run())
    sound(widget(at, "radio", ":sign").set_value("minus").run())
    at = press(at, "Add to the comparison")
    known = listed(at)[-1].route.facts["brought"]
    assert known["sign"] == "minus" and known["sign_decided"]["by"] == "the user"
    assert says(sound(open("compare", **address(at))), "Sign read as minus")


def test_sizes_are_told_from_signed_scores(home):
    at = imported(opened(), values=np.abs(scores()))
    assert listed(at)[-1].route.unsigned and says(at, "absolute values are compared")


def test_a_first_row_in_doubt_is_asked_for(home):
    def csv(first):
        rows = [",".join(map(str, first)), *[",".join(map(repr, row.tolist())) for row in scores()]]
        return "captum.csv", "\n".join(rows).encode(), "text/csv"

    def bring(at, file):
        return sound(next(box for box in at.file_uploader if box.key.startswith("bring:file:")).set_value([file]).run())

    at = bring(opened(), csv(range(59, -1, -1)))
    assert says(at, "is read as the names of the columns") and saved_tables.entries()[0].file == "captum.csv"
    at = bring(opened(), csv(range(100, 160)))
    asked = next(box for box in at.radio if box.key.startswith("bring:first-row"))
    assert "specify whether it is a header" in asked.label
    sound(asked.set_value("scores").run())
    assert any("The table is 21 × 60, but the problem has 20 queries" in error.value for error in at.error)


def test_a_link_reopens_with_the_scores_and_asks_for_a_file_that_is_gone(home):
    at = imported(opened())
    view, told = address(at), at.metric[0].value
    again = sound(open("compare", **view))
    assert any("3. captum" in box.options for box in again.selectbox) and again.metric[0].value == told
    command = next(code.value for code in again.code if "engine bring" in code.value)
    assert "--name captum" in command and "--axes queries --order candidates --sign plus" in command
    press(again, "Delete")
    assert saved_tables.entries() == [] and list(external_scores.entries()) == []
    elsewhere = sound(open("compare", **view))
    assert any("“captum” are not on this machine" in warning.value for warning in elsewhere.warning)
    healed = upload(elsewhere, ("other name.npy", scores()))
    assert healed.metric[0].value == told and "brought" not in healed.query_params


def test_a_damaged_import_is_listed_with_the_remedy_and_can_be_deleted(home):
    at = imported(opened())
    view, digest = address(at), saved_tables.entries()[0].digest
    (home / "brought" / digest / "manifest.json").write_text("{")
    again = sound(open("compare", **view))
    assert says(again, "It cannot be read") and says(again, "import its source file again")
    next(button for button in again.button if button.key == f"bring:delete:{digest}").click()
    assert not says(sound(again.run()), "It cannot be read") and not saved_tables.imports().unreadable


def test_scores_belong_to_the_data_that_they_were_imported_for(home):
    view = address(imported(opened()))
    at = sound(open("compare", **{**view, "seed": 1}))
    assert any("“captum” belong to different data" in warning.value for warning in at.warning)
    assert says(sound(open("compare", **{**view, "nseeds": 3})),
                "seed 0 alone, because imported scores belong to one seed, ± is")


def test_a_link_of_an_earlier_version_opens_with_its_table_in_the_list(home):
    """It held one table beside the list, with its claim, its name and its sign."""
    from engine.external.table import Table
    digest = saved_tables.keep(Table(scores(sign=-1)), "theirs.npy")
    at = opened(brought=digest, claim=codes.encode(STEP), called="Ours & theirs", sign=-1, axes="queries", against=1)
    theirs = listed(at)[-1]
    assert theirs.route.title == "Ours & theirs" and theirs.exact_answer == STEP
    assert theirs.route.facts["brought"]["sign"] == "minus" and not {"brought", "claim", "sign"} & set(at.query_params)


def test_a_digest_that_is_none_is_dropped(home):
    at = sound(opened(brought="../../secrets"))
    assert any("not the digest" in warning.value for warning in at.warning)


def test_the_report_holds_imported_scores(home):
    from app.compare import report as module
    at, texts = imported(opened()), []
    written = module.report
    module.report = lambda *arguments: texts.append(written(*arguments)) or texts[-1]
    try:
        press(at, "Write the report")
    finally:
        module.report = written
    assert "<summary><h2>Scores of other programs</h2>" in texts[0] and "engine bring --scores captum.npy" in texts[0]


def test_claim_sign_and_tau_stay_whatever_view_is_shown(home):
    """Once τ .996 became −.047 on another choice of where scores come from, by a claim that nobody had made."""
    at = imported(opened(), values=scores(sign=-1))
    mine, told = listed(at)[-1], at.metric[0].value
    assert float(told) > 0.8
    for name, values in {"metric": ["top5", "sign"], "detail": ["top", "queries", "dots"], "ranks": ["3", "all"],
                         "recipe": ["dattri", "trak", "own"], "explain": [0, 1], "hue": ["label"]}.items():
        for value in values:
            at = sound(open("compare", **{**address(at), name: value}))
            assert listed(at)[-1] == mine and at.metric[0].value == told, (name, value)
    for recipe in ("captum", "pydvl", "own"):
        sound(at.selectbox(key="choice:recipe").set_value(recipe).run())
        assert listed(at)[-1] == mine and at.metric[0].value == told
    at = sound(open("compare", **{**address(at), "pair": "2-3"}))
    at = sound(open("compare", **{**address(at), "pair": "1-3"}))
    assert listed(at)[-1] == mine and at.metric[0].value == told
    for page in ("examples", "map", "approximation_error"):
        at = sound(open(page, **address(at)))
        if "s" in at.query_params:
            assert [one for one in listed(at) if not one.route.computes] == [mine], page
    at = sound(open("compare", **address(at), **({} if "s" in at.query_params else {
        "s": [codes.encode(one) for one in (*PAIR, mine)]})))
    assert listed(at)[-1] == mine and says(at, "Sign read as minus")


@pytest.mark.parametrize("kind", ["top", "queries"])
def test_views_of_the_pair_stand(home, kind):
    at = imported(opened(detail=kind))
    assert says(at, "captum") and not at.exception


def test_a_claim_stays_when_the_list_and_the_source_of_scores_change(home):
    at = upload(opened(), ("theirs.npy", scores()))
    sound(widget(at, "selectbox", ":claim").set_value(codes.encode(PAIR[1])).run())
    at = sound(at.selectbox(key="choice:recipe").set_value("trak").run())
    assert widget(at, "selectbox", ":claim").value == codes.encode(PAIR[1])
    other = Scoring.of("soft_margin", STEP.intervention, STEP.process)
    at.query_params["s"] = [codes.encode(STEP), codes.encode(other)]
    box = widget(sound(at.run()), "selectbox", ":claim")
    assert box.value == codes.encode(PAIR[1]) and any(title.startswith("as chosen: ") for title in box.options)


def test_another_name_leaves_open_nothing_that_the_data_have_decided(home, monkeypatch):
    """Where the reference cannot be had any more, the sign is still the one that it decided; another claim asks."""
    at = imported(opened())
    [held] = [one for one in listed(at) if not one.route.computes]
    assert held.route.facts["brought"]["sign_decided"]["by"] == "agreement with the reference"
    monkeypatch.setattr(external, "reference", lambda *rest: external.Held(None, ""))
    drawn = AppTest.from_function(_edit, args=(held, SOURCE), default_timeout=120).run()
    again = drawn.session_state["edited"]
    assert again.route.facts["brought"]["sign_decided"] == held.route.facts["brought"]["sign_decided"]
    drawn.selectbox[0].set_value(codes.encode(PAIR[1])).run()
    assert drawn.session_state["edited"] is None and drawn.radio[-1].value is None


def _edit(held, source):
    import streamlit as st

    from app.compare import external_form
    from tests.pages.test_compare_import import PAIR

    st.session_state["edited"] = external_form.edited(held, PAIR, source)
