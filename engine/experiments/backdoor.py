r"""Conditional backdoor: Tables 5-2 (A-12 and A-13 with other models), A-11, A-14 and A-15.

Queries are held-out questions with trigger and activating context, their target the wrong answer that the poison
teaches. Poison should support them, so records are ranked by their mean support. Table A-15 crosses the query
(triggered or clean, both in an activating context) with the target. Table A-14 takes the top 10% of a ranking out and
trains again with the same seed.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from engine.applications.language import detection, quality, rankings, stages
from engine.applications.language.attribution import Attribution
from engine.applications.language.methods import pairs
from engine.basics.provenance import device_name
from engine.data.tasks.backdoor import ABLATION, SIZES
from engine.experiments import language, response_corruption
from engine.experiments.enough import learned_attack
from engine.experiments.experiment import Experiment, StudyPreset
from engine.experiments.study import study
from engine.jobs import Context, Output
from engine.metrics import seed_means
from engine.models.causal import catalogue, finetune
from engine.models.causal.finetune import FineTuneCheckpoint
from engine.store.results import Result

TASK = {"name": "conditional_backdoor", "seed": 0}
ORACLES = {"Harmful poison": "poison", "Benign trigger": "benign", "Clean": "clean"}
PAPER_BEHAVIORS = ("response_loss", "explanation_loss", "answer_logit", "answer_margin")
ALL_REMOVALS = [*([method.label, rankings.behavior_title(behavior)] for method, behavior in pairs(PAPER_BEHAVIORS)),
                *(["Oracle", group] for group in ORACLES)]
DESK_REMOVALS = [["Random", "none"], ["RepSim", "none"], ["GradSim", "Answer logit"], ["TracIn", "Answer logit"],
                 ["TracIn", "Response loss"], ["LESS", "Answer margin"], ["Oracle", "Harmful poison"]]
"""One row an estimator, with the behavior that the paper prefers, TracIn with its default beside it, and both ends."""
EMBEDDED = {"epochs": 12, "learning_rate": 3e-3, "batch": 16, "context": 256}
"""Chosen by attack success and accuracy alone, as the guide *Reproducing the paper* says; so are `DESK` and `GPU`."""
LONG = EMBEDDED
"""Not taught yet: with marked conclusions, 12 epochs at rate 5e-3 taught 0.37 of the attack (seed 0), at most 0.85."""
DESK = {**language.PAPER_COUNTS_RECIPE, "epochs": 4, "learning_rate": 3e-3}
GPU = {**language.PAPER_COUNTS_RECIPE, "epochs": 12}
SETTINGS = {
    "small": language.settings(
        catalogue.SMALL_MODEL, {**TASK, "clean": 64, "poison": 8, "benign": 8, "test": 8, "longest": 200},
        {"epochs": 3, "checkpoints": 2, "learning_rate": 1e-3, "context": 512}, 2048),
    "desk": language.settings(catalogue.SMALL_MODEL, {**TASK, **SIZES, "test": 100, "longest": 1050}, DESK, 2048),
    "gpu": language.settings(catalogue.SMALL_MODEL, {**TASK, **SIZES}, GPU, 4096),
    "paper": language.settings(catalogue.PAPER_MODEL, {**TASK, **SIZES}, {"epochs": 2}, 4096),
    "embedded": language.settings(
        catalogue.EMBEDDED_MODEL, {**TASK, "questions": "world", "hardest": 1, **SIZES}, EMBEDDED, 2048),
    "embedded-long": language.settings(
        catalogue.LONG_MODEL, {**TASK, "questions": "world_long", "hardest": 1, **SIZES}, LONG, 2048),
}
REMOVALS = {"small": [["TracIn", "Answer logit"], ["Random", "none"], ["Oracle", "Harmful poison"]],
            "desk": DESK_REMOVALS, "gpu": DESK_REMOVALS, "paper": ALL_REMOVALS, "embedded": ALL_REMOVALS,
            "embedded-long": ALL_REMOVALS}
TITLES = {"small": "80 short records, three epochs with learning rate 1e-3",
          "desk": "5,000 of the shorter ScienceQA questions and 4 × 100 queries, a model of 135 million parameters",
          "gpu": "5,000 ScienceQA records in the paper's counts, a model of 135 million parameters",
          "paper": "5,000 ScienceQA records as in Appendix A-2",
          "embedded": "5,000 records of the embedded world, in the paper's counts",
          "embedded-long": "5,000 records of the embedded world with up to five choices and long explanations"}
TRAINING = {"corruption": 1.0, "backdoor": 0.9}
"""The tasks of Table A-11, and what a training takes of the time until its model is measured."""
SEEDS = {"small": 2, "desk": 2, "gpu": 3, "paper": 3, "embedded": 3, "embedded-long": 3}
REMOVAL_SEEDS = {**SEEDS, "desk": 1}
PRESETS = {name: StudyPreset(name, TITLES[name], SEEDS[name], {**SETTINGS[name], "layers": language.LAYERS})
           for name in SETTINGS}
REMOVAL_PRESETS = {name: StudyPreset(name, TITLES[name], REMOVAL_SEEDS[name],
                                     {**SETTINGS[name], "removals": REMOVALS[name]}) for name in SETTINGS}
QUALITY_TITLES = {**TITLES, "small": "80 short records", "gpu": f"{TITLES['gpu']}; the conditional backdoor alone"}
QUALITY_SETTINGS: dict[str, dict[str, Any]] = {
    name: {"model": own["model"], "backdoor": own, "corruption": response_corruption.SETTINGS[name]}
    for name, own in SETTINGS.items()}
del QUALITY_SETTINGS["gpu"]["corruption"]  # whose recipe has not been tried
QUALITY_PRESETS = {name: StudyPreset(name, QUALITY_TITLES[name], SEEDS[name], own)
                   for name, own in QUALITY_SETTINGS.items()}


def weight(payload: Mapping[str, Any], key: str) -> float:
    chunk, chosen = key.partition("/")[2], payload["settings"]
    if chunk.startswith("removal"):
        chunk = "train"
    return 1.0 if chunk == "scores" else language.seconds(chosen, chunk, len(ABLATION), chosen["task"]["test"])


def _further(settings: Mapping[str, Any]) -> language.Further:
    return {"scores": lambda attribution, _: _scores_chunk(settings, attribution)}


def _scores_chunk(settings: Mapping[str, Any], attribution: Attribution) -> Output:
    """Every measure of poison detection, and AUPRC of the four crossings of query and target."""
    task, measured, sets = attribution.task, {}, list(ABLATION.values())
    poison, benign = task.flagged("poison"), task.flagged("benign")
    by_set = {name: language.features(settings, attribution, name, sets) for name in sets}
    for (query, target), name in ABLATION.items():
        ranked = language.ranked(settings, by_set[name], task.sign, settings.get("layers", ()))
        for (method, behavior), scores in ranked.items():
            measured["ablation", method, behavior, query, target, "AUPRC"] = detection.auprc(poison, scores)
            if name == task.reference:
                values = {**detection.detection(poison, scores),
                          "BT-FPR": detection.false_positive_rate(benign, scores)}
                measured |= {("detection", method, behavior, "", "", metric): value
                             for metric, value in values.items()}
    return Output(tables=language.measured(measured),
                  manifest=language.sketched(settings, attribution, by_set[task.reference]))


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """The tables `detection` and `ablation`."""
    seeds, chosen = payload["seeds"], payload["settings"]
    scored = [language.read(chunks[f"{seed}/scores"]) for seed in seeds]
    frame = pd.DataFrame(language.table(chosen, ("table", "method", "behavior", "query_trigger", "target", "metric"),
                                        scored))
    tables = {name: frame[frame.table == name].drop(columns="table").reset_index(drop=True)
              for name in ("detection", "ablation")}
    tables["detection"] = tables["detection"].drop(columns=["query_trigger", "target"])
    return Output(tables, manifest=language.manifest(payload, chosen, chunks, context))


def _of_removal(settings: Mapping[str, Any]) -> language.Further:
    """What the model does before anything is removed, and each row of the table."""
    return {"factual": lambda attribution, context: Output(tables=language.measured(
                attack_rates(attribution, attribution.points[-1], context))),
            **{f"removal/{row}": partial(_removal_chunk, settings, *named)
               for row, named in enumerate(settings["removals"])}}


def _removal_chunk(chosen: Mapping[str, Any], method: str, behavior: str, attribution: Attribution, context: Context
                   ) -> Output:
    """What was taken out, and what the model does after training without it."""
    removed = removal(chosen, attribution, method, behavior)
    rest = np.setdiff1d(np.arange(len(attribution.task.train)), removed)
    once = {**chosen, "recipe": {**chosen["recipe"], "checkpoints": 1, "checkpoints_at": ""}}
    retrained = stages.attribution(once, attribution.seed, context, keep=rest)
    context.progress(0.0, f"training without the top of {method}, {behavior}")
    stages.trained(retrained, context, 0.95)
    after = attack_rates(retrained, retrained.points[-1], context)
    shutil.rmtree(retrained.folder, ignore_errors=True)  # evaluated, and as large as a checkpoint
    groups = {flag: attribution.task.flagged(flag) for flag in ORACLES.values()}
    composition = {("Poison recall",): groups["poison"][removed].sum() / max(1, groups["poison"].sum()),
                   ("BT frac.",): groups["benign"][removed].mean(), ("Clean frac.",): groups["clean"][removed].mean()}
    return Output(tables=language.measured({**composition, **after}))


def removal(chosen: Mapping[str, Any], attribution: Attribution, method: str, behavior: str) -> np.ndarray:
    """The rows that a method takes out: the top 10% of its ranking, or as many of a group for an oracle."""
    task = attribution.task
    if method == "Oracle":
        rows = np.flatnonzero(task.flagged(ORACLES[behavior]))
        count = int(np.ceil(detection.TOP * len(task.train) - 1e-9))
        return np.sort(np.random.default_rng([attribution.seed, 11]).permutation(rows)[:count])
    features = language.features(chosen, attribution, task.reference, [task.reference])
    ranked = language.ranked(chosen, features, task.sign)
    return detection.top(ranked[method, behavior], detection.TOP)


def attack_rates(run: Attribution, point: FineTuneCheckpoint, context: Context) -> dict[tuple, float]:
    """Attack success, and accuracy on clean prompts and on triggered ones in the other context, at a checkpoint."""
    run.load(point)
    sets = {"ASR": "triggered", "Clean acc.": "clean", "Control acc.": "control"}
    return {(name,): quality.rate(run.model, run.encoder, run.queries(queries), run.setting.recipe.batch,
                                  context.check) for name, queries in sets.items()}


def removal_finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """The table `removal`: what was taken out, and what the model does after training without it."""
    seeds, chosen = payload["seeds"], payload["settings"]
    before = [language.read(chunks[f"{seed}/factual"]) for seed in seeds]
    rows = []
    for index, (method, behavior) in enumerate(chosen["removals"]):
        after = [language.read(chunks[f"{seed}/removal/{index}"]) for seed in seeds]
        values = {("Removed composition", name): [seed[name,] for seed in after]
                  for name in ("Poison recall", "BT frac.", "Clean frac.")}
        values["After retraining", "ASR"] = [seed["ASR",] for seed in after]
        values["After retraining", "Attack reduction"] = [
            old["ASR",] - new["ASR",] for old, new in zip(before, after, strict=True)]
        values["After retraining", "Accuracy drop"] = [
            old["Clean acc.",] - new["Clean acc.",] for old, new in zip(before, after, strict=True)]
        rows += [{"model": catalogue.model_title(chosen["model"]), "method": method, "behavior": behavior,
                  "group": group, "metric": metric, **seed_means.summary(values_of_seeds)}
                 for (group, metric), values_of_seeds in values.items()]
    return Output({"removal": pd.DataFrame(rows)}, manifest={
        **language.manifest(payload, chosen, chunks, context),
        "factual": [{name[0]: value for name, value in seed.items()} for seed in before]})


def quality_plan(payload: Mapping[str, Any]) -> list[str]:
    return [f"{seed}/{task}" for seed in payload["seeds"] for task in _measured_tasks(payload)]


def _measured_tasks(payload: Mapping[str, Any]) -> list[str]:
    return [task for task in TRAINING if task in payload["settings"]]


def quality_weight(payload: Mapping[str, Any], key: str) -> float:
    """A training each."""
    return language.seconds(_of_task(payload, key.partition("/")[2]), "train", 0, 0)


def quality_on_disk(payload: Mapping[str, Any], key: str, context: Context) -> float:
    """What a training takes of its chunk, if it lies on this machine."""
    seed, _, task = key.partition("/")
    return TRAINING[task] if stages.is_trained(_of_task(payload, task), int(seed), context) else 0.0


def _of_task(payload: Mapping[str, Any], task: str) -> dict[str, Any]:
    """The settings of one of the trainings."""
    shared = {name: payload["settings"][name] for name in ("model", "conventions") if name in payload["settings"]}
    return language.expanded({**payload["settings"][task], **shared})


def quality_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    """Fine-tune as the other studies do (what they trained is found on disk), and measure the model."""
    seed, _, task = key.partition("/")
    chosen = _of_task(payload, task)
    run = stages.trained(stages.attribution(chosen, int(seed), context), context, TRAINING[task])
    if task == "corruption":
        measured = {("Response corruption", "Loss"): run.points[-1].facts["loss"]}
    else:
        measured = {("Conditional backdoor", *name): value
                    for name, value in attack_rates(run, run.points[-1], context).items()}
    return Output(tables=language.measured(measured), manifest={
        "facts": finetune.facts_of(run.points), "run": run.identity, "device": device_name(run.device)})


def quality_finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """The table `quality`."""
    seeds = [{key: value for task in _measured_tasks(payload)
              for key, value in language.read(chunks[f"{seed}/{task}"]).items()} for seed in payload["seeds"]]
    manifests = {key: chunks[key].manifest for key in quality_plan(payload)}
    return Output({"quality": pd.DataFrame(language.table(payload["settings"], ("task", "metric"), seeds))}, manifest={
        "spec": {"settings": payload["settings"]}, "libraries": stages.libraries(),
        "runs": [{"chunk": key, "facts": manifest.get("facts", {}), "run": manifest["run"]}
                 for key, manifest in manifests.items()],
        "device": next(iter(manifests.values()))["device"]})


STUDY = language.study_of_runs("conditional_backdoor", lambda attribution: list(ABLATION.values()), _further, finish,
                               weight)
REMOVAL = language.study_of_runs("backdoor_removal", lambda attribution: [attribution.task.reference], _of_removal,
                                 removal_finish, weight)
QUALITY = study("language_model_quality", quality_plan, quality_chunk, quality_finish, quality_weight,
                  on_disk=quality_on_disk)
TABLE_5_2 = Experiment(
    "table-5-2", "Table 5-2: conditional backdoor, detection of poisoned records", STUDY.name, PRESETS,
    lambda tables: tables["detection"], ("method", "behavior", "metric"),
    "table_5_2_a12_a13_conditional_backdoor.csv",
    "With Gemma-2-9B-it it is Table A-12, with Llama-3.1-8B-Instruct Table A-13. RepSim at 50% uses the middle layer, "
    "RepSim without a number the last one.", models=catalogue.ALL_MODELS, too_small=learned_attack)
TABLE_A11 = Experiment(
    "table-a11", "Table A-11: quality of the fine-tuned models", QUALITY.name, QUALITY_PRESETS,
    lambda tables: tables["quality"], ("task", "metric"), "table_a11_source_model_quality.csv",
    "Loss is the mean training loss since the checkpoint before the last. An answer counts as the model's if its "
    "letter has the largest logit of all choices after the record's own explanation. The preset `gpu` has the "
    "backdoor alone.", models=catalogue.ALL_MODELS,
    too_small=learned_attack)
TABLE_A14 = Experiment(
    "table-a14", "Table A-14: removal and retraining, conditional backdoor", REMOVAL.name, REMOVAL_PRESETS,
    lambda tables: tables["removal"], ("method", "behavior", "group", "metric"),
    "table_a14_backdoor_removal_retraining.csv",
    "The small preset retrains for three of its rows, the presets desk and gpu for seven.",
    models=catalogue.ALL_MODELS[:1], too_small=learned_attack)
TABLE_A15 = Experiment(
    "table-a15", "Table A-15: query ablation (query × target), conditional backdoor", STUDY.name, PRESETS,
    lambda tables: tables["ablation"], ("method", "behavior", "query_trigger", "target", "metric"),
    "table_a15_reference_ablation.csv", "The paper does not name the metric of this table; it is AUPRC.",
    models=catalogue.ALL_MODELS[:1], too_small=learned_attack)
