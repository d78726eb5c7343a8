r"""The controlled study: Table A-6 and Figure 4-1 of the paper, configuration of its Table A-1.

Softmax regression at its optimum. Everything is compared per query over the same candidates:

    B   one step η=0.1, query loss against soft margin, hard margin, query logit
    P   query loss, re-optimisation: upweighting at five α against leave-one-out
    T   query loss: one step against five steps, and against the inverse Hessian with damping 0.01
    (b) first order against the exact step over η; inverse Hessian against Newton over α, undamped

As the authors' code has it (the setting `conventions`): an intercept that is not penalised; the T rows and the curve
over η also over all (query, candidate) pairs at once; no score left out for its error bound; and the curve over α also
by a plain inverse of the Hessian, which the intercept makes singular (`engine.curvature.plain_inverse`).

Each seed is one `steps` chunk and several `optima` chunks, one for each slice of the candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from engine.basics.options import Options
from engine.curvature.plain_inverse import PLAIN_INVERSE
from engine.exact.local_response import linear_responses
from engine.experiments.agreements import (
    Agreements,
    Bounded,
    alpha_parameter,
    facts,
    measured,
    over_seeds,
    restored,
    stored,
    words,
)
from engine.experiments.conventions import as_authors
from engine.experiments.experiment import Experiment, StudyPreset
from engine.experiments.study import sampled, study
from engine.jobs import Context, Output
from engine.problems import Problem
from engine.question.behaviors import BEHAVIORS as READOUTS
from engine.question.interventions import Infinitesimal
from engine.question.processes import LocalResponse
from engine.scoring.compute import compute
from engine.scoring.controlled import (
    ALPHAS,
    DAMPING,
    ETA,
    ETAS,
    STEPS,
    removal_scoring,
    response_scoring,
    step_scoring,
    unrolled_scoring,
    upweight_scoring,
)
from engine.scoring.scoring import Scoring
from engine.store.results import Result

BEHAVIORS = ("query_loss", "query_logit", "soft_margin", "hard_margin")
NUMERICS = 2
LEAVE_ONE_OUT, FIVE_STEPS, INVERSE_HESSIAN = (
    "upweighting vs. exact LOO", "one-step vs. five-step", "one-step vs. inverse-Hessian")
RESPONSES = {"response": "inverse-Hessian vs. Newton upweight", "plain": "plain inverse vs. Newton upweight"}
"""What stands in a chunk for the undamped linear response by a definite factorisation, and by a plain inverse."""

PAPER = StudyPreset("paper", "FashionMNIST as in Appendix A-1", 3, {"numerics": NUMERICS, "slice": 250, "sources": [
    {"dataset": "fashion_mnist", "n_train": 20_000, "n_test": 2_000, "n_queries": 1_000, "n_candidates": 1_000}]})
SMALL = StudyPreset("small", "digits, and FashionMNIST averaged to 14×14 pixels", 3, {
    "numerics": NUMERICS, "slice": 250, "sources": [
        {"dataset": "digits", "n_train": 1_000, "n_test": 500, "n_queries": 200, "n_candidates": 200},
        {"dataset": "fashion_mnist", "n_train": 2_000, "n_test": 500, "n_queries": 200, "n_candidates": 200,
         "pool": 2}]})


def step_pairs(five_steps: str) -> dict[tuple[str, str, str], tuple[Scoring, Scoring]]:
    """(axis, comparison, parameter) of the B axis and of five steps -> the two scorings it compares."""
    step = step_scoring("query_loss", ETA)
    return {**{("B", f"query loss vs. {words(behavior)}", ""): (step, step_scoring(behavior, ETA))
               for behavior in BEHAVIORS[1:]}, ("T", five_steps, ""): (step, unrolled_scoring())}


def pairs() -> dict[tuple[str, str, str], tuple[Scoring, Scoring]]:
    """Those of Table A-6."""
    removed, step = removal_scoring("n-1"), step_scoring("query_loss", ETA)
    return step_pairs(FIVE_STEPS) | {
        ("P", LEAVE_ONE_OUT, alpha_parameter(alpha)): (upweight_scoring("query_loss", alpha), removed)
        for alpha in ALPHAS} | {("T", INVERSE_HESSIAN, ""): (step, response_scoring("query_loss", DAMPING))}


def sources_of(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is drawn and trained, without a seed."""
    more = {"intercept": True} if as_authors(settings) else {}
    return [{**source, **more} for source in settings["sources"]]


def plan(payload: Mapping[str, Any]) -> list[str]:
    keys = []
    for index, source in enumerate(payload["settings"]["sources"]):
        slices = -(-source["n_candidates"] // payload["settings"]["slice"])
        for seed in payload["seeds"]:
            keys.append(f"{index}/{seed}/steps")
            keys += [f"{index}/{seed}/optima/{number}" for number in range(slices)]
    return keys


def weight(payload: Mapping[str, Any], key: str) -> float:
    """Guessed seconds: the first chunk of a seed also trains the model and factors its Hessian."""
    source = payload["settings"]["sources"][int(key.split("/")[0])]
    scale = source["n_train"] / 20_000 / source.get("pool", 1) ** 2
    return scale * (150 if key.endswith("steps") else 0.5 * payload["settings"]["slice"])


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    index, seed, kind, *number = key.split("/")
    context.progress(0.0, f"training, seed {seed}")
    own = sampled(sources_of(payload["settings"])[int(index)], int(seed), context)
    own.problem.facts  # noqa: B018 - trains
    if kind == "steps":
        return _steps_chunk(own, payload["settings"], context)
    return _optima_chunk(own, int(number[0]), payload["settings"], context)


def _steps_chunk(sampled, settings: Mapping[str, Any], context: Context) -> Output:
    """Agreement per query of the B axis, the steps of the T axis, and every first-order curve."""
    problem, agreements = sampled.problem, {}
    reference = Bounded.of(compute(problem, step_scoring("query_loss", ETA))[0])
    for behavior in BEHAVIORS[1:]:
        other = compute(problem, step_scoring(behavior, ETA))[0]
        agreements[f"B|{behavior}"] = measured(reference, Bounded.of(other), settings)
    agreements["T|unrolled"] = measured(reference, Bounded.of(compute(problem, unrolled_scoring())[0]), settings, True)
    for number, eta in enumerate(ETAS):
        context.progress(0.1 + 0.9 * number / len(ETAS), f"first order against exact, η = {eta:g}")
        for behavior in BEHAVIORS:
            pair = compute(problem, [step_scoring(behavior, eta), step_scoring(behavior, eta, "first_order")])
            agreements[f"eta|{behavior}|{eta!r}"] = measured(Bounded.of(pair[0]), Bounded.of(pair[1]), settings, True)
    return Output(arrays={**stored(agreements), **reference.stored("step")}, manifest=_facts(sampled))


def _optima_chunk(sampled, number: int, settings: Mapping[str, Any], context: Context) -> Output:
    """Oriented scores of one slice of candidates under removal, upweighting and the linear responses, with their error
    bounds: what takes part is decided when they are compared."""
    chosen = slice(number * settings["slice"], (number + 1) * settings["slice"])
    problem = sampled.problem.with_candidates(sampled.problem.candidates[chosen])
    scorings = {f"remove|{kind}": removal_scoring(kind) for kind in ("n-1", "n")}
    scorings |= {f"upweight|{b}|{alpha!r}": upweight_scoring(b, alpha) for alpha in ALPHAS for b in BEHAVIORS}
    linear = {f"response|{b}|0.0": response_scoring(b, 0.0) for b in BEHAVIORS}
    linear |= {f"response|query_loss|{DAMPING!r}": response_scoring("query_loss", DAMPING)}
    context.progress(0.0, "re-optimising")
    computed = dict(zip((*scorings, *linear), compute(problem, [*scorings.values(), *linear.values()],
                                                      context.computing("re-optimising")), strict=True))
    exact = [scores for name, scores in computed.items() if name in scorings]
    manifest = _facts(sampled)
    manifest["convergence"] = {
        "flagged": int(sum((~scores.converged).sum() for scores in exact)),
        "largest_gradient_norm": max(float(scores.residual.max()) for scores in exact),
        "flops": _group_work(computed, "flops"), "seconds": computed["remove|n-1"].provenance["wall_seconds"],
    }
    converged = np.logical_and.reduce([scores.converged for scores in computed.values()])
    plain = _plain_responses(problem, context.computing("plain inverse")) if as_authors(settings) else {}
    return Output(arrays={**Bounded.all_stored(computed), **plain, "converged": converged}, manifest=manifest)


def _plain_responses(problem: Problem, options: Options) -> dict[str, np.ndarray]:
    """dB/dα (m, b) by a plain inverse of the undamped Hessian, by what stands for it in a chunk."""
    [response] = linear_responses(PLAIN_INVERSE, problem, [Infinitesimal()], LocalResponse(), problem.candidates,
                                  options)
    return {f"plain|{b}|0.0": response.scores(READOUTS[b], problem.query_labels).cpu().numpy() for b in BEHAVIORS}


def _group_work(computed, name: str) -> float:
    """Work of the re-optimisations, counted once although several behaviors share one."""
    return sum(scores.provenance["convergence"].get(name, 0.0) for key, scores in computed.items()
               if key.startswith(("remove", "upweight|query_loss")))


def _facts(sampled) -> dict[str, Any]:
    fit = sampled.problem.fit
    return facts(sampled, gradient_norm=fit.gradient_norm, lbfgs_iterations=fit.lbfgs_iterations,
                 newton_iterations=fit.newton_iterations)


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """Agreement of every comparison, averaged over queries and seeds, as the tables `table_a6` and `figure_4`."""
    sources, rows, runs = sources_of(payload["settings"]), [], []
    for index, source in enumerate(sources):
        def progress(done: float, before: int = index) -> None:
            context.progress((before + done) / len(sources))

        own, facts = over_seeds(source, payload["seeds"], partial(_seed_agreements, payload, chunks, index), progress)
        rows += own
        runs += facts
    frame = pd.DataFrame(rows)
    tables = {"table_a6": frame[frame.table == "table_a6"].drop(columns=["table", "curve", "behavior"]),
              "figure_4": frame.drop(columns=["table"])}
    return Output({name: table.reset_index(drop=True) for name, table in tables.items()}, manifest={
        "spec": _declared(), "runs": runs, "device": runs[0]["device"]})


def _declared() -> dict[str, Any]:
    return {"etas": ETAS, "alphas": ALPHAS, "eta": ETA, "steps": STEPS, "damping": DAMPING, "behaviors": BEHAVIORS,
            "l2": 1e-4, "top_fraction": 0.05}


def _seed_agreements(payload: Mapping[str, Any], chunks: Mapping[str, Result], index: int, seed: int
                     ) -> tuple[Agreements, dict[str, Any]]:
    """What one seed found, and what its run has to say."""
    results = [chunks[key] for key in plan(payload) if key.startswith(f"{index}/{seed}/optima/")]
    steps = chunks[f"{index}/{seed}/steps"]
    pieces = [result.arrays() for result in results]
    converged = np.concatenate([piece["converged"] for piece in pieces])
    whole = {name: np.concatenate([piece[name] for piece in pieces], 1) for name in pieces[0] if name != "converged"}
    scores = {name: agreements.of_candidates(converged) for name, agreements in Bounded.all_restored(whole).items()}
    stepped = steps.arrays()
    agreements = from_steps(stepped, "table_a6", FIVE_STEPS, "figure_4", BEHAVIORS, ETAS)
    step = Bounded.restored(stepped, "step").of_candidates(converged)
    agreements[("table_a6", "", "T", INVERSE_HESSIAN, "", "query_loss")] = measured(
        step, scores[f"response|query_loss|{DAMPING!r}"], payload["settings"], True)
    agreements |= _from_optima(scores, payload["settings"])
    convergence = [result.manifest["convergence"] for result in results]
    manifest = {key: steps.manifest[key] for key in ("data", "device", "factual")}
    manifest["convergence"] = {
        "flagged": sum(c["flagged"] for c in convergence),
        "largest_gradient_norm": max(c["largest_gradient_norm"] for c in convergence),
        "reoptimisation_flops": sum(c["flops"] for c in convergence),
        "reoptimisation_seconds": round(sum(c["seconds"] for c in convergence), 1)}
    return agreements, manifest


def from_steps(arrays: Mapping[str, np.ndarray], table: str, five_steps: str, figure: str, behaviors: Sequence[str],
               etas: Sequence[float]) -> Agreements:
    """What the chunks of steps hold: of a table the B axis and five steps, of a figure the curves of `behaviors`."""
    rows: Agreements = {(table, "", "B", f"query loss vs. {words(behavior)}", "", behavior): restored(
        arrays, f"B|{behavior}") for behavior in BEHAVIORS[1:]}
    rows[(table, "", "T", five_steps, "", "query_loss")] = restored(arrays, "T|unrolled")
    for behavior, eta in product(behaviors, etas):
        key = (figure, "eta", "approximation", "first-order vs. exact one-step", f"eta={eta!r}", behavior)
        rows[key] = restored(arrays, f"eta|{behavior}|{eta!r}")
    return rows


def _from_optima(scores: Mapping[str, Bounded], settings: Mapping[str, Any]) -> Agreements:
    agreements: Agreements = {}
    for alpha in ALPHAS:
        upweighted = scores[f"upweight|query_loss|{alpha!r}"]
        label = alpha_parameter(alpha)
        agreements[("table_a6", "", "P", LEAVE_ONE_OUT, label, "query_loss")] = measured(
            upweighted, scores["remove|n-1"], settings)
        agreements[("figure_4", "normalization", "P", f"{LEAVE_ONE_OUT} (mean over n)", label, "query_loss")] = (
            measured(upweighted, scores["remove|n"], settings))
        for behavior, (name, title) in product(BEHAVIORS, RESPONSES.items()):
            if (response := scores.get(f"{name}|{behavior}|0.0")) is not None:
                key = ("figure_4", "alpha", "approximation", title, label, behavior)
                agreements[key] = measured(scores[f"upweight|{behavior}|{alpha!r}"], response, settings)
    return agreements


def tolerance(row: Mapping[str, str]) -> float:
    """Kendall τ within 0.02 of the paper, overlaps within 0.05, sign agreement with leave-one-out within 0.02."""
    if row["metric"] == "Kendall tau":
        return 0.02
    if row["metric"] == "Top-5% overlap":
        return 0.05
    return 0.02 if row["comparison"] == LEAVE_ONE_OUT else np.nan


STUDY = study("controlled_fashion_mnist", plan, run_chunk, finish, weight)
PRESETS = {"small": SMALL, "paper": PAPER}
TABLE_A6 = Experiment(
    "table-a6", "Table A-6: specification mismatch on FashionMNIST", STUDY.name, PRESETS,
    lambda tables: tables["table_a6"], ("axis", "comparison", "parameter", "metric"),
    "table_a6_fashionmnist_specification_mismatch.csv", pairs=pairs(), tolerance=tolerance)
FIGURE_4 = Experiment(
    "figure-4", "Figure 4-1: specification mismatch (a) and approximation error (b)", STUDY.name, PRESETS,
    lambda tables: tables["figure_4"], ("axis", "comparison", "parameter", "metric"),
    "table_a6_fashionmnist_specification_mismatch.csv",
    "Panel (a) repeats Table A-6; the paper gives no numbers for panel (b).", pairs(), tolerance)
