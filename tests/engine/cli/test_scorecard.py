"""`scorecard` writes what Python says, and says which question each benchmark asks."""

import pandas as pd

from engine.analysis.scorecard import BENCHMARKS, Case, Sizes, card
from engine.store.results import Store
from tests.engine.cli.commands import run
from tests.engine.single_thread import one_thread  # noqa: F401

ASKED = ("scorecard", "--out", "card.csv", "--method", "loo", "--method", "step", "--method", "random")


def test_a_card_of_two_benchmarks(problem, capsys, tmp_path):
    assert run(*ASKED, "--benchmark", "lds", "--benchmark", "randomisation", "--models", "5") == 0
    said, table = capsys.readouterr().out, pd.read_csv("card.csv")
    assert "up to 15 trainings" in said
    assert BENCHMARKS["lds"].question in said and "Exact leave-one-out is exact and loses" in said
    case = Case(problem, ("loo", "step", "random"), "query_loss", Sizes(candidates=25, models=5), Store(tmp_path / "a"))
    expected = card.rows(BENCHMARKS["lds"], BENCHMARKS["lds"].measure(case))
    found = table[table.benchmark == "lds"]
    assert list(found.measure) == list(expected.measure)
    pd.testing.assert_series_equal(found["mean"], expected["mean"], check_names=False, atol=1e-6)


def test_names_that_are_not_known_are_refused(problem, capsys):
    assert run(*ASKED, "--benchmark", "fame") == 2 and "fame" in capsys.readouterr().err
    assert run(*ASKED, "--method", "trak") == 2 and "has no answer" in capsys.readouterr().err
