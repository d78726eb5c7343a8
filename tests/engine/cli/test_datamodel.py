"""`datamodel` and `self-influence` write what Python says."""


import numpy as np
import pandas as pd
import pytest

from engine.analysis.datamodels import linear_datamodeling_score, retrain, subsets
from engine.analysis.self_influence import self_influence
from engine.cli import main
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.cli.commands import SPECS, STEP, run
from tests.engine.single_thread import one_thread  # noqa: F401


def test_datamodel_scores_models_on_subsets(problem):
    assert run("datamodel", "--specs", "specs.json", "--subsets", "8", "--out", "lds.csv") == 0
    table = pd.read_csv("lds.csv").set_index("name")
    kept = subsets(25, 8)
    models = retrain(problem, kept)
    for name, spec in SPECS.items():
        scores = compute(problem, Scoring.parse(spec))[0]
        expected = linear_datamodeling_score(scores, models.outcomes(spec["behavior"]), kept)
        assert table["mean"][name] == pytest.approx(np.nanmean(expected)) and table.subsets[name] == 8
    assert run("datamodel", "--specs", "specs.json", "--subsets", "8", "--share", "0.001", "--out", "no.csv") == 2


def test_self_influence_lists_candidates_largest_first(problem):
    assert main(["self-influence", "--data", "problem.npz", "--spec", "step.json", "--out", "self.csv", "--l2",
                 "0.01"]) == 0
    table = pd.read_csv("self.csv")
    values = dict(zip(problem.candidates.tolist(), self_influence(problem, Scoring.parse(STEP)), strict=True))
    assert table.self_influence.is_monotonic_decreasing and len(table) == 25
    assert table.self_influence.tolist() == pytest.approx([values[row] for row in table.candidate])
