"""What a user hands over, and torch's state around it, is afterwards what it was before."""

import copy
import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import whichfluence as wf
from engine import data
from engine.models.causal import loading

X, Y = torch.rand(40, 6, generator=torch.Generator().manual_seed(0)), torch.arange(40) % 3


class Lowering(nn.Module):
    """Asks for float32 inside, as norms of language models do."""

    def forward(self, x):
        return x.to(torch.float32).to(x.dtype)


def classifier():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), Lowering(), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))


def language_model():
    return loading.load("World-0.4M")[0]


def seen(module):
    """All that tells whether a module was touched, but for its tensors."""
    return [(type(part), part.training, {name: value for name, value in vars(part).items() if not name.startswith("_")},
             *(list(getattr(part, hooks)) for hooks in sorted(vars(part)) if hooks.endswith("_hooks")),
             [(name, id(value), value.requires_grad, value.dtype, value.grad is None)
              for name, value in part.named_parameters(recurse=False)]) for part in module.modules()]


def around():
    """torch's state and that of other generators."""
    backends = torch.backends
    return (torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist(),
            torch.get_num_threads(), torch.is_grad_enabled(), torch.get_default_dtype(),
            torch.are_deterministic_algorithms_enabled(), backends.cudnn.allow_tf32, backends.cudnn.benchmark,
            backends.cudnn.deterministic, backends.cuda.matmul.allow_tf32)


def of_classes(model, dtype):
    recipe = wf.Recipe(epochs=2, batch_size=8, learning_rate=0.1)
    loader = DataLoader(TensorDataset(X, Y), batch_size=7, shuffle=True)
    problem = wf.problem(model, loader, (X[:3], Y[:3]), candidates=[3, 5, 7], dtype=dtype, l2=1e-2,
                         build=lambda: copy.deepcopy(model), recipe=recipe)
    step = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.1))
    response = wf.Specification("query_loss", wf.Infinitesimal(), wf.LocalResponse(damping=1.0))
    other = wf.Specification("query_loss", wf.Remove(), wf.Retrain(seeds=1))
    scores = wf.influence(problem, {"step": step, "first": step.by("first_order"), "ekfac": response.by("ekfac"),
                                    "lissa": response.by("lissa"), "again": other})
    wf.compare(scores)
    wf.explain(problem, step, step.by("first_order"))
    wf.self_influence(problem, step)


def of_records(model, dtype):
    records = [{"prompt": record.prompt, "response": record.response}
               for record in data.load("world_corruption").records[0][:3]]
    problem = wf.problem(model, records, records[:1], tokenizer=loading.load("World-0.4M")[1], dtype=dtype,
                         parameters=r"layers\.0\.mlp")
    step = wf.Specification("response_loss", wf.AddOccurrence(), wf.OneStep(eta=1e-4))
    wf.influence(problem, [step, step.by("first_order")])


@pytest.mark.grid
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("build", "use"), [(classifier, of_classes), (language_model, of_records)])
def test_the_users_model_and_torchs_state_are_left_as_they_are(build, use, dtype):
    model = build().train()
    next(model.children()).eval()
    next(model.parameters()).requires_grad_(False)
    next(model.children()).register_forward_hook(lambda *_: None)
    before, tensors, state = seen(model), copy.deepcopy(model.state_dict()), around()
    use(model, dtype)
    assert around() == state
    assert seen(model) == before
    assert all(torch.equal(tensors[name], value) for name, value in model.state_dict().items())


def test_torchs_precision_on_a_gpu_is_the_users_own():
    inside = []

    def loss(logits, labels):
        inside.append((torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32))
        return nn.functional.cross_entropy(logits, labels, reduction="none")

    torch.backends.cuda.matmul.allow_tf32, before = True, torch.backends.cuda.matmul.allow_tf32
    try:
        problem = wf.problem(nn.Linear(6, 3), (X, Y), (X[:3], Y[:3]), candidates=[3], loss=loss)
        wf.influence(problem, wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.1)))
        assert torch.backends.cuda.matmul.allow_tf32 and torch.backends.cudnn.allow_tf32
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    assert set(inside) == {(False, False)}
