"""Problems: a factual model with its data, and what it can answer."""

from engine.problems.softmax import SoftmaxProblem
from engine.problems.source import DrawnProblem, ProblemSource

__all__ = ["DrawnProblem", "ProblemSource", "SoftmaxProblem"]
