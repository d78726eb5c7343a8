r"""What another seed reaches: the noise floor of a question about a single training run.

    floor = mean over queries of τ(I_S(q, ·; seed s), I_S(q, ·; seed s'))

both exact, and any other metric of agreement in τ's place. A ranking that agrees with one run's as well as another run
does, is at the *ceiling*: what parts the two is no more than what a seed changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.analysis.comparison import Comparison, compare
from engine.analysis.over_seeds import seeds_of
from engine.metrics.agreement import MeanAgreement
from engine.question.runs import Seeded, other_runs
from engine.scoring.identities import EVERY_PROBLEM, ProblemFacts
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring


@dataclass(frozen=True)
class RunPair:
    """The exact answers of two single runs of one question: of the one that is asked about, and of another."""

    own: Scoring
    other: Scoring

    @property
    def both(self) -> tuple[Scoring, Scoring]:
        return self.own, self.other

    @property
    def seeds(self) -> tuple[int, int]:
        """How many seeds after the problem's own each of them has."""
        return seeds_of(self.own, 0)[0], seeds_of(self.other, 0)[0]


def question(scoring: Scoring, facts: ProblemFacts = EVERY_PROBLEM) -> Scoring | None:
    """The exact answer to what a scoring asks, where that is about a single training run as a seed draws it; None
    where it is not, and for a model whose training draws nothing."""
    process = scoring.process
    if facts.convex or not scoring.route.implies or not isinstance(process, Seeded) or not process.one_model:
        return None
    return scoring.exact_answer


def runs(scoring: Scoring, listed: Sequence[Scoring] = (), facts: ProblemFacts = EVERY_PROBLEM) -> RunPair | None:
    """What a floor under a scoring is measured by: another run among those that are listed, else the next one. None
    where it is not about a single run."""
    own = question(scoring, facts)
    if own is None or not isinstance(own.process, Seeded):
        return None
    questions = [one for one in (question(other, facts) for other in listed) if one is not None]
    others = [one for one in questions if two_runs(own, one)]
    following = own.process.model_copy(update={"first": own.process.first + 1})
    return RunPair(own, others[0] if others else Scoring(behavior=own.behavior, intervention=own.intervention,
                                                         process=following))


def two_runs(a: Scoring, b: Scoring) -> bool:
    """Whether two exact answers are those of two single runs of one question: what they agree by is a floor itself."""
    same = (a.behavior, a.intervention) == (b.behavior, b.intervention)
    single = a.process.one_model and b.process.one_model
    return a.exact and b.exact and same and single and other_runs(a.process, b.process)


def floor(seeds: Sequence[tuple[Scores, Scores]]) -> Comparison:
    """The agreement of the two runs, on every draw; that of index 0 with 1. Raises as `compare` does."""
    return compare(seeds, ("one run", "another run"))


def at_ceiling(agreement: MeanAgreement, reached: MeanAgreement) -> bool:
    """Whether two rankings agree at least as well as another seed's exact answer does; False where one is undefined."""
    return agreement.mean >= reached.mean
