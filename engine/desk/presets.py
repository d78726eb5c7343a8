"""Comparisons to start from, for each class of problems. Each varies one thing and says what to look for; a new one is
one entry here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.analysis import error_curves
from engine.basics.errors import InvalidInput
from engine.desk import language_presets
from engine.desk.preset import Preset, steps
from engine.estimators import ESTIMATORS
from engine.experiments import network
from engine.problems import PROBLEMS, ModuleProblem, Problem, SoftmaxProblem, TargetProblem
from engine.scoring import controlled
from engine.scoring.named import CODE, NAMED, OF_TOKENS, TRAINING_RUN, NamedMethod
from engine.scoring.scoring import Scoring

SOLVED = controlled.upweight_scoring("query_loss", 1e-3)
NETWORK_SEARCHED = controlled.damped_upweighting("query_loss", 1e-3)
NETWORK_SOLVED = controlled.response_scoring("query_loss", 2.0)
"""So much damping makes the Hessian of the small networks here positive definite, and the solution of the linear system
is known to a bound."""
SMOOTH_ETA = 0.05
"""At which descent is smooth: below 2 over the largest eigenvalue of the Hessian, which for these data is 2 to 20."""


def _behaviors() -> tuple[Scoring, ...]:
    return steps(*error_curves.differentiable())


def _interventions(process: Mapping[str, Any]) -> tuple[Scoring, ...]:
    return tuple(Scoring.of("query_loss", intervention, process) for intervention in (
        {"kind": "remove"}, {"kind": "remove", "normalization": "n"},
        *(controlled.upweighting(alpha) for alpha in (1e-5, 1e-3, 1e-1)), {"kind": "relabel", "label": 0}))


def _processes(*optima: Scoring) -> tuple[Scoring, ...]:
    trajectory = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "trajectory", "eta": controlled.ETA})
    return (*steps("query_loss"), controlled.unrolled_scoring(), trajectory, *optima)


def _table_a6() -> tuple[Scoring, ...]:
    return (*steps("query_loss", "soft_margin", "hard_margin", "query_logit"),
            controlled.unrolled_scoring(), controlled.response_scoring("query_loss", controlled.DAMPING),
            controlled.removal_scoring("n-1"),
            *(controlled.upweight_scoring("query_loss", alpha) for alpha in controlled.ALPHAS))


def _table_a7() -> tuple[Scoring, ...]:
    return tuple(dict.fromkeys(scoring for pair in network.pairs().values() for scoring in pair))


def _solvers(target: Scoring, model: type[Problem]) -> tuple[Scoring, ...]:
    """Every estimator that answers the question of `target` without a departure from it, the exact one first."""
    question = target.specification
    targeting = (Scoring.of(question.behavior, question.intervention, question.process, name)
                 for name, estimator in ESTIMATORS.items()
                 if estimator.implies and estimator.refusal(question, model.kind) is None)
    return tuple(scoring for scoring in targeting if not scoring.departures)


def implied(method: NamedMethod, model: type[Problem]) -> Scoring:
    """What a named method asks on a class of problems: a behavior that these have, and damping where the Hessian that
    is inverted may not be positive definite."""
    behavior = OF_TOKENS.get(method.behavior, method.behavior) if model.reads == "tokens" else None
    return method.implied(behavior, **({} if model.convex else {"damping": network.DAMPING}))


def answered_on(method: NamedMethod) -> dict[str, str]:
    """The kinds of problem on which a named method can be computed, kind -> noun."""
    return {model.kind: model.noun for model in PROBLEMS.values() if method.answers(model.kind)}


NORMALISED = ("gradsim_adam", "gradsim_adafactor")
FACTORED = ("influence_function_tkfac", "influence_function_shampoo")
PROJECTED = ("influence_function_logra", "influence_function_factgrass", "trackstar")
"""Named methods that have a preset of their own, as one matrix would be too large."""


def _named(model: type[Problem]) -> list[Scoring]:
    named = [implied(method, model) for method in NAMED.values() if method.implies and method.answers(model.kind)
             and method.row not in (TRAINING_RUN, CODE)
             and method.name not in (*NORMALISED, *FACTORED, *PROJECTED)]
    return [one for one in named if not model.refusal(one.specification)]


def _named_of_networks(model: type[Problem] = ModuleProblem) -> tuple[Scoring, ...]:
    """Without what needs the whole Hessian or a positive definite one."""
    return tuple(scoring for scoring in _named(model)
                 if scoring.process.kind != "local_response" or scoring.estimator not in ("exact", "cg"))


def _through_the_training(model: type[Problem]) -> tuple[Scoring, ...]:
    """The exact derivative of the training run, and what approximates or replaces it."""
    methods = [NAMED["replay"], *(method for method in NAMED.values()
                                  if method.row == TRAINING_RUN and method.name != "replay")]
    implied = [method.implied() for method in methods]
    if model.convex:  # a network repeats its own recipe
        implied = [Scoring.of(one.behavior, one.intervention, one.process.model_copy(update={"eta": SMOOTH_ETA}),
                              one.estimator) for one in implied]
    end = controlled.response_scoring("query_loss", 0.0) if model.convex else controlled.response(solver="ekfac")
    return *implied, end


APPROXIMATED = ("The derivative of a whole training run with respect to an example's weight, exactly and by its "
                "approximations: SOURCE and data value embeddings; TracIn over all steps and in-run data Shapley, "
                "which answer another question; and the influence function at the end of training.")


def _softmax() -> tuple[Preset, ...]:
    return (
        Preset("first", "First look", "Three behaviors after the same step, and the influence function: four exact "
               "answers to four questions. Compare the influence function with the steps.",
               (*steps(*FIRST), controlled.response_scoring("query_loss", 0.0)), (0, 3)),
        VARY_B,
        Preset("vary-p", "Vary P", "The intervention: removal, small and large upweighting, relabelling; all "
                                   "re-optimised.", _interventions({"kind": "reoptimize"}), (0, 4)),
        Preset("vary-t", "Vary T", "The training process: one step, several steps, a trajectory, the local response, "
                                   "a new optimum. P also changes if a process requires a different intervention.",
               _processes(controlled.response_scoring("query_loss", controlled.DAMPING),
                          controlled.response_scoring("query_loss", 0.0), SOLVED), (0, 4)),
        Preset("table-a6", "Table A-6", "Every specification of the paper's Table A-6: four behaviors after one step, "
               "five steps, the damped local response, leave-one-out and five upweightings.", _table_a6(), (6, 11)),
        Preset("table-1", "Named methods", "Estimators of the paper's Table 1, each with its implied specification.",
               tuple(_named(SoftmaxProblem)), (1, 3)),
        Preset("solvers", "Same question, different solvers", "One question: upweight by α = 0.001 and re-optimise, "
               "answered exactly and by every approximation available. All disagreement here is approximation error.",
               _solvers(SOLVED, SoftmaxProblem), (0, 2)),
        Preset("run", "Approximations of a training run", f"{APPROXIMATED} The steps are so small (η = {SMOOTH_ETA:g}) "
               "that training is smooth, and retraining with other weights follows the exact derivative.",
               _through_the_training(SoftmaxProblem), (0, 1)),
    )


def _networks() -> tuple[Preset, ...]:
    return (
        Preset("first", "First look", "Three behaviors after the same step, exactly, and the influence function with "
               "EK-FAC. Compare the influence function with the steps.",
               (*steps(*FIRST), controlled.response(solver="ekfac")), (0, 3)),
        VARY_B,
        Preset("vary-p", "Vary P", "The intervention: removal, small and large upweighting, relabelling; each with 20 "
                                   "L-BFGS iterations from the trained network, which is not at an optimum, so part "
                                   "of the change is common to all examples.",
               _interventions({"kind": "local_search", "iterations": controlled.ITERATIONS}), (0, 4)),
        Preset("vary-t", "Vary T", "The training process: one step, several steps, a trajectory, the local response, "
                                   "a local search. P also changes if a process requires a different intervention.",
               _processes(controlled.response(), NETWORK_SEARCHED), (0, 3)),
        Preset("training", "Through the training", "The whole training run repeated without the example, and the "
               "derivative of that run with respect to the example's weight, which agree if training is smooth; and "
               "two approximations from the end of training: the inverse Hessian and one step. Retraining takes "
               "minutes, with few candidates.",
               (Scoring.of("query_loss", {"kind": "remove", "normalization": "n"}, {"kind": "retrain"}),
                Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "replay"}), controlled.response(),
                *steps("query_loss")), (1, 2)),
        Preset("table-a7", "Table A-7", "Every specification of the paper's Table A-7: four behaviors after one step, "
               "five steps, the damped local response, and 20 L-BFGS iterations after leave-one-out and three "
               "upweightings.", _table_a7(), (0, 1)),
        Preset("table-1", "Named methods", "Estimators of the paper's Table 1, each with its implied specification; "
               "inverse Hessians with damping 0.01.", _named_of_networks(), (2, 4)),
        Preset("preconditioned", "Preconditioned and projected gradients", "What gradients are multiplied by before "
               "they are compared: nothing, an optimizer's second moment, Kronecker factors of the curvature, or the "
               "inverse of their own products after a random projection; inverse Hessians with damping 0.01.",
               tuple(implied(NAMED[name], ModuleProblem) for name in (
                   "gradsim", *NORMALISED, "influence_function_ekfac", *FACTORED, *PROJECTED)), (0, 3)),
        Preset("solvers", "Same question, different solvers", "One question: the damped local response, exactly and "
                                                              "by every approximation available. The damping of 2 is "
                                                              "meant to make the Hessian positive definite, so that "
                                                              "the exact answer has an error bound and all "
                                                              "disagreement with it is approximation error; the "
                                                              "verdict states whether it does.",
               _solvers(NETWORK_SOLVED, ModuleProblem), (0, 1)),
        Preset("run", "Approximations of a training run", APPROXIMATED, _through_the_training(ModuleProblem), (0, 1)),
    )


def _of_targets() -> tuple[Preset, ...]:
    """Of networks, what can be asked without classes."""
    given = {preset.name: preset for preset in _networks()}
    return (
        Preset("first", "First look", "One step, its first-order term, five steps, and the influence function "
               "with EK-FAC. Compare the influence function with the steps.",
               (*steps("query_loss"), controlled.step_scoring("query_loss", controlled.ETA, "first_order"),
                controlled.unrolled_scoring(), controlled.response(solver="ekfac")), (0, 3)),
        given["vary-t"], given["training"],
        replace(given["table-1"], scorings=_named_of_networks(TargetProblem), pair=(0, 1)),
        replace(given["solvers"], scorings=_solvers(NETWORK_SOLVED, TargetProblem)), given["run"])


FIRST = ("query_loss", "hard_margin", "query_logit")
VARY_B = Preset("vary-b", "Vary B", "One step, read by every behavior with a gradient. Soft margin and "
                "probability rank exactly as query loss does; the logit does not.", _behaviors(), (0, 1))
CONVEX: Mapping[str, Preset] = {preset.name: preset for preset in _softmax()}
"""name -> preset, where the optimum can be had."""
NETWORKS: Mapping[str, Preset] = {preset.name: preset for preset in _networks()}
"""name -> preset, where it cannot."""
LANGUAGE: Mapping[str, Preset] = {preset.name: preset for preset in language_presets.PRESETS}
"""name -> preset, for language models."""
TARGETS: Mapping[str, Preset] = {preset.name: preset for preset in _of_targets()}
"""name -> preset, for networks trained on targets."""
KINDS = (CONVEX, NETWORKS, LANGUAGE, TARGETS)


def offered(model: type[Problem]) -> Mapping[str, Preset]:
    """name -> preset for a class of problems."""
    if model.reads == "tokens":
        return LANGUAGE
    if model.reads == "targets":
        return TARGETS
    return CONVEX if model.convex else NETWORKS


def preset(name: str, model: type[Problem]) -> Preset:
    """Raises `InvalidInput` for a name that does not exist."""
    presets = offered(model)
    if name not in presets:
        raise InvalidInput(f"There is no preset `{name[:40]}`; choose one of {', '.join(presets)}.")
    return presets[name]


def matching(scorings: Sequence[Scoring], model: type[Problem]) -> str | None:
    """The name of the preset that holds exactly these scorings in this order."""
    return _matching(scorings, offered(model))


def translated(scorings: Sequence[Scoring], model: type[Problem]) -> Preset | None:
    """The preset of this class of problems that answers to one of others; None where these are no such preset.

    Where behaviors of another kind of model are asked for, it is the first of this kind.
    """
    own = offered(model)
    if _matching(scorings, own):
        return None
    name = next((name for kind in KINDS if (name := _matching(scorings, kind))), None)
    if name:
        return own.get(COUNTERPARTS.get(name, name), own.get(name, own["first"]))
    return own["first"] if any(
        not scoring.readout.fits(model.reads) for scoring in scorings if scoring.route.implies) else None


def _matching(scorings: Sequence[Scoring], presets: Mapping[str, Preset]) -> str | None:
    return next((name for name, preset in presets.items() if preset.scorings == tuple(scorings)), None)


COUNTERPARTS = {"table-a6": "table-a7", "table-a7": "table-a6"}
