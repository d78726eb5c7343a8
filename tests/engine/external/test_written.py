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
    ("captum.pt", QUERIES, 0.7), ("dattri.pt", CANDIDATES, 0.95), ("pydvl.npy", QUERIES, 0.95)])
def test_what_a_library_wrote_is_read_with_its_claim_its_axes_and_its_sign(file, axes, least):
    small = tiny()
    table = read_table(WRITTEN / file, known=Numbering.of(small))
    seen = preview(small, table, compute(small, guess(table, file, type(small)).claim)[0])
    assert seen.certain and (seen.likely.axes, seen.likely.sign) == (axes, "plus") and seen.likely.agreement > least


def test_self_influence_is_one_score_for_each_example():
    table = read_table(WRITTEN / "captum_self.pt")
    assert table.values.shape == (1, 12) and np.isfinite(table.values).all()
