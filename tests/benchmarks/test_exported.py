"""Files that are written here, read by the libraries whose formats they are: the same numbers."""

import zipfile

import numpy as np
import pytest
import torch

from engine.cli import main
from engine.data import load
from engine.external.writing import FORMATS
from engine.scoring.compute import compute
from engine.scoring.named import NAMED
from tests.engine.problems_for_tests import problem


@pytest.fixture(scope="module")
def scores():
    """(m, k), of a problem that is made here."""
    return compute(problem(n=24, classes=3, queries=4, candidates=range(12)), NAMED["gradsim"].implied())[0].oriented


def test_bergson_reads_a_folder_of_scores(scores, tmp_path):
    data = pytest.importorskip("bergson.data", reason="bergson is not installed: see requirements-bench.txt")
    (tmp_path / "scores.zip").write_bytes(FORMATS[".zip"](scores))
    with zipfile.ZipFile(tmp_path / "scores.zip") as packed:
        packed.extractall(tmp_path)
    theirs = data.load_scores(tmp_path)
    assert theirs.is_written() and len(theirs) == scores.shape[1]
    np.testing.assert_array_equal(theirs[:].T, scores.astype(np.float32))


def test_kronfluence_reads_a_matrix_of_scores(scores, tmp_path):
    analyzer = pytest.importorskip("kronfluence.analyzer", reason="kronfluence is not installed: see "
                                                                  "requirements-bench.txt")
    path = tmp_path / "pairwise_scores.safetensors"
    path.write_bytes(FORMATS[".safetensors"](scores))
    theirs, = analyzer.Analyzer.load_file(path).values()
    np.testing.assert_array_equal(theirs.numpy(), scores.astype(np.float32))


def test_dattri_measures_a_tensor_of_scores(scores, tmp_path):
    metric = pytest.importorskip("dattri.metric", reason="dattri is not installed: see requirements-bench.txt")
    (tmp_path / "scores.pt").write_bytes(FORMATS[".pt"](scores))
    theirs = torch.load(tmp_path / "scores.pt", weights_only=True)
    correlation, _ = metric.loo_corr(theirs, (torch.tensor(scores.T).float(), torch.arange(scores.shape[1])))
    np.testing.assert_allclose(correlation.numpy(), 1, atol=1e-6)


def test_datasets_reads_an_exported_dataset(tmp_path):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed: see requirements-bench.txt")
    assert main(["export-dataset", "--dataset", "digits", "--out", str(tmp_path / "digits")]) == 0
    theirs, own = datasets.load_dataset(str(tmp_path / "digits"), cache_dir=str(tmp_path / "cache")), load("digits")
    assert theirs["train"]["label"][:] == own.y_train.tolist() and theirs["test"]["label"][:] == own.y_test.tolist()
