"""Near-duplicates against a naive loop, and leaks that were planted."""

import dataclasses

import numpy as np
import pytest

from engine.applications.noisy_labels.duplicates import SEARCHED, TEST, DuplicatesRequest, duplicates, pairs
from engine.basics.errors import InvalidInput
from engine.jobs import run_job
from tests.engine.applications.noisy_labels.sources import drawn, source


def test_pairs_are_those_of_a_naive_loop():
    x = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    x[7] = x[3]
    x[9] = x[4] + 1e-3
    x[20:33] = x[19]  # more copies than neighbours are looked at
    nearest = [min(np.linalg.norm(x[i] - x[j]) for j in range(60) if j != i) for i in range(60)]
    limit = 0.4 * np.median(nearest)
    naive = {(i, j) for i in range(60) for j in range(i + 1, 60) if np.linalg.norm(x[i] - x[j]) < limit}
    found = pairs(x, 0.4)
    copies = {(i, j) for i in range(19, 33) for j in range(i + 1, 33)}
    assert set(zip(found.a, found.b, strict=True)) - copies == naive - copies and len(naive) > 2
    assert found[(found.a == 3) & (found.b == 7)].exact.all() and not found[(found.a == 4) & (found.b == 9)].exact.any()
    group = found.group[found.a.between(19, 32)]
    assert group.nunique() == 1 and set(found.a[found.group == group.iloc[0]]) | set(
        found.b[found.group == group.iloc[0]]) == set(range(19, 33))
    with pytest.raises(InvalidInput, match="There are 2 examples"):
        pairs(x[:2], 0.1)


def test_a_leak_and_labels_that_disagree():
    noisy = drawn()
    x, y, x_test = noisy.evidence.x.copy(), noisy.evidence.y.copy(), noisy.x_test.copy()
    x[5], x[8], x_test[11] = x[2], x[2] + 1e-4, x[6]
    y[5], y[8] = y[2], (y[2] + 1) % 10
    evidence = dataclasses.replace(noisy.evidence, x=x, y=y)
    found = duplicates(dataclasses.replace(noisy, evidence=evidence, x_test=x_test))
    leak = found.leaks.iloc[0]
    assert (leak.split_a, leak.row_a, leak.split_b, leak.row_b, leak.exact) == (SEARCHED, 6, TEST, 11, True)
    assert {(2, 8), (5, 8)} <= set(zip(found.disagreeing.row_a, found.disagreeing.row_b, strict=True))
    assert found.with_twins([8, 50]) == [8, 50, 2, 5] and found.with_twins([6]) == [6]


def test_the_job_leaves_what_the_function_finds(tmp_path):
    request = DuplicatesRequest(source=source())
    result = run_job(request.name, request.payload, tmp_path)
    found, here = request.answered(result), duplicates(drawn())
    assert found.examples == here.examples == 150 + 40 + 100 and found.pairs.equals(here.pairs)
    assert result.manifest["data"] == drawn().fingerprint
