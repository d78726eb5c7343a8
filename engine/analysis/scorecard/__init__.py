"""Benchmarks of rankings, each with the question that it asks. A new one is a `Benchmark` and its line here."""

from engine.analysis.scorecard import marked, planted, retrained, tail_patch, weights
from engine.analysis.scorecard.benchmark import BENCHMARKS, CEILING, Benchmark, Case, Sizes, running
from engine.analysis.scorecard.method import CONTROLS, METHODS, fitting
from engine.analysis.scorecard.request import ScorecardRequest, check

for _benchmark in (retrained.LDS, retrained.REMOVAL, retrained.LEAVE_ONE_OUT, marked.MISLABELLED, marked.SUBCLASSES,
                   marked.SHORTCUT, marked.MIXED, planted.PLANTED, tail_patch.TAIL_PATCH,
                   weights.STABILITY, weights.RANDOMISATION):
    BENCHMARKS.add(_benchmark.name, _benchmark)

__all__ = ["BENCHMARKS", "CEILING", "CONTROLS", "METHODS", "Benchmark", "Case", "ScorecardRequest", "Sizes", "check",
           "fitting", "running"]
