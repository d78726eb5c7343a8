"""The Compare page explains its pair as the engine does, and takes scores from elsewhere."""

import io
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from app.compare import explanation as explanation_panel
from app.widgets.jobs.desk import desk
from app.widgets.pickers import specification_list
from engine.analysis.explanation import LEAST_SLACK, explain
from engine.analysis.protocols import PROTOCOLS
from engine.basics.errors import InvalidInput
from engine.desk import Desk, Waiting
from engine.desk.presets import CONVEX as PRESETS
from engine.external import saved_tables as kept_tables
from engine.jobs import run_job
from engine.metrics.agreement import FURTHER
from engine.problems import ProblemSource
from engine.scoring.compute import compute
from engine.scoring.named import NAMED
from engine.scoring.scoring import Scoring
from tests.pages.support import open, says, sound

SMALL = {"data": "digits", "train": 60, "queries": 20, "candidates": 8, "nseeds": 1}
SOURCE = ProblemSource(n_train=60, n_queries=20, n_test=500)
STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})


def opened(preset="first", **more):
    return sound(open("compare", **{**SMALL, **specification_list.address(preset), **more}))


def test_the_explanation_is_the_engines():
    at = opened(explain=1)
    first, second = (PRESETS["first"].scorings[place] for place in PRESETS["first"].pair)
    expected = explain(SOURCE.build().problem, first, second)
    assert says(at, expected.sentence) and says(at, f"and is {expected.path:.3f} long")
    if expected.slack >= LEAST_SLACK:
        assert says(at, f"every share is of {expected.path:.3f}, not of {expected.direct.mean:.3f}")
    else:
        assert says(at, "as far as the ends are apart")


def test_the_switch_is_on_where_that_takes_a_moment_and_in_the_address_once_it_is_used():
    at = opened()
    assert at.toggle(key="choice:explain").value and "explain" not in at.query_params
    sound(at.toggle(key="choice:explain").set_value(False).run())
    assert not says(at, "of the way is") and at.query_params["explain"] in ("0", ["0"])
    further = at.metric[3:]
    assert [metric.label for metric in further] == ["Spearman rho", "Rank-biased overlap", "Top-5% Jaccard"]
    assert all(FURTHER[name].definition in metric.help for name, metric in zip(FURTHER, further, strict=True))
    sound(at.toggle(key="choice:explain").set_value(True).run())
    assert says(at, "of the way is") and at.query_params["explain"] in ("1", ["1"])


def test_causes_that_cannot_be_told_apart_have_a_bracket():
    given = specification_list.address_of([NAMED["repsim"].implied(), NAMED["influence_function"].implied()], (0, 1))
    at = sound(open("compare", **SMALL, **given, explain=1))
    assert says(at, "the intervention and the training process together")
    assert says(at, "The training process: between 0% and") and says(at, "No specification has the intervention")


def test_what_cannot_be_computed_is_said(monkeypatch):
    whole, refused = Desk.scores, Scoring.of("query_loss", {"kind": "infinitesimal"},
                                                  {"kind": "local_response", "damping": 0.5})

    def refusing(desk, source, scorings, *more):
        if refused in scorings:
            raise InvalidInput("Too large for this machine.")
        return whole(desk, source, scorings, *more)

    monkeypatch.setattr(Desk, "scores", refusing)
    approximate = Scoring.of(refused.behavior, refused.intervention, refused.process, "cg")
    at = sound(open("compare", **SMALL, **specification_list.address_of([approximate, STEP], (0, 1)), explain=1))
    assert says(at, "Too large for this machine.") and says(at, "together")


def test_a_run_that_failed_leaves_a_bracket(monkeypatch):
    whole, failing = Desk.scores, Scoring.of("query_loss", {"kind": "infinitesimal"},
                                                  {"kind": "local_response", "damping": 0.5})
    monkeypatch.setattr(Desk, "scores", lambda desk, source, scorings, *more: (
        Waiting("A run", job="1") if failing in scorings else whole(desk, source, scorings, *more)))
    failed = SimpleNamespace(state="failed", error="It needs the Hessian of 53,002 parameters.")
    monkeypatch.setattr("engine.jobs.JobQueue.get", lambda queue, job: failed if job == "1" else None)
    approximate = Scoring.of(failing.behavior, failing.intervention, failing.process, "cg")
    at = sound(open("compare", **SMALL, **specification_list.address_of([approximate, STEP], (0, 1)), explain=1))
    assert says(at, "are missing: It needs the Hessian of 53,002 parameters.") and says(at, "together")


def test_all_seeds_are_explained_together():
    at = opened(explain=1, nseeds=2)
    drawn = [ProblemSource(n_train=60, n_queries=20, n_test=500, seed=seed).build().problem for seed in (0, 1)]
    expected = explain(drawn, *(PRESETS["first"].scorings[place] for place in PRESETS["first"].pair))
    assert says(at, expected.sentence) and says(at, "The fractions, seed by seed")
    table = next(frame.value for frame in at.dataframe if "± 95% (share)" in frame.value.columns)
    assert table["share of the way"].tolist() == pytest.approx([100 * link.share for link in expected.links])
    assert any("--data problem-0.npz --data problem-1.npz" in code.value for code in at.code)


def test_the_command_recomputes_the_explanation():
    text = explanation_panel.command([SOURCE])
    assert "engine explain" in text and "explanation.json" in text and "explanation-specs.json" in text


def scores(turned=False, sign=1, rows=20):
    exact = compute(SOURCE.build().problem, STEP)[0].oriented
    noisy = exact + 0.1 * exact.std(1, keepdims=True) * np.random.default_rng(0).normal(size=exact.shape)
    return (sign * noisy)[:rows].T if turned else (sign * noisy)[:rows]


def upload(at, values, name="theirs.npy"):
    buffer = io.BytesIO()
    if name.endswith(".npy"):
        np.save(buffer, values)
    else:
        pd.DataFrame(values).to_csv(buffer, index=False)
    uploader = next(box for box in at.file_uploader if box.key.startswith("bring:file:"))
    return sound(uploader.set_value((name, buffer.getvalue(), "application/octet-stream")).run())


@pytest.mark.parametrize(("name", "turned", "sign"), [("theirs.npy", False, 1), ("theirs.csv", True, -1)])
def test_brought_scores_are_read_compared_and_explained(home, name, turned, sign):
    at = upload(opened(), scores(turned, sign), name)
    assert says(at, "one row a training example" if turned else "one row a query")
    assert says(at, f"sign read as {'plus' if sign > 0 else 'minus'}")
    assert [metric.label for metric in at.metric][6] == "Kendall tau"
    assert float(at.metric[6].value) > 0.8
    assert says(at, "the approximation error of theirs")


def test_the_verdict_on_brought_scores_knows_the_problem(home):
    """At the optimum of a convex problem nothing drifts, so that both baselines are one question."""
    optimum, other = (Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize", "baseline": baseline})
                      for baseline in ("factual", "reoptimized"))
    listed = specification_list.address_of([optimum, other], (0, 1))
    at = sound(open("compare", **SMALL, **listed, against=2))
    at = upload(at, 1.1 * compute(SOURCE.build().problem, optimum)[0].values)
    assert says(at, "Same question, one answer is approximate") and not says(at, "Both: the training process differs")


def test_another_program_s_scores_two_millionths_away_are_the_same_scores(home):
    """Our GradSim beside another program's, in single precision: no approximation error parts them."""
    ours = Scoring.of(STEP.behavior, STEP.intervention, STEP.process, "first_order")
    values = compute(SOURCE.build().problem, ours)[0].values
    theirs = values + 2e-6 * values.std(1, keepdims=True) * np.sign(np.random.default_rng(0).normal(size=values.shape))
    listed = specification_list.address_of([ours, STEP], (0, 1))
    at = upload(sound(open("compare", **SMALL, **listed, against=1)), theirs)
    assert says(at, "Same question, same scores to 3e-6")
    assert not says(at, "Same question, both answers are approximate")


def test_a_table_of_another_problem_is_a_sentence(home):
    at = upload(opened(), scores(rows=7))
    assert any("The table is 7 × 60, but the problem has 20 queries" in error.value for error in at.error)
    assert kept_tables.entries() == []


def test_unrelated_scores_ask_for_the_sign(home):
    at = upload(opened(), np.random.default_rng(9).normal(size=(20, 60)))
    assert says(at, "do not tell the sign")


def test_a_link_with_brought_scores_reopens_with_them(home):
    at = upload(opened(), scores())
    sound(at.selectbox(key="choice:against").set_value(2).run())
    sound(at.text_input(key="choice:called").set_value("Ours & theirs").run())
    address = {name: at.query_params[name] for name in at.query_params}
    told = at.metric[6].value
    again = sound(open("compare", **address))
    assert says(again, "the approximation error of Ours &amp; theirs") and says(again, "In use: **theirs\\.npy**")
    assert again.selectbox(key="choice:against").value == 2 and told == again.metric[6].value
    command = next(code.value for code in again.code if "engine bring" in code.value)
    assert "--name 'Ours & theirs'" in command and "--axes queries --sign plus" in command
    sound(next(button for button in again.button if button.label == "Delete").click().run())
    assert kept_tables.entries() == [] and "brought" not in again.query_params

    elsewhere = sound(open("compare", **address))
    assert any("not on this machine; bring the file" in warning.value for warning in elsewhere.warning)
    assert says(upload(elsewhere, scores()), "the approximation error of Ours &amp; theirs")


def test_a_digest_that_is_none_is_dropped(home):
    at = sound(opened(brought="../../secrets"))
    assert any("not the digest" in warning.value for warning in at.warning)


def test_a_first_row_of_candidates_is_told_and_one_in_doubt_asked_for(home):
    def csv(first):
        return "\n".join([",".join(map(str, first)), *[",".join(map(repr, row.tolist())) for row in scores()]]).encode()

    def bring(at, content):
        uploader = next(box for box in at.file_uploader if box.key.startswith("bring:file:"))
        return sound(uploader.set_value(("named.csv", content, "text/csv")).run())

    at = bring(opened(), csv(range(59, -1, -1)))
    assert says(at, "is read as the names of the columns") and says(at, "The table is 20 × 60")
    at = bring(opened(), csv(range(100, 160)))
    asked = at.radio(key="bring:first-row")
    assert "say what it is" in asked.label and kept_tables.entries()[0].file == "named.csv"
    sound(asked.set_value("scores").run())
    assert any("The table is 21 × 60, but the problem has 20 queries" in error.value for error in at.error)
    sound(at.radio(key="bring:first-row").set_value("names").run())
    assert any("no scores of training example" in error.value for error in at.error)
    assert len(kept_tables.entries()) == 1


def test_the_report_holds_brought_scores(home):
    from app.compare import report as module
    at, texts = upload(opened(), scores()), []
    written = module.report
    module.report = lambda *arguments: texts.append(written(*arguments)) or texts[-1]
    try:
        sound(next(button for button in at.button if button.label == "Write the report").click().run())
    finally:
        module.report = written
    assert "<h2>External scores: theirs</h2>" in texts[0] and "engine bring --scores theirs.npy" in texts[0]


def test_models_on_subsets_are_trained_as_a_job_and_then_scored(home, monkeypatch):
    monkeypatch.setattr("app.compare.datamodels.SUBSETS", 6)
    at = opened()
    train = next(button for button in at.button if button.label.startswith("Train 6 models"))
    sound(train.click().run())
    assert any(button.label == "Cancel" for button in at.button)
    run_job("datamodel", desk().jobs.queue.jobs()[0].payload, home)
    at = opened()
    table = next(frame.value for frame in at.dataframe if "linear datamodeling score" in frame.value.columns)
    assert len(table) == len(PRESETS["first"].scorings) and table["linear datamodeling score"].between(-1, 1).all()
    assert says(at, "6 models on 50% of the candidates,") and says(at, "of the training data · protocol `weights`")
    assert says(at, PROTOCOLS["weights"].definition) and says(at, "--protocol weights --among candidates")
