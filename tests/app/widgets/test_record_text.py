from app.widgets import record_text
from engine.data.records import Record

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
