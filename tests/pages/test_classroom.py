"""Learn before a class: predict, reveal, take away in this order, and predictions answered by what is shown."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from app.charts.enlarged import enlarged, sized
from app.learn import behavior, classroom, counterfactual, intervention, lesson, panel, process, stages
from app.widgets.frame import projector
from app.widgets.jobs.desk import desk
from engine.applications.lessons import comparing, rough, signals, toy
from engine.applications.lessons.curve import along_eta, most_curved
from engine.desk import Waiting
from engine.metrics.ranking import bottom, ranks, top
from engine.scoring.named import NAMED
from tests.pages.support import TIMEOUT, open, revealed, says, sound

STEPS = list(panel.STEPS)


def opened(step, **more):
    return sound(open("learn", step=step, classroom="1", **more))


def pressed(at, label):
    return sound(next(button for button in at.button if button.label == label).click().run())


def charts(at):
    return len(at.get("vega_lite_chart") or at.get("arrow_vega_lite_chart"))


@pytest.mark.parametrize("step", STEPS)
def test_a_class_predicts_before_it_sees_and_takes_away_what_it_saw(step):
    shown = panel.STEPS[step]
    right, question = shown.prediction.right, shown.prediction
    at = opened(step)
    assert says(at, shown.idea) and (charts(at) or says(at, "wf-specimens")) and not says(at, shown.takeaway)
    assert not says(at, question.why)
    sound(at.radio(key=f"learn:predict:{shown.slug}").set_value(right).run())
    assert not says(at, question.why)
    at = pressed(at, "Reveal")
    assert (charts(at) or says(at, "wf-specimens")) and not says(at, shown.takeaway)
    assert "As you expected" in at.success[0].value and question.why in at.success[0].value
    assert at.query_params["stage"] in (stages.REVEAL, [stages.REVEAL])
    at = pressed(at, "Take away")
    assert says(at, shown.takeaway) and not charts(at)
    assert at.radio(key=f"learn:answer:{shown.slug}").label.endswith(shown.question.text)


def test_a_wrong_expectation_is_kept_and_told():
    at = opened("2")
    sound(at.radio(key="learn:predict:behavior").set_value(0).run())
    at = pressed(at, "Reveal")
    assert "You expected: All 8." in at.success[0].value
    assert pressed(at, "Back").radio(key="learn:predict:behavior").value == 0


def test_the_way_leads_through_all_lessons_and_back():
    steps = ["1", "2"]
    assert stages.neighbours("1", stages.PREDICT, steps) == (None, ("1", stages.REVEAL))
    assert stages.neighbours("1", stages.TAKE, steps) == (("1", stages.REVEAL), ("2", stages.PREDICT))
    assert stages.neighbours("2", stages.TAKE, steps) == (("2", stages.REVEAL), None)
    at = opened("1", stage="takeaway")
    assert says(at, panel.STEPS["1"].idea) and not says(at, panel.STEPS["1"].takeaway), "a link begins at the question"
    for label in ("Reveal", "Take away", "Next lesson"):
        at = pressed(at, label)
    assert says(at, panel.title("2")) and says(at, panel.STEPS["2"].idea)
    assert says(pressed(at, "Back"), panel.STEPS["1"].takeaway)


def test_it_is_entered_and_left_at_the_same_step():
    at = pressed(sound(open("learn", step="3")), "Classroom mode")
    assert says(at, panel.STEPS["3"].idea) and at.query_params["classroom"] in ("1", ["1"])
    at = pressed(at, "Leave")
    assert "classroom" not in at.query_params and "stage" not in at.query_params
    assert at.title[0].value == "Learn" and says(at, panel.title("3"))


def test_a_page_that_a_lesson_leads_to_keeps_the_letters_and_knows_the_way_back():
    at = sound(open("guide", classroom="1"))
    assert says(at, "Guide") and at.get("page_link")[0].proto.label == "Back to the lesson"
    assert "classroom" not in pressed(at, "Usual size").query_params


def test_the_workbench_opens_at_the_query_of_the_lesson():
    at = pressed(opened("4", **{"lesson-query": "7"}), "Reveal")
    link = next(one.proto for one in at.get("page_link") if one.proto.label == "Workbench")
    assert {"ranks=7", "classroom=1"} <= set(link.query_string.split("&"))


def session(visitor, step, **more):
    """A session of a browser that has been here before."""
    return sound(open("learn", state={"_visitor": visitor}, step=step, **more))


@pytest.mark.parametrize("mode", [{}, {"classroom": "1"}])
def test_a_prediction_outlives_a_reload_and_is_nobody_elses(mode):
    """T and a reload begin a new session of the same browser, at the same address."""
    at = session("a" * 32, "2", **mode)
    sound(at.radio(key=stages.widget("behavior")).set_value(0).run())
    at = session("a" * 32, "2", **mode)
    assert at.radio(key=stages.widget("behavior")).value == 0 and not says(at, "You expected")
    at = pressed(at, "Reveal" if mode else "Show the result")
    assert says(at, "You expected: All 8.")
    address = {**mode, "stage": "reveal"} if mode else mode
    assert says(session("a" * 32, "2", **address), "You expected: All 8.")
    other = session("b" * 32, "2", **address)
    assert not says(other, "You expected") and other.radio(key=stages.widget("behavior")).value is None


def test_going_on_never_gives_an_answer():
    at = pressed(opened("4"), "Reveal")
    assert not says(at, "As you expected") and not says(at, "You expected")


def test_a_lesson_is_reset_with_all_that_was_chosen():
    at = revealed(open("learn", step="4", **{"lesson-query": "7", "lesson-rate": "0.5", "lesson-t": "five"}))
    assert at.selectbox(key="choice:lesson-query").value == 7 and at.query_params["lesson-query"] in ("7", ["7"])
    at = pressed(at, "Reset the lesson")
    assert not {"lesson-query", "lesson-rate", "lesson-data"} & set(at.query_params)
    assert at.radio(key=stages.widget("process")).value is None and not says(at, panel.STEPS["4"].takeaway)


def test_a_lesson_takes_other_data_and_another_rate():
    at = revealed(open("learn", step="2", **{"lesson-data": "digits"}))
    assert not says(at, "which was ignored") and says(at, "wf-specimens")
    assert says(revealed(open("learn", step="8", **{"lesson-rho": "0.4"})), "of which 200 carry a wrong label")


@pytest.mark.parametrize(("cookie", "scale"), [("1.5", 1.5), ("99", 4.0), ("nan", 1.0), ("x", 1.0)])
def test_letters_and_charts_grow_with_the_screen(monkeypatch, cookie, scale):
    fake = SimpleNamespace(context=SimpleNamespace(cookies={projector.COOKIE: cookie}), session_state={})
    monkeypatch.setattr(projector, "st", fake)
    assert projector.scale() == scale
    with enlarged(400, scale):
        assert sized({"mark": {"size": 10}, "height": 3})["height"] == round(400 * scale)


def test_an_unknown_stage_is_said_and_the_first_is_shown():
    at = opened("1", stage="end")
    assert says(at, "which was ignored") and says(at, panel.STEPS["1"].idea)


def test_charts_are_enlarged_only_there():
    large, plain = pressed(opened("6"), "Reveal"), revealed(open("learn", step="6"))
    specs = [(at.get("vega_lite_chart") or at.get("arrow_vega_lite_chart"))[0].proto.spec for at in (large, plain)]
    assert f'"height": {classroom.HEIGHT}' in specs[0] and '"labelFontSize": 21' in specs[0]
    assert "labelFontSize" not in specs[1]


def waited(ask):
    deadline = time.monotonic() + TIMEOUT
    while isinstance(found := ask(), Waiting):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found


def right(module):
    """The option of a lesson's prediction that is called right."""
    question = module.LESSON.prediction
    return question.options[question.right]


class TestPredictions:
    """The right option of each prediction, from the numbers that the lesson shows."""

    @pytest.fixture(scope="class")
    def problem(self):
        return waited(lambda: desk().sampled(lesson.SOURCE))

    def scores(self, *scorings, candidates=lesson.REOPTIMISED):
        return waited(lambda: desk().scores(lesson.SOURCE, scorings, candidates))

    def test_leaving_out_lowers_and_raises(self, problem):
        found = self.scores(counterfactual.LEFT_OUT)[0]
        query = comparing.doubtful(problem.problem)
        ranking = ranks(found.trusted[query])
        change = found.values[query, [*top(ranking, counterfactual.SHOWN), *bottom(ranking, counterfactual.SHOWN)]]
        assert (change > 0).any() and (change < 0).any()
        assert right(counterfactual) == "It falls for some and rises for others"

    def test_some_of_the_first_stay(self):
        loss, margin = self.scores(comparing.step("query_loss"), comparing.step("hard_margin"),
                                   candidates=lesson.SOURCE.n_train)
        query = comparing.most_different(loss, margin, behavior.SHOWN)
        kept = set.intersection(*(set(top(ranks(one.trusted[query]), behavior.SHOWN)) for one in (loss, margin)))
        assert 0 < len(kept) < behavior.SHOWN and right(behavior) == "Some of them"

    def test_a_heavy_weight_costs_a_little_agreement(self):
        removed, light, heavy = self.scores(intervention.REMOVED, *map(intervention.upweighted, (1e-5, 1e-1)))
        near, far = comparing.mean_tau(removed, light), comparing.mean_tau(removed, heavy)
        assert near > far + 0.05 > 0.7 and right(intervention) == "It falls a little"

    def test_a_step_and_the_optimum_hardly_agree(self):
        step, optimum = self.scores(comparing.step("query_loss"), process.PROCESSES["optimum"].scoring)
        assert abs(comparing.mean_tau(step, optimum)) < 0.1 and right(process) == "Hardly at all"

    def test_the_soft_margin_rises_with_the_query_loss(self, problem):
        both = self.scores(*(comparing.step(name, 1.0) for name in ("query_loss", "soft_margin")),
                           candidates=lesson.SOURCE.n_train)
        query = comparing.doubtful(problem.problem)
        order = np.argsort(both[0].oriented[query])
        assert (np.diff(both[1].oriented[query][order]) >= -1e-12).all()
        assert panel.STEPS["5"].prediction.right == 1

    def test_the_gap_grows_by_more_than_the_step(self, problem):
        query, row = most_curved(problem.problem, 1.0)
        curve = along_eta(problem.problem, query, row, np.array([0.1, 1.0]))
        near, far = (curve.curve - curve.tangent).abs()
        assert far > 10 * near and panel.STEPS["6"].prediction.right == 2

    def test_similarity_is_the_exact_answer(self, problem):
        scoring = NAMED["repsim"].implied(eta=0.1)
        found = self.scores(scoring, candidates=lesson.SOURCE.n_train)[0]
        query = comparing.doubtful(problem.problem)
        kernel = problem.problem.kernel(problem.problem.candidates)[query].numpy()
        np.testing.assert_allclose(found.oriented[query], 0.1 * kernel, atol=1e-12)
        assert panel.STEPS["7"].prediction.right == 0

    def test_the_training_signal_finds_most(self):
        found = signals.detections(0.2)
        alone, training, both = (found.auprc(stage) for stage in signals.STAGES)
        assert training - alone > 0.3 > both - training and panel.STEPS["8"].prediction.right == 0

    def test_the_line_tells_the_smooth_training_only(self):
        missed = {}
        for kind in rough.KINDS:
            frame = rough.along_epsilon(kind)
            missed[kind] = (frame.curve - frame.tangent).abs().max() / frame.curve.abs().max()
        assert missed["smooth"] < 0.1 and missed["rough"] > 1 and panel.STEPS["9"].prediction.right == 1

    def test_the_line_overshoots_on_the_wrong_side(self):
        for place in ((2.5, 2.5), (3.0, 1.0), (1.0, 3.0)):
            answer = toy.answer(*place, 0)
            before = answer.factual.probability
            assert before - answer.linearised.probability > before - answer.exact.probability > 0
        assert panel.STEPS["play"].prediction.right == 1
