"""The studies of noisy labels at tiny size: every cell of the paper's tables has its row, and numbers by hand."""

import dataclasses
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from engine.applications.noisy_labels.drawing import draw_cached
from engine.applications.noisy_labels.retraining import most_suspicious, retrained_accuracy
from engine.applications.noisy_labels.scoring import suspicions
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import NoisySource
from engine.experiments import EXPERIMENTS, conventions, noisy_labels, publish, removal
from engine.experiments.experiment import StudyPreset
from engine.jobs import KINDS, Watch, run_job
from engine.metrics.detection import detection
from tests.engine.applications.noisy_labels.sources import RECIPE
from tests.engine.requests_for_tests import suspicion_payload

TINY = {"dataset": "digits", "n_train": 120, "n_test": 100, "trusted": 4, "model": "mlp", "recipe": RECIPE}
OURS = ("table-5-1", "table-a8", "table-a9", "table-a16", "table-a10", "figure-5-1")


def run(name, settings, root):
    tiny = dataclasses.replace(EXPERIMENTS[name], presets={"small": StudyPreset("small", "tiny", 2, settings)})
    return tiny, run_job(tiny.study, tiny.payload("small", conventions=conventions.of(settings)), root)


@pytest.fixture(scope="module")
def main(tmp_path_factory):
    settings = noisy_labels.settings(noisy_labels.MAIN_PRESETS["small"].settings["methods"], noisy_labels.sources(TINY))
    return run("table-5-1", settings, tmp_path_factory.mktemp("home"))


def test_every_cell_of_tables_5_1_and_a16_has_its_row(main, tmp_path):
    tiny, result = main
    for name in ("table-5-1", "table-a16"):
        experiment = dataclasses.replace(tiny, name=name, view=EXPERIMENTS[name].view)
        folder = publish.publish(experiment, result, "small", tmp_path)
        table, _ = publish.published(name, "small", tmp_path)
        joined = publish.comparison_with_paper(table, publish.read_table(publish.PAPER / EXPERIMENTS[name].paper_table),
                                               EXPERIMENTS[name].tolerance)
        assert joined["ours"].notna().all() and len(joined) == len(pd.read_csv(
            publish.PAPER / EXPERIMENTS[name].paper_table)), folder


def test_means_are_over_seeds_of_the_stored_runs(main):
    tiny, result = main
    table = result.table("detection")
    row = table[(table.method == "TracIn") & (table.behavior == "Target logit") & (table.metric == "AUPRC")].iloc[0]
    values = []
    for seed in (0, 1):
        source = NoisySource.parse({**tiny.payload("small")["settings"]["sources"][0], "seed": seed})
        payload = suspicion_payload(source, tiny.payload("small")["settings"]["methods"])
        scored = SuspicionRequest.loaded(run_job(SuspicionRequest.name, payload, result.store.root))
        pair = next(pair for pair in scored.suspicion if pair == ("TracIn", "Target logit"))
        values.append(detection(draw_cached(source).flags.noisy, scored.suspicion[pair])["AUPRC"])
    assert row["mean"] == pytest.approx(np.mean(values)) and row["n_seeds"] == 2
    np.testing.assert_allclose([float(v) for v in row["seed_means"].split()], values, atol=1e-6)


def test_runs_that_lie_there_say_nothing_of_the_time_that_is_left(main):
    """Another job of the same runs, of which one is not stored."""
    class Recorder(Watch):
        seen: ClassVar[list] = []

        def report(self, progress):
            self.seen.append(progress)

    tiny, result = main
    payload = tiny.payload("small")
    run_job(tiny.study, {**payload, "preset": "another", "seeds": [0, 1, 2]}, result.store.root, watch=Recorder())
    before = [seen.seconds_left for seen in Recorder.seen if seen.share <= 2 / 3]
    assert len(before) > 3 and set(before) == {None}
    assert Recorder.seen[-1].seconds_left == 0.0


def test_figure_5_1_compares_every_two_pairs(main):
    _, result = main
    table = EXPERIMENTS["figure-5-1"].view({name: result.table(name) for name in result.tables})
    assert len(table) == 13 * 12 // 2 and table["mean"].between(-1, 1).all()
    random = table[table["a"] == "Random"]
    assert (random["mean"].abs() < 0.2).all()


def test_rates_and_architectures_have_their_columns(tmp_path):
    rates = noisy_labels.sources(TINY, {"noise": 0.05}, {"noise": 0.4})
    _, result = run("table-a8", noisy_labels.settings(("random", "repsim", "gradsim"), rates), tmp_path)
    table = EXPERIMENTS["table-a8"].view({"detection": result.table("detection")})
    assert set(table["rho"]) == {"0.05", "0.4"} and set(table["metric"]) == {"AUPRC"} and len(table) == 2 * 5
    both = noisy_labels.sources(TINY, {}, {"model": "linear"})
    _, result = run("table-a9", noisy_labels.settings(("random", "ntk"), both), tmp_path)
    assert set(result.table("detection")["architecture"]) == {"MLP", "Softmax regression"}


def test_removal_is_scored_and_shared(tmp_path):
    settings = {**removal.settings(TINY), "methods": ["random", "repsim"], "shares": [0.05, 0.1]}
    _, result = run("table-a10", settings, tmp_path)
    table = result.table("removal")
    assert list(table["topk"]) == ["5%", "10%"] * 2 and (table["n_seeds"] == 2).all()
    assert result.manifest["retrainings"] == 8
    assert table["mean"].between(-100, 100).all() and table["wrong_removed"].between(0, 1).all()


@pytest.mark.parametrize("name", OURS)
def test_both_presets_plan_and_their_sources_are_valid(name):
    experiment = EXPERIMENTS[name]
    for preset in experiment.presets:
        payload = experiment.payload(preset)
        keys = KINDS[experiment.study].plan(payload)
        assert len(keys) == len(set(keys)) and sum(KINDS[experiment.study].weight(payload, key) for key in keys) > 0
        for source in payload["settings"]["sources"]:
            NoisySource.parse(source)


def test_the_paper_preset_is_table_a3():
    main = NoisySource.parse(noisy_labels.MAIN_PRESETS["paper"].settings["sources"][0])
    recipe = main.recipe
    assert (main.model, main.trusted, main.noise, main.n_train) == ("resnet18_cifar", 500, 0.2, None)
    assert (recipe.epochs, recipe.batch_size, recipe.learning_rate, recipe.momentum, recipe.weight_decay) == (
        40, 128, 0.05, 0.9, 5e-4)
    assert recipe.checkpoint_epochs == (9, 19, 29, 39) and recipe.schedule == "cosine"
    others = [NoisySource.parse(source) for source in noisy_labels.ARCHITECTURE_PRESETS["paper"].settings["sources"]]
    assert [(o.model, o.recipe.learning_rate, o.recipe.checkpoint_epochs) for o in others[1:]] == [
        ("resnet50_cifar", 0.1, (24, 49, 74, 99)), ("vgg19_bn_cifar", 0.05, (24, 49, 74, 99)),
        ("mobilenet_v2_cifar", 0.02, (24, 49, 74, 99))]
    assert [s["noise"] for s in noisy_labels.RATE_PRESETS["paper"].settings["sources"]] == [0.05, 0.1, 0.2, 0.3, 0.4]


@pytest.fixture(scope="module")
def as_authors(tmp_path_factory):
    settings = noisy_labels.settings(("repsim", "ntk", "lissa", "augmented"), noisy_labels.sources(
        {**TINY, "recipe": RECIPE.model_copy(update={"precision": "mixed"})}))
    return run("table-5-1", {**settings, "conventions": "authors"}, tmp_path_factory.mktemp("home"))


def test_the_authors_runs_say_what_they_are(as_authors):
    _, result = as_authors
    first, second = (NoisySource.parse(one["source"]) for one in result.manifest["runs"])
    assert first.standardised and first.recipe.precision == "full" and (first.split, second.split) == (0, 1)
    assert (first.seed, second.seed) == (0, 1) and first.mask == second.mask
    assert result.manifest["runs"][0]["data"] != result.manifest["runs"][1]["data"]


def test_the_authors_methods_stand_under_the_papers_names(as_authors, main):
    tiny, result = as_authors
    settings = tiny.presets["small"].settings
    assert noisy_labels.methods_of(settings) == ("repsim_unit", "ntk_loss_gradients", "lissa_power", "augmented")
    table = result.table("detection")
    names = {(row.method, row.behavior, row.metric) for row in table.itertuples()}
    assert names < {(row.method, row.behavior, row.metric) for row in main[1].table("detection").itertuples()}
    source = noisy_labels.source_of(settings, 0, 1)
    scored = suspicions(draw_cached(source).train(), ("ntk_loss_gradients",))
    row = table[(table.method == "NTK") & (table.metric == "AUPRC")].iloc[0]
    expected = detection(draw_cached(source).flags.noisy, scored["NTK (loss gradients)", "none"])["AUPRC"]
    assert float(row["seed_means"].split()[1]) == pytest.approx(expected, abs=1e-6)


def test_the_authors_mobilenet_has_one_stride_less(tmp_path):
    settings = {**noisy_labels.ARCHITECTURE_PRESETS["desk"].settings, "conventions": "authors"}
    assert [source["model"] for source in noisy_labels.sources_of(settings)][-1] == "mobilenet_v2_stem_quarter_cifar"
    assert noisy_labels.sources_of(noisy_labels.ARCHITECTURE_PRESETS["desk"].settings)[-1]["model"] == (
        "mobilenet_v2_quarter_cifar")


def test_the_authors_retrain_with_seed_0_on_the_data_of_the_source(tmp_path):
    settings = {**removal.settings(TINY), "methods": ["repsim"], "shares": [0.1], "conventions": "authors"}
    _, result = run("table-a10", settings, tmp_path)
    source = noisy_labels.source_of(settings, 0, 1)
    noisy = draw_cached(source)
    suspicion = suspicions(noisy.train(), ("repsim_unit",))["RepSim (unit centroid)", "none"]
    again = draw_cached(source.model_copy(update={"seed": 0}))
    after = retrained_accuracy(again, tuple(most_suspicious(suspicion, 0.1).tolist()), {})
    before = noisy.train().accuracy(noisy.x_test, noisy.y_test)
    change = float(result.table("removal")["seed_means"][0].split()[1])
    assert change == pytest.approx(100 * (after - before), abs=1e-4)
    np.testing.assert_array_equal(again.rows, noisy.rows)
