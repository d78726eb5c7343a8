"""How much of a disagreement is the behavior, the intervention, the training process, and approximation error."""

from __future__ import annotations

from engine.analysis.explanation import Explanation
from engine.analysis.explanation import explain as explained
from engine.basics.options import Options
from engine.problems import Problem
from engine.question.specification import Specification as Question
from engine.scoring.scores import Scores as EngineScores
from whichfluence.specifications import scoring_of
from whichfluence.untouched import untouched


@untouched
def explain(problem: Problem, a: Question | EngineScores, b: Question | EngineScores, options: Options | None = None
            ) -> Explanation:
    """Why two answers disagree: the way from one to the other, cut into links that have one cause each.

    Links are measured in Kendall distance over exact specifications that take one axis after the other from the second
    question, averaged over the orders of the axes; `str` of the result is a sentence with the fractions.

    Args:
        problem: as `wf.problem` or `wf.draw` makes it.
        a, b: specifications, or scores (m, k) of this problem that `wf.influence` computed.
        options: as of `wf.influence`.

    Raises:
        InvalidInput: for a baseline, which answers no question, and scores of another problem.

    >>> import whichfluence as wf
    >>> step = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.01))
    >>> problem = wf.draw("digits", n_train=60, n_queries=5, n_candidates=20)
    >>> [link.title for link in wf.explain(problem, step, wf.Specification("query_logit", step.intervention,
    ...                                                                   step.process)).links]
    ['the behavior']
    """
    first, second = (side if isinstance(side, EngineScores) else scoring_of(side) for side in (a, b))
    return explained(problem, first, second, options)
