"""The guide *Contributing* as it stands: its files, as plugins, add what they say, in exactly the files it names."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from app.guide import data
from tests.house.rules import ROOMS

ROOT = Path(__file__).parents[2]
GUIDE = (data.FOLDER / "contributing.md").read_text("utf-8")
FILES = {found["name"]: found["code"] for found in re.finditer(
    r"^```python\n(?P<code># (?P<name>\w+)\.py\n.*?)^```$", GUIDE, re.M | re.S)}
ADDED = {"entropy": "behaviors", "signals": "estimators", "half_step": "processes", "points": "datasets",
         "narrow": "models", "class_counts": ""}
ADD = {"kind": "add_occurrence"}
SPECS = {"half": {"behavior": "entropy", "intervention": ADD, "process": {"kind": "half_step", "eta": 0.2}},
         "step": {"behavior": "entropy", "intervention": ADD, "process": {"kind": "one_step", "eta": 0.1}},
         "signals": {"behavior": "query_loss", "intervention": ADD, "process": {"kind": "one_step", "eta": 0.1},
                     "estimator": "signals"}}
SCRIPT = """
import json
from engine.cli import main
from engine.jobs import JobQueue
from engine.models.catalogue import build_model
from engine.problems import ProblemSource
from engine.requests.scores import ScoresRequest
from engine.scoring.scoring import Scoring
from engine.worker import main as work

assert main(["list"]) == 0
for name in {specs}:
    files = ["--data", "problem.json", "--spec", name + ".json", "--out", "scores-" + name + ".npz"]
    assert main(["influence", *files]) == 0
assert main(["class-counts", "--data", "problem.json", "--out", "counts.csv"]) == 0
assert build_model("narrow", (2,), 3)(__import__("torch").zeros(5, 2)).shape == (5, 3)
source = ProblemSource.parse(json.load(open("problem.json")))
asked = ScoresRequest(scorings=(Scoring.parse(json.load(open("half.json"))),)).of(source)
job = JobQueue("home").submit(asked.name, asked.payload)
assert work(["--home", "home", "--once"]) == 0
assert JobQueue("home").get(job.id).state == "done", JobQueue("home").get(job.id).error
"""


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A folder with the plugins and what was computed with them, and what the commands said."""
    folder = tmp_path_factory.mktemp("plugins")
    for name, code in FILES.items():
        (folder / f"{name}.py").write_text(code)
    for name, spec in SPECS.items():
        (folder / f"{name}.json").write_text(json.dumps(spec))
    (folder / "problem.json").write_text(json.dumps({"dataset": "points", "n_train": 40, "n_queries": 4,
                                                     "n_candidates": 8}))
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "WHICHFLUENCE_HOME": str(folder / "own"),
                   "WHICHFLUENCE_PLUGINS": ",".join(FILES)}
    run = subprocess.run([sys.executable, "-c", SCRIPT.format(specs=list(SPECS))], cwd=folder, env=environment,
                         capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return folder, run.stdout


def test_every_kind_of_addition_is_a_file_of_the_guide():
    assert set(FILES) == set(ADDED)


@pytest.mark.parametrize("name", [name for name, section in ADDED.items() if section])
def test_the_command_line_lists_what_a_plugin_adds(used, name):
    section = re.search(rf"^{ADDED[name]}[^\n]*\n(.*?)(?:\n\n|\Z)", used[1], re.M | re.S)
    assert re.search(rf"^\s+{name}\b", section[1], re.M)


def test_they_answer_together(used):
    half, step = (np.load(used[0] / f"scores-{name}.npz")["scores"] for name in ("half", "step"))
    assert half.shape == (4, 8) and np.abs(half).max() > 0
    np.testing.assert_allclose(half, step, rtol=1e-12)  # half a step of 0.2 is a step of 0.1
    assert np.load(used[0] / "scores-signals.npz")["scores"].shape == (4, 8)
    assert pd.read_csv(used[0] / "counts.csv")["candidates"].sum() == 8


def test_the_files_that_the_guide_names_are_there():
    named = re.findall(r"`((?:engine|app|pages|tests|assets|whichfluence)(?:/[\w.]+)*)`", GUIDE)
    assert len(named) > 30
    assert [path for path in named if "NAME" not in path and not (ROOT / path).exists()] == []
    rooms = re.search(r"## Rooms and arrows(.*?)## ", GUIDE, re.S)[1].splitlines()
    assert re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in rooms if row.startswith("| `"))) == list(ROOMS)


def test_the_lists_that_the_guide_names_stand_in_their_files():
    listed = re.findall(r"`([A-Z_]{4,})`[^`|]* of\s+`([\w/]+\.py)`", GUIDE)
    assert len(listed) >= 6
    for name, path in listed:
        assert re.search(rf"^{name}\b", (ROOT / path).read_text("utf-8"), re.M), f"{path} has no {name}"
