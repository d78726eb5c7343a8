"""Benchmarks of rankings as quanda defines them: the same numbers for the same scores. It runs in the environment of
peers (.venv-peers).

Its score for mislabelled examples is another one, the area under the share of them found by the share inspected; its
top-k cardinality counts what all tops have together, where `stability` compares tops in pairs. Those are not compared.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.metrics.detection import auprc
from engine.metrics.rank_similarity import spearman
from tests.benchmarks.bench_problems import PEER

QUERIES, CANDIDATES, CLASSES = 6, 30, 4
pytestmark = pytest.mark.skipif(not PEER.exists(), reason=f"there is no {PEER}; `make bench` makes it")


@pytest.fixture(scope="module")
def given():
    drawn, labels = np.random.default_rng(0), np.arange(CANDIDATES) % CLASSES
    scores = drawn.normal(size=(QUERIES, CANDIDATES))
    return {"scores": scores, "after": scores + drawn.normal(size=scores.shape), "labels": labels,
            "rows": np.flatnonzero(labels == 0), "wanted": np.arange(QUERIES) % CLASSES}


@pytest.fixture(scope="module")
def theirs(given, tmp_path_factory):
    folder = tmp_path_factory.mktemp("quanda")
    np.savez(folder / "in.npz", **given)
    script = Path(__file__).with_name("quanda_definitions.py")
    subprocess.run([PEER, "-W", "ignore", script, folder / "in.npz", folder / "out.npz"], check=True,
                   env={"PATH": os.environ["PATH"], "HOME": str(folder)})
    return np.load(folder / "out.npz")


def test_shortcut_examples_are_found_as_quanda_counts_them(given, theirs):
    flags = np.isin(np.arange(CANDIDATES), given["rows"])
    assert np.mean([auprc(flags, row) for row in given["scores"]]) == pytest.approx(theirs["shortcut"], abs=1e-6)


def test_the_first_examples_subclass_is_quandas_with_one_example(given, theirs):
    ours = given["labels"][given["scores"].argmax(1)] == given["wanted"]
    assert ours.mean() == pytest.approx(theirs["subclass"], abs=1e-6)


def test_rankings_under_random_weights_are_compared_as_in_quanda(given, theirs):
    ours = spearman(torch.tensor(np.stack([given["scores"], given["after"]])))[0, 1]
    np.testing.assert_allclose(ours.numpy(), theirs["spearman"], atol=1e-6)
