"""Decisions about training records, and what is left of them."""

import io

import pandas as pd
import pytest

from engine.applications.decisions import FINE, UNSURE, WRONG
from engine.applications.language.review import RecordReview
from engine.basics.errors import InvalidInput
from engine.data import tasks
from engine.data.records import parse_lines
from engine.data.tasks.own import content_of

RECORDS = [{"prompt": f"Question {row}?", "response": f"Answer {row}.", "spans": {"answer": [7, 8]},
            "choices": ["0", "1"], **({"flags": ["odd"]} if row == 2 else {})} for row in range(6)]
TASK = {"name": "own", "train": RECORDS, "held": 2}


@pytest.fixture
def review(tmp_path):
    return RecordReview(tasks.build(TASK), tmp_path, "mine")


def test_what_is_taken_out_is_left_out_of_the_file(review):
    review.decide(2, WRONG, note="=odd")
    review.decide(0, FINE)
    review.decide(3, UNSURE)
    task = tasks.build(TASK)
    left = parse_lines(review.cleaned(task.queries["queries"]).split("\n"))
    records = (*task.train, *task.queries["queries"])
    assert [record.content for record in left] == [records[row].content for row in (0, 1, 3, 4, 5)]
    told = pd.read_csv(io.StringIO(review.to_csv()))
    assert told["verdict"].tolist() == ["take out", "keep", "unsure"] and told["record"].tolist() == [2, 0, 3]
    assert told["note"][0] == "'=odd" and (told["data"] == review.fingerprint).all()


def test_a_wrong_answer_is_corrected_and_what_stands_behind_it_moves(tmp_path):
    record = {"prompt": "Which?\nA: one\nBB: two", "response": "It is A. Because of one.", "choices": ["A", "BB"],
              "spans": {"answer": [6, 7], "explanation": [9, 24]}}
    review = RecordReview(tasks.build({"name": "own", "train": [record] * 2, "held": 1}), tmp_path)
    review.decide(0, WRONG, label=1)
    assert review.given(0) == 0 and review.table()[["verdict", "answer"]].values.tolist() == [["corrected", "BB"]]
    [left] = parse_lines(review.cleaned().split("\n"))
    assert left.response == "It is BB. Because of one."
    assert [left.response[start:end] for start, end in left.spans.values()] == ["BB", "Because of one."]


def test_a_wrong_response_is_rewritten_with_its_answer_and_explanation(tmp_path):
    record = {"prompt": "Which?\nA: ice\nB: sand", "choices": ["A", "B"],
              "response": "Explanation: Ice is warm. The answer is B.",
              "spans": {"answer": [40, 41], "explanation": [13, 25]}}
    review = RecordReview(tasks.build({"name": "own", "train": [record] * 2, "held": 1}), tmp_path)
    right = "Explanation: Ice is a cold solid. The answer is A."
    review.decide(0, WRONG, text=f" {right}\n")
    assert review.decisions()[0].text == right
    assert review.table()[["verdict", "answer"]].values.tolist() == [["corrected", right]]
    [left] = parse_lines(review.cleaned().split("\n"))
    spans = {name: left.response[start:end] for name, (start, end) in left.spans.items()}
    assert left.response == right and spans == {"answer": "A", "explanation": "Ice is a cold solid."}
    review.undo()
    assert parse_lines(review.cleaned().split("\n"))[0].response == record["response"]


def test_a_record_that_came_with_a_flag_keeps_it(review):
    review.decide(0, WRONG)
    assert [record.flags for record in parse_lines(review.cleaned().split("\n"))] == [(), ("odd",), ()]


def test_the_same_records_in_another_session(review, tmp_path):
    review.decide(1, WRONG)
    other = RecordReview(tasks.build(TASK), tmp_path, "theirs")
    assert set(other.decisions()) == {1} and other.undo() is None
    assert review.undo().row == 1 and not other.decisions()
    assert not RecordReview(tasks.build({**TASK, "held": 3}), tmp_path).path.is_file()


@pytest.mark.parametrize(("given", "why"), [
    ((4, WRONG), "numbered 0 to 3"), ((0, "good"), "not a verdict; use wrong, fine, unsure"),
    ((0, WRONG, 0), "equals the given one"), ((0, FINE, 1), "Only the verdict `wrong` takes"),
    ((2, WRONG, 7), "use 0 to 1"),
    ((2, WRONG, None, "", "", None, "Answer 2."), "equals the given one"),
    ((0, WRONG, None, "", "", None, "No idea."), "states none of the answers 0, 1"),
    ((0, FINE, None, "", "", None, "Answer 1."), "Only the verdict `wrong` takes"),
    ((0, FINE, None, "a" * 2_001), "longer than 2,000")])
def test_what_makes_no_sense_is_refused(review, given, why):
    with pytest.raises(InvalidInput, match=why):
        review.decide(*given)
    assert not review.decisions()


def test_something_is_kept(review):
    review.decide_all(WRONG, dict.fromkeys(range(4)), {})
    with pytest.raises(InvalidInput, match="keep some"):
        review.cleaned()


def test_lines_of_a_file_that_were_not_decided_come_back_as_they_are(tmp_path):
    lines = [f'{{"instruction":"Question {row}?",  "output":"Answer {row}."}}' for row in range(6)]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(lines))
    settings = {"name": "own", "train": str(path), "held": 2}
    task = tasks.build(settings)
    review = RecordReview(task, tmp_path)
    review.decide(1, WRONG)
    review.decide(3, WRONG, text="Another.")
    left = review.cleaned(task.queries["queries"], content_of(settings)).splitlines()
    assert left == [lines[0], lines[2], '{"instruction": "Question 3?", "output": "Another."}', *lines[4:]]
    assert content_of(TASK) == b""
