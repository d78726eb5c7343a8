"""The recipes, run with the real programs on softmax regression and on the last layer of a network of FashionMNIST;
what they write is imported, and compared with the exact answer to its claim."""

import importlib.util
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from engine.analysis.explanation import explain
from engine.external import importing
from engine.external.files import read_table
from engine.external.matching import QUERIES
from engine.external.reading import preview
from engine.external.score_recipes import SCORE_RECIPES
from engine.metrics.agreement import METRICS
from engine.models.recipe import Recipe
from engine.problems import ProblemSource
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.benchmarks.bench_problems import PEER

PEERS = {"pydvl": PEER}
"""Programs with an environment of their own, which `make bench` fills."""
STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
DRAWN = {"dataset": "fashion_small", "n_train": 300, "n_test": 200, "n_queries": 20, "n_candidates": 40, "pool": 2}
TRAINED = Recipe(epochs=30, batch_size=32, learning_rate=0.05, momentum=0.9, weight_decay=1e-3)
SOURCES = {"softmax": ProblemSource(**DRAWN, l2=1e-2),
           "mlp": ProblemSource(**DRAWN, l2=1e-3, model="mlp", selection="last_layer", recipe=TRAINED)}
LEAST = {"captum": (0.8, 0.9), "trak": (0.2, -1.0), "kronfluence": (0.3, 0.15), "dattri": (0.99, 0.99),
         "pydvl": (0.99, 0.99)}
"""Kendall τ with the exact answer to the claim that is asked for, of softmax regression and of the network; −1 where
the data do not tell the sign."""


@pytest.fixture(scope="module", params=SOURCES)
def problem(request):
    return request.param, SOURCES[request.param].build().problem


@pytest.mark.parametrize("name", SCORE_RECIPES)
def test_the_script_of_a_recipe_runs_and_its_scores_are_imported(name, problem, tmp_path):
    (model, problem), recipe = problem, SCORE_RECIPES[name]
    python = PEERS[name] if name in PEERS and PEERS[name].exists() else Path(sys.executable)
    if python == Path(sys.executable) and importlib.util.find_spec(name) is None:
        pytest.skip(f"{recipe.title} is not installed: `make bench` installs it, by requirements-bench.txt or "
                    "requirements-peers.txt")
    with zipfile.ZipFile(io.BytesIO(recipe.packed(problem, model))) as archive:
        archive.extractall(tmp_path)
    ran = subprocess.run([python, recipe.file], cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert ran.returncode == 0, ran.stderr[-2000:]

    table, reference = read_table(tmp_path / recipe.written), compute(problem, recipe.claim)[0]
    seen = preview(problem, table, reference)
    held = importing.matched(problem, table, QUERIES)
    scoring = importing.scoring_of(held, recipe.claim.specification, name, "plus")
    imported = importing.scores_of(problem, held, scoring)
    found = importing.agreement_with(reference, imported, METRICS)["kendall_tau"]
    why = explain(problem, imported, STEP)
    print(f"\n{name} on {model}: τ = {found.mean:.3f} ± {found.ci95:.3f} with the exact answer to its claim, sign "
          f"{'decided' if seen.certain else 'not decided'} by the data; against one exact step: {why.sentence}")
    least = LEAST[name][list(SOURCES).index(model)]
    assert found.mean > least and seen.certain == (least > 0)
    assert not seen.certain or (seen.likely.axes, seen.likely.sign) == (QUERIES, "plus")
