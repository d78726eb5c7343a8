"""The files of a result hold what it holds."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from engine.store import exports
from engine.store.results import Store

TABLE = pd.DataFrame({"name": ["a", "ä"], "mean": [0.1, np.nan], "n": [1, 2]})
DIGEST = "ab" * 32


@pytest.fixture
def result(tmp_path):
    return Store(tmp_path).write(DIGEST, {"kind": "made"}, {"rows": TABLE}, {"0|values": np.arange(6.0).reshape(2, 3)})


def test_tables_as_csv_and_parquet(result):
    pd.testing.assert_frame_equal(pd.read_csv(io.BytesIO(exports.csv(result, "rows"))), TABLE)
    pd.testing.assert_frame_equal(pd.read_parquet(io.BytesIO(exports.parquet(result, "rows"))), TABLE)


def test_what_a_sign_means_stands_beside_the_numbers_that_have_one(tmp_path):
    manifest = {"kind": "made", "quantity": {"rows": "change of the log-likelihood"}}
    found = Store(tmp_path).write(DIGEST, manifest, {"rows": TABLE, "others": TABLE})
    rows, others = (pd.read_csv(io.BytesIO(exports.csv(found, name))) for name in ("rows", "others"))
    assert rows["quantity"].tolist() == ["change of the log-likelihood"] * 2 and list(others) == list(TABLE)
    pd.testing.assert_frame_equal(rows.drop(columns="quantity"), TABLE)
    assert "quantity" in pd.read_parquet(io.BytesIO(exports.parquet(found, "rows")))


def test_arrays_as_npz_with_the_manifest(result):
    assert exports.has_arrays(result)
    with np.load(io.BytesIO(exports.npz(result)), allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["0_values"], result.array("0|values"))
        assert json.loads(str(arrays["manifest"]))["digest"] == DIGEST


def test_a_result_of_tables_alone_has_no_arrays(tmp_path):
    assert not exports.has_arrays(Store(tmp_path).write(DIGEST, {"kind": "made"}, {"rows": TABLE}))
