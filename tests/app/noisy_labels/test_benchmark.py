"""The published comparison of methods, as a row a set."""

import pandas as pd
import pytest

from app.noisy_labels import benchmark
from engine.desk import published


def test_the_highest_method_is_named_with_its_difference_from_cleanlab():
    rows = [("A", "Self-confidence", "AUPRC", 0.5), ("A", "Other", "AUPRC", 0.6), ("A", benchmark.CHOSEN, "AUPRC", 0.6),
            ("A", "Other", "AUPRC beyond cleanlab", 0.1), ("A", "Self-confidence", "AUPRC beyond cleanlab", 0.0),
            ("B", "Confident learning", "AUPRC", 0.9), ("B", "Confident learning", "AUPRC beyond cleanlab", 0.0)]
    table = pd.DataFrame(rows, columns=["set", "method", "metric", "mean"]).assign(behavior="none", ci95=0.02)
    made = benchmark.highest(table, {"A": {"human": "worst"}, "B": {"noise": "confusing"}})
    assert made.loc[0].tolist() == ["A", "human", "Other", 0.6, 0.5, pytest.approx(0.1), 0.02]
    assert made.loc[1, ["noise", "highest", "difference"]].tolist() == ["planted, confusing", "Confident learning", 0.0]


def test_every_published_set_has_a_row():
    result = published.reproduction(benchmark.NAME, benchmark.PRESET)
    table = benchmark.highest(result.table, result.manifest["spec"]["sets"])
    assert set(table["labels"]) == set(result.table["set"]) and (table["noise"] == "human").sum() == 3
    assert (table["AUPRC"] >= table["cleanlab"]).all()
