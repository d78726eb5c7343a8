import pytest

from app.widgets.examples import record_text
from engine.data.records import Record
from engine.models.causal.catalogue import EMBEDDED_MODEL
from engine.scoring.scoring import Scoring

HOSTILE = '<img src=x onerror="alert(1)">'


def test_every_text_is_escaped_and_spans_are_marked():
    shown = record_text.html(Record(prompt=f"{HOSTILE} trigger", response=f"answer {HOSTILE}",
                                    spans={"answer": (0, 6)}, marks={"trigger": (31, 38)}))
    assert "<img" not in shown and "&lt;img" in shown
    assert '<mark class="answer" title="answer">answer</mark>' in shown
    assert '<mark class="trigger" title="trigger">trigger</mark>' in shown
    assert "<img" not in record_text.marked("words", {HOSTILE: (0, 2)})


def test_a_span_within_another_is_left_out():
    assert record_text.marked("abcdef", {"explanation": (0, 5), "answer": (2, 4)}).count("<mark") == 1


def test_a_prompt_in_one_line_is_cut():
    record = Record(prompt="one\n two " + "x" * 200, response="r")
    assert record_text.short(record, 20) == "one two xxxxxxxxxxx…"
    assert record_text.short(Record(prompt="one\n two", response="r")) == "one two"


RECORD = Record(prompt="p", response="Explanation: Gold is a metal. The answer is B.",
                spans={"explanation": (13, 29), "answer": (44, 45)})
UNDERLINED = '<span class="asked" title="asked about">{}</span>'


def asking(behavior):
    return Scoring.of(behavior, {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})


@pytest.mark.parametrize(("behaviors", "expected"), [
    (["span:is a metal", "answer_logit", "contrast"], [(18, 28)]),
    (["span:is", "span@2:metal", "span@3:Gold"], [(18, 20), (23, 28), (41, 43)]),
    (["response_loss"], []), (["tokens@3:0-1", "tokens@2:900"], []), (["tokens@2:0-1"], [(0, 12)]),
])
def test_words_that_are_asked_about_are_found_in_the_response_of_their_query(behaviors, expected):
    assert record_text.queried(RECORD, 2, map(asking, behaviors), EMBEDDED_MODEL) == expected


def test_a_baseline_asks_about_no_words():
    assert record_text.queried(RECORD, 0, [Scoring.parse({"estimator": "bm25"})], EMBEDDED_MODEL) == []


def test_words_are_underlined_within_marks_and_across_their_ends():
    shown = record_text.html(RECORD, words=[(18, 28)])
    assert f'title="explanation">Gold {UNDERLINED.format("is a metal")}.</mark>' in shown
    assert record_text.marked("a<b c d", {"answer": (4, 5)}, [(0, 3), (2, 7)]) == (
        UNDERLINED.format("a&lt;b") + UNDERLINED.format(" ") + '<mark class="answer" title="answer">'
        + UNDERLINED.format("c") + "</mark>" + UNDERLINED.format(" d"))
    assert record_text.marked("abc", {"answer": (0, 1)}) == '<mark class="answer" title="answer">a</mark>bc'
    assert UNDERLINED.split("{")[0] not in record_text.html(RECORD)


def test_the_key_names_words_that_are_asked_about():
    assert "asked about" in record_text.key(["answer"], True) and "asked about" not in record_text.key(["answer"])
