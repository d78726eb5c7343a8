"""`datamodel` and `self-influence` write what Python says."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from engine.analysis.datamodels import compared, linear_datamodeling_score, retrain, subsets
from engine.analysis.self_influence import self_influence
from engine.basics.errors import InvalidInput
from engine.cli import main
from engine.models.altered import Altered
from engine.problems import ProblemSource
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


@pytest.mark.slow
def test_a_contrast_is_asked_of_the_models_and_a_baseline_held_against_the_others(tmp_path, monkeypatch):
    """A baseline reads no behavior; a contrast is a column that the models have to be asked for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    source = ProblemSource(dataset="world_corruption", model="World-0.4M", n_train=16, n_queries=4, n_test=4,
                           n_candidates=4, recipe={"epochs": 1, "context": 256})
    Path("problem.json").write_text(source.model_dump_json(exclude_defaults=True))
    contrast, chance = Scoring.of("contrast", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1},
                                  "first_order"), {"estimator": "random"}
    Path("specs.json").write_text(json.dumps([{"name": "contrast", "spec": contrast.model_dump(mode="json")},
                                              {"name": "chance", "spec": chance}]))
    told = ["datamodel", "--data", "problem.json", "--specs", "specs.json", "--subsets", "3", "--out", "a.csv"]
    assert main(told) == 0
    table = pd.read_csv("a.csv").set_index("name")
    assert dict(table.behavior) == {"contrast": "contrast", "chance": "contrast"}
    problem, kept = source.build().problem, subsets(4, 3)
    models = retrain(problem, kept, behaviors=[contrast.readout])
    scores = compute(problem, contrast)[0]
    expected = linear_datamodeling_score(scores, models.outcomes("contrast"), kept)
    assert table["mean"]["contrast"] == pytest.approx(np.nanmean(expected))
    direct = [problem.asking([contrast.readout])[0].retrained_outputs(weights_of(problem, row))[0, :, -1]
              for row in kept]
    np.testing.assert_allclose(models.outcomes("contrast"), np.stack(direct, 1), rtol=1e-6)
    with pytest.raises(InvalidInput, match="has no behavior to evaluate"):
        compared([Scoring.parse(chance)])


def weights_of(problem, row):
    """One for what a subset keeps, 0 for the other candidates."""
    weights = torch.ones(problem.n)
    weights[problem.candidates[torch.as_tensor(~row)]] = 0.0
    return Altered(weights[None])


def test_self_influence_lists_candidates_largest_first(problem):
    assert main(["self-influence", "--data", "problem.npz", "--spec", "step.json", "--out", "self.csv", "--l2",
                 "0.01"]) == 0
    table = pd.read_csv("self.csv")
    values = dict(zip(problem.candidates.tolist(), self_influence(problem, Scoring.parse(STEP)), strict=True))
    assert table.self_influence.is_monotonic_decreasing and len(table) == 25
    assert table.self_influence.tolist() == pytest.approx([values[row] for row in table.candidate])
