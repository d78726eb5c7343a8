"""What adapters of PEFT a model was trained with, as a recording says it."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import nn

from engine.basics.values import Sparse

ELSEWHERE = frozenset({"r", "lora_alpha", "task_type", "peft_type", "base_model_name_or_path", "revision",
                       "inference_mode", "peft_version", "auto_mapping"})
"""What is recorded elsewhere, or decides no number."""
ALTERING = ("pissa", "olora", "corda", "loftq", "eva", "lora_ga")
"""Beginnings of adapters that change the weights of the model that they are attached to, or read data."""


class Adapters(Sparse):
    """rank, scaling and targets of adapters, as `engine.models.causal.recipe.FineTuning` names them. options: what else
    of PEFT's `LoraConfig` was chosen. unlike: what they have that adapters here have not; empty where nothing."""

    unwritten: ClassVar = ("options",)
    rank: int
    scaling: float
    targets: str
    unlike: str = ""
    options: dict[str, Any] = {}


def adapters_of(model: nn.Module) -> Adapters | None:
    """Those of a model; None where it has none."""
    from peft import LoraConfig, PeftModel

    if not isinstance(model, PeftModel):
        return None
    config: Any = model.peft_config[model.active_adapter]
    if type(config) is not LoraConfig:
        return Adapters(rank=1, scaling=1.0, targets="", unlike=type(config).__name__)
    targets = config.target_modules
    named = targets if isinstance(targets, str) else ",".join(sorted(targets or ()))
    plain, chosen = LoraConfig().to_dict(), config.to_dict()
    options = {name: sorted(value) if isinstance(value, set) else value for name, value in chosen.items()
               if name not in ELSEWHERE and value != plain[name]}
    unlike = [name for name, value in options.items() if not _is_plain(value)]
    if str(options.get("init_lora_weights", "")).lower().startswith(ALTERING):
        unlike.append(f"init_lora_weights `{options['init_lora_weights']}`, which alters the base model")
    if model.active_adapter != "default":
        unlike.append("another name than `default`")
    return Adapters(rank=config.r, scaling=float(config.lora_alpha), targets=named, unlike=", ".join(unlike),
                    options={} if unlike else options)


def _is_plain(value: object) -> bool:
    """Whether JSON holds it as it is."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(one) for key, one in value.items())
    return all(map(_is_plain, value)) if isinstance(value, list) else value is None or isinstance(
        value, bool | int | float | str)
