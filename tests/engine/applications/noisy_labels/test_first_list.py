"""The first list of suspects against cleanlab's, of the same features and in processor time."""

import time
from functools import partial

import numpy as np
import pytest
from torch import nn

from engine import data
from engine.applications.noisy_labels.evidence import Evidence
from engine.applications.noisy_labels.feature_readings import RECIPE
from engine.applications.noisy_labels.folds import fold_of
from engine.applications.noisy_labels.held_out import HeldOut
from engine.applications.noisy_labels.learners import REGRESSIONS, standardised
from engine.applications.noisy_labels.refitting import Refitting
from engine.applications.noisy_labels.wrong_labels import counted
from engine.basics.options import Options
from engine.data import corruption
from engine.models.catalogue import LOGISTIC
from engine.models.pretrained.pictures import picture_features
from engine.models.pretrained.texts import text_features
from engine.models.regression import choose_penalty

WORDS = {"animal": ("dog", "cat", "horse", "carp", "wolf", "owl"), "tool": ("drill", "hammer", "saw", "axe", "lathe"),
         "plant": ("rose", "oak", "fern", "moss", "birch"), "food": ("bread", "cheese", "soup", "rice", "cake"),
         "colour": ("red", "green", "blue", "ochre", "teal")}
PLACES = ("yard", "shed", "field", "shop", "book", "letter", "photograph", "barn", "market", "story")


def pictures():
    dataset = data.load("fashion_small")
    x = picture_features(dataset.pictures("train", np.arange(600)), Options())
    return standardised(x, x, True), dataset.y_train[:600]


def table():
    from sklearn.datasets import make_classification

    x, y = make_classification(20_000, 100, n_informative=20, n_redundant=20, n_classes=5, random_state=0)
    return standardised(x, x, False), y


def texts():
    rng, kinds = np.random.default_rng(0), list(WORDS)
    y = np.arange(3_000) % len(kinds)
    x = text_features([f"The {rng.choice(PLACES)} had a {rng.choice(WORDS[kinds[k]])} beside the {rng.choice(PLACES)} "
                       f"and nobody in the {rng.choice(PLACES)} knew." for k in y])
    return standardised(x, x, False), y


def ours(x, y, classes):
    recipe = RECIPE.model_copy(update={"weight_decay": choose_penalty(x, y, 0)})
    refitting = Refitting(Evidence(x, y, x, y, classes), partial(nn.Linear, x.shape[1], classes), recipe,
                          REGRESSIONS[LOGISTIC], 0, fold_of(y, 5, 0), "cpu")
    p = refitting.out_of_fold(Options())
    count = counted(y, p)
    return HeldOut(p, y, count.low, count.high).suspects(len(y))


def theirs(x, y, classes):
    from cleanlab.filter import find_label_issues
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    p = cross_val_predict(LogisticRegression(max_iter=1_000), x, y, cv=5, method="predict_proba")
    return find_label_issues(y, p, n_jobs=1, return_indices_ranked_by="self_confidence")


def quickest(ranked, *arguments, repeats=3):
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        order = ranked(*arguments)
        seconds.append(time.process_time() - start)
    return min(seconds), order


@pytest.mark.slow
@pytest.mark.parametrize("load", [pictures, texts, table])
def test_the_first_list_takes_about_as_long_as_cleanlabs(load):
    x, truth = load()
    classes = int(truth.max()) + 1
    y, flags = corruption.symmetric_noise(truth, classes, 0.1, 0)
    theirs(x[:200], y[:200], classes)  # its imports
    (own, order), (other, issues) = quickest(ours, x, y, classes), quickest(theirs, x, y, classes)
    assert own <= 1.5 * other
    assert flags.noisy[order[:len(issues)]].sum() >= 0.95 * flags.noisy[issues].sum()
