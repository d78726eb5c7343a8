r"""Exact references for a language model: what estimators are worth against the counterfactual itself.

The embedded model, fine-tuned on records of which some are answered wrongly, is small enough for exact answers:

    steps      every estimator × behavior against one exact step on each candidate (paper, Eq. 5)
    curve      the first-order term against the exact step over η
    removal    every estimator against training again without single records, with the same seed; beside it what the
               same removals agree on under another seed, which is all that any estimator could know of them
    subsets    linear datamodeling score over models trained on random halves of all records (Park et al. 2023), by the
               protocol `weights` of `engine.analysis.protocols`: the recorded run with weight 0 for the other half

Scores are compared per query over the same candidates. RepSim and NTK read no behavior and are compared with each.
Gradient norm, BM25 and a random order imply no specification: they are ranked as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.datamodels import linear_datamodeling_score, subsets
from engine.analysis.datamodels import retrain as retrain_on
from engine.applications.language.methods import ANSWER
from engine.basics.options import Options
from engine.experiments.agreements import Bounded, facts, per_query, restored, rows_over_seeds, stored
from engine.experiments.experiment import Experiment, StudyPreset
from engine.experiments.study import sampled, study
from engine.jobs import Context, Output
from engine.metrics.agreement import METRICS
from engine.models.causal.catalogue import EMBEDDED_MODEL
from engine.problems import CausalProblem, Problem, SampledProblem
from engine.question.behaviors import reading
from engine.scoring.compute import compute
from engine.scoring.named import NAMED
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.store.results import Result

NUMERICS = 3
ETA, DAMPING = 0.1, 0.01
ETAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
CHECKPOINTS = 4
ADD, REMOVE = {"kind": "add_occurrence"}, {"kind": "remove"}
ONE_STEP = {"kind": "one_step", "eta": ETA}
OTHER_SEED = 1_000
BASELINES = {NAMED[name].title: NAMED[name].implied() for name in ("gradient_norm", "bm25", "random")}
"""Title -> scoring of an estimator that implies no specification, whose values are ranked as they are."""
SHARE = 0.5

METHODS = {NAMED[name].label: name for name in (
    "gradsim", "gradsim_cosine", "repsim_cosine", "ntk", "representer", "tracin", "less", "trak",
    "influence_function_ekfac", "influence_function_datainf")}
"""What the tables call a named method -> its name in `engine.scoring.named`.

Conjugate gradients are left out: for 400 right-hand sides (100 queries × 4 behaviors) a single iteration takes a core
17 minutes.
"""

RECIPE = {"rank": 16, "epochs": 4, "learning_rate": 5e-3, "batch": 16, "context": 256, "checkpoints": CHECKPOINTS}
SOURCE = {"dataset": "world_corruption", "model": EMBEDDED_MODEL, "recipe": RECIPE}
SMALL = StudyPreset("small", "500 records of the embedded world, 100 queries", 3, {
    "numerics": NUMERICS, "curve": 50, "removed": 24, "subsets": 100, "source": {
        **SOURCE, "n_train": 500, "n_test": 200, "n_queries": 100, "n_candidates": 500}})
PRESETS = {"small": SMALL}


def methods() -> list[str]:
    """What the tables call those that answer for a language model."""
    return [title for title, name in METHODS.items() if NAMED[name].answers(CausalProblem.kind)]


def implied(title: str, behavior: str) -> Scoring:
    """What a method computes for a behavior, with the checkpoints and the damping of this study. One that reads no
    behavior raises the answer's logit."""
    method = NAMED[METHODS[title]]
    return method.implied(behavior if method.reads else ANSWER, ETA, checkpoints=CHECKPOINTS, damping=DAMPING)


def plan(payload: Mapping[str, Any]) -> list[str]:
    return [f"{seed}/{chunk}" for chunk in PARTS for seed in payload["seeds"]]


def weight(payload: Mapping[str, Any], key: str) -> float:
    """Guessed seconds."""
    settings = payload["settings"]
    return {"steps": 150.0, "curve": 1.5 * settings["curve"], "removal": 16.0 * settings["removed"],
            "subsets": 3.0 * settings["subsets"], "estimates": 150.0}[key.partition("/")[2]]


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    seed, _, chunk = key.partition("/")
    own = sampled(payload["settings"]["source"], int(seed), context, end=0.2)
    return PARTS[chunk](own, payload["settings"], context)


def _steps(sampled: SampledProblem, settings: Mapping[str, Any], context: Context) -> Output:
    """Oriented scores of one exact step, by behavior."""
    problem = sampled.problem
    exact = _exact(problem, Scoring.of("response_loss", ADD, ONE_STEP), context.computing("one exact step", 0.2))
    below = sum(scores.below_resolution for scores in exact.values())
    manifest = {**facts(sampled, **_factual(sampled)), "below_resolution": int(below),
                "exact_seconds": exact["response_loss"].provenance["wall_seconds"]}
    return Output(arrays=Bounded.all_stored(exact), manifest=manifest)


def _exact(problem: Problem, like: Scoring, options: Options) -> dict[str, Scores]:
    """Behavior -> the scores of a scoring for every behavior of tokens."""
    behaviors = reading("tokens")
    scorings = [Scoring.of(behavior, like.intervention, like.process, like.estimator) for behavior in behaviors]
    return dict(zip(behaviors, compute(problem, scorings, options), strict=True))


def _curve(sampled: SampledProblem, settings: Mapping[str, Any], context: Context) -> Output:
    """First order against exact over η, over the first candidates, per query."""
    problem, agreements = sampled.problem, {}
    problem = problem.with_candidates(problem.candidates[:settings["curve"]])
    for index, eta in enumerate(ETAS):
        options = context.computing(f"first order against exact, η = {eta:g}", 0.2 + 0.8 * index / len(ETAS))
        process = {"kind": "one_step", "eta": eta}
        exact, tangent = (_exact(problem, Scoring.of("response_loss", ADD, process, name), options)
                          for name in ("exact", "first_order"))
        for behavior, scores in exact.items():
            agreements[f"{eta!r}|{behavior}"] = per_query(Bounded.of(scores), Bounded.of(tangent[behavior]))
    return Output(arrays=stored(agreements))


def _removal(sampled: SampledProblem, settings: Mapping[str, Any], context: Context) -> Output:
    """Oriented scores of training without single records, under two training seeds."""
    whole = sampled.problem
    problem = whole.with_candidates(whole.candidates[:settings["removed"]])
    assert isinstance(problem, CausalProblem)
    question = Scoring.of("response_loss", REMOVE, {"kind": "retrain"})
    exact = _exact(problem, question, context.computing("training without each record", 0.2))
    other_seed = problem.with_training_seed(problem.seed + OTHER_SEED)
    other = _exact(other_seed, question, context.computing("the same with another seed", 0.6))
    return Output(arrays=Bounded.all_stored({f"{name}|{behavior}": scores for name, by_behavior in (
                      ("own", exact), ("other", other)) for behavior, scores in by_behavior.items()}),
                  manifest={"seconds": exact["response_loss"].provenance["wall_seconds"]})


def _subsets(sampled: SampledProblem, settings: Mapping[str, Any], context: Context) -> Output:
    """What models trained on random halves of all records say, by the protocol `weights`: (m, J) by behavior, with the
    halves."""
    problem = sampled.problem
    members = subsets(len(problem.candidates), settings["subsets"], SHARE, sampled.source.seed)
    models = retrain_on(problem, members, context.computing("training on random halves", 0.2))
    return Output(arrays={"kept": members, **{behavior: models.outcomes(behavior) for behavior in reading("tokens")}})


def _estimates(sampled: SampledProblem, settings: Mapping[str, Any], context: Context) -> Output:
    """Oriented scores of every method and baseline with their error bounds, by `method|behavior`."""
    problem, behaviors, answering = sampled.problem, reading("tokens"), methods()
    estimates: dict[str, Scores] = {}
    for index, title in enumerate(answering):
        scorings = {behavior: implied(title, behavior) for behavior in behaviors}
        once = list(dict.fromkeys(scorings.values()))
        scores = dict(zip(once, compute(problem, once, context.computing(title, 0.2 + 0.8 * index / len(answering))),
                          strict=True))
        estimates |= {f"{title}|{behavior}": scores[scoring] for behavior, scoring in scorings.items()}
    baselines = compute(problem, list(BASELINES.values()))
    for title, own in zip(BASELINES, baselines, strict=True):
        estimates |= {f"{title}|{behavior}": own for behavior in behaviors}
    return Output(arrays=Bounded.all_stored(estimates))


PARTS: dict[str, Callable[[SampledProblem, Mapping[str, Any], Context], Output]] = {
    "steps": _steps, "curve": _curve, "removal": _removal, "subsets": _subsets, "estimates": _estimates}
"""The chunks of a seed: what is exact first, so that it stands when estimators are added."""


def _factual(sampled: SampledProblem) -> dict[str, Any]:
    problem = sampled.problem
    return {"loss": problem.facts["factual_loss"], "gradient_norm": problem.facts["factual_gradient_norm"],
            "query_accuracy": problem.accuracy()}


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """The tables `steps`, `curve`, `removal` and `subsets`: means over queries, then seeds."""
    seeds = payload["seeds"]
    by_table: dict[str, list[Measured]] = {table: [] for table in ("steps", "curve", "removal", "subsets")}
    for index, seed in enumerate(seeds):
        context.progress(index / len(seeds), f"agreement, seed {seed}")
        arrays = {chunk: chunks[f"{seed}/{chunk}"].arrays() for chunk in PARTS}
        by_table["steps"].append(_against_steps(arrays))
        by_table["curve"].append(_of_curve(arrays["curve"]))
        by_table["removal"].append(_against_removal(arrays, payload["settings"]["removed"]))
        by_table["subsets"].append(_against_subsets(arrays))
    tables = {table: pd.DataFrame(rows_over_seeds(measured, ("method", "behavior", "metric")))
              for table, measured in by_table.items()}
    tables["curve"] = tables["curve"].rename(columns={"method": "eta"})
    runs = [{"seed": seed, **{name: value for chunk in ("steps", "removal")
                              for name, value in chunks[f"{seed}/{chunk}"].manifest.items() if name in REPORTED}}
            for seed in seeds]
    return Output(tables, manifest={"spec": _declared(), "runs": runs, "device": runs[0]["device"]})


REPORTED = ("data", "device", "factual", "exact_seconds", "below_resolution", "seconds")
STEP = "Exact step"
"""Stands beside the methods where models are trained again."""
Arrays = Mapping[str, np.ndarray]
Measured = dict[tuple[str, str, str], np.ndarray]
"""(method, behavior, measure) -> a value a query, (m,)."""


def _titled(method: str, behavior: str, measured: Mapping[str, np.ndarray]) -> Measured:
    return {(method, behavior, METRICS[name].title): values for name, values in measured.items()}


def _against_steps(arrays: Mapping[str, Arrays]) -> Measured:
    """Every method, and the exact step of every other behavior, against the exact step."""
    exact = Bounded.all_restored(arrays["steps"])
    measured: Measured = {}
    for key, values in Bounded.all_restored(arrays["estimates"]).items():
        method, behavior = key.split("|")
        measured |= _titled(method, behavior, per_query(values, exact[behavior]))
    for behavior in exact:
        for other in exact:
            if other != behavior:
                measured |= _titled(f"Exact step, {other.replace('_', ' ')}", behavior,
                                    per_query(exact[other], exact[behavior]))
    return measured


def _of_curve(arrays: Arrays) -> Measured:
    measured: Measured = {}
    for name in dict.fromkeys(key.rpartition("|")[0] for key in arrays):
        eta, behavior = name.split("|")
        measured |= _titled(eta, behavior, restored(arrays, name))
    return measured


def _against_removal(arrays: Mapping[str, Arrays], removed: int) -> Measured:
    """Every method, and the same removals under another seed, against training without the record."""
    exact, steps = Bounded.all_restored(arrays["removal"]), Bounded.all_restored(arrays["steps"])
    measured: Measured = {}
    for key, values in Bounded.all_restored(arrays["estimates"]).items():
        method, behavior = key.split("|")
        measured |= _titled(method, behavior, per_query(values.of_candidates(slice(removed)), exact[f"own|{behavior}"]))
    for behavior in steps:
        measured |= _titled(STEP, behavior,
                            per_query(steps[behavior].of_candidates(slice(removed)), exact[f"own|{behavior}"]))
        measured |= _titled("Exact removal, another seed", behavior,
                            per_query(exact[f"other|{behavior}"], exact[f"own|{behavior}"]))
    return measured


def _against_subsets(arrays: Mapping[str, Arrays]) -> Measured:
    measured: Measured = {}
    steps = {f"{STEP}|{behavior}": scores for behavior, scores in Bounded.all_restored(arrays["steps"]).items()}
    for key, scores in {**Bounded.all_restored(arrays["estimates"]), **steps}.items():
        method, behavior = key.split("|")
        measured[method, behavior, "LDS"] = linear_datamodeling_score(
            np.nan_to_num(scores.values), arrays["subsets"][behavior], arrays["subsets"]["kept"])
    return measured


def _declared() -> dict[str, Any]:
    return {"eta": ETA, "etas": ETAS, "damping": DAMPING, "behaviors": list(reading("tokens")), "share": SHARE,
            "methods": {title: implied(title, ANSWER).canonical() for title in methods()}}


STUDY = study("exact_language", plan, run_chunk, finish, weight)
LANGUAGE_STEPS = Experiment(
    "language-steps", "Language model, steps: every estimator against one exact step", STUDY.name, PRESETS,
    itemgetter("steps"), ("method", "behavior", "metric"), None,
    "Not in the paper: its language models are too large for exact answers. GradSim is the first-order term of the "
    "same question; the other methods answer other questions.")
LANGUAGE_CURVE = Experiment(
    "language-curve", "Language model, curve: first order against the exact step over η", STUDY.name, PRESETS,
    itemgetter("curve"), ("eta", "behavior", "metric"))
LANGUAGE_REMOVAL = Experiment(
    "language-removal", "Language model, removal: every estimator against training without single records",
    STUDY.name, PRESETS, itemgetter("removal"), ("method", "behavior", "metric"), None,
    "Not in the paper. `Exact removal, another seed` is the agreement of the same removals under another training "
    "seed: the noise floor.")
LANGUAGE_SUBSETS = Experiment(
    "language-lds", "Language model, subsets: linear datamodeling scores", STUDY.name, PRESETS, itemgetter("subsets"),
    ("method", "behavior", "metric"), None, "Not in the paper. Models trained on random halves of all records by the "
    "protocol `weights`: initial weights, batches and number of steps of the recorded run, with weight 0 for the other "
    "half.")
