r"""The non-convex check: Table A-7 and Figures A-1 and A-2 of the paper, configuration of its Table A-2.

A CNN trained by SGD on CIFAR-10. Everything is compared per query over the same candidates:

    B   one step η=0.1, query loss against soft margin, hard margin, query logit
    P   query loss, 20 L-BFGS iterations from θ_D (`local_search`): upweighting at three α against leave-one-out
    T   query loss: one step against five steps, and against the inverse Hessian with damping 0.01
    A-2 first order against the exact step over η; inverse Hessian against the same iterations over α, both
        with damping 0.01

θ_D is where SGD stopped and not a stationary point, so the iterations move the model by themselves. The P rows are
published as the paper has them, against θ_D, and against the model after as many iterations without any
intervention: the two differ by one number a query, which leaves τ and overlap as they are and decides the signs.

Searches and the inverse Hessian pass over all training examples many times for each candidate, so that a preset may
leave them fewer candidates, and the searches a smaller training set with a model of their own (`SearchPoint`). Each row
says how many training examples and candidates it compares.

As the authors' code has it (the setting `conventions`): the B rows are of a training for a fifth more epochs; the
searches start from the model refined by 100 iterations of L-BFGS; the inverse Hessian is solved for every query's
gradient by at most 10 iterations of CG on the exact Hessian, for the curve over α at the refined model; and what it is
compared with there is searched without damping, the drift left in; no score is left out for its error bound. A preset
that solves for fewer candidates then solves for 20 queries.

Each seed is one `steps` chunk, one `curve` chunk an η, one `response` chunk, one `searched` chunk where the searches
have their own model, several `optima` chunks, one a slice of the candidates, and one `behaviors` chunk where the B rows
have their own training.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, reduce
from operator import or_
from typing import Any, cast

import numpy as np
import pandas as pd

from engine.basics.options import Options
from engine.experiments.agreements import (
    Agreements,
    Bounded,
    alpha_parameter,
    facts,
    measured,
    over_seeds,
    stored,
)
from engine.experiments.controlled import BEHAVIORS, from_steps, step_pairs
from engine.experiments.conventions import as_authors
from engine.experiments.enough import learned_classes
from engine.experiments.experiment import Experiment, StudyPreset
from engine.experiments.network_search import (
    ALPHAS,
    CG_ITERATIONS,
    CURVES,
    FEW_ITERATIONS,
    REMOVAL,
    SearchPoint,
    longer,
    solved_candidates,
    solved_queries,
)
from engine.experiments.study import sampled, study
from engine.jobs import Context, Output
from engine.models.recipe import PAPER_CNN
from engine.problems import ModuleProblem, Problem, SampledProblem
from engine.problems.candidates import Shared
from engine.problems.memory import ProblemMemory
from engine.scoring.compute import compute
from engine.scoring.controlled import (
    DAMPING,
    ETA,
    ITERATIONS,
    SOLVER,
    response,
    search_scoring,
    step_scoring,
    unrolled_scoring,
    upweighting,
)
from engine.scoring.pooled import by_query
from engine.scoring.scoring import Scoring
from engine.store.results import Result

ETAS = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.3, 0.5)
NUMERICS = 4
LEAVE_ONE_OUT, FIVE_STEPS, INVERSE_HESSIAN = (
    "upweighting vs. local LOO", "exact one-step vs. exact five-step", "exact one-step vs. inverse-Hessian")
DRIFT_REMOVED = f"{LEAVE_ONE_OUT} (drift removed)"

CIFAR = {"dataset": "cifar10", "model": "cnn"}
PAPER = StudyPreset("paper", "CIFAR-10 as in Appendix A-1", 3, {"numerics": NUMERICS, "slice": 100, "source": {
    **CIFAR, "n_train": 10_000, "n_test": 600, "n_queries": 500, "n_candidates": 500}})
DESK = StudyPreset("desk", "CIFAR-10 as in Appendix A-1; fewer candidates for the inverse Hessian, and L-BFGS on a "
                   "model of 1,000 training examples", 3,
                   {"numerics": NUMERICS, "slice": 5, "source": PAPER.settings["source"], "solved": {"n_candidates": 4},
                    "searched": {"n_train": 1_000, "n_candidates": 10, "alphas": [1e-3, 1e-1]}})
POOLED = StudyPreset("pooled", "CIFAR-10 averaged to 16×16 pixels, 6,000 training examples; fewer candidates, and "
                     "L-BFGS on a model of 1,000 training examples", 4, {
    "numerics": NUMERICS, "slice": 4, "source": {
        **CIFAR, "n_train": 6_000, "n_test": 2_000, "n_queries": 200, "n_candidates": 100, "pool": 2},
    "solved": {"n_candidates": 4}, "searched": {"n_train": 1_000, "n_candidates": 16, "alphas": [1e-3, 1e-1]}})
SMALL = StudyPreset("small", "CIFAR-10 averaged to 16×16 pixels, 300 training examples", 3, {
    "numerics": NUMERICS, "slice": 10, "source": {
        **CIFAR, "n_train": 300, "n_test": 200, "n_queries": 100, "n_candidates": 20, "pool": 2}})


def pairs() -> dict[tuple[str, str, str], tuple[Scoring, Scoring]]:
    """(axis, comparison, parameter) of Table A-7 -> the two scorings it compares."""
    return step_pairs(FIVE_STEPS) | {
        ("P", LEAVE_ONE_OUT, alpha_parameter(alpha)): (search_scoring(upweighting(alpha)), search_scoring(REMOVAL))
        for alpha in ALPHAS} | {("T", INVERSE_HESSIAN, ""): (step_scoring("query_loss", ETA), response())}


def plan(payload: Mapping[str, Any]) -> list[str]:
    settings = payload["settings"]
    searched = SearchPoint.of(settings)
    slices = -(-searched.source(settings)["n_candidates"] // settings["slice"])
    return [f"{seed}/{chunk}" for seed in payload["seeds"]
            for chunk in ("steps", *(f"curve/{number}" for number in range(len(ETAS))), "response",
                          *(("searched",) if searched.solves else ()),
                          *(f"optima/{number}" for number in range(slices)),
                          *(("behaviors",) if as_authors(settings) else ()))]


def weight(payload: Mapping[str, Any], key: str) -> float:
    """Guessed seconds on two CPU cores, in passes over all training pictures; `steps` and `searched` also train.
    Searches run in float64, at about 2.5 times the cost."""
    settings = payload["settings"]
    searched = SearchPoint.of(settings)
    own = "searched" in key or "optima" in key
    source = searched.source(settings) if own else settings["source"]
    pixels = 1.0 / source.get("pool", 1) ** 2
    one_pass = 3e-4 * source["n_train"] * pixels
    training = source.get("recipe", vars(PAPER_CNN))["epochs"] * one_pass
    pairs_of_one_step = 7e-4 * pixels * source["n_queries"] * source["n_candidates"]
    if "steps" in key or "behaviors" in key:
        return training + 3 * pairs_of_one_step
    if "curve" in key:
        return pairs_of_one_step
    if as_authors(settings) and ("response" in key or "searched" in key):
        return 4 * CG_ITERATIONS * one_pass * solved_queries(settings) * (len(CURVES) if "searched" in key else 1)
    if "response" in key:
        return 100 * one_pass * solved_candidates(settings)
    if "searched" in key:
        return training + 100 * one_pass * source["n_candidates"]
    return 2.5 * 25 * one_pass * (3 + (1 + 2 * len(searched.alphas)) * settings["slice"])


def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
    settings = payload["settings"]
    searched, (seed, kind, *number) = SearchPoint.of(settings), key.split("/")

    if kind in ("optima", "searched"):
        own = sampled(searched.source(settings), int(seed), context, end=0.5)
        problem, size = searched.problem(own, context.computing("refining")), settings["slice"]
        if kind == "optima":
            return _optima_chunk(problem, context.computing("L-BFGS"), int(number[0]) * size, size, searched)
        return _response_chunk(problem, settings, context.computing("inverse Hessian"), _facts(own))
    source = longer(settings["source"]) if kind == "behaviors" else settings["source"]
    whole = sampled(source, int(seed), context, end=0.5)
    if kind == "steps":
        return _steps_chunk(whole, settings, context.computing("steps"))
    if kind == "behaviors":
        return _behaviors_chunk(whole, settings, context.computing("steps"))
    if kind == "curve":
        return _curve_chunk(whole, settings, ETAS[int(number[0])],
                            context.computing("first order against the exact step"))
    problem = whole.problem.with_candidates(whole.problem.candidates[:solved_candidates(settings)])
    return _response_chunk(problem, settings, context.computing("inverse Hessian"))


def _behaviors_chunk(sampled: SampledProblem, settings: Mapping[str, Any], options: Options) -> Output:
    """Agreement per query of the B axis."""
    exact = map(Bounded.of, compute(sampled.problem, [step_scoring(b, ETA) for b in BEHAVIORS], options))
    reference, *others = exact
    agreements = {f"B|{b}": measured(reference, other, settings)
                  for b, other in zip(BEHAVIORS[1:], others, strict=True)}
    return Output(arrays=stored(agreements), manifest=_facts(sampled))


def _steps_chunk(sampled: SampledProblem, settings: Mapping[str, Any], options: Options) -> Output:
    """Agreement per query of the B axis and of five steps; the one-step scores themselves."""
    problem = sampled.problem
    exact = dict(zip(BEHAVIORS, compute(problem, [step_scoring(b, ETA) for b in BEHAVIORS], options), strict=True))
    reference = Bounded.of(exact["query_loss"])
    agreements = {f"B|{behavior}": measured(reference, Bounded.of(exact[behavior]), settings)
                  for behavior in BEHAVIORS[1:]}
    five = Bounded.of(compute(problem, unrolled_scoring(), options)[0])
    agreements["T|unrolled"] = measured(reference, five, settings)
    return Output(arrays={**stored(agreements), **reference.stored("step")}, manifest=_facts(sampled))


def _curve_chunk(sampled: SampledProblem, settings: Mapping[str, Any], eta: float, options: Options) -> Output:
    """Agreement per query of the first-order and the exact step of one η, for every behavior of the curves.

    Both in float64, which exact steps take, so that the smallest η shows no rounding.
    """
    scorings = [step_scoring(b, eta, estimator) for estimator in ("exact", "first_order") for b in CURVES]
    scores = compute(sampled.problem.for_differences("float64"), scorings, options)
    pairs_of_scores = zip(CURVES, map(Bounded.of, scores), map(Bounded.of, scores[len(CURVES):]), strict=False)
    return Output(arrays=stored({f"eta|{behavior}|{eta!r}": measured(finite, tangent, settings)
                                 for behavior, finite, tangent in pairs_of_scores}))


def _response_chunk(problem: Problem, settings: Mapping[str, Any], options: Options,
                    facts_of_model: Mapping[str, Any] | None = None) -> Output:
    """dB/dα of the damped optimum for every behavior of the curves; the solve is shared, or there is one a query and
    behavior, for those that are compared.

    facts_of_model: of a model that is the searches' own, what else the manifest says.
    """
    manifest = dict(facts_of_model or {})
    if as_authors(settings):
        behaviors = CURVES if facts_of_model else CURVES[:1]
        queries = slice(solved_queries(settings))
        fewer = problem.holding(problem.examples._replace(queries=problem.queries[queries], query_labels=(
            problem.query_labels[queries])), Shared(problem.shared.model, ProblemMemory()))
        values = by_query(cast(ModuleProblem, fewer), [response(b, FEW_ITERATIONS) for b in behaviors], options)
        arrays = {f"response|{behavior}": one for behavior, one in zip(behaviors, values, strict=True)}
        return Output(arrays=arrays, manifest={**manifest, "solver": {"iterations": CG_ITERATIONS, "for": "queries"}})
    scores = compute(problem, [response(behavior) for behavior in CURVES], options)
    arrays = Bounded.all_stored({f"response|{behavior}": one for behavior, one in zip(CURVES, scores, strict=True)})
    return Output(arrays=arrays, manifest={**manifest, "solver": scores[0].provenance["convergence"]})


def _optima_chunk(whole: Problem, options: Options, start: int, size: int, searched: SearchPoint) -> Output:
    """Oriented scores of one slice of candidates under removal and upweighting, and the drift, with error bounds."""
    problem = whole.with_candidates(whole.candidates[start:start + size])
    scorings = searched.scorings()
    computed = dict(zip(scorings, compute(problem, list(scorings.values()), options), strict=True))
    one = whole.with_candidates(whole.candidates[start:start + 1])
    corrected = compute(one, search_scoring(REMOVAL, baseline="reoptimized"), options)[0]
    first = Bounded(computed["remove"].values, computed["remove"].error).of_candidates(slice(1))
    drift = first.moved(Bounded(corrected.values, corrected.error), -1.0)
    residuals = np.concatenate([scores.residual for scores in computed.values()])
    flagged = sum(int((~scores.converged).sum()) for scores in computed.values())
    return Output(arrays={**Bounded.all_stored(computed), **drift.stored("drift")},
                  manifest={"optima": {"largest_gradient_norm": float(residuals.max()),
                                       "median_gradient_norm": float(np.median(residuals)), "flagged": flagged}})


def _facts(sampled: SampledProblem) -> dict[str, Any]:
    factual = sampled.problem.facts
    return facts(sampled, gradient_norm=factual["factual_gradient_norm"], loss=factual["factual_loss"])


def finish(payload: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    """Agreement of every comparison, averaged over queries and seeds, as the table `figure_a`."""
    rows, runs = over_seeds(payload["settings"]["source"], payload["seeds"],
                            partial(_seed_agreements, payload, chunks), context.progress)
    frame = _with_sizes(pd.DataFrame(rows), payload["settings"])
    return Output({"agreement": frame}, manifest={
        "spec": {**_declared(), "alphas": SearchPoint.of(payload["settings"]).alphas},
        "runs": runs, "device": runs[0]["device"]})


def _with_sizes(frame: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """How many training examples and candidates each row compares, as columns."""
    whole, own = settings["source"], SearchPoint.of(settings).source(settings)
    searched = (frame["axis"] == "P") | (frame["curve"] == "alpha")
    frame["n_train"] = np.where(searched, own["n_train"], whole["n_train"])
    frame["n_candidates"] = np.where(searched, own["n_candidates"], whole["n_candidates"])
    frame.loc[frame["comparison"] == INVERSE_HESSIAN, "n_candidates"] = solved_candidates(settings)
    return frame


def _seed_agreements(payload: Mapping[str, Any], chunks: Mapping[str, Result], seed: int
                     ) -> tuple[Agreements, dict[str, Any]]:
    """What one seed found, and what its run has to say."""
    steps, solved = chunks[f"{seed}/steps"], chunks[f"{seed}/response"]
    curves = [chunks[f"{seed}/curve/{number}"].arrays() for number in range(len(ETAS))]
    results = [chunks[key] for key in plan(payload) if key.startswith(f"{seed}/optima/")]
    pieces = [result.arrays() for result in results]
    drift = Bounded.restored(pieces[0], "drift")
    scores = Bounded.all_restored({name: np.concatenate([piece[name] for piece in pieces], 1) for name in pieces[0]
                                   if not name.startswith("drift")})
    arrays = steps.arrays()
    own, trained_longer = chunks.get(f"{seed}/searched"), chunks.get(f"{seed}/behaviors")
    behaviors = {} if trained_longer is None else dict(trained_longer.arrays())
    agreements = from_steps(reduce(or_, curves, dict(arrays)) | behaviors, "table_a7", FIVE_STEPS, "figure_a2", CURVES,
                            ETAS)
    solved_for = Bounded.restored(solved.arrays(), "response|query_loss")
    agreements[("table_a7", "", "T", INVERSE_HESSIAN, "", "query_loss")] = measured(
        Bounded.restored(arrays, "step").like(solved_for), solved_for, payload["settings"])
    agreements |= _from_optima(scores, drift, Bounded.all_restored((solved if own is None else own).arrays()),
                               payload["settings"])
    optima = [result.manifest["optima"] for result in results]
    manifest = {key: steps.manifest[key] for key in ("data", "device", "factual")}
    manifest["solver"] = solved.manifest["solver"]
    if own is not None:
        manifest["searched"] = {key: own.manifest[key] for key in ("data", "factual", "solver")}
    manifest["convergence"] = {"flagged": sum(result["flagged"] for result in optima),
                               "largest_gradient_norm": max(result["largest_gradient_norm"] for result in optima)}
    return agreements, manifest


def _from_optima(scores: Mapping[str, Bounded], drift: Bounded, responses: Mapping[str, Bounded],
                 settings: Mapping[str, Any]) -> Agreements:
    agreements: Agreements = {}
    curve = SearchPoint.of(settings).curve
    removed = scores["remove"]
    for alpha in (alpha for alpha in ALPHAS if f"upweight|{alpha!r}" in scores):
        upweighted, label = scores[f"upweight|{alpha!r}"], alpha_parameter(alpha)
        agreements[("table_a7", "", "P", LEAVE_ONE_OUT, label, "query_loss")] = measured(upweighted, removed, settings)
        agreements[("figure_a1", "drift", "P", DRIFT_REMOVED, label, "query_loss")] = measured(
            upweighted.moved(drift, -1.0), removed.moved(drift, 1.0), settings)
        for behavior in CURVES:
            key = ("figure_a2", "alpha", "approximation", "inverse-Hessian vs. local L-BFGS upweight", label, behavior)
            response_to = responses[f"response|{behavior}"]
            agreements[key] = measured(scores[f"{curve}|{behavior}|{alpha!r}"].like(response_to), response_to,
                                       settings)
    return agreements


def _declared() -> dict[str, Any]:
    return {"etas": ETAS, "alphas": ALPHAS, "eta": ETA, "damping": DAMPING, "iterations": ITERATIONS, "solver": SOLVER,
            "behaviors": BEHAVIORS, "top_fraction": 0.05}


def _view(*tables: str):
    """The rows of some tables, without the columns that are empty there."""

    def view(stored_tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        frame = stored_tables["agreement"]
        chosen = frame[frame.table.isin(tables)].drop(columns="table")
        plain = chosen.drop(columns=["curve", "behavior"]) if tables == ("table_a7",) else chosen
        return plain.reset_index(drop=True)

    return view


def tolerance(row: Mapping[str, str]) -> float:
    """Kendall τ of the B and T rows within 0.03 of the paper, of the P rows within 0.15 of its zeros."""
    if row["metric"] != "Kendall tau":
        return np.nan
    return 0.15 if row["axis"] == "P" else 0.03


STUDY = study("controlled_cifar10", plan, run_chunk, finish, weight)
PRESETS = {"small": SMALL, "pooled": POOLED, "desk": DESK, "paper": PAPER}
PAPER_TABLE = "table_a7_cifar10_specification_mismatch.csv"
KEYS = ("axis", "comparison", "parameter", "metric")
TABLE_A7 = Experiment("table-a7", "Table A-7: specification mismatch on CIFAR-10, a CNN", STUDY.name, PRESETS,
                      _view("table_a7"), KEYS, PAPER_TABLE, pairs=pairs(), tolerance=tolerance,
                      too_small=learned_classes)
FIGURE_A1 = Experiment("figure-a1", "Figure A-1: all comparisons on CIFAR-10", STUDY.name, PRESETS,
                       _view("table_a7", "figure_a1"), KEYS, PAPER_TABLE,
                       "Repeats Table A-7, and adds α = 1e-5 and the P rows with the factual model's drift removed.",
                       pairs(), tolerance, too_small=learned_classes)
FIGURE_A2 = Experiment("figure-a2", "Figure A-2: approximation error on CIFAR-10", STUDY.name, PRESETS,
                       _view("figure_a2"), KEYS, None, "The paper prints no numbers for this figure.",
                       too_small=learned_classes)
