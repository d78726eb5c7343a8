r"""Low-rank adapters by PEFT: W x becomes W x + s·B(A x), and only A (r, in) and B (out, r) are trained (Hu 2021)."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.basics.values import Count, Number, Value

ADAPTER = "default"


class Recipe(Value):
    """How a model is fine-tuned; the defaults are the paper's.

    checkpoints: how many points of the training are kept, equally spaced, the last being its end.
    """

    rank: Annotated[Count, Field(ge=1)] = 16
    scaling: Annotated[Number, Field(gt=0)] = 32.0
    targets: str = "all-linear"
    learning_rate: Annotated[Number, Field(gt=0)] = 1e-4
    weight_decay: Annotated[Number, Field(ge=0)] = 0.0
    warmup: Annotated[Number, Field(ge=0, lt=1)] = 0.03
    clip: Annotated[Number, Field(gt=0)] = 1.0
    batch: Annotated[Count, Field(ge=1)] = 8
    epochs: Annotated[Count, Field(ge=1)] = 1
    context: Annotated[Count, Field(ge=8)] = 1024
    checkpoints: Annotated[Count, Field(ge=1)] = 4


@dataclass(frozen=True)
class Layer:
    """One adapted linear map: its name and the two trained modules."""

    name: str
    a: nn.Linear
    b: nn.Linear


def attach(model, recipe: Recipe):
    """The model with adapters, which `renew` still has to draw; its own weights are frozen."""
    from peft import LoraConfig, get_peft_model

    targets: str | list[str] = recipe.targets if recipe.targets == "all-linear" else recipe.targets.split(",")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # what PEFT asks transformers by an old name
            config = LoraConfig(r=recipe.rank, lora_dropout=0.0, target_modules=targets, task_type="CAUSAL_LM",
                                lora_alpha=recipe.scaling)
            return get_peft_model(model, config)
    except ValueError as error:
        raise InvalidInput(f"Adapters cannot be attached to `{recipe.targets}` of this model ({error}).") from None


def renew(model, seed: int) -> None:
    """Draw every A from `seed`, the same on every device, and set every B to zero."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for layer in layers(model):
            drawn = torch.empty(layer.a.weight.shape)
            nn.init.kaiming_uniform_(drawn, a=math.sqrt(5), generator=generator)
            layer.a.weight.copy_(drawn)
            layer.b.weight.zero_()


def layers(model) -> list[Layer]:
    """Every adapted layer, in the model's order."""
    return [Layer(name, module.lora_A[ADAPTER], module.lora_B[ADAPTER]) for name, module in model.named_modules()
            if hasattr(module, "lora_A") and ADAPTER in getattr(module, "lora_A", {})]


def trained(model) -> dict[str, nn.Parameter]:
    """The trained parameters by name, in the order of `layers`: `NAME.a` and `NAME.b`."""
    return {f"{layer.name}.{part}": getattr(layer, part).weight for layer in layers(model) for part in ("a", "b")}


def put(model, weights: dict[str, Tensor]) -> None:
    """Give the adapters other weights, by the names of `trained`."""
    with torch.no_grad():
        for name, parameter in trained(model).items():
            parameter.copy_(weights[name])
