"""One cell holds the value of every seed: what is read is what was written, also of one seed and through a CSV."""

import io

import numpy as np
import pandas as pd
import pytest

from engine.metrics import seed_means
from engine.metrics.intervals import t_interval


@pytest.mark.parametrize("values", [[0.25], [0.123456, -2.5, 31.0], [np.nan, 0.5], [np.nan], []])
def test_what_is_read_is_what_was_written(values):
    np.testing.assert_array_equal(seed_means.split(seed_means.joined(values)), values)


@pytest.mark.parametrize("values", [[0.25], [np.nan], [0.123456, 2.5]])
def test_a_table_that_went_through_csv_says_the_same(values):
    text = pd.DataFrame([{"seed_means": seed_means.joined(values)}]).to_csv(index=False)
    read = pd.read_csv(io.StringIO(text)).loc[0, "seed_means"]
    np.testing.assert_array_equal(seed_means.split(read), values)


def test_summary_is_the_t_interval_of_the_values_and_the_values():
    values = [0.5, 0.75, 0.625]
    row = seed_means.summary(iter(values))
    assert (row["mean"], row["ci95"]) == t_interval(values)
    assert (row["n_seeds"], row["seed_means"]) == (3, "0.500000 0.750000 0.625000")
    assert np.isnan(seed_means.summary([0.5])["ci95"])
