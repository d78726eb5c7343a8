"""Every recipe is a whole program for the problem at hand; `make bench` runs them with the programs themselves."""

import ast
import io
import json
import zipfile

import numpy as np
import pytest

from engine.external.rebuilt import rebuilt
from engine.external.score_recipes import FOLDER, SCORE_RECIPES
from engine.problems import SoftmaxProblem
from engine.scoring.scoring import Scoring

RNG = np.random.default_rng(0)
PROBLEM = SoftmaxProblem(RNG.normal(size=(12, 4)), np.arange(12) % 3, RNG.normal(size=(4, 4)), np.arange(4) % 3)


def test_a_file_a_recipe():
    assert sorted(SCORE_RECIPES) == sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("name", SCORE_RECIPES)
def test_a_script_says_all_that_it_uses_and_nothing_else(name):
    """Names that are read are imported, assigned or built in; what is imported is read."""
    tree, recipe = ast.parse(SCORE_RECIPES[name].script(rebuilt(PROBLEM, "softmax"))), SCORE_RECIPES[name]
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    imported = {alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)
                for alias in node.names}
    made = {node.id for node in names if isinstance(node.ctx, ast.Store)} | imported | {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)} | {
        node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    assert read - made - set(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__) == set()
    assert imported <= read | {"nn"} and f'"{recipe.written}"' in ast.unparse(tree).replace("'", '"')
    assert recipe.claim.exact and recipe.file.removesuffix(".py") not in imported


def test_the_zip_holds_what_the_script_reads():
    recipe = SCORE_RECIPES["dattri"]
    with zipfile.ZipFile(io.BytesIO(recipe.packed(PROBLEM, "softmax"))) as archive:
        assert Scoring.parse(json.loads(archive.read("claim.json"))) == recipe.claim
        script = archive.read("with_dattri.py").decode()
        assert all(f'"{name}"' in script for name in archive.namelist() if name.endswith(".npz"))
        assert np.load(io.BytesIO(archive.read("weights.npz")))["head.weight"].shape == (3, 4)
