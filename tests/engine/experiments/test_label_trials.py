"""What the trial, verified rows and right labels add: what is measured on which rows, and against what."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from engine.basics.options import Options
from engine.experiments import label_trials
from engine.experiments.label_methods import BEYOND, RECOMMENDED

CONTEXT = SimpleNamespace(check=lambda: None, progress=lambda *_: None, device="cpu",
                          computing=lambda *_: Options())


def test_right_labels_and_the_best_method_bound_what_a_trial_recommends():
    made = label_trials.run_chunk({"settings": label_trials.SETTINGS, "seeds": [0]}, "0/Wine, symmetric", CONTEXT)
    own = made.tables["measures"].set_index("method")["value"]
    assert own[RECOMMENDED.method] == own[made.manifest["recommended"]] <= own[made.manifest["best"]]
    assert own[label_trials.HINDSIGHT] == own[made.manifest["best"]]
    assert own[label_trials.RIGHT] > own["Self-confidence"] and own.between(0, 1).all()


def test_a_search_with_verified_rows_is_held_against_cleanlabs_with_them():
    names = [name + known for known in ("", label_trials.WITH) for name in (*label_trials.THEIRS, label_trials.REFIT)]
    values = np.array([[.5, .6], [.7, .7], [.4, .9], [.8, .8], [.6, .7], [.7, .8], [.8, .9], [.9, .9]])
    rows = pd.DataFrame(label_trials._rows(pd.DataFrame(values, names, [0, 1]))).set_index(["method", "metric"])["mean"]
    assert rows[label_trials.REFIT, BEYOND] == pytest.approx(0.1)
    assert rows[label_trials.REFIT + label_trials.WITH, BEYOND] == pytest.approx(0.05)
