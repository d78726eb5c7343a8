"""No cell of an exported table is a formula to a spreadsheet, and numbers stay numbers."""

import csv
import io

import pandas as pd
import pytest

from engine.basics.csv_text import csv_text

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "--1", "-", "\r\n=1", "=HYPERLINK(\"http://x.test\")"]


@pytest.mark.parametrize("kind", [object, "string", "category"])
@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_defused(kind, text):
    table = pd.DataFrame({"a": pd.Series([text, "fine"], dtype=kind), text: [1, 2]})
    back = list(csv.reader(io.StringIO(csv_text(table), newline="")))
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    assert back == [["a", f"'{text}"], [f"'{text}", "1"], ["fine", "2"]]


def test_a_carriage_return_begins_no_row():
    assert list(csv.reader(io.StringIO(csv_text(pd.DataFrame({"a": ["x\r=1"]})), newline=""))) == [["a"], ["x\n=1"]]


def test_everything_else_stays_as_pandas_writes_it():
    table = pd.DataFrame({"number": [-1.5, float("nan")], "text": ["-1.5", "+3e-05"], "flag": [True, False],
                          "mixed": [None, -2], "words": ["a=b", "ü, \"x\""], 3: [1, -1]})
    assert csv_text(table) == table.to_csv(index=False, lineterminator="\n")
