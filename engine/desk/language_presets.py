"""Comparisons to start from for language models."""

from __future__ import annotations

from engine.desk.preset import Preset, steps
from engine.experiments import network
from engine.problems import CausalProblem
from engine.question.behaviors import reading
from engine.scoring import controlled
from engine.scoring.named import CODE, NAMED, OF_TOKENS
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
        named = method.row != CODE and method.implies and method.answers(CausalProblem.kind)
        if named and not keys & LONG and scoring.route.offered(CausalProblem, scoring.process.kind):
            scorings.append(scoring)
    return (*scorings, *(NAMED[name].implied("response_loss", checkpoints=CHECKPOINTS) for name in ("tracin", "less")))


LONG = CausalProblem.unoffered | {"retrain/exact", "trajectory", "replay", "cg_gauss_newton", "ekfac", "tkfac",
                                    "shampoo", "logra", "factgrass", "astra", "ntk", "source"}
PRESETS = (
    Preset("first", "First look", "Three behaviors after the same step (whole response, explanation, answer margin), "
                                  "and the similarity of the model's representations. Four exact answers to four "
                                  "questions rank the same texts differently.",
           (*steps(*FIRST), NAMED["repsim"].implied(OF_TOKENS["query_logit"])), (0, 2)),
    Preset(PLAIN, "Responses alone", "One step, exactly and to first order, several steps, and gradients normalised "
                                     "to unit norm, read at the response: for texts without a marked answer or "
                                     "explanation, and for adapters as they are.",
           (*steps("response_loss"), controlled.step_scoring("response_loss", controlled.ETA, "first_order"),
            _several_steps(), controlled.step_scoring("response_loss", controlled.ETA, "cosine")), (0, 3)),
    Preset("vary-b", "Vary B", "One step, read by every behavior of a language model: the response, the explanation, "
                               "and the answer's logit, its margin over the other choices, and its log-probability.",
           steps(*reading("tokens")), (0, 3)),
    Preset("vary-p", "Vary P", "The intervention on the text: removal with the mean over n−1 or over n, or "
                               "upweighting; the model is fine-tuned again for each. This takes minutes, with few "
                               "candidates.",
           retrained({"kind": "remove"}, {"kind": "remove", "normalization": "n"}, controlled.upweighting(0.01)),
           (0, 2)),
    Preset("vary-t", "Vary T", "The training process: one step, several steps, the checkpoints of the fine-tuning, or "
                               "fine-tuning again without the text. P also changes if a process requires a different "
                               "intervention. This takes minutes, with few candidates.",
           (*steps("response_loss"), _several_steps(), trajectory(), *retrained({"kind": "remove"})), (0, 3)),
    Preset("table-1", "Named methods", "The estimators of the paper's Table 1 that run in seconds on a language "
                                       "model, and TracIn and LESS over two checkpoints, each with its implied "
                                       "specification.",
           _named(), (0, 2)),
    Preset("solvers", "Same question, different approximations", "One question: one more step on the text, answered "
           "exactly and to first order, for a short and a longer step. Two answers to the same question differ by "
           "approximation error.",
           tuple(controlled.step_scoring("response_loss", eta, estimator) for eta in (0.1, 1.0)
                 for estimator in ("exact", "first_order")), (0, 1)),
)
