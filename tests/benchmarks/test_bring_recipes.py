"""The recipes of the guide, run as they stand there with the real packages; what they save is brought and compared."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from engine.analysis.explanation import explain
from engine.brought.claim import agreement_with, bring
from engine.brought.files import read_table
from engine.brought.matching import CANDIDATES, QUERIES
from engine.brought.reading import preview
from engine.metrics.agreement import METRICS
from engine.problems import ProblemSource
from engine.scoring.compute import compute
from engine.scoring.named import NAMED
from engine.scoring.scoring import Scoring

GUIDE = Path(__file__).parents[2] / "assets" / "guides" / "other-libraries.md"
STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
# package: (what it saves, claimed specification, axes, least agreement with the exact answer)
RECIPES = {
    "captum": ("captum.npy", STEP, QUERIES, 0.9),
    "kronfluence": ("influence_results/study/scores_pairwise/pairwise_scores.safetensors",
                    NAMED["influence_function"].implied(), QUERIES, 0.15),
    "trak": ("trak.npy", Scoring.of("soft_margin", {"kind": "remove"}, {"kind": "retrain"}), CANDIDATES, 0.2),
}


def recipe(package):
    """The guide's block of Python that imports the package."""
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    return next(block for block in blocks if re.search(rf"from {package}[. ]", block))


@pytest.fixture(scope="module")
def problem():
    return ProblemSource(dataset="digits", n_train=300, n_test=200, n_queries=50, n_candidates=100, l2=1e-2).build(
        ).problem


@pytest.mark.parametrize("package", RECIPES)
def test_the_recipe_works_as_it_stands_in_the_guide(package, problem, tmp_path, monkeypatch):
    pytest.importorskip(package, reason=f"{package} is in requirements-bench.txt, which `make bench` installs")
    monkeypatch.chdir(tmp_path)
    file, claimed, axes, least = RECIPES[package]
    module = nn.Sequential(nn.Linear(64, 10, bias=False))
    module[0].weight.data = problem.weights.T.float()
    given = {"module": module, "train": TensorDataset(problem.x.float(), problem.y),
             "queries": TensorDataset(problem.queries.float(), problem.query_labels)}
    torch.manual_seed(0)
    exec(compile(recipe(package), GUIDE.name, "exec"), given)

    table, reference = read_table(file), compute(problem, claimed)[0]
    seen = preview(problem, table, reference)
    assert seen.likely.axes == axes and seen.likely.sign == 1
    brought = bring(problem, table, claimed.specification, package, seen.likely.axes, 1)
    found = agreement_with(reference, brought, METRICS)
    why = explain(problem, brought, STEP)
    print(f"\n{package}: τ = {found['kendall_tau'].mean:.3f} ± {found['kendall_tau'].ci95:.3f} with the exact answer "
          f"to its claim, sign {'told' if seen.certain else 'not told'} by the data; against one exact step: "
          f"{why.sentence}")
    assert found["kendall_tau"].mean > least and np.isclose(why.path, sum(link.length for link in why.links))
