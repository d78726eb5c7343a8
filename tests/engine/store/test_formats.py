"""What a version wrote opens in the next, and what a later one wrote is said and left alone."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from engine.basics.errors import StoreError
from engine.jobs import job_digest, run_job
from engine.store.results import Store
from engine.store.sealed import FORMAT
from tests.engine.jobs.kinds import tally

WRITTEN = Path(__file__).parent / "formats"
"""format_<n>/results/<digest>: a result as version n of the format has it, written once and never again."""


def raise_format(folder):
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": FORMAT + 1, "new": "unknown here"}))


def test_every_format_has_its_specimen():
    assert sorted(path.name for path in WRITTEN.iterdir()) == [f"format_{n}" for n in range(1, FORMAT + 1)]


@pytest.mark.parametrize("form", range(1, FORMAT + 1))
def test_a_result_of_an_earlier_version_is_read_whole(form, tmp_path):
    shutil.copytree(WRITTEN / f"format_{form}", tmp_path / "home")
    store = Store(tmp_path / "home")
    [found] = store.entries()
    result = store.read(found.digest)
    assert result.manifest["format"] == form and result.manifest["spec"] == {"behavior": "query_loss"}
    np.testing.assert_array_equal(result.array("scores"), np.arange(6.0).reshape(2, 3))
    assert list(result.table("agreement")["tau"]) == [0.5, 0.25]


def test_a_result_of_a_later_version_is_said_and_stays(tmp_path):
    store = Store(tmp_path)
    digest = job_digest("slow", {})
    store.write(digest, {"kind": "slow"})
    raise_format(store.folder(digest))
    with pytest.raises(StoreError, match="^Result .* was written by a newer version of Whichfluence.*update this one"):
        store.read(digest)
    assert store.has(digest) and not (tmp_path / "set-aside").exists() and store.entries() == []
    with pytest.raises(StoreError, match="newer version"):
        store.write(digest, {"kind": "slow"})


def test_a_run_whose_result_is_of_a_later_version_computes_nothing(tmp_path):
    payload = {"chunks": 1, "tally": str(tmp_path / "tally"), "mended": str(tmp_path / "mended")}
    result = run_job("slow", payload, tmp_path / "home")
    raise_format(result.store.folder(result.digest))
    with pytest.raises(StoreError, match="newer version"):
        run_job("slow", payload, tmp_path / "home")
    assert tally(payload) == ["0", "finish"]
