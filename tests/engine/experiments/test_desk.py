"""The preset between small and paper: its sizes, how it differs from the paper's, and a rehearsal of it shrunk."""

import dataclasses

import numpy as np
import pytest

from engine.applications.noisy_labels.source import NoisySource
from engine.basics.options import Options
from engine.data import questions, tasks
from engine.experiments import EXPERIMENTS, StudyPreset, network, noisy_labels, removal
from engine.experiments.differences import differences
from engine.jobs import KINDS, run_job
from engine.problems import ProblemSource
from tests.engine.applications.noisy_labels.sources import RECIPE
from tests.engine.experiments.test_network_study import SOURCE

DESK = [name for name, experiment in EXPERIMENTS.items() if "desk" in experiment.presets]
TINY = {"dataset": "digits", "n_train": 120, "n_test": 100, "trusted": 4, "model": "mlp", "recipe": RECIPE}


def test_every_table_that_is_too_small_otherwise_has_it():
    assert set(DESK) == {"table-a7", "figure-a1", "figure-a2", "table-5-1", "table-a8", "table-a9", "table-a10",
                         "table-a16", "figure-5-1", "figure-5-2", "table-5-2", "table-a11", "table-a14", "table-a15",
                         "table-a17"}


@pytest.mark.parametrize("name", DESK)
def test_it_is_planned_seed_by_seed(name):
    experiment = EXPERIMENTS[name]
    kind, payload = KINDS[experiment.study], experiment.payload("desk")
    keys = kind.plan(payload)
    assert len(keys) == len(set(keys)) >= len(payload["seeds"])
    assert not kind.weight or sum(kind.weight(payload, key) for key in keys) > 0
    for source in payload["settings"].get("sources", ()):
        NoisySource.parse(source)


def test_the_sizes_are_the_papers_where_they_fit():
    cnn = EXPERIMENTS["table-a7"].presets
    assert cnn["desk"].settings["source"] == cnn["paper"].settings["source"] and cnn["desk"].seeds == 3
    pooled = differences(EXPERIMENTS["table-a7"], "pooled")
    assert "pixels averaged over squares with a side of: 2; the paper: 1" in pooled
    main = NoisySource.parse(EXPERIMENTS["table-5-1"].presets["desk"].settings["sources"][0])
    assert (main.n_train, main.trusted, main.noise, main.recipe.epochs, main.model) == (
        None, 500, 0.2, 40, "resnet18_quarter_cifar") and main.recipe.mixed
    rates = EXPERIMENTS["table-a8"].presets["desk"].settings["sources"]
    assert [source["noise"] for source in rates] == [0.05, 0.1, 0.2, 0.3, 0.4]
    models = EXPERIMENTS["table-a9"].presets["desk"].settings["sources"]
    assert [noisy_labels.ARCHITECTURES[source["model"]] for source in models] == [
        "ResNet-18", "ResNet-50", "VGG-19-BN", "MobileNetV2"]


@pytest.mark.parametrize(("name", "records"), [("figure-5-2", 1_000), ("table-5-2", 5_000)])
def test_scienceqa_has_as_many_short_questions(name, records):
    task = EXPERIMENTS[name].presets["desk"].settings["task"]
    if not questions.of(task).available()[0]:
        pytest.skip("ScienceQA is not on this machine")
    built = tasks.build(task)
    assert len(built.train) == records and len(built.queries[built.reference]) == 100


def test_differences_are_read_off_the_settings():
    assert differences(EXPERIMENTS["table-a7"], "desk") == [
        "candidates of the inverse Hessian: 4; the paper: all", "training examples of L-BFGS: 1,000; the paper: all",
        "candidates of L-BFGS: 10; the paper: all", "weights α of L-BFGS: 0.001 / 0.1; the paper: all"]
    assert differences(EXPERIMENTS["table-a11"], "gpu")[0] == "response corruption: left out"
    assert not any("records" in line and "batch" not in line for line in differences(EXPERIMENTS["table-a11"], "gpu"))
    removed = differences(EXPERIMENTS["table-a10"], "desk")
    assert {"pixels averaged over squares with a side of: 2; the paper: 1", "epochs: 6; the paper: 40"} < set(removed)
    assert "epochs: 16; the paper: 40 / 100 / 100 / 100" in differences(EXPERIMENTS["table-a9"], "desk")
    quality = differences(EXPERIMENTS["table-a11"], "desk")
    assert {"corruption, clean records: 800; the paper: 4,000",
            "backdoor, longest question in characters: 1,050; the paper: no limit"} < set(quality)
    assert not any("backdoor, clean" in line for line in quality)
    assert "model: SmolLM2-135M-Instruct; the paper: Qwen3-8B" in differences(EXPERIMENTS["table-5-2"], "desk")
    assert differences(EXPERIMENTS["table-a7"], "paper") == []
    assert differences(EXPERIMENTS["mixed-precision"], "small") == []


def test_a_changed_size_changes_its_line():
    experiment = EXPERIMENTS["table-a7"]
    settings = experiment.presets["desk"].settings
    larger = StudyPreset("desk", "", 4, {**settings, "searched": {"n_candidates": 50}})
    changed = dataclasses.replace(experiment, presets={**experiment.presets, "desk": larger})
    assert differences(changed, "desk")[:1] == ["seeds: 4; the paper: 3"]
    assert "candidates of L-BFGS: 50; the paper: all" in differences(changed, "desk")


@pytest.mark.slow
@pytest.mark.parametrize("own", [{"n_candidates": 3}, {"n_train": 30, "n_candidates": 4}])
def test_searches_take_their_own_problem_and_every_row_says_which(tmp_path, own):
    """Searched rows are those of a study of the searched problem alone, and all others do not change by it."""
    def table(**more):
        settings = {"numerics": network.NUMERICS, "slice": 2, "source": {**SOURCE, **more.pop("source", {})}, **more}
        payload = {"study": network.STUDY.name, "preset": "desk", "seeds": [0], "settings": settings}
        result = run_job(network.STUDY.name, payload, tmp_path)
        return result.table("agreement"), result.manifest["runs"][0]

    keys = ["table", "curve", "axis", "comparison", "parameter", "behavior", "metric"]

    def same(rows, other):
        joined = rows.merge(other, on=keys, suffixes=("", "_other"))
        assert len(joined) == len(rows) > 0
        np.testing.assert_allclose(joined["mean"], joined["mean_other"], atol=1e-6)

    few, run = table(solved={"n_candidates": 2}, searched={**own, "alphas": [1e-3, 1e-1]})
    assert set(few[few["axis"] == "P"]["parameter"]) == {"alpha=0.001", "alpha=0.1"}
    assert "test_accuracy" in run["searched"]["factual"]
    searched = (few["axis"] == "P") | (few["curve"] == "alpha")
    assert set(few[searched]["curve"]) == {"", "drift", "alpha"}
    same(few[searched], table(source=own)[0])
    inverse = few["comparison"] == network.INVERSE_HESSIAN
    same(few[inverse], table(source={"n_candidates": 2})[0])
    same(few[~searched & ~inverse], table()[0])
    for rows, size in ((searched, own), (inverse, {"n_candidates": 2}), (~searched & ~inverse, {})):
        for name in ("n_train", "n_candidates"):
            assert set(few[rows][name]) == {{**SOURCE, **size}[name]}


def test_removal_of_chosen_rows_with_an_oracle(tmp_path):
    rows = [["Random", "none"], ["Oracle", "none"], ["GradSim", "Target logit"]]
    settings = {**removal.settings(TINY), "methods": ["random", "gradsim"], "shares": [0.05, 0.1], "rows": rows}
    tiny = dataclasses.replace(EXPERIMENTS["table-a10"], presets={"desk": StudyPreset("desk", "tiny", 2, settings)})
    result = run_job(tiny.study, tiny.payload("desk"), tmp_path)
    table = result.table("removal")
    assert [list(row) for row in table[["method", "behavior"]].drop_duplicates().to_numpy()] == rows
    assert (table[table["method"] == "Oracle"]["wrong_removed"] == 1).all()
    assert [run["seed"] for run in result.manifest["runs"]] == [0, 1]
    assert all(0 <= run["test_accuracy"] <= 1 for run in result.manifest["runs"])
    known = removal.known_wrong(np.array([True, False, True, False]), 0)
    assert set(np.argsort(-known)[:2]) == {0, 2}


def test_curves_over_the_step_size_reach_agreement_as_it_vanishes():
    """Also for candidates of which the model is sure, whose gradients float32 rounds."""
    source = {"dataset": "digits", "model": "cnn", "n_train": 150, "n_queries": 20, "n_candidates": 40, "recipe": {
        "epochs": 40, "batch_size": 25, "learning_rate": 0.1, "momentum": 0.9}}
    chunk = network._curve_chunk(ProblemSource(**source).build(), {}, 1e-6, Options())
    found = {name: values.mean() for name, values in chunk.arrays.items() if name.endswith("kendall_tau")}
    assert len(found) == 3 and min(found.values()) > 0.999
