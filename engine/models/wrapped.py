"""What people have around their modules, what stands before the names of their weights then, and modules that cannot be
read as functions of their parameters."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Collection, Mapping

from torch import Tensor, nn
from torch.jit import ScriptModule
from torch.nn.parameter import is_lazy

from engine.basics.errors import InvalidInput

INNER = {"DataParallel": "module", "DistributedDataParallel": "module", "OptimizedModule": "_orig_mod"}
"""A class of torch that runs another module, and where it has it: `OptimizedModule` is what `torch.compile` returns."""
WITHIN = frozenset({"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
"""Parts of names that wrappers of a model's layers leave."""


def unwrapped(module: nn.Module) -> nn.Module:
    """The module that `DataParallel` or `torch.compile` was given: the same function of the same parameters."""
    while (name := INNER.get(type(module).__name__)) and type(module).__module__.startswith("torch."):
        module = getattr(module, name)
    return module


def copied(module: nn.Module) -> nn.Module:
    """A copy of the unwrapped module. Raises `InvalidInput` for one whose parameters cannot be replaced."""
    module = unwrapped(module)
    for name, part in module.named_modules():
        kind, where = type(part).__name__, f"the layer `{name}`" if name else "the model"
        if isinstance(part, ScriptModule) or kind in INNER and type(part).__module__.startswith("torch."):
            raise InvalidInput(f"{where.capitalize()} is a `{kind}`, through which no gradient of an example can be "
                               "taken; give the module that it was made of.")
        if lazy := next((own for own, value in part.named_parameters(recurse=False) if is_lazy(value)), ""):
            raise InvalidInput(f"The parameter `{lazy}` of {where} has no shape yet; pass a batch through the model, "
                               "and train it, or give its checkpoint.")
        if held := next((own for own, value in vars(part).items() if isinstance(value, Tensor) and not value.is_leaf),
                        ""):
            raise InvalidInput(f"{where.capitalize()} holds `{held}`, a result of its parameters, as "
                               "`torch.nn.utils.weight_norm` does; use `torch.nn.utils.parametrizations`, or keep no "
                               "such result.")
    try:
        return copy.deepcopy(module)
    except (RuntimeError, TypeError) as error:
        raise InvalidInput(f"The model cannot be copied ({' '.join(str(error).split())[:120]}); give one that "
                           "`copy.deepcopy` takes.") from None


def by_names(state: Mapping[str, Tensor], names: Collection[str]) -> Mapping[str, Tensor]:
    """A state by the names of a module: without what wrappers and trainers put in front of them, such as `module.`,
    `_orig_mod.` or `model.`, and what these hold beside the module; as it is where none would fit then either."""
    own = set(names)
    renamed = {key if key in own else ".".join(part for part in key.split(".") if part not in WITHIN): value
               for key, value in state.items()}
    while renamed and not own & renamed.keys():
        within = defaultdict[str, dict[str, Tensor]](dict)
        for key, value in renamed.items():
            head, dot, rest = key.partition(".")
            if dot:
                within[head][rest] = value
        whole = [inner for inner in within.values() if own <= inner.keys()] if len(within) > 1 else [*within.values()]
        if len(whole) != 1:
            return state
        renamed = whole[0]
    return renamed
