"""Networks of a user's own on arrays and tables with targets, trained by a loss of the user's own."""

from __future__ import annotations

from typing import ClassVar

import torch

from engine.data import Dataset
from engine.models.catalogue import OWNED
from engine.models.losses import Loss
from engine.problems.families.fields import SourceFields
from engine.problems.families.network import NetworkFamily
from engine.problems.module import ModuleProblem
from engine.problems.targets import OfTargets, TargetProblem


class TargetFamily(NetworkFamily):
    """Those of `engine.models.catalogue.OWNED` that have a loss."""

    problem_class: ClassVar[type[ModuleProblem]] = TargetProblem

    def loss(self, source: SourceFields, dataset: Dataset) -> Loss:
        own = OWNED[source.model].loss
        assert own is not None and dataset.targets is not None, "checked"
        return OfTargets(own, torch.tensor(dataset.targets))
