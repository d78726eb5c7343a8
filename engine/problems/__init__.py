"""Problems: a factual model with its data, and what it can answer."""

from engine.problems.softmax import SoftmaxProblem
from engine.problems.source import DrawnProblem, ProblemSource, build_kept

__all__ = ["DrawnProblem", "ProblemSource", "SoftmaxProblem", "build_kept"]
