"""The Learn page: every step is live, asks before it answers, and leads to the same choice on the real page."""

from urllib.parse import parse_qs

import pytest

from app.learn import LESSONS
from app.learn.lesson import SOURCE
from engine.applications.lessons.signals import detections
from engine.scoring import codes
from tests.pages.support import open, says, sound

PAGES = ("compare", "examples", "approximation_error")
STEPS = range(1, len(LESSONS) + 1)


def opened(step, **more):
    return sound(open("learn", step=step, **more))


def charts(at):
    return len(at.get("vega_lite_chart") or at.get("arrow_vega_lite_chart"))


@pytest.mark.parametrize("step", STEPS)
def test_every_step_has_picture_takeaway_question_and_a_way_on(step):
    at, lesson = opened(step), LESSONS[step - 1]
    assert says(at, lesson.title) and says(at, "Take away")
    assert charts(at) == 1 or says(at, "wf-specimens")
    assert at.radio(key=f"learn:answer:{lesson.slug}").label.endswith(lesson.question.text)
    assert not at.success and says(at, "Choose an answer")
    links = [link.proto.label for link in at.get("page_link")]
    assert len(links) == 1


@pytest.mark.parametrize("step", STEPS)
def test_the_answer_comes_after_the_reader_has_chosen(step):
    at, lesson = opened(step), LESSONS[step - 1]
    question = lesson.question
    assert not says(at, question.why)
    radio = f"learn:answer:{lesson.slug}"
    sound(at.radio(key=radio).set_value(question.right).run())
    assert at.success and question.why in at.success[0].value
    wrong = (question.right + 1) % len(question.options)
    sound(at.radio(key=radio).set_value(wrong).run())
    assert not at.success and question.options[question.right] in at.info[0].value


@pytest.mark.parametrize("step", STEPS)
def test_the_link_opens_the_same_problem_and_choice(step):
    link = opened(step).get("page_link")[0].proto
    address = parse_qs(link.query_string)
    assert address["data"] == ["fashion_small"] and address["train"] == [str(SOURCE.n_train)] and link.page in PAGES
    assert all(codes.decode(code) for code in address.get("s", [])) and {"s", "eta", "panel"} & set(address)
    there = sound(open(link.page, **address))
    kept = {name: value for name, value in address.items() if there.query_params.get(name) not in (value, value[0])}
    assert not kept, (kept, dict(there.query_params))
    assert not says(there, "which was ignored")


CONTROLS = {1: ("lesson-out", 4), 2: ("lesson-b", "query_logit"), 4: ("lesson-t", "response"),
            5: ("lesson-b2", "hard_margin"), 8: ("lesson-signal", "both"), 9: ("lesson-run", "rough")}


@pytest.mark.parametrize("step", CONTROLS)
def test_the_control_is_in_the_address_and_moves_the_picture(step):
    name, value = CONTROLS[step]
    before, after = opened(step), opened(step, **{name: value})
    told = [[text for text in at.markdown if "**" in text.value] for at in (before, after)]
    assert [text.value for text in told[0]] != [text.value for text in told[1]]


def test_the_tangent_lesson_drags_eta():
    near, far = opened(6, eta="0.01"), opened(6, eta="1")
    assert says(near, "η = 0.01") and says(far, "η = 1") and sound(near.slider[0].set_value(0.5).run())
    assert near.query_params["eta"] in ("0.5", ["0.5"])


def test_the_signals_lesson_says_what_the_engine_says():
    at = opened(8, **{"lesson-signal": "both"})
    assert says(at, f"**{detections(0.2).auprc('training'):.2f}**") and says(at, "chance is 0.20")


def test_the_lesson_on_rough_trainings_moves_along_epsilon():
    near, far = opened(9), opened(9, **{"lesson-epsilon": "-1.0"})
    assert says(near, "ε = +0.1") and says(far, "At ε = −1 the example is left out")
    sound(near.select_slider(key="choice:lesson-epsilon").set_value(0.5).run())
    assert near.query_params["lesson-epsilon"] in ("0.5", ["0.5"])


def test_the_plane_moves_with_the_point():
    at = opened("play")
    before = [text.value for text in at.markdown]
    sound(at.slider[0].set_value(-2.0).run())
    assert [text.value for text in at.markdown] != before and at.query_params["toy-x"] in ("-2", ["-2"])


def test_the_steps_follow_each_other():
    at = opened(1)
    next_ = next(button for button in at.button if button.label.startswith("Next"))
    sound(next_.click().run())
    assert says(at, LESSONS[1].title) and at.query_params["step"] in ("2", ["2"])
    sound(next(button for button in at.button if button.label == "Back").click().run())
    assert says(at, LESSONS[0].title)


def test_nonsense_in_the_address_is_said_and_ignored():
    at = sound(open("learn", step="99", **{"lesson-out": "x"}))
    assert says(at, "which was ignored") and says(at, LESSONS[0].title)


def test_the_glossary_is_there_and_words_explain_themselves():
    at = opened(2)
    assert says(at, 'class="wf-term"') and says(at, "wf-glossary")
