"""Published tables of the language studies, read by hand."""

import pandas as pd
import pytest

from engine.experiments.language_tables import at_layer, removal_rows, repsim

METHODS = ["Grad. norm", "RepSim", "RepSim at 50%", "GradSim"]


def test_repsim_at_a_layer_stands_in_repsims_place():
    table = pd.DataFrame({"method": METHODS[:2] + METHODS[3:] + METHODS[2:3], "mean": [1.0, 2.0, 4.0, 3.0]})
    assert repsim(1.0) == "RepSim" and repsim(0.5) == "RepSim at 50%"
    half = at_layer(table, 0.5)
    assert list(half["method"]) == ["Grad. norm", "RepSim at 50%", "GradSim"] and list(half["mean"]) == [1, 3, 4]
    assert list(at_layer(table, 1.0)["method"]) == ["Grad. norm", "RepSim", "GradSim"]
    assert list(at_layer(table, 0.25)["method"]) == ["Grad. norm", "RepSim", "GradSim"]


def test_the_rate_before_is_the_rate_after_and_the_drop():
    table = pd.DataFrame([
        {"method": "TracIn", "behavior": "Answer logit", "metric": "ASR", "mean": 0.25, "ci95": 0.1,
         "seed_means": "0.2 0.3"},
        {"method": "TracIn", "behavior": "Answer logit", "metric": "Attack reduction", "mean": 0.5, "ci95": 0.1,
         "seed_means": "0.5 0.5"}])
    rows, seeds = removal_rows(table, "ASR")
    assert rows.iloc[0]["label"] == "TracIn · answer logit" and rows.iloc[0]["after"] == 0.25
    assert rows.iloc[0]["before"] == pytest.approx(0.75) and list(seeds["value"]) == [0.2, 0.3]
