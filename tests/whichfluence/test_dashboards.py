"""The workbench opened from Python: what is refused before a server starts, and a server that answers."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import whichfluence as wf
from tests.engine.models.test_own_architecture import SOURCE

PAIR = np.zeros((4, 3)), np.arange(4) % 3


def test_a_function_of_a_notebook_is_refused():
    with pytest.raises(wf.InvalidInput, match="at the top level of a module"):
        wf.dashboard(lambda shape, classes: nn.Linear(3, 3), PAIR, PAIR)


def test_arrays_without_queries_are_refused():
    with pytest.raises(wf.InvalidInput, match="queries"):
        wf.dashboard("mlp", PAIR)


@pytest.mark.slow
def test_a_server_answers_with_the_model_and_stops(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    (tmp_path / "stranger.py").write_text(SOURCE.format(width=5))
    rng = np.random.default_rng(0)
    train, queries = [(rng.integers(0, 20, (n, 3)), rng.integers(0, 3, n)) for n in (30, 5)]
    module = nn.Sequential(nn.Embedding(20, 4), nn.Flatten(), nn.Linear(12, 3))
    build = f"{tmp_path}/stranger.py:bare"
    with wf.dashboard(build, train, (torch.as_tensor(queries[0]), torch.as_tensor(queries[1])), model=module,
                      whole=True) as opened:
        assert opened.process.poll() is None and opened.url in opened._repr_html_()
    assert opened.process.poll() is not None
    assert "WHICHFLUENCE_MODEL" not in os.environ and str(tmp_path) not in sys.path  # the host stays as it was
    with pytest.raises(wf.InvalidInput, match="does not fit the model"):
        wf.dashboard(build, train, queries, model=nn.Linear(3, 3), whole=True)


def test_a_module_s_function_is_named_as_the_server_imports_it(tmp_path):
    (tmp_path / "stranger.py").write_text(SOURCE.format(width=5))
    code = "import stranger; from whichfluence.dashboards import _written; print(_written(stranger.make))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.getcwd()])})
    assert done.stdout.strip() == f"{tmp_path}/stranger.py:make", done.stderr
