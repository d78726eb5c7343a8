r"""Exact references for a language model: what estimators are worth against the counterfactual itself.

The embedded model, fine-tuned on records of which some are answered wrongly, is small enough for exact answers:

    steps      every estimator × behavior against one exact step on each candidate (paper, Eq. 5)
    curve      the first-order term against the exact step over η
    removal    every estimator against training again without single records, with the same seed; beside it what the
               same removals agree on under another seed, which is all that any estimator could know of them
    subsets    linear datamodeling score over models trained on random halves of the records (Park et al. 2023)

Scores are compared per query over the same candidates. RepSim reads no behavior and is compared with each. Gradient
length and a random order imply no specification: they are ranked as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from engine.analysis.datamodels import linear_datamodeling_score, subsets
from engine.analysis.datamodels import retrain as retrain_on
from engine.estimators import ESTIMATORS
from engine.experiments.agreements import facts, per_query, restored, stored
from engine.experiments.contents import check
from engine.experiments.experiment import Experiment, Preset
from engine.gradients.products import TrainingGradients
from engine.jobs import Context, JobKind, Output
from engine.metrics.agreement import METRICS
from engine.metrics.intervals import t_interval
from engine.models.causal.catalogue import EMBEDDED_MODEL
from engine.problems import CausalProblem, DrawnProblem, ProblemSource, build_kept
from engine.question.behaviors import reading
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from engine.store.results import Result

NUMERICS = 1
ETA, DAMPING = 0.1, 0.01
ETAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
CHECKPOINTS = 4
ADD, REMOVE = {"kind": "add_occurrence"}, {"kind": "remove"}
ONE_STEP = {"kind": "one_step", "eta": ETA}
TRAJECTORY = {"kind": "trajectory", "eta": ETA, "checkpoints": CHECKPOINTS}
RESPONSE = {"kind": "local_response", "damping": DAMPING}
EXACT_STEP, EXACT_REMOVAL = "exact one-step", "exact removal"
BASELINES = ("Gradient length", "Random")
SHARE = 0.5

Implied = Callable[[str], Scoring]
METHODS: dict[str, Implied] = {
    "GradSim": lambda behavior: Scoring.of(behavior, ADD, ONE_STEP, "first_order"),
    "GradSim (cosine)": lambda behavior: Scoring.of(behavior, ADD, ONE_STEP, "cosine"),
    "RepSim": lambda behavior: Scoring.of("answer_logit", {"kind": "auxiliary"}, ONE_STEP, "cosine"),
    "TracIn": lambda behavior: Scoring.of(behavior, ADD, TRAJECTORY, "first_order"),
    "LESS": lambda behavior: Scoring.of(behavior, ADD, TRAJECTORY, "less"),
    "TRAK": lambda behavior: Scoring.of(behavior, REMOVE, {"kind": "retrain"}, "trak"),
    "Influence (CG)": lambda behavior: Scoring.of(behavior, {"kind": "infinitesimal"}, RESPONSE, "cg_gauss_newton"),
    "EK-FAC": lambda behavior: Scoring.of(behavior, {"kind": "infinitesimal"}, RESPONSE, "ekfac"),
    "DataInf": lambda behavior: Scoring.of(behavior, {"kind": "infinitesimal"}, RESPONSE, "datainf"),
}
"""By its usual name, what a method computes for a behavior: the specification that it implies."""

RECIPE = {"rank": 16, "epochs": 4, "learning_rate": 3e-3, "batch": 8, "context": 256, "checkpoints": CHECKPOINTS}
SOURCE = {"dataset": "world_corruption", "model": EMBEDDED_MODEL, "recipe": RECIPE}
SMALL = Preset("small", "500 records of the embedded world, 100 queries", 3, {
    "numerics": NUMERICS, "curve": 100, "removed": 40, "subsets": 100, "source": {
        **SOURCE, "n_train": 500, "n_test": 200, "n_queries": 100, "n_candidates": 500}})
PRESETS = {"small": SMALL}


def methods() -> dict[str, Implied]:
    """Those that answer for a language model."""
    found = {}
    for title, implied in METHODS.items():
        scoring = implied("answer_logit")
        if ESTIMATORS[scoring.estimator].refusal(scoring.specification, CausalProblem.kind) is None:
            found[title] = implied
    return found


def plan(payload: Mapping[str, Any]) -> list[str]:
    return [f"{seed}/{part}" for seed in payload["seeds"] for part in PARTS]


def weight(payload: Mapping[str, Any], key: str) -> float:
    """Guessed seconds."""
    return {"steps": 200.0, "curve": 200.0, "removal": 2.0 * 6 * payload["settings"]["removed"],
            "subsets": 4.0 * payload["settings"]["subsets"]}[key.partition("/")[2]]


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    check(payload)
    seed, _, part = key.partition("/")
    source = ProblemSource.parse({**payload["settings"]["source"], "seed": int(seed)})
    drawn = build_kept(source, context.device, check=context.check,
                       progress=lambda share: context.progress(0.2 * share, f"training, seed {seed}"))
    return PARTS[part](drawn, payload["settings"], context)


def estimated(problem: CausalProblem, context: Context) -> dict[tuple[str, str], np.ndarray]:
    """(method, behavior) -> oriented scores (m, k) of every method and baseline."""
    behaviors = reading("tokens")
    found: dict[tuple[str, str], np.ndarray] = {}
    for title, implied in methods().items():
        scores = compute(problem, [implied(behavior) for behavior in behaviors], context.computing(title, 0.2))
        found |= {(title, behavior): one.sharp for behavior, one in zip(behaviors, scores, strict=True)}
    shape = len(problem.queries), len(problem.candidates)
    lengths = TrainingGradients(problem, problem.candidates).norms().double().cpu().numpy()
    order = np.random.default_rng(problem.seed).permutation(shape[1]).astype(np.float64)
    for title, values in zip(BASELINES, (lengths, order), strict=True):
        found |= {(title, behavior): np.broadcast_to(values, shape) for behavior in behaviors}
    return found


def _steps(drawn: DrawnProblem, settings: Mapping[str, Any], context: Context) -> Output:
    """Agreement per query of every method with the exact step, and of exact steps of different behaviors."""
    problem, behaviors = drawn.problem, reading("tokens")
    assert isinstance(problem, CausalProblem)
    exact = compute(problem, [Scoring.of(behavior, ADD, ONE_STEP) for behavior in behaviors],
                    context.computing("one exact step", 0.2))
    seconds = exact[0].provenance["wall_seconds"]
    reference = {behavior: scores.sharp for behavior, scores in zip(behaviors, exact, strict=True)}
    found = {f"{title}|{behavior}": per_query(values, reference[behavior])
             for (title, behavior), values in estimated(problem, context).items()}
    found |= {f"{EXACT_STEP} of {other}|{behavior}": per_query(reference[other], reference[behavior])
              for behavior in behaviors for other in behaviors if other != behavior}
    below = sum(scores.below_resolution for scores in exact)
    return Output(arrays=stored(found), manifest={**facts(drawn, **_factual(drawn)), "exact_seconds": seconds,
                                                  "below_resolution": int(below)})


def _curve(drawn: DrawnProblem, settings: Mapping[str, Any], context: Context) -> Output:
    """First order against exact over η, over the first candidates."""
    problem, behaviors, found = drawn.problem, reading("tokens"), {}
    problem = problem.with_candidates(problem.candidates[:settings["curve"]])
    for place, eta in enumerate(ETAS):
        context.progress(0.2 + 0.8 * place / len(ETAS), f"first order against exact, η = {eta:g}")
        process = {"kind": "one_step", "eta": eta}
        scores = compute(problem, [Scoring.of(behavior, ADD, process, estimator)
                                   for estimator in ("exact", "first_order") for behavior in behaviors])
        for behavior, exact, tangent in zip(behaviors, scores, scores[len(behaviors):], strict=False):
            found[f"{eta!r}|{behavior}"] = per_query(exact.sharp, tangent.sharp)
    return Output(arrays=stored(found))


def _removal(drawn: DrawnProblem, settings: Mapping[str, Any], context: Context) -> Output:
    """Agreement per query of every method with retraining without single records, and of two training seeds."""
    whole, behaviors = drawn.problem, reading("tokens")
    problem = whole.with_candidates(whole.candidates[:settings["removed"]])
    assert isinstance(problem, CausalProblem)
    asked = [Scoring.of(behavior, REMOVE, {"kind": "retrain"}) for behavior in behaviors]
    exact = compute(problem, asked, context.computing("training without each record", 0.2))
    again = problem.with_training_seed(problem.seed + 1_000)
    other = compute(again, asked, context.computing("another training seed", 0.6))
    reference = {behavior: scores.sharp for behavior, scores in zip(behaviors, exact, strict=True)}
    found = {f"{title}|{behavior}": per_query(values, reference[behavior])
             for (title, behavior), values in estimated(problem, context).items()}
    found |= {f"{EXACT_REMOVAL}, another seed|{behavior}": per_query(scores.sharp, reference[behavior])
              for behavior, scores in zip(behaviors, other, strict=True)}
    return Output(arrays=stored(found), manifest={"seconds": exact[0].provenance["wall_seconds"]})


def _subsets(drawn: DrawnProblem, settings: Mapping[str, Any], context: Context) -> Output:
    """Linear datamodeling score per query of every method."""
    problem = drawn.problem
    assert isinstance(problem, CausalProblem)
    kept = subsets(len(problem.candidates), settings["subsets"], SHARE, problem.seed)
    models = retrain_on(problem, kept, context.computing("training on random halves", 0.2))
    found = {f"{title}|{behavior}": linear_datamodeling_score(np.nan_to_num(values), models.outcomes(behavior), kept)
             for (title, behavior), values in estimated(problem, context).items()}
    return Output(arrays=found)


PARTS: dict[str, Callable[[DrawnProblem, Mapping[str, Any], Context], Output]] = {
    "steps": _steps, "curve": _curve, "removal": _removal, "subsets": _subsets}


def _factual(drawn: DrawnProblem) -> dict[str, Any]:
    problem = drawn.problem
    with torch.no_grad():
        return {"loss": problem.facts["factual_loss"], "gradient_norm": problem.facts["factual_gradient_norm"],
                "query_accuracy": problem.accuracy()}


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """The tables `steps`, `curve`, `removal` and `subsets`: means over queries, then seeds."""
    seeds = payload["seeds"]
    tables = {}
    for part in PARTS:
        arrays = [chunks[f"{seed}/{part}"].arrays() for seed in seeds]
        tables[part] = pd.DataFrame(_rows(arrays, *TOLD[part]))
    runs = [{"seed": seed, **{name: value for part in ("steps", "removal")
                              for name, value in chunks[f"{seed}/{part}"].manifest.items()
                              if name in ("data", "device", "factual", "exact_seconds", "below_resolution", "seconds")}}
            for seed in seeds]
    return Output(tables, manifest={"spec": _declared(), "seeds": seeds, "runs": runs, "device": runs[0]["device"]})


TOLD: dict[str, tuple[str, tuple[str, ...]]] = {
    "steps": ("method", tuple(METRICS)), "curve": ("eta", tuple(METRICS)), "removal": ("method", tuple(METRICS)),
    "subsets": ("method", ())}
"""What the first part of a key is called, and the measures that stand behind it; none: the values themselves."""


def _rows(seeds: Sequence[Mapping[str, np.ndarray]], column: str, metrics: tuple[str, ...]) -> list[dict[str, Any]]:
    names = list(dict.fromkeys("|".join(key.split("|")[:2]) for key in seeds[0]))
    rows = []
    for name in names:
        first, behavior = name.split("|")
        measured = [(METRICS[metric].title, [restored(arrays, name)[metric] for arrays in seeds]) for metric in metrics]
        measured = measured or [("LDS", [arrays[name] for arrays in seeds])]
        for title, per_seed in measured:
            means = [float(np.nanmean(values)) if np.isfinite(values).any() else float("nan") for values in per_seed]
            mean, half = t_interval(means)
            rows.append({column: first, "behavior": behavior, "metric": title, "mean": mean, "ci95": half,
                         "n_seeds": len(means), "n_queries": len(per_seed[0]),
                         "seed_means": " ".join(f"{value:.6f}" for value in means)})
    return rows


def _declared() -> dict[str, Any]:
    return {"eta": ETA, "etas": ETAS, "damping": DAMPING, "behaviors": list(reading("tokens")), "share": SHARE,
            "methods": {title: implied("answer_logit").canonical() for title, implied in methods().items()}}


def _view(part: str) -> Callable[[Mapping[str, pd.DataFrame]], pd.DataFrame]:
    return lambda tables: tables[part]


STUDY = JobKind("exact_language", plan, run_chunk, finish, weight)
LANGUAGE_STEPS = Experiment(
    "language-steps", "Language model: every estimator against one exact step", STUDY.name, PRESETS, _view("steps"),
    ("method", "behavior", "metric"), None,
    "Not in the paper: its language models are too large for exact answers. GradSim is the first-order term of the "
    "same question; the other methods answer other questions.")
LANGUAGE_CURVE = Experiment(
    "language-curve", "Language model: first order against the exact step over η", STUDY.name, PRESETS, _view("curve"),
    ("eta", "behavior", "metric"))
LANGUAGE_REMOVAL = Experiment(
    "language-removal", "Language model: every estimator against training without single records", STUDY.name, PRESETS,
    _view("removal"), ("method", "behavior", "metric"), None,
    "Not in the paper. `exact removal, another seed` is what the same removals agree on under another training seed: "
    "the noise floor.")
LANGUAGE_SUBSETS = Experiment(
    "language-lds", "Language model: linear datamodeling scores", STUDY.name, PRESETS, _view("subsets"),
    ("method", "behavior", "metric"), None, "Not in the paper. Models trained on random halves of the records.")
