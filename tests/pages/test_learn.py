"""The Learn page: every step is live, asks before it answers, and leads to the same choice on the real page."""

import re
from urllib.parse import parse_qs

import pytest

from app.learn import LESSONS
from app.learn.lesson import SOURCE
from engine.applications.lessons.rough import ACTIVATIONS, KINDS, RECIPES, along_epsilon
from engine.applications.lessons.signals import DRAWS, detections
from engine.metrics.intervals import t_interval
from engine.scoring import codes
from tests.pages.support import open, revealed, says, sound

pytestmark = pytest.mark.core

PAGES = ("compare", "examples", "approximation_error")
STEPS = range(1, len(LESSONS) + 1)


def opened(step, **more):
    """A step whose result was asked for."""
    return revealed(open("learn", step=step, **more))


def charts(at):
    return len(at.get("vega_lite_chart") or at.get("arrow_vega_lite_chart"))


@pytest.mark.parametrize("step", STEPS)
def test_every_step_has_picture_takeaway_question_and_a_way_on(step):
    at, lesson = opened(step), LESSONS[step - 1]
    assert says(at, lesson.title) and says(at, "Take away")
    assert charts(at) == 1 or says(at, "wf-specimens")
    assert at.radio(key=f"learn:answer:{lesson.slug}").label.endswith(lesson.question.text)
    assert at.radio(key=f"learn:answer:{lesson.slug}").value is None and says(at, "Choose an answer")
    links = [link.proto.label for link in at.get("page_link")]
    assert len([link for link in links if link != "Teaching with it"]) == 1


def test_one_button_is_primary_before_and_after_the_result():
    def primary(at):
        return [button.label for button in at.button if button.proto.type == "primary"]

    at = sound(open("learn", step=2))
    assert primary(at) == ["Show the result"]
    assert primary(revealed(at)) == ["Next step"]


@pytest.mark.parametrize("step", STEPS)
def test_the_answer_comes_after_the_reader_has_chosen(step):
    at, lesson = opened(step), LESSONS[step - 1]
    question = lesson.question
    assert not says(at, question.why)
    radio = f"learn:answer:{lesson.slug}"
    sound(at.radio(key=radio).set_value(question.right).run())
    assert question.why in at.success[-1].value
    wrong = (question.right + 1) % len(question.options)
    sound(at.radio(key=radio).set_value(wrong).run())
    assert not says(at, f"Yes. {question.why}") and question.options[question.right] in at.info[0].value


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


def test_without_a_file_of_answers_a_step_is_opened_in_the_session(home):
    (home / "lessons.sqlite").mkdir(parents=True)
    at = opened(2)
    assert not at.error and "Reset the lesson" in [button.label for button in at.button]


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


def words(at):
    """What the page says, without what marks its words."""
    return re.sub(r"<[^>]+>|\*\*", "", " ".join(block.value for block in at.markdown)).replace("−", "-")


def numbers(at, pattern):
    """The numbers that a sentence of the page shows, by a regular expression with a group for each."""
    found = re.search(pattern, words(at))
    assert found, f"no sentence reads “{pattern}”"
    return [float(one) for one in found.groups()]


NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"


def test_what_step_2_takes_away():
    """Soft margin leaves the ranking as it is, hard margin and logit do not; on average, not at the chosen query."""
    assert "The soft margin is an increasing function" in LESSONS[1].takeaway
    stay = {}
    for behavior in ("soft_margin", "hard_margin", "query_logit"):
        at = opened(2, **{"lesson-b": behavior})
        assert "Of 60 queries, the one where query loss and hard margin share the fewest" in words(at)
        stay[behavior] = numbers(at, rf"{NUMBER} of the first 8 stay on average.*τ = {NUMBER}\.")
    assert stay["soft_margin"] == [8.0, 1.0]
    assert all(kept < 8 and tau < 0.99 for kept, tau in (stay["hard_margin"], stay["query_logit"]))


def test_what_step_3_takes_away():
    """A lighter weight ranks more as the derivative does; leaving out is like none of them."""
    assert LESSONS[2].takeaway.startswith("With a small weight the ranking is that of the derivative")
    pattern = rf"τ = {NUMBER}, and this one with the derivative.*?τ = {NUMBER}\."
    found = [numbers(opened(3, **{"lesson-p": str(alpha)}), pattern) for alpha in (1e-5, 1e-3, 1e-1)]
    left_out, derivative = zip(*found, strict=True)
    assert derivative[0] > 0.98 and derivative[0] >= derivative[1] > derivative[2] and max(left_out) < 0.95


def test_what_step_4_takes_away():
    """One step and a new optimum: the sizes agree, the signs as chance has them; five steps agree in all."""
    assert "agree on which examples matter, but hardly on which help" in LESSONS[3].takeaway
    pattern = rf"τ = {NUMBER}; τ of the sizes alone, without the signs, {NUMBER}; the same sign for {NUMBER}%"
    at = opened(4)
    tau, sizes, signs = numbers(at, pattern)
    assert "differ in P and T." in words(at) and abs(tau) < 0.15 and sizes > 0.5 and abs(signs - 50) < 10
    at = opened(4, **{"lesson-t": "five"})
    tau, sizes, signs = numbers(at, pattern)
    assert "differ in T." in words(at) and tau > 0.9 and sizes > 0.8 and signs > 90


def test_what_step_5_takes_away():
    taus = [numbers(opened(5, **{"lesson-b2": name}), rf"Kendall's τ = {NUMBER}\.")[0]
            for name in ("soft_margin", "probability", "hard_margin")]
    assert taus[:2] == [1.0, 1.0] and taus[2] < 0.99


def test_what_step_6_takes_away():
    """The gap of the pair that the page chose and the mean gap grow more than tenfold for ten times the step."""
    assert LESSONS[5].prediction.options[LESSONS[5].prediction.right] == "More than ten times"
    at = opened(6)
    assert "η = 0.1" in words(at) and "largest gap" in words(at)
    here, mean = numbers(at, rf"the gap grows {NUMBER}-fold here, and the mean gap {NUMBER}-fold")
    assert here > 10 and mean > 10
    near, far = (numbers(opened(6, eta=eta), rf"a gap of {NUMBER}\. Of all")[0] for eta in ("0.1", "1"))
    assert far / near == pytest.approx(here, rel=0.03)


def test_what_step_7_takes_away():
    """Two models are subtracted, so that the distance from the line is rounding, and not nothing."""
    distance, = numbers(opened(7), rf"largest distance {NUMBER}\)")
    assert 0 < distance < 1e-12


def test_what_step_8_takes_away():
    """Over draws, the training signal brings what is found, and the behavior signal costs some of it."""
    assert "finds fewer wrong labels, not more" in LESSONS[7].takeaway
    alone, training, both = numbers(opened(8), rf"95% interval: similarity alone {NUMBER} ± [\d.]+, \+ training signal "
                                               rf"{NUMBER} ± [\d.]+, \+ behavior signal {NUMBER} ±")
    assert training > alone + 0.2 and both < training
    draws = [detections(0.2, seed) for seed in range(DRAWS)]
    mean, half = t_interval([one.auprc("training") - one.auprc("both") for one in draws])
    assert mean - half > 0


def test_what_step_9_takes_away():
    """Off by little in the smooth training and by about as much as there is in the rough one; one change at a time."""
    smooth, rough = (numbers(opened(9, **{"lesson-run": kind}), rf"error of the line is {NUMBER}% of the true")[0]
                     for kind in ("smooth", "rough"))
    assert smooth < 15 and rough > 50
    frame = along_epsilon("rough")
    quarter = frame.iloc[(frame["epsilon"] - 0.25).abs().argmin()]
    assert "already fails at ε = 0.25" in LESSONS[8].question.text
    assert abs(quarter.curve - quarter.tangent) > 0.2 * abs(quarter.tangent)
    changed = [(ACTIVATIONS[kind], *sorted(RECIPES[kind].model_dump().items())) for kind in KINDS]
    assert all(sum(one != other for one, other in zip(before, after, strict=True)) == 1
               for before, after in zip(changed, changed[1:], strict=False))


def test_the_plane_moves_with_the_point():
    at = opened("play")
    before = [text.value for text in at.markdown]
    sound(at.slider[0].set_value(-2.0).run())
    assert [text.value for text in at.markdown] != before and at.query_params["toy-x"] in ("-2", ["-2"])
    question, data, _, command = at.session_state["charts:provenance"]["learn:plane"]()
    assert "the point (-2, 1.6) of class 0" in question and "30 training points" in data and "toy" in command


def test_the_steps_follow_each_other():
    at = open("learn", step=1)
    next_ = next(button for button in at.button if button.label.startswith("Next"))
    sound(next_.click().run())
    assert says(at, LESSONS[1].title) and at.query_params["step"] in ("2", ["2"])
    sound(next(button for button in at.button if button.label == "Back").click().run())
    assert says(at, LESSONS[0].title)


def test_nonsense_in_the_address_is_said_and_ignored():
    at = sound(open("learn", step="99", **{"lesson-out": "x"}))
    assert says(at, "which was ignored") and says(at, LESSONS[0].title)


def test_the_glossary_is_there_and_words_explain_themselves():
    at = open("learn", step=2)
    assert says(at, 'class="wf-term"') and says(at, "wf-glossary")
