"""What a chosen model cannot be asked, before anything is trained or queued for it."""

from __future__ import annotations

from engine.problems import ProblemSource
from engine.question.processes import PROCESSES
from engine.scoring.scoring import Scoring

NONE_STORED = ("A trajectory needs checkpoints, but this model's training stored none; give a recorded training, "
               "train it here with `checkpoints` in the recipe, or choose another process.")


def refusal(source: ProblemSource, scoring: Scoring) -> str:
    """Why the model has no answer to it, as a sentence; empty where it has, or where only the trained model tells."""
    if not scoring.route.computes or not scoring.route.implies:
        return ""
    if reason := source.problem_class.refusal(scoring.specification):
        return reason
    if source.outside and (reason := scoring.intervention.refuses_new):
        return reason
    if scoring.exact and scoring.process.random:
        return source.no_training
    stored = source.stored_checkpoints if scoring.process.at_checkpoints else None
    if stored is None or stored >= scoring.process.models:
        return ""
    return NONE_STORED if not stored else (
        f"The training stores {stored} checkpoints, but the trajectory visits {scoring.process.models}; store more (a "
        "setting of the recipe), or visit fewer.")


def unfit_processes(source: ProblemSource) -> dict[str, str]:
    """The kinds of process of which no parameters have an answer, each with why, as a sentence."""
    return {kind: NONE_STORED for kind, process in PROCESSES.items()
            if process.at_checkpoints and source.stored_checkpoints == 0}
