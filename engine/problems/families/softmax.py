"""Softmax regression on features as they are."""

from __future__ import annotations

from typing import Any

from engine import data
from engine.data import Dataset, Sample
from engine.problems.families.family import Family, Observer
from engine.problems.families.fields import SourceFields
from engine.problems.families.inputs import pooled
from engine.problems.problem import Problem
from engine.problems.softmax import SoftmaxProblem

SOFTMAX = "softmax"


class SoftmaxFamily(Family):
    """It has one optimum, where every training ends, and needs no recipe."""

    problem_class = SoftmaxProblem
    fields = frozenset({"pool", "l2", "intercept"})

    def parameters(self, source: SourceFields) -> int:
        dataset = data.load(source.dataset)
        return (dataset.n_features // source.pool**2 + source.intercept) * dataset.n_classes

    def recipe(self, source: SourceFields) -> None:
        return None

    def identity(self, source: SourceFields) -> dict[str, Any]:
        return {}

    def is_trained(self, source: SourceFields) -> bool:
        return True

    def build(self, source: SourceFields, dataset: Dataset, sample: Sample, device: str, watch: Observer) -> Problem:
        x_train, x_query = (pooled(source, dataset, x) for x in (sample.x_train, sample.x_query))
        return SoftmaxProblem(x_train, sample.y_train, x_query, sample.y_query, sample.candidates, l2=source.l2,
                              intercept=source.intercept, classes=sample.n_classes, device=device)
