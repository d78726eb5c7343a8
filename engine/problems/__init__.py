"""Problems: a factual model with its data, and what it can answer. A new kind is one file and one line here."""

from engine.basics.registry import Registry
from engine.gradients.checkpoint import Checkpoint
from engine.problems.causal import CausalProblem
from engine.problems.forms import by_form, by_reads
from engine.problems.module import ModuleProblem
from engine.problems.problem import Problem
from engine.problems.softmax import SoftmaxProblem
from engine.problems.source import ProblemSource, SampledProblem, build_cached
from engine.problems.targets import OfTargets, TargetProblem

PROBLEMS: Registry[type[Problem]] = Registry("kind of problem", {
    one.kind: one for one in (SoftmaxProblem, ModuleProblem, TargetProblem, CausalProblem)})

__all__ = ["PROBLEMS", "CausalProblem", "Checkpoint", "SampledProblem", "ModuleProblem", "OfTargets", "Problem",
           "ProblemSource", "SoftmaxProblem", "TargetProblem", "build_cached", "by_form", "by_reads"]
