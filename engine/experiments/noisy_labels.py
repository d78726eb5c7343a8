r"""Noisy label detection: Tables 5-1, A-8, A-9 and A-16 and Figure 5-1 of the paper, configuration of its Table A-3.

A network is trained on labels of which a fixed share is wrong; every method ranks the training examples by how much
they seem to lower a behavior of the trusted set, and the ranking is compared with what was corrupted. Pictures are
pixels / 255 without augmentation, which the paper does not mention; trainings at the paper's scale run in bfloat16 on
devices that gain from it.

As the authors' code has it (the setting `conventions`): trainings run in float32 on channels standardised by the
training set; each seed draws its own trusted set and training set under the same mask; MobileNetV2 has stride 1 in its
stem alone; NTK is the cosine with the class's mean loss gradient, RepSim that with the centroid of unit-length
representations, and LiSSA is scaled by power steps. The tables give them the paper's names.

Each seed of each source is one run of `engine.applications.noisy_labels.search`, shared by all tables that need it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from engine.applications.noisy_labels.drawing import draw_cached
from engine.applications.noisy_labels.effort import training_seconds
from engine.applications.noisy_labels.pairs import MAIN, METHODS, Pair
from engine.applications.noisy_labels.scoring import AUGMENTED
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import NoisySource
from engine.basics.provenance import versions_of
from engine.experiments.conventions import as_authors
from engine.experiments.enough import learned_classes
from engine.experiments.experiment import Experiment, StudyPreset
from engine.experiments.study import study
from engine.jobs import Context, Output
from engine.metrics import seed_means
from engine.metrics.agreement import pairwise
from engine.metrics.detection import detection
from engine.models.recipe import PAPER_RESNET, Recipe
from engine.store.results import Result

NUMERICS = 1
RATES = (0.05, 0.1, 0.2, 0.3, 0.4)
RHO = 0.2
OF_THE_PAPER = ("random", "repsim", "ntk", "gradsim", "tracin", "lissa")
QUARTERS = {"resnet18_quarter_cifar": 0.05, "resnet50_quarter_cifar": 0.1, "vgg19_bn_quarter_cifar": 0.05,
            "mobilenet_v2_quarter_cifar": 0.02}
"""Narrow forms of the paper's networks, with its learning rates."""
ARCHITECTURES = {"mobilenet_v2_stem_cifar": "MobileNetV2", "mobilenet_v2_stem_quarter_cifar": "MobileNetV2",
                 "resnet18_cifar": "ResNet-18", "resnet50_cifar": "ResNet-50", "vgg19_bn_cifar": "VGG-19-BN",
                 "mobilenet_v2_cifar": "MobileNetV2", "resnet18_quarter_cifar": "ResNet-18",
                 "resnet50_quarter_cifar": "ResNet-50", "vgg19_bn_quarter_cifar": "VGG-19-BN",
                 "mobilenet_v2_quarter_cifar": "MobileNetV2", "cnn": "CNN", "mlp": "MLP",
                 "linear": "Softmax regression"}
"""Models as the tables name them."""

CIFAR = {"dataset": "cifar10", "trusted": 500, "model": "resnet18_cifar", "recipe": PAPER_RESNET}
LONG = PAPER_RESNET.model_copy(update={"epochs": 100})
EXTENSION = {"resnet50_cifar": 0.1, "vgg19_bn_cifar": 0.05, "mobilenet_v2_cifar": 0.02}
QUARTER = {**CIFAR, "model": "resnet18_quarter_cifar"}
"""The paper's data and recipe for a ResNet-18 of a quarter of its width."""
SHORT = PAPER_RESNET.model_copy(update={"epochs": 16})
POOLED = {**QUARTER, "pool": 2, "recipe": SHORT.model_copy(update={"epochs": 6})}
"""Chosen by accuracy with and without all wrong labels, before anything was ranked: 0.60 and 0.67. MobileNetV2, which
reads 0.44 after 6 epochs, is trained for 16."""
DESK_TITLE = "The paper's 45,000 training and 5,000 trusted CIFAR-10 images, networks of a quarter of their width"
POOLED_TITLE = DESK_TITLE.replace("images,", "images, averaged to 16×16 pixels,")
SMALL_RECIPE = Recipe(epochs=25, batch_size=32, learning_rate=0.05, momentum=0.9, weight_decay=5e-4, schedule="cosine",
                      checkpoints=4)
SUBSET = {"dataset": "cifar10", "n_train": 1_000, "n_test": 2_000, "trusted": 50, "pool": 2, "model": "cnn",
          "recipe": SMALL_RECIPE}
DIGITS = {"dataset": "digits", "n_train": 1_000, "trusted": 20, "recipe": SMALL_RECIPE}
"""Small networks classify nearly all of these trusted examples right, as the paper's do theirs, but 38% in `SUBSET`."""
SMALL_TITLE = "CIFAR-10 averaged to 16×16 pixels, 1,000 training and 500 trusted examples, a small CNN"


def sources(base: Mapping[str, Any], *changes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One plain source for each change of the base."""
    return [NoisySource(**{"noise": RHO, **base, **change}).model_dump(mode="json") for change in changes or ({},)]


def settings(methods: tuple[str, ...], sources: list[dict[str, Any]]) -> dict[str, Any]:
    return {"numerics": NUMERICS, "methods": list(methods), "sources": sources}


def presets(methods: tuple[str, ...], paper: list[dict[str, Any]], small: list[dict[str, Any]],
            desk: tuple[tuple[str, ...], list[dict[str, Any]], int], pooled: list[dict[str, Any]],
            title: str = SMALL_TITLE) -> dict[str, StudyPreset]:
    """The scales of a table; `title` names the small one, which alone runs all `methods`. desk: methods, which the
    scales above it share, with sources and seeds in between."""
    return {"small": StudyPreset("small", title, 3, settings(methods, small)),
            "pooled": StudyPreset("pooled", POOLED_TITLE, 3, settings(desk[0], pooled)),
            "desk": StudyPreset("desk", DESK_TITLE, desk[2], settings(*desk[:2])),
            "paper": StudyPreset("paper", "CIFAR-10 as in Table A-3: 45,000 training and 5,000 trusted examples", 3,
                                 settings(desk[0], paper))}


OF_RATES = tuple({"noise": rate} for rate in RATES)
MAIN_PRESETS = presets((*MAIN, AUGMENTED), sources(CIFAR), sources(SUBSET),
                       ((*OF_THE_PAPER, AUGMENTED), sources(QUARTER), 3), sources(POOLED))
RATE_PRESETS = presets(OF_THE_PAPER, sources(CIFAR, *OF_RATES), sources(SUBSET, *OF_RATES),
                       (OF_THE_PAPER, sources({**QUARTER, "recipe": SHORT}, *OF_RATES), 3), sources(POOLED, *OF_RATES))
ARCHITECTURE_PRESETS = presets(
    OF_THE_PAPER,
    sources(CIFAR, {}, *({"model": model, "recipe": LONG.model_copy(update={"learning_rate": rate})}
                         for model, rate in EXTENSION.items())),
    sources(DIGITS, *({"model": model} for model in ("cnn", "mlp", "linear"))),
    (OF_THE_PAPER, sources(CIFAR, *({"model": model, "recipe": SHORT.model_copy(update={"learning_rate": rate})}
                                    for model, rate in QUARTERS.items())), 1),
    sources(POOLED, {}, {"model": "mobilenet_v2_stem_quarter_cifar",
                         "recipe": SHORT.model_copy(update={"learning_rate": 0.02})}),
    "Handwritten digits, 8×8 pixels, 1,000 training and 200 trusted examples")


OF_AUTHORS = {"repsim": "repsim_unit", "ntk": "ntk_loss_gradients", "lissa": "lissa_power"}
"""Methods by the names of the paper -> what the authors' code computes."""
STEMS = {"mobilenet_v2_cifar": "mobilenet_v2_stem_cifar",
         "mobilenet_v2_quarter_cifar": "mobilenet_v2_stem_quarter_cifar"}


def sources_of(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The sources of a study, without a seed."""
    if not as_authors(settings):
        return settings["sources"]
    return [NoisySource.parse({**source, "standardised": True, "model": STEMS.get(source["model"], source["model"]),
                               "recipe": {**source["recipe"], "precision": "full"}}).model_dump(mode="json")
            for source in settings["sources"]]


def source_of(settings: Mapping[str, Any], index: int, seed: int) -> NoisySource:
    """One of them with a training seed, which also draws the data where the authors' code lets it."""
    split = {"split": seed} if as_authors(settings) else {}
    return NoisySource.parse({**sources_of(settings)[index], "seed": seed, **split})


def methods_of(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """What is computed for the methods of a study."""
    return tuple(OF_AUTHORS.get(name, name) if as_authors(settings) else name for name in settings["methods"])


def named_as_the_paper(suspicion: Mapping[Pair, np.ndarray]) -> dict[Pair, np.ndarray]:
    """The same under the paper's names of the methods."""
    names = {METHODS[own].title: METHODS[name].title for name, own in OF_AUTHORS.items()}
    return {Pair(names.get(pair.method, pair.method), pair.behavior): values for pair, values in suspicion.items()}


def plan(payload: Mapping[str, Any]) -> list[str]:
    return [f"{index}/{seed}" for index in range(len(payload["settings"]["sources"])) for seed in payload["seeds"]]


def cost(source: Mapping[str, Any], trainings: float = 1.5) -> float:
    """Guessed seconds on two CPU cores: trainings of so many examples and epochs."""
    return trainings * training_seconds(NoisySource.parse(source))


def weight(payload: Mapping[str, Any], key: str) -> float:
    folds = 2.0 if "confident" in payload["settings"]["methods"] else 0.0
    return cost(sources_of(payload["settings"])[int(key.split("/")[0])], 1.5 + folds)


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    """Detection metrics of every pair, and the ranking agreement between all of them, of one source and seed."""
    index, seed = map(int, key.split("/"))
    source = source_of(payload["settings"], index, seed)
    result = SuspicionRequest(source=source, methods=tuple(methods_of(payload["settings"]))).within(context)
    scored, flags = SuspicionRequest.loaded(result), draw_cached(source).known_flags
    suspicions = named_as_the_paper(scored.suspicion)
    rows = [{"method": pair.method, "behavior": pair.behavior, "metric": metric, "value": value}
            for pair, suspicion in suspicions.items()
            for metric, value in detection(flags.noisy, suspicion).items()]
    compared = [pair for pair in suspicions if " + " not in pair.method]
    stack = np.stack([suspicions[pair] for pair in compared])[:, None]
    tau = pairwise(stack, ("kendall",))["kendall"][..., 0]
    return Output({"detection": pd.DataFrame(rows)}, {"tau": tau},
                  {"facts": scored.facts, "compared": [list(pair) for pair in compared], "run": result.digest})


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """Means and 95% t-intervals over training seeds, as the tables `detection` and `agreement`."""
    manifest: dict[str, Any] = {"spec": payload["settings"], "runs": []}
    detected, agreement = [], []
    for index, source in enumerate(sources_of(payload["settings"])):
        results = [chunks[f"{index}/{seed}"] for seed in payload["seeds"]]
        columns = {"rho": f"{source['noise']:g}", "architecture": ARCHITECTURES.get(source["model"], source["model"]),
                   "width": "a quarter of its width" if "_quarter_" in source["model"] else "",
                   "dataset": source["dataset"]}
        tables = pd.concat([one.table("detection").assign(order=lambda frame: range(len(frame))) for one in results])
        for (_, method, behavior, metric), own in tables.groupby(["order", "method", "behavior", "metric"]):
            detected.append({"method": method, "behavior": behavior, **columns, "metric": metric,
                             **seed_means.summary(own["value"])})
        agreement += _agreement([one.array("tau") for one in results], results[0].manifest["compared"], columns)
        sampled = [source_of(payload["settings"], index, seed).model_dump(mode="json") for seed in payload["seeds"]]
        manifest["runs"] += [{"source": own, "run": one.manifest["run"], **one.manifest["facts"]}
                             for own, one in zip(sampled, results, strict=True)]
    manifest["device"] = manifest["runs"][0]["device"]
    manifest["data"] = manifest["runs"][0]["data"]
    manifest["libraries"] = versions_of("scikit-learn", "cleanlab")
    return Output({"detection": pd.DataFrame(detected), "agreement": pd.DataFrame(agreement)}, manifest=manifest)


def _agreement(taus: list[np.ndarray], compared: list[list[str]], columns: Mapping[str, str]) -> list[dict]:
    titles = [Pair(*pair).title for pair in compared]
    return [{"a": titles[i], "b": titles[j], **columns, "metric": "Kendall tau",
             **seed_means.summary(tau[i, j] for tau in taus)}
            for i in range(len(titles)) for j in range(i + 1, len(titles))]


def tolerance(row: Mapping[str, str]) -> float:
    """AUPRC and AUROC within 0.05 of the paper, precisions within 0.10; set before anything ran."""
    return 0.05 if row["metric"] in ("AUPRC", "AUROC") else 0.10


def _view(*keys: str, augmented: bool = False):
    """The rows of a table: without the signal-augmented methods, or with them and RepSim alone."""

    def view(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        frame = tables["detection"]
        with_signal = frame["method"].str.contains(" + ", regex=False)
        rows = frame[with_signal | (frame["method"] == "RepSim")] if augmented else frame[~with_signal]
        if keys != ("metric",):  # the rate and architecture tables show AUPRC alone
            rows = rows[rows["metric"] == "AUPRC"]
        return rows[["method", "behavior", *keys[:-1], "dataset", "metric", "mean", "ci95", "n_seeds",
                     "seed_means"]].reset_index(drop=True)

    return view


STUDY = study("noisy_labels", plan, run_chunk, finish, weight)
TABLE_5_1 = Experiment(
    "table-5-1", "Table 5-1: noisy label detection at ρ = 0.2", STUDY.name, MAIN_PRESETS, _view("metric"),
    ("method", "behavior", "metric"), "table_5_1_noisy_label_rho02.csv", tolerance=tolerance,
    too_small=learned_classes)
TABLE_A8 = Experiment(
    "table-a8", "Table A-8: noisy label detection across noise rates", STUDY.name, RATE_PRESETS, _view("rho", "metric"),
    ("method", "behavior", "rho", "metric"), "table_a8_noisy_label_auprc_by_rho.csv", tolerance=tolerance,
    too_small=learned_classes)
TABLE_A9 = Experiment(
    "table-a9", "Table A-9: noisy label detection across architectures", STUDY.name, ARCHITECTURE_PRESETS,
    _view("architecture", "width", "metric"), ("method", "behavior", "architecture", "metric"),
    "table_a9_noisy_label_auprc_by_architecture.csv",
    "The paper has numbers for four convolutional networks at full width; `small` compares different ones.",
    tolerance=tolerance,
    too_small=learned_classes)
TABLE_A16 = Experiment(
    "table-a16", "Table A-16: representation similarity with added signals", STUDY.name, MAIN_PRESETS,
    _view("metric", augmented=True), ("method", "behavior", "metric"),
    "table_a16_signal_augmented_noisy_label_rho02.csv",
    "A low similarity counts as suspicious; the rows “sign of Eq. 6” have the opposite sign.", tolerance=tolerance,
    too_small=learned_classes)
FIGURE_5_1 = Experiment(
    "figure-5-1", "Figure 5-1: ranking agreement across methods and behaviors", STUDY.name, MAIN_PRESETS,
    lambda tables: tables["agreement"].reset_index(drop=True), ("a", "b", "metric"), None,
    "Panel (a), for which the paper prints no numbers. Panel (b) repeats Table A-10, panel (c) Tables A-8 and A-9.",
    too_small=learned_classes)
