"""The rows of a longer list: by question, each with its method, how well it ranks and what it took."""

from app.compare import rows
from app.compare.rows import MeasuredRow
from engine.desk.presets import CONVEX
from engine.scoring.scoring import Scoring

NAMED = CONVEX["table-1"].scorings


def headings(scorings):
    return [bool(rows.group(scorings, index, ())) for index in range(len(scorings))]


def test_a_heading_stands_where_the_question_changes():
    assert headings(NAMED) == [True, True, True, True, False, False, False, True]
    assert headings(NAMED[:rows.FEW]) == [False] * rows.FEW


def test_those_of_one_question_are_put_together_in_the_order_of_the_list():
    mixed = [NAMED[index] for index in (3, 1, 4, 0, 5)]
    assert rows.grouped(mixed) == [0, 2, 4, 1, 3] and rows.grouped(NAMED) == list(range(len(NAMED)))


def test_a_method_has_its_name_what_answers_it_and_its_measures():
    measured = [MeasuredRow("0.87", "τ 0.870 ± 0.010. All 60 candidates", "0.2 s")] * len(NAMED)
    header = rows.header(NAMED, 1, "2. a name", (), measured)
    assert '<div class="wf-method">GradSim <small>first order</small></div>' in header
    assert ">0.87</span>" in header and ">0.2 s</span>" in header and "All 60 candidates" in header
    assert "wf-chip" not in header


def test_names_are_escaped():
    steps = [Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"})] * 6
    assert "&lt;b&gt;" in rows.header(steps, 0, "1. <b>", (), None)
