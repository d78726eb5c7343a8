"""Benchmarks of records that their dataset says were changed on purpose: what a language model was taught wrongly."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.analysis.scorecard.benchmark import Benchmark, Case, Measured, removal
from engine.analysis.scorecard.method import card_method
from engine.basics.errors import InvalidInput

CLEAN = "clean"
"""The flag of a record that was left as it is; one without flags was too."""


def _planted(case: Case) -> dict[str, Measured]:
    """AUROC of self-influence for the changed candidates, of every method: one value a measure, of the model at hand.

    A measure looks for one kind of change among the records that were left as they are.
    """
    from sklearn.metrics import roc_auc_score

    wanted = _changes(case)
    measured: dict[str, Measured] = {}
    for index, name in enumerate(case.methods):
        own = card_method(name).at_itself(case.problem, case.behavior, case.options.stage(index, len(case.methods)))
        measured[name] = {change: np.array([roc_auc_score(flags[counted], own[counted])])
                          for change, (flags, counted) in wanted.items()}
    return measured


def _changes(case: Case) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
    """What was changed -> (which candidates were (k,), which of them take part (k,)): those and the unchanged ones."""
    problem = case.problem
    if problem.texts is None:
        raise InvalidInput("This needs a dataset that states which records were changed; choose one.")
    flags = [record.flags for record in problem.texts.of(problem.x[problem.candidates])]
    clean = np.array([set(own) <= {CLEAN} for own in flags])
    kinds = sorted({flag for own in flags for flag in own} - {CLEAN})
    changes = {kind.replace("_", " "): (changed, changed | clean)
               for kind in kinds for changed in [np.array([kind in own for own in flags])]}
    if not changes or not clean.any():
        raise InvalidInput("No candidate or every candidate was corrupted; use more candidates, or a dataset with "
                           "corrupted records such as `world_corruption`.")
    return changes


PLANTED = Benchmark(
    "planted", "Planted records",
    "AUROC of self-influence, records changed before training against unchanged ones.",
    "How much influence does a record have on itself? A corrupted record often has the most, but not always.",
    "Koh and Liang 2017, Pruthi et al. 2020", _planted, removal, reads=("tokens",),
    chance=0.5)
