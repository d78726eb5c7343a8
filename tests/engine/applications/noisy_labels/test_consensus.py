"""Who votes in the consensus, by hand and against what the published tables say of such trainings."""

import json
import math

import numpy as np
import pytest

from engine.applications.noisy_labels.consensus import by_heart, fraction_by_heart, votes, voting, with_consensus
from engine.applications.noisy_labels.drawing import draw_cached
from engine.applications.noisy_labels.pairs import CONSENSUS, MAIN, Pair
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import NoisySource
from engine.experiments import publish
from engine.jobs import run_job
from engine.metrics.detection import detection
from tests.engine.requests_for_tests import suspicion_payload

LOSS, LOGIT, MARGIN = (Pair("TracIn", name) for name in ("Trusted loss", "Target logit", "Hard margin"))
PLAIN, OTHER = Pair("RepSim"), Pair("LiSSA", "Trusted loss")
SUSPICION = {LOSS: np.array([5.0, 4, 3, 2, 1, 0, -1, -2, -3, -4]),
             LOGIT: np.array([5.0, 0, 4, 3, 2, 1, -1, -2, -3, -4]), PLAIN: -np.arange(10.0)[::-1],
             OTHER: np.arange(10.0)}
COLUMNS = {"table-5-1": None, "table-a8": "rho", "table-a9": "architecture"}
"""Published tables, and the column that tells their runs apart."""


@pytest.mark.parametrize("learned, second", [(False, PLAIN), (True, OTHER)])
def test_it_is_the_mean_rank_of_every_method_with_its_vote(learned, second):
    found = with_consensus(SUSPICION, learned)
    assert list(found)[-1] == CONSENSUS and voting(SUSPICION, learned) == [LOGIT, second]
    logit, plain = [1, 6, 2, 3, 4, 5, 7, 8, 9, 10], [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert list(found[CONSENSUS]) == [10 - (a + b) / 2 for a, b in zip(logit, plain, strict=True)]
    assert list(votes(SUSPICION, learned, 0.2)) == [1, 0, 1, 0, 0, 0, 0, 0, 1, 1]
    assert CONSENSUS not in with_consensus({LOSS: SUSPICION[LOSS], second: SUSPICION[second]}, learned)


def test_what_counts_as_learned_by_heart():
    assert fraction_by_heart(0.9, 0.6) == pytest.approx(0.75) and fraction_by_heart(1.0, 1.0) == 0
    assert by_heart("resnet18_cifar", 0.93, 0.6) and not by_heart("resnet18_cifar", 0.91, 0.6)
    assert not by_heart("resnet18_cifar", 0.98, 0.98), "right of what it has not seen as well: nothing is by heart"
    assert not by_heart("cnn", 1.0, 0.6) and not by_heart("resnet18_cifar", 1.0, math.nan)


def test_the_published_tables_say_of_such_trainings_what_the_votes_follow():
    """What the module says of Tables 5-1, A-8 and A-9, run by run, and where the limit lies."""
    shares, exceptions, counted = [], [], {True: 0, False: 0}
    for model, seen, unseen, auprc in _published():
        learned = by_heart(model, seen, unseen)
        counted[learned] += 1
        if model not in ("cnn", "mlp", "linear"):
            shares.append(fraction_by_heart(seen, unseen))
        assert auprc[LOGIT] > max(auprc[LOSS], auprc[MARGIN])
        assert (auprc["GradSim", "Trusted loss"] > auprc["GradSim", "Target logit"]) == learned
        assert (auprc["GradSim", "Trusted loss"] > auprc[PLAIN]) == learned
        if learned:
            assert auprc["LiSSA", "Trusted loss"] > max(auprc["LiSSA", "Target logit"], auprc[PLAIN])
        elif auprc["LiSSA", "Trusted loss"] > auprc["LiSSA", "Target logit"]:
            exceptions.append(model)
    assert not [share for share in shares if 0.7 < share < 0.95]
    assert exceptions == ["cnn", "mlp"] and counted == {True: 8, False: 19}


@pytest.mark.slow
def test_in_a_deep_network_that_has_learned_its_labels_by_heart_the_votes_by_heart_find_more(tmp_path):
    recipe = {"epochs": 30, "batch_size": 32, "learning_rate": 0.05, "momentum": 0.9, "weight_decay": 5e-4,
              "schedule": "cosine", "checkpoints": 4}
    source = NoisySource(dataset="fashion_small", n_train=500, n_test=200, pool=2, model="resnet18_quarter_cifar",
                         seed=1, recipe=recipe)
    methods = [name for name in MAIN if name not in ("random", "confident")]
    scored = SuspicionRequest.loaded(run_job(SuspicionRequest.name, suspicion_payload(source, methods), tmp_path))
    noisy = draw_cached(source).flags.noisy
    found = {learned: detection(noisy, with_consensus(scored.suspicion, learned)[CONSENSUS])["AUPRC"]
             for learned in (True, False)}
    assert scored.by_heart and found[True] > found[False] + 0.05


def _published():
    """(model, agreement with its training labels, accuracy, (method, behavior) -> AUPRC) of every run, mean over
    seeds."""
    for name, column in COLUMNS.items():
        for folder in sorted((publish.RESULTS / name).iterdir()):
            table = publish.read_table(folder / publish.TABLE)
            table = table[table["metric"] == "AUPRC"]
            runs = json.loads((folder / publish.MANIFEST).read_text())["runs"]
            parts = [table] if column is None else [part for _, part in table.groupby(column, sort=False)]
            same = {}
            for run in runs:
                same.setdefault((run["source"]["model"], run["source"]["noise"]), []).append(run)
            for part, found in zip(parts, same.values(), strict=True):
                yield (found[0]["source"]["model"], np.mean([run["observed_accuracy"] for run in found]),
                       np.mean([run["test_accuracy"] for run in found]),
                       {Pair(row.method, row.behavior): row.mean for row in part.itertuples()})
