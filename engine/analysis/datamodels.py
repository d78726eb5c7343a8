r"""The linear datamodeling score: do scores add up to what a model trained on a subset does? (Park et al., 2023)

Subsets S_1, …, S_J of the candidates are drawn, each with all training examples that are no candidates, and a model
is trained from scratch on each. For a query q,

    LDS(q) = Spearman's ρ over j between  Σ_{k ∈ S_j} score(q, k)  and  B(q; θ(S_j)).

Scores are oriented, so that a positive one supports the behavior. The score is no agreement of two rankings of the
candidates: its other side is real models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.metrics.rank_similarity import spearman
from engine.models.altered import Altered
from engine.problems import Problem
from engine.question.behavior import Behavior
from engine.question.behaviors import BEHAVIORS
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

DEFINITION = ("How well the summed scores of the examples that a model was trained on predict its behavior, over "
              "models trained on random subsets: Spearman's ρ, from −1 to 1; scores in random order have 0 on average.")


@dataclass(frozen=True, eq=False)
class Retrained:
    """Models trained on subsets. kept (J, k): which candidates each saw; logits (J, m, C): its query logits."""

    kept: np.ndarray
    logits: Tensor
    labels: Tensor
    candidates: np.ndarray
    read: tuple[Behavior, ...] = ()

    def outcomes(self, behavior: str) -> np.ndarray:
        """B(q; θ(S_j)), shape (m, J), of a registered behavior, or of one that was asked for when the models were
        trained."""
        labels = self.labels.expand(self.logits.shape[:2])
        asked = {own.name: own for own in self.read}
        return (asked.get(behavior) or BEHAVIORS[behavior]).value(self.logits, labels).T.double().cpu().numpy()


def subsets(k: int, count: int = 100, share: float = 0.5, seed: int = 0) -> np.ndarray:
    """(count, k) bool: random subsets of round(share·k) candidates each. Raises `InvalidInput` for sizes that say
    nothing."""
    size = round(share * k)
    if not 0 < size < k:
        raise InvalidInput(f"A share of {share:g} of {k} candidates leaves {size}; choose one that leaves at least one "
                           "in and one out, such as 0.5.")
    if count < 3:
        raise InvalidInput(f"{count} subsets do not make a correlation; draw at least 3, better 100.")
    rng = np.random.default_rng(seed)
    return np.stack([np.isin(np.arange(k), rng.choice(k, size, replace=False)) for _ in range(count)])


def retrain(problem: Problem, kept: np.ndarray, options: Options | None = None,
            behaviors: Sequence[Behavior] = ()) -> Retrained:
    """Train on every subset: to the optimum of the mean over the examples left for softmax regression, from scratch
    by the problem's recipe and seed for a network. kept (J, k) bool. behaviors: those with words of their own, which
    have to be asked for beforehand, among those that will be read.

    Raises `InvalidInput` where kept does not fit the candidates or the network's recipe is not known.
    """
    options = options or Options()
    if kept.ndim != 2 or kept.shape[1] != len(problem.candidates):
        raise InvalidInput(f"The subsets have shape {kept.shape} for {len(problem.candidates)} candidates; give one "
                           "column a candidate.")
    problem, read = problem.asking(list(behaviors))
    rows = [problem.candidates[torch.as_tensor(~row, device=problem.device)] for row in kept]
    logits = problem.retrained_outputs(Altered.without(rows, problem.n), options)
    if not logits.isfinite().all():
        raise InvalidInput("A training on a subset diverged; choose a smaller learning rate.")
    return Retrained(kept, logits, problem.query_labels, problem.candidates.cpu().numpy(), tuple(read))


def compared(scorings: Sequence[Scoring]) -> list[tuple[int, Behavior]]:
    """(place of a scoring, the behavior that its sums are held against): its own, and for a baseline, which has none,
    each of the others'. Raises `InvalidInput` where there are baselines alone."""
    behaviors = list({one.readout.name: one.readout for one in scorings if one.route.implies}.values())
    if not behaviors:
        raise InvalidInput("A baseline reads no behavior that models could be asked for; give a specification with one "
                           "beside it.")
    return [(place, behavior) for place, one in enumerate(scorings)
            for behavior in ([one.readout] if one.route.implies else behaviors)]


def linear_datamodeling_score(scores: Scores | np.ndarray, outcomes: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """LDS per query, (m,); NaN where sums or outcomes are constant. scores: oriented (m, k), or `Scores`, whose
    candidates that did not converge, and whose scores below resolution, count as zero. outcomes (m, J), kept (J, k)."""
    if isinstance(scores, Scores):
        scores = np.where(scores.known, scores.oriented, 0.0)
    if scores.shape != (outcomes.shape[0], kept.shape[1]) or outcomes.shape[1] != kept.shape[0]:
        raise InvalidInput(f"Scores {scores.shape}, outcomes {outcomes.shape} and subsets {kept.shape} do not go "
                           "together; give (queries, candidates), (queries, subsets) and (subsets, candidates).")
    predicted = scores @ kept.T.astype(np.float64)
    return spearman(torch.as_tensor(np.stack([predicted, outcomes])))[0, 1].numpy()
