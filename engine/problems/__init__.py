"""Problems: a factual model with its data, and what it can answer."""

from engine.problems.module import Checkpoint, ModuleProblem
from engine.problems.problem import Problem
from engine.problems.softmax import SoftmaxProblem
from engine.problems.source import DrawnProblem, ProblemSource, build_kept

__all__ = ["Checkpoint", "DrawnProblem", "ModuleProblem", "Problem", "ProblemSource", "SoftmaxProblem", "build_kept"]
