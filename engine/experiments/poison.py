r"""Poisons from one wrong prediction: which ranking finds planted pictures, and what training without them does.

On each seed's draw a network is trained with planted poisons (`engine.data.poisoned`). Ten test pictures of other
classes, right as they are and called the target with the patch, are queries; a ranking is asked of each alone, and of
their two fives by the mean score.

    AUPRC, P@poisons    of the ranking over all training examples; or with those of the predicted class first
    attack success      the fraction of triggered test pictures, of other classes, that are called the target
    suspects            the group that stands out in shared evidence of the first query; the model is trained again
                        without it

Numbers of an attack that does not succeed say nothing of a method; rows hold the value of every seed, in one order.
Shared evidence and the threshold of its group were chosen on other seeds, 100 and 101.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from engine import data
from engine.analysis.poison import evidence
from engine.analysis.poison.retraining import without
from engine.basics.options import Options
from engine.basics.provenance import device_name
from engine.data import poisoned
from engine.experiments import poison_methods
from engine.experiments.experiment import Experiment, StudyPreset
from engine.experiments.poison_attacks import ATTACKS, ENSEMBLE, inputs
from engine.experiments.study import measures, study, summaries
from engine.jobs import Context, Output
from engine.metrics.detection import auprc
from engine.models.cnn import cnn
from engine.models.recipe import Recipe
from engine.models.training import train
from engine.problems import ModuleProblem
from engine.store.results import Result

NUMERICS = 2
QUERIES, TOGETHER = 10, 5
RECIPE = Recipe(epochs=12, batch_size=128, learning_rate=0.1, momentum=0.9, weight_decay=5e-4, schedule="cosine",
                checkpoints=4, precision="mixed")
ALL, PREDICTED = "all", "predicted class first"
CASES = {"patch, 1%": ("patch", 0.01), "patch, 0.5%": ("patch", 0.005)}
RIGHT_LABELS = {"right labels, 2%": ("right labels", 0.02)}
LONGER, CLEAN_EPOCHS, CLEAN_SEED = 24, 6, 1_000
"""Epochs of the training on poisons with right labels, and of the networks that they are moved against; the first seed
of these."""
TRAINED, WITHOUT = "as trained", "without the suspects"


def settings(rows: int, test: int, cases: Mapping[str, tuple[str, float]], recipe: Recipe = RECIPE) -> dict[str, Any]:
    return {"numerics": NUMERICS, "rows": rows, "test": test, "cases": dict(cases),
            "recipe": recipe.model_dump(mode="json"), "sources": [{"dataset": "fashion_mnist"}]}


PRESETS = {"small": StudyPreset("small", "10,000 images of FashionMNIST, a CNN of two convolutions", 3,
                                settings(10_000, 3_000, CASES)),
           "right-labels": StudyPreset("right-labels", "The same images and network, poisons with right labels", 3,
                                       settings(10_000, 3_000, RIGHT_LABELS,
                                                RECIPE.model_copy(update={"epochs": LONGER})))}


@dataclass(frozen=True, eq=False)
class Attacked:
    """A model that was trained on poisons, with ten triggered queries whose label is what it calls them. x (t, …),
    y (t,): clean test pictures; triggered (u, …): those of other classes with the patch. checkpoints: modules along
    the training with their learning rates."""

    problem: ModuleProblem
    checkpoints: list[tuple[nn.Module, float]]
    made: poisoned.Poisoned
    target: int
    x: Tensor
    y: Tensor
    triggered: Tensor

    def measured(self, problem: ModuleProblem) -> dict[str, float]:
        """Of a model: attack success, and accuracy on clean pictures."""
        success = (problem.outputs(self.triggered).argmax(-1) == self.target).double().mean()
        accuracy = (problem.outputs(self.x).argmax(-1) == self.y).double().mean()
        return {"attack success": float(success), "accuracy": float(accuracy)}


def plan(payload: Mapping[str, Any]) -> list[str]:
    return [f"{seed}/{case}" for seed in payload["seeds"] for case in payload["settings"]["cases"]]


def weight(payload: Mapping[str, Any], key: str) -> float:
    """Guessed seconds."""
    return 0.012 * payload["settings"]["rows"]


def attacked(setting: Mapping[str, Any], case: str, seed: int, options: Options, device: str) -> Attacked:
    """Draw, plant, train, and choose the queries."""
    dataset, (kind, rate) = data.load("fashion_mnist"), setting["cases"][case]
    attack, recipe = ATTACKS[kind], Recipe.parse(setting["recipe"])
    rng = np.random.default_rng([seed, 7])
    rows, test = (rng.permutation(len(dataset.labels(split)))[:setting[size]]
                  for split, size in (("train", "rows"), ("test", "test")))
    target = int(rng.integers(dataset.n_classes))
    pictures, given, clean = dataset.pictures("train", rows), dataset.y_train[rows], dataset.pictures("test", test)
    build = partial(cnn, (1, *pictures.shape[1:]), dataset.n_classes)

    def untouched(number: int) -> nn.Module:
        return train(build, inputs(pictures), torch.tensor(given), recipe.model_copy(update={"epochs": CLEAN_EPOCHS}),
                     CLEAN_SEED + ENSEMBLE * seed + number, device=device, check=options.check).module

    made = attack.plant(pictures, given, round(rate * len(rows)), target, seed, untouched)
    x, y = inputs(made.pictures), torch.tensor(made.labels)
    run = train(build, x, y, recipe, seed, device=device, check=options.check, progress=options.progress)
    labels = torch.tensor(dataset.y_test[test])
    others = labels != target
    unmarked, triggered = inputs(clean), inputs(attack.trigger(clean))[others]
    with torch.no_grad():
        said, before = (torch.cat([run.module(part.to(device)).argmax(-1).cpu() for part in own.split(512)])
                        for own in (triggered, unmarked[others]))
    chosen = triggered[(said == target) & (before == labels[others])][:QUERIES]
    problem = ModuleProblem(run.module, x, y, chosen, torch.full((len(chosen),), target), recipe=recipe,
                            build=build, seed=seed, device=device)
    checkpoints = [(_loaded(build(), state), rate) for state, rate in run.checkpoints]
    return Attacked(problem, checkpoints, made, target, unmarked.to(device), labels.to(device), triggered.to(device))


def _loaded(module: nn.Module, state: Mapping[str, Tensor]) -> nn.Module:
    module.load_state_dict(dict(state))
    return module


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    """All measures of one attack on one draw."""
    seed, _, case = key.partition("/")
    held = attacked(payload["settings"], case, int(seed), context.computing("training"), context.device)
    scores = poison_methods.rankings(held.problem, held.checkpoints, context.computing("rankings", 0.4))
    rows = [*detection(held, scores), *_retrained(held, scores[evidence.TITLE][0],
                                              context.computing("training without suspects", 0.5))]
    return Output({"measures": pd.DataFrame(rows)}, manifest={
        "data": held.problem.fingerprint, "device": device_name(context.device), "target": held.target,
        "poisons": int(held.made.poisoned.sum()), **held.measured(held.problem)})


def detection(held: Attacked, scores: Mapping[str, np.ndarray]) -> Iterator[dict[str, Any]]:
    """A row a method, order, number of queries and metric: means over queries, or over groups of them."""
    flags, own = held.made.poisoned, held.made.labels == held.target
    groups = {1: [[index] for index in range(len(held.problem.queries))],
              TOGETHER: [list(range(start, start + TOGETHER)) for start in range(0, QUERIES, TOGETHER)]}
    for method, values in scores.items():
        for first, order in ((ALL, lambda one: one), (PREDICTED, lambda one: np.where(own, one, one.min() - 1))):
            for queries, chosen in groups.items():
                ranked = [order(np.nan_to_num(values[group], neginf=np.nanmin(values) - 1).mean(0)) for group in chosen]
                measured = {"AUPRC": [auprc(flags, one) for one in ranked],
                            "P@poisons": [flags[np.argsort(-one, kind="stable")[:flags.sum()]].mean()
                                          for one in ranked]}
                yield from ({"what": method, "among": first, "queries": queries, "metric": metric,
                             "value": float(np.mean(each))} for metric, each in measured.items())


def _retrained(held: Attacked, scores: np.ndarray, options: Options) -> Iterator[dict[str, Any]]:
    """A row a model and measure."""
    suspects = evidence.group(scores)
    before = held.measured(held.problem)
    retrained = cast(ModuleProblem, without(held.problem, suspects, options)) if len(suspects) else held.problem
    after = held.measured(retrained)
    removed = {"removed": float(len(suspects)), "poisons removed": float(held.made.poisoned[suspects].sum()),
               "accuracy change": after["accuracy"] - before["accuracy"]}
    for what, own in ((TRAINED, before | {"triggered": float(len(held.triggered))}), (WITHOUT, after | removed)):
        yield from ({"what": what, "among": "", "queries": 1, "metric": metric, "value": value}
                    for metric, value in own.items())


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """Means and 95% t-intervals over seeds, with the value of every seed: also of the attack's success."""
    return measures(payload, chunks, {case: {"attack": case} for case in payload["settings"]["cases"]}, summaries,
                    ("data", "target", "poisons", "attack success", "accuracy"), "scikit-learn", "cleanlab")


STUDY = study("poison", plan, run_chunk, finish, weight)
POISON = Experiment(
    "poison", "Poisons from one wrong prediction: which ranking finds them, and training without them", STUDY.name,
    PRESETS, lambda tables: tables["measures"].reset_index(drop=True), ("attack", "what", "among", "queries", "metric"),
    note="A check of our own, not in the paper. The success of the attack is listed in separate rows, seed by seed.")
