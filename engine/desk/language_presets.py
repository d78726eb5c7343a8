"""Comparisons to start from for language models."""

from __future__ import annotations

from engine.desk.preset import Preset, steps
from engine.experiments import network
from engine.problems import CausalProblem
from engine.question.behaviors import reading
from engine.scoring import controlled
from engine.scoring.named import NAMED, OF_TOKENS
from engine.scoring.scoring import Scoring

FIRST = ("response_loss", "explanation_loss", "answer_margin")
PLAIN = "responses"
"""The preset that reads no span."""
CHECKPOINTS = 2
"""Of a trajectory: what every fine-tuning on the pages keeps."""


def trajectory() -> Scoring:
    process = {"kind": "trajectory", "eta": controlled.ETA, "checkpoints": CHECKPOINTS}
    return Scoring.of("response_loss", {"kind": "add_occurrence"}, process)


def retrained(*interventions: dict) -> tuple[Scoring, ...]:
    return tuple(Scoring.of("response_loss", intervention, {"kind": "retrain"}) for intervention in interventions)


def _several_steps() -> Scoring:
    process = {"kind": "unrolled", "eta": controlled.ETA, "steps": controlled.STEPS}
    return Scoring.of("response_loss", {"kind": "add_occurrence"}, process)


def _named() -> tuple[Scoring, ...]:
    """Those whose answer comes soon, with damping where a Hessian is inverted."""
    scorings = []
    for method in NAMED.values():
        scoring = method.implied(OF_TOKENS.get(method.behavior, method.behavior), damping=network.DAMPING)
        keys = {scoring.process.kind, scoring.estimator, f"{scoring.process.kind}/{scoring.estimator}"}
        if method.implies and method.answers(CausalProblem.kind) and not keys & LONG and scoring.route.offered(
                CausalProblem, scoring.process.kind):
            scorings.append(scoring)
    return (*scorings, *(NAMED[name].implied("response_loss", checkpoints=CHECKPOINTS) for name in ("tracin", "less")))


LONG = CausalProblem.unoffered | {"retrain/exact", "trajectory", "replay", "cg_gauss_newton", "ekfac", "astra", "ntk",
                                    "source"}
PRESETS = (
    Preset("first", "First look", "Three behaviors after the same step: the whole response, its explanation alone, and "
           "the lead of its answer; then the similarity of what the model makes of two texts. Four exact answers to "
           "four questions: look at how differently they rank the same texts.",
           (*steps(*FIRST), NAMED["repsim"].implied(OF_TOKENS["query_logit"])), (0, 2)),
    Preset(PLAIN, "Responses alone", "What one step, several steps and the checkpoints of the fine-tuning do to the "
           "response, and what gradients of length one say in place of a step: for texts that mark neither an answer "
           "nor an explanation.",
           (*steps("response_loss"), _several_steps(), trajectory(),
            controlled.step_scoring("response_loss", controlled.ETA, "cosine")), (0, 3)),
    Preset("vary-b", "Vary B", "One step, read off by every behavior of a language model: the response, the "
           "explanation, the answer's logit, and its lead over the other choices.", steps(*reading("tokens")), (0, 3)),
    Preset("vary-p", "Vary P", "What is done to the text: removed, with the mean taken over those that are left or "
           "over as many as before, or given more weight; the model is fine-tuned anew for each. This takes minutes, "
           "and few texts are tried.",
           retrained({"kind": "remove"}, {"kind": "remove", "normalization": "n"}, controlled.upweighting(0.01)),
           (0, 2)),
    Preset("vary-t", "Vary T", "How training answers: a step, several steps, the checkpoints of the fine-tuning, or "
           "the model fine-tuned anew without the text. P changes too where a process can only carry out another "
           "intervention. This takes minutes, and few texts are tried.",
           (*steps("response_loss"), _several_steps(), trajectory(), *retrained({"kind": "remove"})), (0, 3)),
    Preset("table-1", "Named methods", "The estimators of the paper's Table 1 that a language model answers soon, by "
           "their usual names, and last TracIn and LESS over two checkpoints, each with the specification it implies.",
           _named(), (0, 2)),
    Preset("solvers", "Same question, different approximations", "One question: one more step on the text, answered "
           "exactly and to first order, for a short step and for a longer one. What parts two answers to the same "
           "question is approximation error.",
           tuple(controlled.step_scoring("response_loss", eta, estimator) for eta in (0.1, 1.0)
                 for estimator in ("exact", "first_order")), (0, 1)),
)
