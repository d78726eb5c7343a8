"""Models by name: our own, and every classification model of torchvision."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.func import functional_call

from engine.basics.errors import InvalidInput
from engine.basics.registry import Registry
from engine.models.cifar_forms import FORMS, OF_STUDIES
from engine.models.cnn import cnn
from engine.models.linear import linear
from engine.models.losses import Loss
from engine.models.mlp import mlp

Build = Callable[[tuple[int, ...], int], nn.Module]

OWN: dict[str, Build] = {"cnn": cnn, "mlp": mlp, "linear": linear}
"""The project's own networks, of at most two convolutions."""
MODELS: Registry[Build] = Registry("model", {**OWN, **FORMS, **OF_STUDIES})
"""name -> build(shape, classes) -> module with fresh weights; shape is (channels, height, width) of a picture."""



@dataclass(frozen=True)
class Own:
    """What is known of a model that a user's code registered. shape: of one input where it is declared, else ().
    code: the fingerprint of what builds it, which tells two models under one name apart. loss: of the user's own, of
    outputs and targets; None where it is trained on classes."""

    shape: tuple[int, ...]
    code: str
    loss: Loss | None = None


OWNED: dict[str, Own] = {}
PRETRAINED, LOGISTIC = "pretrained", "logistic"
"""Regressions that are no network of this catalogue: on features of pretrained models, and on features as they are."""
TITLES = {PRETRAINED: "logistic regression on pretrained features", LOGISTIC: "logistic regression",
          "softmax": "softmax regression", "cnn": "convolutional network", "mlp": "two-layer network",
          "linear": "linear layer, trained by SGD", "resnet18_cifar": "ResNet-18",
          "resnet18_quarter_cifar": "ResNet-18, a quarter as wide", "resnet50_cifar": "ResNet-50",
          "resnet50_quarter_cifar": "ResNet-50, a quarter as wide", "vgg19_bn_cifar": "VGG-19-BN",
          "vgg19_bn_quarter_cifar": "VGG-19-BN, a quarter as wide", "mobilenet_v2_cifar": "MobileNetV2",
          "mobilenet_v2_quarter_cifar": "MobileNetV2, a quarter as wide",
          "mobilenet_v2_stem_cifar": "MobileNetV2, stride 1 in the stem alone",
          "mobilenet_v2_stem_quarter_cifar": "MobileNetV2, stride 1 in the stem alone, a quarter as wide"}


def register_own(name: str, build: Build, own: Own) -> None:
    """Add a model of a user's own. Raises `InvalidInput` for a name that is taken."""
    if name in TITLES or name in torchvision_names():
        raise InvalidInput(f"A model `{name}` already exists; choose another name.")
    MODELS.add(name, build)
    OWNED[name] = own


def model_title(name: str) -> str:
    """What a model is called in a sentence."""
    return TITLES.get(name, name)


# While they train, these two return the logits of an auxiliary head as well, unless they are built without.
TORCHVISION_OPTIONS: dict[str, dict[str, Any]] = {
    "googlenet": {"aux_logits": False, "init_weights": True},
    "inception_v3": {"aux_logits": False, "init_weights": True},
}
SIZED = "vit_"
"""torchvision's models of this prefix are built for one size of picture."""


def build_model(name: str, shape: tuple[int, ...], classes: int) -> nn.Module:
    """The model `name` with fresh weights: registered here, or a classification model of torchvision.

    shape: of one input, for a picture (channels, height, width). The module maps (b, *shape) to (b, classes).
    Raises `InvalidInput` for an unknown name, and for inputs that the model does not take.
    """
    shape = tuple(shape)
    if name in MODELS:
        return MODELS[name](shape, classes)
    if name not in torchvision_names():
        raise InvalidInput(_unknown(name))
    return _torchvision(name, shape, classes)


def torchvision_names() -> tuple[str, ...]:
    """The classification models that torchvision has, in its spelling."""
    from torchvision import models

    return tuple(models.list_models(module=models))


def _torchvision(name: str, shape: tuple[int, ...], classes: int) -> nn.Module:
    from torchvision import models

    options = dict(TORCHVISION_OPTIONS.get(name, {}))
    if name.startswith(SIZED):
        options["image_size"] = shape[-1]
    try:
        module = models.get_model(name, weights=None, num_classes=classes, **options)
        output = _shape_of_logits(module, shape)
    except (RuntimeError, ValueError, TypeError, AssertionError, IndexError) as error:
        reason = " ".join(str(error).split())[:120]
        raise InvalidInput(f"torchvision's `{name}` does not take inputs of shape {shape} ({reason}); give larger "
                           "images with three colours, or use `cnn`.") from None
    if output != (2, classes):
        raise InvalidInput(f"torchvision's `{name}` returns shape {output} for two inputs; choose another model.")
    return module


def _shape_of_logits(module: nn.Module, shape: tuple[int, ...]) -> tuple[int, ...]:
    """What two inputs come out as, in evaluation mode, without a multiplication."""
    state = {key: value.to("meta") for key, value in module.state_dict().items()}
    training = module.training
    try:
        return tuple(functional_call(module.eval(), state, (torch.empty(2, *shape, device="meta"),)).shape)
    finally:
        module.train(training)


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(str(name), [*MODELS, *torchvision_names()], n=1)
    own = ", ".join(f"`{known}`" for known in MODELS)
    hint = f"did you mean `{near[0]}`?" if near else (f"use {own} or a classification model of torchvision, such as "
                                                      "`resnet18`.")
    return f"There is no model `{name}`; {hint}"
