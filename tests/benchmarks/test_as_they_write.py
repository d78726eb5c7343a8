"""The libraries themselves, run anew: they still write what `tests/engine/external/written` holds."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from engine.external.files import read_table
from tests.benchmarks.as_they_write import BERGSON, FILES, write
from tests.benchmarks.bench_problems import PEER

WRITTEN = Path(__file__).parents[1] / "engine" / "external" / "written"
RANDOM = ("kronfluence", "trak")
"""Programs that draw at random, of whose files the shape alone is the same."""


@pytest.mark.parametrize("name", FILES)
def test_a_library_writes_what_is_stored(name, tmp_path):
    python = PEER if name == "pydvl" and PEER.exists() else Path(sys.executable)
    if python == Path(sys.executable) and importlib.util.find_spec(
            "bergson" if name in BERGSON else name) is None:
        pytest.skip(f"{name} is not installed")
    for file in write(name, python, tmp_path):
        stored = WRITTEN / (Path(name) / file.name if name in BERGSON else file.name)
        if file.name == "info.json" or not stored.exists():
            continue
        here, there = (read_table(one.parent if name in BERGSON else one).values for one in (file, stored))
        assert here.shape == there.shape
        if name not in RANDOM:
            np.testing.assert_allclose(here, there, rtol=1e-2, atol=1e-4)
