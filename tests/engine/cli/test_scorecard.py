"""`scorecard` writes what Python says, and says which question each benchmark asks."""

import pandas as pd

from engine.analysis.protocols import PROTOCOLS
from engine.analysis.scorecard import BENCHMARKS, Case, Sizes, card
from engine.store.results import Store
from tests.engine.cli.commands import run
from tests.engine.single_thread import one_thread  # noqa: F401

ASKED = ("scorecard", "--out", "card.csv", "--method", "loo", "--method", "step", "--method", "random")


def test_a_card_of_two_benchmarks(problem, capsys, tmp_path):
    assert run(*ASKED, "--benchmark", "lds", "--benchmark", "randomisation", "--models", "5") == 0
    said, table = capsys.readouterr().out, pd.read_csv("card.csv")
    assert "up to 47 training runs" in said
    assert BENCHMARKS["lds"].question in said and "Exact leave-one-out is exact for its own question and scores" in said
    assert f"Protocol `weights`: {PROTOCOLS['weights'].definition}" in said
    assert "Exact answer of another seed, 50% of the candidates" in said and "queries; 5 subsets (± 0.00 from" in said
    own = table[table.benchmark == "lds"]
    assert set(own.protocol) == {"weights"} and set(own.subsets) == {5}
    case = Case(problem, ("loo", "step", "random"), "query_loss", Sizes(candidates=25, models=5), Store(tmp_path / "a"))
    expected = card.rows(BENCHMARKS["lds"], BENCHMARKS["lds"].measure(case))
    found = table[table.benchmark == "lds"]
    assert list(found.measure) == list(expected.measure)
    pd.testing.assert_series_equal(found["mean"], expected["mean"], check_names=False, atol=1e-6)


def test_the_protocol_and_what_subsets_are_drawn_from_are_chosen(problem, capsys):
    assert run(*ASKED, "--benchmark", "lds", "--models", "5", "--protocol", "seeds", "--among", "all") == 0
    table = pd.read_csv("card.csv")
    assert set(table.protocol) == {"seeds"} and table.measure.iloc[0] == "50% of the training data"
    assert PROTOCOLS["seeds"].estimand in capsys.readouterr().out
    assert run(*ASKED, "--benchmark", "lds", "--protocol", "plain") == 2 and "protocol" in capsys.readouterr().err


def test_names_that_are_not_known_are_refused(problem, capsys):
    assert run(*ASKED, "--benchmark", "fame") == 2 and "fame" in capsys.readouterr().err
    assert run(*ASKED, "--method", "trak") == 2 and "is not defined for softmax regression" in capsys.readouterr().err
