"""A factual model with its data as another program reads them: two npz files, and the lines of Python that rebuild it.

    problem.npz   x_train (n, d), y_train (n,), x_query (m, d), y_query (m,), candidates (k,): as `influence` reads it
    weights.npz   the state dict of the module, an array a name, in the precision of the problem
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from engine.basics.errors import InvalidInput
from engine.problems import ModuleProblem, Problem, SoftmaxProblem, by_form

PROBLEM, WEIGHTS = "problem.npz", "weights.npz"
HEAD = "head"
"""The one layer of softmax regression."""
PRINTED = (nn.Linear, nn.Conv2d, nn.BatchNorm2d, nn.ReLU, nn.GELU, nn.Tanh, nn.MaxPool2d, nn.AvgPool2d,
           nn.AdaptiveAvgPool2d, nn.Flatten, nn.Dropout, nn.Identity)
"""Layers whose printed form is the call that makes them."""


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """What rebuilds the model. lines: Python that makes `module`; shape: of one input; weights: its state dict.

    layers, parameters: names of those that count, the layers whole. damping: λ of the objective's (λ/2)‖θ‖².
    """

    lines: tuple[str, ...]
    shape: tuple[int, ...]
    weights: Mapping[str, np.ndarray]
    layers: tuple[str, ...]
    parameters: tuple[str, ...]
    damping: float

    def weights_npz(self) -> bytes:
        return _npz(self.weights)


def _softmax(problem: SoftmaxProblem, model: str) -> Rebuilt:
    """One linear layer; an intercept is its bias."""
    weights = problem.weights.T.cpu().numpy()
    d = problem.x.shape[1] - problem.intercept
    state = {f"{HEAD}.weight": weights[:, :d], **({f"{HEAD}.bias": weights[:, d]} if problem.intercept else {})}
    lines = _sequential({HEAD: nn.Linear(d, problem.classes, bias=problem.intercept)})
    return Rebuilt(lines, (d,), state, (HEAD,), tuple(state), problem.l2)


def _module(problem: ModuleProblem, model: str) -> Rebuilt:
    module, names = problem.network.module, tuple(problem.network.names)
    children, shape = dict(module.named_children()), tuple(problem.x.shape[1:])
    printed = type(module) is nn.Sequential and all(type(child) in PRINTED for child in children.values())
    lines = _sequential(children) if printed else _by_name(model, shape, problem.classes)
    state = {name: value.detach().to(torch.promote_types(value.dtype, torch.float32)).cpu().numpy()
             for name, value in module.state_dict().items()}
    if not isinstance(problem.l2, float):
        raise InvalidInput("The scripts have one λ for all parameters, and this training has a weight decay for each "
                           "group of them; choose a training with one.")
    return Rebuilt(lines, shape, state, _layers(module, names), names, problem.l2)


rebuilt = by_form(_softmax, _module)
"""The factual model of a problem. model: the name that it has in `engine.models.catalogue`, where it has one.

Raises `InvalidInput` for a model or a selection of parameters that the lines cannot say."""


def problem_npz(problem: Problem) -> bytes:
    """The arrays of a classifier's problem as problem.npz: inputs flat, and without the ones of an intercept."""
    d = problem.x[0].numel() - problem.intercept
    x, queries = (part.flatten(1)[:, :d].cpu().numpy() for part in (problem.x, problem.queries))
    return _npz({"x_train": x, "y_train": problem.y.cpu().numpy(), "x_query": queries,
                 "y_query": problem.query_labels.cpu().numpy(), "candidates": problem.candidates.cpu().numpy()})


def _sequential(children: Mapping[str, nn.Module]) -> tuple[str, ...]:
    """Lines that make a module of these layers, one after the other."""
    return ("module = nn.Sequential()", *(f'module.add_module("{name}", nn.{child})'
                                          for name, child in children.items()))


def _by_name(model: str, shape: tuple[int, ...], classes: int) -> tuple[str, ...]:
    """Lines that ask the catalogue, for a module that is not one layer after the other."""
    if not model.isidentifier():
        raise InvalidInput("The scripts cannot rebuild a model of your own; choose one that `list` names.")
    return ("from engine.models.catalogue import build_model  # of Whichfluence: run this from its folder", "",
            f'module = build_model("{model}", {shape}, {classes})')


def _layers(module: nn.Module, names: tuple[str, ...]) -> tuple[str, ...]:
    """The layers that the parameters are of. Raises `InvalidInput` where some of a layer's are left out."""
    layers = tuple(dict.fromkeys(name.rpartition(".")[0] for name in names))
    whole = [f"{layer}.{name}" for layer in layers for name, _ in module.get_submodule(layer).named_parameters(
        recurse=False)]
    if set(whole) != set(names):
        raise InvalidInput("The scripts support only whole layers, and the selected parameters are part of one; "
                           "select `all`, `last_layer` or `last_block`.")
    return layers


def _npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()
