"""What adapters of PEFT a model was trained with, as a recording says it."""

from __future__ import annotations

from typing import Any

from torch import nn

from engine.basics.values import Value


class Adapters(Value):
    """rank, scaling and targets of adapters, as `engine.models.causal.recipe.FineTuning` names them. unlike: what they
    have that adapters here have not; empty where nothing."""

    rank: int
    scaling: float
    targets: str
    unlike: str = ""


def adapters_of(model: nn.Module) -> Adapters | None:
    """Those of a model; None where it has none."""
    from peft import PeftModel

    if not isinstance(model, PeftModel):
        return None
    config: Any = model.peft_config[model.active_adapter]
    targets = config.target_modules
    named = targets if isinstance(targets, str) else ",".join(sorted(targets))
    unlike = [name for name in ("use_rslora", "use_dora", "modules_to_save", "rank_pattern", "alpha_pattern")
              if config.to_dict().get(name)]
    if model.active_adapter != "default":
        unlike.append("another name than `default`")
    return Adapters(rank=config.r, scaling=float(config.lora_alpha), targets=named, unlike=", ".join(unlike))
