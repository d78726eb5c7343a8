"""What the first comparison of a model of one's own begins with: parameters and candidates by what they will cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch

from engine import data
from engine.desk import presets
from engine.models.network import ALL, LAST_BLOCK, LAST_LAYER, selected
from engine.models.own_architecture import Declaration
from engine.problems import ProblemSource
from engine.problems.families.inputs import input_shape
from engine.scoring.cost.network import flops_and_reach, seconds

PATIENCE = 60.0
"""Predicted seconds of a first comparison, so that it stands within five minutes on a machine a third as fast."""
TRIED = ((ALL, 30), (ALL, 20), (LAST_BLOCK, 30), (LAST_LAYER, 30))
"""(parameters that count, candidates), the first of which that is predicted to take no longer is chosen."""


COUNTED = {ALL: "all parameters", LAST_BLOCK: "the parameters of the last block and the head",
           LAST_LAYER: "the parameters of the last layer"}


@dataclass(frozen=True)
class FirstLook:
    """What is chosen for a first comparison. parameters: the selection; seconds: predicted on two CPU cores;
    whole: the same for the first of `TRIED`."""

    parameters: str
    candidates: int
    seconds: float
    whole: float

    @property
    def sentence(self) -> str:
        """What was chosen, and why."""
        text = (f"A first comparison of {COUNTED[self.parameters]} with {self.candidates} candidates is predicted to "
                f"take {self.seconds:,.0f} s on two CPU cores")
        whole = f"; {COUNTED[TRIED[0][0]]} and {TRIED[0][1]} candidates would take {self.whole:,.0f} s"
        return f"{text}{whole if self.whole > self.seconds else ''}."


@lru_cache(maxsize=8)
def first_look(own: Declaration, n: int, queries: int) -> FirstLook:
    """For a declared network with so many training examples and queries. Raises as the module does that is built."""
    source = ProblemSource(dataset=own.data, model=own.name, weights=own.weights)
    module, scorings = source.build_module().eval(), presets.preset("first", source.problem_class).scorings
    x = torch.zeros(1, *input_shape(own.name, data.load(own.data), source.pool))
    named, predicted = dict(module.named_parameters()), []
    for parameters, candidates in TRIED:
        names = selected(module, parameters)
        with torch.no_grad():
            flops, reach = flops_and_reach(module, names, lambda: module(x))
        predicted.append(seconds(scorings, n=n, flops=flops, queries=queries, candidates=min(candidates, n),
                                 parameters=sum(named[name].numel() for name in names), reach=reach))
    chosen = next((row for row, took in enumerate(predicted) if took <= PATIENCE), len(TRIED) - 1)
    return FirstLook(*TRIED[chosen], predicted[chosen], predicted[0])
