"""Files as the real libraries wrote them (`tests/benchmarks/as_they_write.py`) are read with claim, axes and sign."""

from pathlib import Path

import numpy as np
import pytest

from engine.external.files import read_table
from engine.external.guess import guess
from engine.external.header_row import Numbering
from engine.external.matching import CANDIDATES, QUERIES
from engine.external.reading import preview
from engine.scoring.compute import compute
from tests.benchmarks.as_they_write import tiny
from tests.engine.single_thread import one_thread  # noqa: F401

WRITTEN = Path(__file__).parent / "written"


@pytest.mark.parametrize(("file", "axes", "least"), [
    ("captum.pt", QUERIES, 0.99), ("dattri.pt", CANDIDATES, 0.9), ("pydvl.npy", QUERIES, 0.99),
    ("pairwise_scores.safetensors", QUERIES, 0.5), ("queries.mmap", CANDIDATES, 0.3)])
def test_what_a_library_wrote_is_read_with_its_claim_its_axes_and_its_sign(file, axes, least):
    small = tiny()
    table = read_table(WRITTEN / file, known=Numbering.of(small))
    seen = preview(small, table, compute(small, guess(table, file, type(small)).claim)[0])
    assert seen.certain and (seen.likely.axes, seen.likely.sign) == (axes, "plus") and seen.likely.agreement > least


def test_a_folder_of_bergson_holds_what_was_written_into_it():
    """By bergson's own writer, in float16: the scores that dattri computed."""
    np.testing.assert_allclose(read_table(WRITTEN / "bergson").values, read_table(WRITTEN / "dattri.pt").values,
                               rtol=2e-3, atol=1e-6)


def test_self_influence_is_one_score_for_each_example():
    table = read_table(WRITTEN / "captum_self.pt")
    assert table.values.shape == (1, 12) and np.isfinite(table.values).all()
