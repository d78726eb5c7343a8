"""The table of decisions: each form that is read, by row and by name, and what is refused in a sentence."""

import io

import pandas as pd
import pytest

from engine.applications.decisions import FINE, UNSURE, WRONG, Decision
from engine.applications.noisy_labels.decision_file import columns_of, parse_decisions, read_decisions
from engine.basics.csv_text import csv_text
from engine.basics.errors import InvalidInput, MissingData
from tests.engine.applications.noisy_labels.sources import drawn

FAULTY = {
    "row,label\n3,\n3,2\n": "names the same `row` twice, 3", "row,label\n3,1\n3,1\n": "twice",
    "row,label\n": "changes nothing", "": "is not a CSV", "row\n3\n": "is not a CSV", "row,label\n5\n": "is not a CSV",
    "row,label,row\n1,2,3\n": "is not a CSV", "row,label\n1,2,3\n": "is not a CSV", "row,label\nx,\n": "is not a CSV",
    f"row,label\n{10**30},\n": "is not a CSV", "row,label\n" + "9" * 5_000 + ",\n": "is not a CSV",
    "row,label\n-1,\n": "is not a CSV", 'row,label\n"' + "1" * 140_000 + '",\n': "is not a CSV",
    'row,label\n1,"2\n': "is not a CSV", b"row,label\n\xff,\n": "is not a CSV", b"\xff\xfe\x00": "is not a CSV",
    "row,label,verdict\n1,2,wrong\n": "is not a CSV", "row,label,verdict,right_label\n1,2,,\n": "has no decisions",
    "row,label,verdict,right_label\n1,2,bad,\n": "`bad` is not a verdict; use wrong, fine, unsure",
    "row,label,verdict,right_label\n1,2,fine,3\n": "a right label needs the verdict `wrong`"}


@pytest.mark.parametrize("content", FAULTY, ids=lambda content: repr(content[:24]))
def test_what_is_no_list_of_decisions_is_refused(content):
    with pytest.raises(InvalidInput, match=FAULTY[content]) as caught:
        parse_decisions(content if isinstance(content, bytes) else content.encode(), "`mine.csv`")
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def said(content):
    return {one.row: (one.verdict, one.label) for one in parse_decisions(content, "`mine.csv`").decisions(drawn())}


def other(row):
    return (int(drawn().evidence.y[row]) + 1) % 10


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_labels_to_use_by_row_are_numbers_of_classes(tmp_path, start):
    same = int(drawn().evidence.y[7])
    content = start + f"name,label,row\r\na,,3\r\n\r\nb,{other(5)},5\r\nc,{same},7\r\n".encode()
    (tmp_path / "changes.csv").write_bytes(content)
    assert said(content) == {3: (WRONG, None), 5: (WRONG, other(5))}
    assert read_decisions(tmp_path / "changes.csv").decisions(drawn())[0].row == 3
    with pytest.raises(MissingData, match="There is no file"):
        read_decisions(tmp_path / "absent.csv")


def test_a_review_of_before_has_the_right_label_by_number_and_by_name():
    y = drawn().evidence.y
    header = "data,row,dataset_row,given_label,given_name,verdict,right_label,right_name,note,decided_at\n"
    lines = [f"{drawn().fingerprint},{row},0,{y[row]},{y[row]},{verdict},{right},{right},'=a,\n"
             for row, verdict, right in ((4, WRONG, other(4)), (2, UNSURE, ""), (9, FINE, ""))]
    assert said((header + "".join(lines)).encode()) == {4: (WRONG, other(4)), 2: (UNSURE, None), 9: (FINE, None)}
    assert parse_decisions((header + lines[0]).encode(), "x").decisions(drawn())[0].note == "=a"


def test_what_is_written_is_read_again_beside_the_scores_of_methods():
    decided = {3: Decision(3, WRONG, other(3)), 8: Decision(8, WRONG), 1: Decision(1, FINE), 0: Decision(0, UNSURE)}
    table = pd.DataFrame({**columns_of(drawn(), range(150), decided), "TracIn": 0.5})
    assert list(table)[:5] == ["row", "dataset_row", "label", "verdict", "right_label"] and len(table) == 150
    assert said(csv_text(table).encode()) == {row: (one.verdict, one.label) for row, one in decided.items()}
    excel = io.StringIO()
    table.to_csv(excel, sep=";", decimal=",", index=False)
    assert said(excel.getvalue().encode()) == said(csv_text(table).encode())


@pytest.mark.parametrize(("line", "why"), [
    ("3,{other},wrong,", "has the label `{given}` in these data and `{other}` in `mine.csv`"),
    ("3,{given},wrong,{given}", "calls the label of `3` wrong but gives the same label"),
    ("3,{given},wrong,eleven", "There is no class `eleven`"), ("150,0,wrong,", "There is no training example 150")])
def test_decisions_that_are_not_about_these_data(line, why):
    names = {"given": int(drawn().evidence.y[3]), "other": other(3)}
    with pytest.raises(InvalidInput, match=why.format(**names)):
        said(f"row,label,verdict,right_label\n{line.format(**names)}\n".encode())


def test_a_right_label_without_a_verdict_is_a_correction():
    given = int(drawn().evidence.y[3])
    assert said(f"row,label,verdict,right_label\n3,{given},,{other(3)}\n".encode()) == {3: (WRONG, other(3))}


def test_a_label_to_use_that_no_class_has_is_refused():
    with pytest.raises(InvalidInput, match="There is no such class to relabel to; use 0 to 9"):
        said(b"row,label\n1,10\n")
