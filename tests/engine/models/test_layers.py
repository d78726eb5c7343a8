"""Parameters chosen by names of layers: which they are, and that influence through them is that of plain autograd."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call

import whichfluence as wf
from engine.basics.errors import InvalidInput
from engine.models import layers
from engine.models.network import selected
from engine.problems import ProblemSource


class Small(nn.Module):
    """Three blocks of which the second is called 1 and the third 10, and a head."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleDict({name: nn.Linear(4, 4) for name in ("0", "1", "10")})
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        for block in self.blocks.values():
            x = x + torch.tanh(block(x))
        return self.head(x)


@pytest.mark.parametrize(("patterns", "names"), [
    (["blocks.1.*", "head"], ["blocks.1.weight", "blocks.1.bias", "head.weight", "head.bias"]),
    (["blocks.1*"], ["blocks.1.weight", "blocks.1.bias", "blocks.10.weight", "blocks.10.bias"]),
    (["*.bias"], ["blocks.0.bias", "blocks.1.bias", "blocks.10.bias", "head.bias"]),
    (["head", "blocks.?"], ["blocks.0.weight", "blocks.0.bias", "blocks.1.weight", "blocks.1.bias", "head.weight",
                            "head.bias"])])
def test_a_layer_stands_for_its_parameters_and_a_point_is_no_letter(patterns, names):
    assert list(selected(Small(), layers.spelled(patterns))) == names


@pytest.mark.parametrize(("patterns", "sentence"), [
    (["blocks.2"], "No layer's or parameter's name matches `blocks.2`; the nearest are `blocks"),
    (["head", "haed.weight"], "matches `haed.weight`; the nearest are `head.weight`"),
    (["xyz"], "matches `xyz`; the names begin `blocks.0.weight`"),
    ([], "No layer is named"), ([" "], "No layer is named"), (["a,b"], "not a list of names"),
    ([3], "not a list of names")])
def test_what_matches_nothing_is_refused_with_the_nearest_names(patterns, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        selected(Small(), layers.spelled(patterns))


def test_scores_through_layers_are_those_of_plain_autograd_with_these_parameters_alone():
    torch.manual_seed(0)
    module, x, y = Small().double(), torch.randn(6, 4, dtype=torch.float64), torch.arange(6) % 3
    problem = wf.problem(module, (x, y), (x[:2], y[:2]), parameters=["blocks.10", "head.bias"], dtype="float64")
    step = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.1), "first_order")
    named = {name: value.detach() for name, value in module.named_parameters()
             if name == "head.bias" or name.startswith("blocks.10.")}

    def gradient(row):
        free = {name: value.clone().requires_grad_() for name, value in named.items()}
        logits = functional_call(module, {**dict(module.named_parameters()), **free}, (x[row:row + 1],))
        loss = nn.functional.cross_entropy(logits, y[row:row + 1])
        return torch.cat([one.flatten() for one in torch.autograd.grad(loss, list(free.values()))])

    expected = [[0.1 * float(gradient(query) @ gradient(row)) for row in range(6)] for query in range(2)]
    np.testing.assert_allclose(wf.influence(problem, step).values, expected, rtol=1e-10)
    exact = wf.influence(problem, wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=1e-6))).values
    np.testing.assert_allclose(1e5 * exact, expected, rtol=1e-3)


def test_a_source_names_the_layers_and_keeps_its_digest_without_them():
    plain = ProblemSource(dataset="digits", model="mlp")
    chosen = ProblemSource.parse({"dataset": "digits", "model": "mlp", "selection": ["1", "2.bias"]})
    assert chosen.selection == "layers:1,2.bias" and chosen.key != plain.key
    assert ProblemSource.parse(chosen.model_dump(mode="json")) == chosen
    assert chosen.title == f"{plain.title}, 1 and 2.bias alone"
