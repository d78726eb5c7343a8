"""What is trusted is a random sample: a good model stays good on it, corrections elsewhere survive, and where a model
hardly beats chance the examples or the model are named."""

import io

import numpy as np
import pandas as pd
import pytest

from engine.applications.decisions import FINE, UNSURE, WRONG, Decision
from engine.applications.noisy_labels import cleaning
from engine.applications.noisy_labels.fault import fault
from engine.applications.noisy_labels.held_out import HeldOut
from engine.applications.noisy_labels.judge import Judge
from engine.applications.noisy_labels.own import usual
from engine.applications.noisy_labels.source import NoisySource
from engine.applications.noisy_labels.trusting import by_file, carried, sample_to_verify, trusting, verified_by
from engine.data import load, uploads


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))


def source_of(name):
    return NoisySource.parse({**usual(load(name)), "dataset": name})


@pytest.fixture
def mine():
    """Own data of 200 rows in two classes; every tenth label is wrong, and every eighth row is on the wrong side: the
    data, the right labels, and what a good model says, in the order of the search."""
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.arange(200) % 2)
    x = 4.0 * truth - 2 + 0.3 * rng.normal(size=200)
    x[np.arange(200) % 8 == 3] *= -1
    label = np.where(np.arange(200) % 10 == 0, 1 - truth, truth)
    table = pd.DataFrame({"id": [f"r{row}" for row in range(200)], "label": label, "x": x})
    data = source_of(uploads.keep(io.BytesIO(table.to_csv(index=False).encode()), "mine.csv")).draw()
    at = [int(data.dataset.files[row][1:]) for row in data.rows]
    return data, truth[at], (x[at] > 0).astype(int)


def decided(data, truth, rows):
    y = data.evidence.y
    return {int(row): Decision(int(row), FINE) if y[row] == truth[row] else Decision(int(row), WRONG, int(truth[row]))
            for row in rows}


def test_a_good_model_is_good_on_the_sample_and_not_on_what_a_ranking_put_first(mine):
    data, truth, said = mine
    hardest = np.argsort(said == data.evidence.y, kind="stable")[:40]
    chosen = sample_to_verify(data).rows
    overall = (said == truth).mean()
    assert overall > 0.85 and (said == truth)[hardest].mean() < 0.55
    assert (said == truth)[chosen].mean() == pytest.approx(overall, abs=0.12)
    listed = verified_by(data, decided(data, truth, [*hardest, *chosen]))
    assert set(listed) == {data.dataset.files[data.rows[row]] for row in chosen}


def test_every_correction_is_in_the_cleaned_copy_after_the_sample_is_trusted(mine):
    data, truth, _ = mine
    wrong = np.flatnonzero(data.evidence.y != truth)
    decisions = decided(data, truth, [*sample_to_verify(data).rows, *wrong])
    after = source_of(uploads.keep_reading(trusting(data, decisions))).draw()
    assert len(after.rows) == 200 - len(sample_to_verify(data).rows)
    left = {one.row: one for one in carried(after, by_file(data, decisions))}
    copy = pd.read_csv(io.BytesIO(cleaning.copy(after, left))).set_index("id")["label"]
    assert len(wrong) == 20 and copy.to_dict() == {
        data.dataset.files[at]: label for at, label in zip(data.rows, truth, strict=True)}


def test_a_verdict_that_says_nothing_of_the_label_is_not_trusted(mine):
    data, *_ = mine
    first, second, third = sample_to_verify(data).rows[:3]
    decisions = {first: Decision(first, UNSURE), second: Decision(second, WRONG), third: Decision(third, FINE)}
    assert list(verified_by(data, decisions).values()) == [""]
    known = sample_to_verify(data).fraction(np.zeros(200, dtype=bool), decisions)
    assert known.of == 2 and known.value == 0.5
    assert sample_to_verify(data).fraction(np.zeros(200, dtype=bool), {}) is None
    del decisions[first]  # what is left may have been decided for being suspicious
    assert sample_to_verify(data).fraction(np.zeros(200, dtype=bool), decisions) is None


@pytest.mark.parametrize(("right", "said"), [(0.9, "so the verified examples"), (0.52, "so the model")])
def test_what_is_at_fault_is_measured(right, said):
    labels = np.arange(400) % 2
    agrees = np.arange(400) < 400 * right
    p = np.eye(2)[np.where(agrees, labels, 1 - labels)]
    held = HeldOut(p, labels, 0.0, 0.1)
    assert said in fault(Judge(0.55, 57, 0.5, verified=True), held)
    assert fault(Judge(0.95, 57, 0.5, verified=True), held) == fault(Judge(0.5, 57, 0.5, verified=False), held) == ""
