"""Decisions persist, are undone, survive a restart and threads, and belong to their dataset alone."""

import io
import sqlite3
import threading
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from engine.applications.decisions import FINE, UNSURE, WRONG, DecidedMeanwhile
from engine.applications.noisy_labels.review import Review, cleaned, consequences
from engine.basics.errors import InvalidInput, StoreError
from tests.engine.applications.noisy_labels.sources import drawn, source

ROW = 4


def other_label(row: int) -> int:
    return int((drawn().evidence.y[row] + 1) % 10)


@pytest.fixture
def review(tmp_path):
    return Review(drawn(), tmp_path)


def test_the_last_word_holds_and_survives_a_restart(review, tmp_path):
    review.decide(ROW, UNSURE, note=" blurred ")
    review.decide(9, FINE)
    review.decide(ROW, WRONG, other_label(ROW))
    found = Review(drawn(), tmp_path).decisions()
    assert list(found) == [9, ROW] and found[ROW].label == other_label(ROW) and found[9].verdict == FINE


def test_undo_goes_back_step_by_step(review):
    review.decide(ROW, UNSURE, note="first")
    review.decide(ROW, WRONG)
    assert review.undo().verdict == WRONG
    assert review.decisions()[ROW].note == "first"
    assert review.undo().note == "first" and review.undo() is None and not review.decisions()


def test_nobody_takes_back_what_another_decided(tmp_path):
    mine, theirs = (Review(drawn(), tmp_path, session=name) for name in ("mine", "theirs"))
    mine.decide(ROW, FINE)
    theirs.decide(9, UNSURE)
    assert mine.has_own and mine.undo().row == ROW
    assert not mine.has_own and mine.undo() is None
    assert list(theirs.decisions()) == [9] and theirs.undo().row == 9


def test_decisions_of_older_files_stay_and_are_nobodys_to_take_back(tmp_path):
    review = Review(drawn(), tmp_path, session="mine")
    review.path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(review.path)) as old:
        old.execute("CREATE TABLE log (id INTEGER PRIMARY KEY, row INTEGER NOT NULL, verdict TEXT NOT NULL, "
                    "label INTEGER, note TEXT NOT NULL, at REAL NOT NULL, undone INTEGER NOT NULL DEFAULT 0) STRICT")
        old.execute("INSERT INTO log (row, verdict, note, at) VALUES (7, 'fine', '', 0)")
        old.commit()
    review.decide(ROW, FINE)
    assert list(review.decisions()) == [7, ROW]
    assert review.undo().row == ROW and review.undo() is None and list(review.decisions()) == [7]


def test_an_act_is_recorded_once_and_none_overrides_what_was_not_seen(tmp_path):
    mine, theirs = (Review(drawn(), tmp_path, session=name) for name in ("mine", "theirs"))
    mine.decide(ROW, FINE, event="a", seen="")
    with pytest.raises(DecidedMeanwhile) as meanwhile:
        theirs.decide(ROW, WRONG, event="b", seen="")
    assert meanwhile.value.decision.event == "a" and mine.decisions()[ROW].verdict == FINE
    theirs.decide(ROW, WRONG, event="b", seen="a")
    assert [(one.event, one.session) for one in mine.history()] == [("b", "theirs"), ("a", "mine")]
    theirs.take_back("b")
    theirs.decide(ROW, WRONG, event="b", seen="a")
    assert mine.decisions()[ROW].verdict == FINE, "what was taken back does not come again"
    mine.take_back("a")
    assert not mine.decisions() and not mine.history()


def test_what_follows(review):
    review.decide(1, WRONG)
    review.decide(2, WRONG, other_label(2))
    review.decide(3, FINE)
    removed, relabelled = consequences(review.decisions())
    assert removed == [1] and relabelled == {2: other_label(2)}
    table = cleaned(drawn(), review.decisions()).set_index("dataset_row")["label"]
    data = drawn()
    assert len(table) == len(data.rows) - 1 and data.rows[1] not in table.index
    assert table[data.rows[2]] == other_label(2) and table[data.rows[3]] == data.evidence.y[3]


def test_export_and_import(review, tmp_path):
    review.decide(1, WRONG, other_label(1), "=HYPERLINK(1)")
    review.decide(2, UNSURE, note="Grüße, “x”\nzwei Zeilen")
    text = review.to_csv()
    table = pd.read_csv(io.StringIO(text), keep_default_na=False)
    assert list(table["verdict"]) == [WRONG, UNSURE] and table["note"][0] == "'=HYPERLINK(1)"
    assert table["dataset_row"][0] == drawn().rows[1] and table["label"][1] == drawn().evidence.y[2]
    again = Review(drawn(), tmp_path / "elsewhere")
    assert again.import_csv(text.encode()) == 2
    assert again.decisions()[2].note == review.decisions()[2].note and again.decisions()[1].note == "=HYPERLINK(1)"


def test_a_review_of_another_dataset_is_refused(review, tmp_path):
    review.decide(1, FINE)
    other = Review(source(mask=9).draw(), tmp_path)
    assert not other.decisions()
    with pytest.raises(InvalidInput, match="This review belongs to another dataset"):
        other.import_csv(review.to_csv().encode())
    assert not other.decisions()


@pytest.mark.parametrize(("content", "said"), [
    (b"\xff\xfe\x00", "not a CSV"), (b"", "not a CSV"), (b"a,b\n1,2\n", "not a CSV of decisions")])
def test_a_file_that_is_no_review(review, content, said):
    with pytest.raises(InvalidInput, match=said):
        review.import_csv(content)


@pytest.mark.parametrize(("arguments", "said"), [
    ((-1, FINE), "no training example -1"), ((10_000, FINE), "no training example"), ((1, "bad"), "not a verdict"),
    ((1, WRONG, 10), "no class 10"), ((1, FINE, 2), "Only the verdict `wrong` takes"),
    ((1, WRONG, None, "", "", None, "a dog"), "class, not a text"),
    ((1, WRONG, None, "x" * 3_000), "longer than")])
def test_what_makes_no_sense(review, arguments, said):
    with pytest.raises(InvalidInput, match=said):
        review.decide(*arguments)
    with pytest.raises(InvalidInput, match="the given one"):
        review.decide(1, WRONG, int(drawn().evidence.y[1]))


def test_several_sessions_write_at_once(review, tmp_path):
    def write(start):
        own = Review(drawn(), tmp_path)
        for row in range(start, start + 15):
            own.decide(row, FINE)

    threads = [threading.Thread(target=write, args=(start,)) for start in (0, 15, 30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(review.decisions()) == list(range(45))


def test_a_damaged_file_is_a_sentence(review):
    review.path.parent.mkdir(parents=True)
    review.path.write_bytes(b"not a database at all" * 50)
    with pytest.raises(StoreError, match="is damaged; move it away"):
        review.decisions()


def test_the_order_of_rows_is_that_of_the_dataset(review):
    table = cleaned(drawn(), {})
    assert (np.diff(table["dataset_row"]) > 0).all()


def test_many_decided_at_once_are_taken_back_as_one(review):
    review.decide(9, FINE)
    assert review.decide_all(WRONG, {ROW: other_label(ROW), 12: None}, {}) == 2
    found = review.decisions()
    assert found[ROW].label == other_label(ROW) and found[12].label is None
    assert review.undo().row == 12 and list(review.decisions()) == [9]
    with pytest.raises(InvalidInput, match="no training example"):
        review.decide_all(FINE, {3: None, 10**6: None}, {})
    assert list(review.decisions()) == [9]


def test_many_at_once_leave_what_was_decided_meanwhile(review):
    review.decide(9, FINE)
    review.decide(12, FINE)
    seen = review.decisions()
    review.decide(12, UNSURE)
    review.decide(3, UNSURE)
    assert review.decide_all(WRONG, dict.fromkeys((3, 9, 12, 14)), seen) == 2
    assert {row: one.verdict for row, one in review.decisions().items()} == {12: UNSURE, 3: UNSURE, 9: WRONG, 14: WRONG}
