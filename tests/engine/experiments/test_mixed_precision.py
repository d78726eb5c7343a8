"""The check of mixed precision at tiny size, on a device that is said to gain from it and on one that is not."""

import dataclasses

import numpy as np
import pytest

from engine.applications.noisy_labels.search import SuspicionRequest
from engine.basics.errors import InvalidInput
from engine.experiments import EXPERIMENTS, mixed_precision, noisy_labels, publish
from engine.experiments.experiment import StudyPreset
from engine.jobs import KINDS, run_job
from engine.metrics.agreement import kendall_tau
from engine.models import precision
from engine.models.gain import Gain
from tests.engine.applications.noisy_labels.sources import RECIPE
from tests.engine.requests_for_tests import suspicion_payload

TINY = {"numerics": 1, "methods": ["repsim", "gradsim"], "sources": noisy_labels.sources(
    {"dataset": "digits", "n_train": 120, "n_test": 100, "trusted": 4, "model": "cnn", "recipe": RECIPE})}
NAME = "mixed-precision"


def study(seeds):
    return dataclasses.replace(EXPERIMENTS[NAME], presets={"small": StudyPreset("small", "tiny", seeds, TINY)})


def run(seeds, root, gains, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(root))
    monkeypatch.setattr(precision, "gain", lambda: Gain(matrices=gains, convolutions=gains))
    experiment = study(seeds)
    return experiment, run_job(experiment.study, experiment.payload("small"), root)


def test_precision_beside_seeds(tmp_path, monkeypatch):
    experiment, result = run(3, tmp_path, 4.8, monkeypatch)
    assert result.manifest["passes"] == ["bfloat16 (measured gain 4.8)", "float32"]
    assert [(one["seed"], one["precision"], one["trained in"]) for one in result.manifest["runs"]][:2] == [
        (0, "mixed", ["bfloat16 (measured gain 4.8)"]), (0, "full", ["float32"])]
    publish.publish(experiment, result, "small", tmp_path / "out")
    table, record = publish.published(NAME, "small", tmp_path / "out")
    assert record["passes"] == result.manifest["passes"]
    assert len(table) == 3 * 4 * 2 and (table["n_seeds"] == 3).all() and table["mean"].between(-1, 1).all()
    tau = table[table["metric"] == "Kendall tau"].pivot_table("mean", ["method", "behavior"], "comparison")
    assert (tau["mixed against full"] < 1).all()
    assert (tau["mixed against full"] > tau["full, another seed"]).all()


def test_a_row_by_hand(tmp_path, monkeypatch):
    _, result = run(2, tmp_path, 4.8, monkeypatch)
    held = {}
    for one in result.manifest["runs"]:
        source = {**TINY["sources"][0], "seed": one["seed"]}
        if one["precision"] == "mixed":
            source["recipe"] = {**source["recipe"], "precision": "mixed"}
        payload = suspicion_payload(noisy_labels.NoisySource.parse(source), TINY["methods"])
        scored = SuspicionRequest.loaded(run_job(SuspicionRequest.name, payload, tmp_path))
        held[one["precision"], one["seed"]] = scored.suspicion[("RepSim", "none")][None]
    table = result.table("agreement")
    rows = table[(table["method"] == "RepSim") & (table["metric"] == "Kendall tau")].set_index("comparison")
    expected = [kendall_tau(held["mixed", seed], held["full", seed])[0] for seed in (0, 1)]
    assert rows.loc["mixed against full", "mean"] == pytest.approx(np.mean(expected))
    assert rows.loc["full, another seed", "mean"] == pytest.approx(kendall_tau(held["full", 0], held["full", 1])[0])
    assert rows.loc["mixed, another seed", "n_seeds"] == 1


def test_a_device_that_does_not_gain_is_refused(tmp_path, monkeypatch):
    with pytest.raises(InvalidInput, match="trains in float32 even if mixed precision is requested"):
        run(2, tmp_path, 0.5, monkeypatch)


def test_one_seed_is_refused():
    with pytest.raises(InvalidInput, match="two or more"):
        KINDS[mixed_precision.STUDY.name].plan(study(1).payload("small"))


def test_the_preset_plans():
    payload = EXPERIMENTS[NAME].payload("small")
    keys = mixed_precision.plan(payload)
    assert keys[0] == "mixed/0" and len(keys) == 6
    assert 10 < sum(mixed_precision.weight(payload, key) for key in keys) < 3_600
