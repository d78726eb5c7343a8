"""Which estimator and behavior lead a table of a language study, and what its seeds separate from them."""

import numpy as np
import pandas as pd
import pytest

from app.language import published


def rows(means, halves):
    return pd.DataFrame({"method": list("abc"), "behavior": "answer margin", "metric": "AUPRC", "mean": means,
                         "ci95": halves})


@pytest.mark.parametrize(("means", "halves", "tied"), [
    ((0.67, 0.66, 0.20), (0.04, 0.11, 0.05), ["b"]),
    ((0.67, 0.55, 0.20), (0.04, 0.05, 0.05), []),
    ((0.60, 0.66, 0.20), (0.04, 0.01, 0.70), ["c"]),
    ((0.67, 0.66, 0.20), (0.04, np.nan, 0.05), None),
])
def test_the_leader_and_what_is_not_separated_from_it(means, halves, tied):
    best, others = published.leading(rows(means, halves), "AUPRC")
    assert best["mean"] == max(means)
    assert (None if others is None else list(others["method"])) == tied


def test_of_a_rate_of_false_alarms_the_lowest_leads():
    best, _ = published.leading(rows((0.3, 0.1, 0.2), (0.01, 0.01, 0.01)), "BT-FPR")
    assert best["method"] == "b"
