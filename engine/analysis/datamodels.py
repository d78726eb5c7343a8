r"""The linear datamodeling score: do scores add up to what a model trained on a subset does? (Park et al., 2023)

Subsets A_1, …, A_J of the training data are drawn, and a model is trained from scratch on each, by one of the protocols
of `engine.analysis.protocols`. For a query q, with K the candidates,

    LDS(q) = Spearman's ρ over j between  Σ_{k ∈ K ∩ A_j} score(q, k)  and  B(q; θ(A_j)).

In the literature A_j is half of all training examples. Where it is drawn of the candidates alone, every other example
is in every A_j. Scores are oriented, so that a positive one supports the behavior. The score is no agreement of two
rankings of the candidates: its other side is real models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from engine.analysis.protocols import trained_outputs
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.metrics.rank_similarity import spearman
from engine.problems import Problem
from engine.question.behavior import Behavior
from engine.question.behaviors import BEHAVIORS
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

DEFINITION = ("How well the summed scores of the examples that a model was trained on predict its behavior, over "
              "models trained on random subsets: Spearman's ρ, from −1 to 1; scores in random order have 0 on average.")


@dataclass(frozen=True, eq=False)
class Retrained:
    """Models trained on subsets. members (J, k): which candidates each saw; logits (J, m, C): its query logits."""

    members: np.ndarray
    logits: Tensor
    labels: Tensor
    candidates: np.ndarray
    read: tuple[Behavior, ...] = ()

    def check(self, behaviors: Sequence[Behavior]) -> None:
        """Raises `InvalidInput` for behaviors with words that the models were not asked for."""
        missing = [one.name for one in behaviors if one.words and one.name not in {own.name for own in self.read}]
        if missing:
            raise InvalidInput(f"The models of the bank were not evaluated for `{missing[0]}`; leave the bank out to "
                               "train them again.")

    def outcomes(self, behavior: str) -> np.ndarray:
        """B(q; θ(S_j)), shape (m, J), of a registered behavior, or of one that was asked for when the models were
        trained."""
        labels = self.labels.expand(self.logits.shape[:2])
        by_name = {own.name: own for own in self.read}
        return (by_name.get(behavior) or BEHAVIORS[behavior]).value(self.logits, labels).T.double().cpu().numpy()

    def score(self, scores: Scores | np.ndarray, behavior: str) -> np.ndarray:
        """The `linear_datamodeling_score` of scores by what a behavior came to, (m,)."""
        return linear_datamodeling_score(scores, self.outcomes(behavior), self.members)


def subsets(k: int, count: int = 100, fraction: float = 0.5, seed: int = 0) -> np.ndarray:
    """(count, k) bool: random subsets of round(share·k) of k examples each. Raises `InvalidInput` for sizes that say
    nothing."""
    size = round(fraction * k)
    if not 0 < size < k:
        raise InvalidInput(f"A fraction of {fraction:g} of {k} candidates leaves {size}; choose one that leaves at "
                           "least "
                           "one in and one out, such as 0.5.")
    if count < 3:
        raise InvalidInput(f"{count} subsets are too few for a correlation; sample at least 3, preferably 100.")
    rng = np.random.default_rng(seed)
    return np.stack([np.isin(np.arange(k), rng.choice(k, size, replace=False)) for _ in range(count)])


def retrain(problem: Problem, members: np.ndarray, options: Options | None = None,
            behaviors: Sequence[Behavior] = (), protocol: str = "weights") -> Retrained:
    """Train on subsets of the candidates, members (J, k) bool, with every training example that is no candidate; see
    `retrain_members`.

    Raises `InvalidInput` where members do not fit the candidates, and as `retrain_members` does.
    """
    if members.ndim != 2 or members.shape[1] != len(problem.candidates):
        raise InvalidInput(f"The subsets have shape {members.shape} for {len(problem.candidates)} candidates; give "
                           "one column per candidate.")
    return retrain_members(problem, with_the_rest(problem, members), options, behaviors, protocol)


def with_the_rest(problem: Problem, chosen: np.ndarray) -> np.ndarray:
    """Members (J, n) bool: `chosen` (J, k) of the candidates, with all training examples that are none."""
    members = np.ones((len(chosen), problem.n), bool)
    members[:, problem.candidates.cpu().numpy()] = chosen
    return members


def retrain_members(problem: Problem, members: np.ndarray, options: Options | None = None,
                    behaviors: Sequence[Behavior] = (), protocol: str = "weights", later: int = 0, first: int = 0
                    ) -> Retrained:
    """Train on subsets of the training data, members (J, n) bool: to the optimum of the mean over what is in it for
    softmax regression, from scratch by a protocol for a network. behaviors: those with words of their own, which have
    to be asked for beforehand, among those that will be read. protocol, later, first: see
    `engine.analysis.protocols.trained_outputs`.

    Raises `InvalidInput` where the network's recipe is not known, it is trained on targets, or a training diverges.
    """
    if problem.reads == "targets":
        raise InvalidInput("Models on subsets are compared by behaviors of classes or tokens, and this network is "
                           "trained on targets; compare its scores with the removal of single examples, by "
                           "`retrain`.")
    problem, read = problem.asking(list(behaviors))
    logits = trained_outputs(problem, torch.as_tensor(members), protocol, later, first, options)
    if not logits.isfinite().all():
        raise InvalidInput("A training run on a subset diverged; choose a smaller learning rate.")
    candidates = problem.candidates.cpu().numpy()
    return Retrained(members[:, candidates], logits, problem.query_labels, candidates, tuple(read))


def compared(scorings: Sequence[Scoring]) -> list[tuple[int, Behavior]]:
    """(place of a scoring, the behavior that its sums are held against): its own, and for a baseline, which has none,
    each of the others'. Raises `InvalidInput` where there are baselines alone."""
    behaviors = list({one.readout.name: one.readout for one in scorings if one.route.implies}.values())
    if not behaviors:
        raise InvalidInput("A baseline has no behavior to evaluate; give a specification as well.")
    return [(index, behavior) for index, one in enumerate(scorings)
            for behavior in ([one.readout] if one.route.implies else behaviors)]


def linear_datamodeling_score(scores: Scores | np.ndarray, outcomes: np.ndarray, members: np.ndarray) -> np.ndarray:
    """LDS per query, (m,); NaN where sums or outcomes are constant. scores: oriented (m, k), or `Scores`, whose
    candidates that did not converge, and whose scores below resolution, count as zero. outcomes (m, J); members (J, k).
    """
    if isinstance(scores, Scores):
        scores = np.where(scores.known, scores.oriented, 0.0)
    if scores.shape != (outcomes.shape[0], members.shape[1]) or outcomes.shape[1] != members.shape[0]:
        raise InvalidInput(f"Scores {scores.shape}, outcomes {outcomes.shape} and subsets {members.shape} have "
                           "mismatched shapes; give (queries, candidates), (queries, subsets) and (subsets, "
                           "candidates).")
    predicted = scores @ members.T.astype(np.float64)
    return spearman(torch.as_tensor(np.stack([predicted, outcomes])))[0, 1].numpy()


def agreement_of_outcomes(outcomes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Spearman's ρ over subsets of what two banks of the same subsets put out, (m, J) each: (m,). Of banks of two
    training seeds it is the LDS of the exact answer under one seed, scored under the other."""
    return spearman(torch.as_tensor(np.stack([outcomes, others])))[0, 1].numpy()
