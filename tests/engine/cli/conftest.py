"""Working folders of the command line."""

import json
import os
from unittest import mock

import numpy as np
import pytest

from engine.data import load_npz
from engine.problems import SoftmaxProblem
from tests.engine.cli.commands import FIRST, REMOVE, SPECS, STEP, C, D, K, M, N


@pytest.fixture(autouse=True)
def undeclared():
    """A model of one's own that a command declares ends with its test."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(C), rng.integers(0, C, N - C)])
    return {"x_train": rng.normal(size=(N, D)) + y[:, None], "y_train": y, "x_query": rng.normal(size=(M, D)) + 1,
            "y_query": rng.integers(0, C, M), "candidates": rng.permutation(N)[:K]}


@pytest.fixture
def folder(tmp_path, arrays, monkeypatch):
    """A working folder with problem.npz, spec.json (one step) and specs.json (three scorings)."""
    np.savez(tmp_path / "problem.npz", **arrays)
    (tmp_path / "spec.json").write_text(json.dumps(STEP))
    named = [{"name": name, "spec": spec} for name, spec in (("step", STEP), ("loo", REMOVE), ("first, order", FIRST))]
    (tmp_path / "specs.json").write_text(json.dumps(named))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def problem(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(3), rng.integers(0, 3, 37)])
    np.savez("problem.npz", x_train=rng.normal(size=(40, 4)) + y[:, None], y_train=y,
             x_query=rng.normal(size=(6, 4)) + 1, y_query=rng.integers(0, 3, 6), candidates=rng.permutation(40)[:25])
    for name, spec in (("step", STEP), ("loo", REMOVE)):
        (tmp_path / f"{name}.json").write_text(json.dumps(spec))
    (tmp_path / "specs.json").write_text(json.dumps([{"name": name, "spec": spec} for name, spec in SPECS.items()]))
    return SoftmaxProblem.from_arrays(load_npz("problem.npz"), l2=1e-2)
