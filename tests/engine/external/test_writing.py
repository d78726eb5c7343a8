"""Scores in the files of other programs: what these wrote themselves is written again, and read back as it was."""

import io
import json
import zipfile

import numpy as np
import pytest
import torch

from engine.external.files import read_table
from engine.external.writing import FORMATS, bergson, dattri
from tests.engine.external.test_written import BERGSON, WRITTEN

SCORES = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32).astype(float)


def test_a_folder_of_bergson_is_written_as_bergson_writes_it():
    theirs = read_table(BERGSON).values
    with zipfile.ZipFile(io.BytesIO(bergson(theirs.T))) as packed:
        assert json.loads(packed.read("info.json")) == json.loads((BERGSON / "info.json").read_bytes())
        assert packed.read("scores.bin") == (BERGSON / "scores.bin").read_bytes()


def test_a_tensor_of_dattri_has_the_same_axes_and_type():
    theirs = torch.load(WRITTEN / "dattri.pt", weights_only=True).detach()
    again = torch.load(io.BytesIO(dattri(theirs.numpy().T)), weights_only=True)
    assert again.dtype == theirs.dtype and torch.equal(again, theirs)


@pytest.mark.parametrize("ending", FORMATS)
def test_what_is_written_is_read_back(ending, tmp_path):
    path = tmp_path / f"scores{ending}"
    path.write_bytes(FORMATS[ending](SCORES))
    values = read_table(path).values
    np.testing.assert_array_equal(values if len(values) == 3 else values.T, SCORES)


def test_a_score_that_did_not_converge_is_not_written():
    scores = SCORES.copy()
    scores[1, 2] = np.nan
    assert np.isnan(read_table(io.BytesIO(bergson(scores)), "scores.zip").values[2, 1])
