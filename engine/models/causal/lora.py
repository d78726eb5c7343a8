r"""Low-rank adapters by PEFT: W x becomes W x + s·B(A x), and only A (r, in) and B (out, r) are trained (Hu 2021)."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import torch
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.models import layers as chosen_layers
from engine.models.causal.recipe import FineTuning
from engine.models.network import ALL, exactly, free_names

ADAPTER = "default"


@dataclass(frozen=True)
class AdaptedLayer:
    """One adapted linear map: its name and the two trained modules."""

    name: str
    a: nn.Linear
    b: nn.Linear


def attach(model: Any, recipe: FineTuning, options: Mapping[str, Any] | None = None) -> Any:
    """The model with adapters, which `renew` still has to draw; its own weights are frozen. options: further ones of
    PEFT for adapters that were trained elsewhere, whose passes are PEFT's own then, to the last bit."""
    from peft import LoraConfig, get_peft_model

    from engine.models.causal.adapted import Adapted

    if not recipe.rank:
        raise InvalidInput("Records are attributed by gradients of adapters, and `rank` is 0; give at least 1, and "
                           "`epochs` 0 for a model as it is; `influence` reads all parameters.")
    targets: str | list[str] = recipe.targets if recipe.targets == "all-linear" else recipe.targets.split(",")
    head = model.get_output_embeddings()
    maps = sorted({name.rpartition(".")[2] for name, module in model.named_modules()
                   if isinstance(module, nn.Linear) and module is not head})
    routers = [name for name, module in model.named_modules() if isinstance(module, nn.Linear) and not _is_map(module)]
    given = {"r": recipe.rank, "lora_dropout": recipe.dropout, "target_modules": targets, "lora_alpha": recipe.scaling,
             "exclude_modules": routers or None, **(options or {})}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # what PEFT asks transformers by an old name
            warnings.filterwarnings("ignore", "fan_in_fan_out")  # of GPT-2's maps, which PEFT transposes by itself
            config = LoraConfig(task_type="CAUSAL_LM", **given)
            if options is None:
                config._register_custom_module({nn.Linear: Adapted})
            return get_peft_model(model, config)
    except (ValueError, TypeError) as error:
        raise InvalidInput(f"Adapters cannot be attached to `{recipe.targets}` of this model ({error}); name others of "
                           f"its layers as `targets` ({', '.join(maps[:12])}), or give the recipe `rank` 0.") from None


def _is_map(module: nn.Linear) -> bool:
    """Whether it takes one token and returns one tensor, as some routers of experts and maps by groups do not."""
    if type(module).forward is nn.Linear.forward:
        return True
    with torch.no_grad(), suppress(RuntimeError):
        return isinstance(module(module.weight.new_zeros(1, module.in_features)), Tensor)
    return False


@lru_cache(maxsize=64)
def check_targets(config: str, recipe: FineTuning) -> None:
    """Raises `InvalidInput` where the recipe's adapters cannot be attached to a model whose configuration is the JSON
    `config`, as transformers writes it. No weight is allocated."""
    from transformers import AutoConfig, AutoModelForCausalLM

    fields = json.loads(config)
    with torch.device("meta"):
        attach(AutoModelForCausalLM.from_config(AutoConfig.for_model(**fields)), recipe)


def check_untrained(name: str, adapters: bool, recipe: FineTuning) -> None:
    """Raises `InvalidInput` for a recipe that would train what has its own adapters."""
    if adapters and recipe.epochs:
        raise InvalidInput(f"`{name}` holds trained adapters, which are attributed as they are; give the recipe "
                           "`epochs` 0, or name the base model to train new ones.")


def renew(model: Any, seed: int) -> None:
    """Draw every A from `seed`, the same on every device, and set every B to zero."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for layer in layers(model):
            initial = torch.empty(layer.a.weight.shape)
            nn.init.kaiming_uniform_(initial, a=math.sqrt(5), generator=generator)
            layer.a.weight.copy_(initial)
            layer.b.weight.zero_()


def layers(model: Any) -> list[AdaptedLayer]:
    """Every adapted layer, in the model's order."""
    return [AdaptedLayer(name, module.lora_A[ADAPTER], module.lora_B[ADAPTER]) for name, module in model.named_modules()
            if hasattr(module, "lora_A") and ADAPTER in getattr(module, "lora_A", {})]


def adapters(model: Any) -> list[tuple[str, nn.Module]]:
    """The modules of the adapters, by the names of their parameters."""
    return [(f"{layer.name}.{side}", module) for layer in layers(model)
            for side, module in (("a", layer.a), ("b", layer.b))]


def is_adapted(model: Any) -> bool:
    """Whether it has adapters of PEFT, of LoRA's or of another kind."""
    return hasattr(model, "peft_config")


def trained(model: Any) -> dict[str, nn.Parameter]:
    """The trained parameters by name, in the order of `layers`: `NAME.a` and `NAME.b`."""
    return {name: cast(nn.Parameter, module.weight) for name, module in adapters(model)}


def short(name: str) -> str:
    """`NAME.a` of the parameter `model.NAME.lora_A.default.weight` of a reader, and `NAME` of `model.NAME`."""
    return re.sub(rf"\.lora_([AB])\.{ADAPTER}\.weight$", lambda match: f".{match[1].lower()}",
                  name.removeprefix("model."))


def plain(name: str) -> str:
    """The name that transformers gives a parameter, of the one that it has in a reader, or within PEFT's model."""
    return re.sub(r"^(model\.(base_model\.model\.)?|base_model\.model\.)", "", name)


def selection(reader: nn.Module, which: str | Sequence[str]) -> str:
    """What `which` selects of a reader, by its own names: all trained parameters for `all`, and of patterns over the
    names that transformers gives those that match. Raises `InvalidInput` as `layers.chosen` does."""
    spelled = chosen_layers.spelled(which)
    if spelled == ALL:
        return free_names(reader)
    if not spelled.startswith(chosen_layers.PREFIX):
        return spelled
    names = {plain(name): name for name, parameter in reader.named_parameters() if parameter.requires_grad}
    return exactly(chosen_layers.chosen(chosen_layers.patterns(spelled), names))


def put(model: Any, weights: dict[str, Tensor]) -> None:
    """Give the adapters other weights, by the names of `trained`."""
    with torch.no_grad():
        for name, parameter in trained(model).items():
            parameter.copy_(weights[name])
