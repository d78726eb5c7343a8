"""A behavior that a module of the user's registers is known to command line, dashboard and worker alike."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.basics import plugins
from engine.basics.errors import InvalidInput
from engine.cli import main
from engine.jobs import JobQueue, run_job
from engine.problems import ProblemSource
from engine.question.behaviors import BEHAVIORS
from engine.requests import check_queued
from engine.requests.scores import ScoresRequest
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.requests_for_tests import scores_payload

ROOT = Path(__file__).parents[3]
NAME = "behaviors_of_mine"
SOURCE = ProblemSource(dataset="digits", n_train=60, n_test=20, n_queries=4, n_candidates=6, pool=2)
CODE = """
from engine.question.behaviors import register_behavior

FACTOR = {factor}


def mine(logits, labels):
    return FACTOR * logits[..., 0]


register_behavior("mine", mine, clause="the first logit, told by a plugin")
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes the plugin with a factor; imports it here where asked to."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv(plugins.VARIABLE, f" {NAME},")

    def written(factor, load=True):
        file = tmp_path / f"{NAME}.py"
        file.write_text(CODE.format(factor=factor))
        os.utime(file, (factor * 1e6, factor * 1e6))  # two of one size within a second would share their bytecode
        importlib.invalidate_caches()
        if load:
            sys.modules.pop(NAME, None)
            plugins.load()

    yield written
    sys.modules.pop(NAME, None)
    BEHAVIORS.remove("mine")


def mine():
    return Scoring.of("mine", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})


def worked(home, payload):
    """The job, as a worker process left it."""
    queue = JobQueue(home)
    job = queue.submit(ScoresRequest.name, payload).id
    run = subprocess.run([sys.executable, "-m", "engine.worker", "--home", str(home), "--once"], cwd=ROOT,
                         capture_output=True, text=True, timeout=120)
    return queue, queue.get(job), run


@pytest.mark.slow
def test_a_worker_computes_it(write, tmp_path):
    write(2.0)
    check_queued([mine()])
    queue, job, run = worked(tmp_path / "home", scores_payload(SOURCE, [mine()]))
    assert (job.state, job.error, run.returncode) == ("done", "", 0)
    found = ScoresRequest.loaded(queue.store.read(job.id))[0]
    np.testing.assert_allclose(found.values, compute(SOURCE.build().problem, mine())[0].values, rtol=1e-12)


@pytest.mark.slow
def test_a_worker_refuses_other_code_than_was_asked_for(write, tmp_path):
    write(2.0)
    asked = scores_payload(SOURCE, [mine()])
    write(3.0, load=False)
    _, job, _ = worked(tmp_path / "home", asked)
    assert job.state == "failed" and "requested behavior `mine` is another function" in job.error
    assert plugins.VARIABLE in job.error


def test_code_changed_since_is_another_run(write):
    write(2.0)
    before = scores_payload(SOURCE, [mine()])
    write(3.0)
    assert scores_payload(SOURCE, [mine()]) != before
    write(2.0)
    assert scores_payload(SOURCE, [mine()]) == before


def test_code_of_an_installed_plugin_counts_too(write, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.basics.fingerprint._LIBRARIES", frozenset({str(tmp_path)}))
    write(2.0)
    before = BEHAVIORS["mine"].fingerprint
    write(3.0)
    assert BEHAVIORS["mine"].fingerprint != before


def test_a_behavior_registered_elsewhere_is_refused_with_the_way_out(write, monkeypatch):
    write(2.0)
    monkeypatch.delenv(plugins.VARIABLE)
    with pytest.raises(InvalidInput, match=f"`mine` is known to this process only.*{plugins.VARIABLE}"):
        check_queued([mine()])


def test_the_command_line_lists_it(write, capsys):
    write(2.0, load=False)
    assert main(["list"]) == 0
    assert "told by a plugin" in capsys.readouterr().out


@pytest.mark.slow
def test_a_plugin_that_cannot_be_imported_is_one_sentence(write, tmp_path, capsys, monkeypatch):
    (tmp_path / "broken_one.py").write_text("1 / 0")
    for name, reason in (("broken_one", "ZeroDivisionError"), ("not_there", "No module named 'not_there'")):
        monkeypatch.setenv(plugins.VARIABLE, name)
        assert main(["list"]) == 2
        said = capsys.readouterr().err
        assert f"The plugin `{name}`" in said and reason in said and "PYTHONPATH" in said and said.count("\n") == 1
    run = subprocess.run([sys.executable, "-m", "engine.worker", "--home", str(tmp_path / "home"), "--once"], cwd=ROOT,
                         capture_output=True, text=True, timeout=120, env=dict(os.environ))
    assert run.returncode == 2 and "The plugin `not_there`" in run.stderr


ANALYSIS = '''
from dataclasses import dataclass
from typing import Annotated, ClassVar

import pandas as pd
from pydantic import Field

from engine.analysis.catalogue import register
from engine.requests import OfCandidates


@dataclass(frozen=True)
class Counts:
    counts: pd.DataFrame
    total: int

    @property
    def tables(self):
        return [self.counts]


@register
class CountsRequest(OfCandidates[Counts]):
    """Count the candidates of each class."""

    name: ClassVar = "class-counts"
    answer: ClassVar = Counts
    doing: ClassVar = "counting"
    outputs: ClassVar = {"out": "Output table, one row per class."}

    least: Annotated[int, Field(ge=0, description="Exclude classes with fewer candidates.")] = 0

    def title(self, problem):
        return f"Classes of {problem}"

    def compute(self, problem, chunk, options, store):
        counts = problem.y[problem.candidates].bincount(minlength=problem.classes)
        table = pd.DataFrame({"label": range(problem.classes), "candidates": counts.numpy()})
        return Counts(table[table["candidates"] >= self.least].reset_index(drop=True), int(counts.sum()))

    def sentences(self, answer):
        return [f"{answer.total} candidates."]
'''


def test_an_analysis_of_a_plugin_is_a_command_a_job_and_a_function(tmp_path, monkeypatch, capsys):
    import whichfluence as wf
    from engine.analysis.catalogue import REQUESTS, request
    from engine.desk import Desk, Waiting
    from engine.jobs import KINDS

    (tmp_path / "counts_of_mine.py").write_text(ANALYSIS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv(plugins.VARIABLE, "counts_of_mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("engine.desk.jobs.ensure_worker", lambda root: None)
    (tmp_path / "problem.json").write_text(SOURCE.model_dump_json())
    try:
        assert main(["class-counts", "--data", "problem.json", "--candidates", "5", "--out", "counts.csv"]) == 0
        assert capsys.readouterr().out == "5 candidates.\n"
        counts = pd.read_csv("counts.csv")["candidates"]
        assert counts.sum() == 5
        assert main(["class-counts", "--data", "problem.json", "--least", "-1", "--out", "counts.csv"]) == 2
        assert "--least" in capsys.readouterr().err
        answer = wf.analyse(SOURCE.build().problem, "class-counts", candidates=5)
        assert answer.counts["candidates"].tolist() == counts.tolist() and "class-counts" in set(wf.analyses()["name"])
        asked = request("class-counts")(candidates=5).of(SOURCE)
        desk = Desk(root=tmp_path / "home")
        assert isinstance(desk.ask(asked), Waiting)
        run_job(asked.name, asked.payload, tmp_path / "home")
        pd.testing.assert_frame_equal(desk.ask(asked).counts, answer.counts)
    finally:
        REQUESTS.remove("class-counts")
        KINDS.remove("class-counts")
        sys.modules.pop("counts_of_mine", None)
