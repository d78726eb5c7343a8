"""Brought tables come back by their content, and what is not there is said in a sentence."""

import numpy as np
import pytest

from engine.basics.errors import InvalidInput, MissingData
from engine.basics.folders import HOME
from engine.external import saved_tables as kept_tables
from engine.external.header_row import NAMES, FirstRow
from engine.external.table import Table

VALUES = np.random.default_rng(0).normal(size=(4, 6))
VALUES[1, 2] = np.nan


@pytest.fixture(autouse=True)
def shelf(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME, str(tmp_path))
    return tmp_path / "brought"


@pytest.mark.parametrize("candidates", [None, np.array([5, 3, 1, 0, 9, 2])])
def test_a_table_comes_back_as_it_was(candidates):
    table = Table(VALUES, "scores", candidates, FirstRow(NAMES, "Named."), np.array([3, 1, 0, 2]), "By text.")
    digest = kept_tables.keep(table, "theirs.csv")
    found, kept = kept_tables.load(digest)
    np.testing.assert_array_equal(found.values, VALUES)
    assert (found.candidates is None) if candidates is None else np.array_equal(found.candidates, candidates)
    assert found.first_row == table.first_row and found.name == "scores"
    assert found.rows.tolist() == [3, 1, 0, 2] and found.remark == "By text."
    assert (kept.file, kept.shape, kept.digest) == ("theirs.csv", (4, 6), digest)
    assert kept_tables.entries() == [kept]


def test_the_digest_is_that_of_the_content():
    first, again = kept_tables.keep(Table(VALUES), "a.npy"), kept_tables.keep(Table(VALUES.copy(), "x"), "b.npy")
    assert first == again and [kept.file for kept in kept_tables.entries()] == ["a.npy"]
    others = {kept_tables.digest_of(table) for table in (Table(VALUES), Table(VALUES.T), Table(VALUES + 1), Table(
        VALUES, candidates=np.arange(6)), Table(VALUES, candidates=np.arange(6)[::-1]), Table(
        VALUES, rows=np.arange(4)))}
    assert len(others) == 6


def test_what_was_deleted_is_asked_for_and_can_be_brought_again():
    digest = kept_tables.keep(Table(VALUES), "a.npy")
    kept_tables.delete(digest)
    kept_tables.delete(digest)
    assert kept_tables.entries() == []
    with pytest.raises(MissingData, match="import its file"):
        kept_tables.load(digest)
    assert kept_tables.keep(Table(VALUES), "a.npy") == digest


@pytest.mark.parametrize("digest", ["../../etc/passwd", "", "0" * 63, "Z" * 64])
def test_a_digest_never_leads_elsewhere(digest):
    for call in (kept_tables.load, kept_tables.delete):
        with pytest.raises(InvalidInput, match="not a digest"):
            call(digest)


def test_altered_files_are_refused(shelf):
    digest = kept_tables.keep(Table(VALUES), "a.npy")
    path = shelf / digest / "arrays.safetensors"
    path.write_bytes(path.read_bytes()[:-8] + b"\0" * 8)
    with pytest.raises(MissingData, match="was damaged.*import its file"):
        kept_tables.load(digest)
