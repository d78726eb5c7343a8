"""What people have around their modules, what stands before the names of their weights then, and modules that cannot be
read as functions of their parameters."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.jit import ScriptModule
from torch.nn.parameter import is_lazy

from engine.basics.errors import InvalidInput
from engine.models.quantised import read_quantised

INNER = {"DataParallel": "module", "DistributedDataParallel": "module", "OptimizedModule": "_orig_mod"}
"""A class of torch that runs another module, and where it has it: `OptimizedModule` is what `torch.compile` returns."""
WITHIN = frozenset({"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
"""Parts of names that wrappers of a model's layers leave."""

MARK = "whichfluence_only_logits"
"""An attribute of modules that return logits alone, and of their copies."""


def unwrapped(module: nn.Module) -> nn.Module:
    """The module that `DataParallel` or `torch.compile` was given: the same function of the same parameters."""
    while (name := INNER.get(type(module).__name__)) and type(module).__module__.startswith("torch."):
        module = getattr(module, name)
    return module


def logits_of(output: Any) -> Any:
    """The logits in what a module returns: `logits` of a dictionary, a named tuple or an output of transformers;
    anything else as it is."""
    if isinstance(output, Mapping):
        return output.get("logits", output)
    return output.logits if hasattr(output, "logits") else output


def _only_logits(_module: nn.Module, _inputs: tuple, output: Any) -> Any:
    return logits_of(output)


def returning_logits(module: nn.Module) -> nn.Module:
    """The module itself, which from now on returns `logits_of` its outputs; TorchScript, which takes no hooks and is
    refused by `copied`, as it is."""
    if MARK not in vars(module) and not isinstance(module, ScriptModule):
        vars(module)[MARK] = module.register_forward_hook(_only_logits).id
    return module


def copied(module: nn.Module) -> nn.Module:
    """A copy of the unwrapped module, which returns logits alone. Raises `InvalidInput` for one whose parameters cannot
    be replaced."""
    module = unwrapped(module)
    for name, part in module.named_modules():
        kind, where = type(part).__name__, f"the layer `{name}`" if name else "the model"
        if isinstance(part, ScriptModule) or kind in INNER and type(part).__module__.startswith("torch."):
            raise InvalidInput(f"{where.capitalize()} is a `{kind}`, which per-example gradients do not support; give "
                               "the module that it was made from.")
        if lazy := next((own for own, value in part.named_parameters(recurse=False) if is_lazy(value)), ""):
            raise InvalidInput(f"The parameter `{lazy}` of {where} has no shape yet; pass a batch through the model, "
                               "and train it, or give its checkpoint.")
        if held := next((own for own, value in vars(part).items() if isinstance(value, Tensor) and not value.is_leaf),
                        ""):
            raise InvalidInput(f"{where.capitalize()} stores `{held}`, which is computed from its parameters, as "
                               "`torch.nn.utils.weight_norm` does; use `torch.nn.utils.parametrizations`, or do not "
                               "store it.")
        if own := next((own for own, value in part.named_parameters(recurse=False) if value.is_complex()), ""):
            raise InvalidInput(f"The parameter `{own}` of {where} is complex; hold its real and imaginary parts as a "
                               "parameter with `torch.view_as_real`.")
        if own := next((own for own, value in part.named_parameters(recurse=False) if _is_hooked(value)), ""):
            raise InvalidInput(f"A hook changes the gradient of the parameter `{own}` of {where}; remove the hook, as "
                               "gradients here are those of the outputs.")
        if isinstance(part, nn.Embedding | nn.EmbeddingBag) and part.max_norm is not None:
            raise InvalidInput(f"{where.capitalize()} has a `max_norm`, by which a forward pass changes its weights; "
                               "scale these to it once, and set it to None.")
    try:
        held = returning_logits(read_quantised(copy.deepcopy(module)))
    except (RuntimeError, TypeError) as error:
        raise InvalidInput(f"The model cannot be copied ({' '.join(str(error).split())[:120]}); give one that "
                           "`copy.deepcopy` can copy.") from None
    for part in held.modules():
        if isinstance(part, nn.Embedding | nn.EmbeddingBag):
            part.sparse = False  # the same gradients, held as arrays
    _separate(held)
    return held


def _is_hooked(parameter: nn.Parameter) -> bool:
    """Whether `register_hook` changes its gradients: tried on numbers of all sizes, ∂⟨w, θ⟩/∂θ = w."""
    if not parameter.requires_grad or parameter.is_inference():
        return False
    weights = torch.linspace(-1e3, 1e3, parameter.numel() + 1)[1:].to(parameter).view_as(parameter)
    with torch.enable_grad():
        return not torch.equal(torch.autograd.grad((parameter * weights).sum(), parameter)[0], weights)


def _separate(module: nn.Module) -> None:
    """Give a part that stands at several places a copy at each, with the same weights: `torch.func.functional_call`
    leaves such a part with the weights of its last call."""
    seen: set[nn.Module] = set()
    for name, part in [*module.named_modules(remove_duplicate=False)]:
        if part in seen:
            same = {id(value): value for value in (*part.parameters(), *part.buffers())}
            parent, _, own = name.rpartition(".")
            setattr(module.get_submodule(parent), own, copy.deepcopy(part, same))
        seen.add(part)


def in_precision(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """The module with its real numbers in `dtype`, also those of tensors that it holds beside its parameters and
    buffers; complex buffers, such as rotations, stay complex."""
    for part in module.modules():
        vars(part).update({name: value.to(dtype) for name, value in vars(part).items()
                           if isinstance(value, Tensor) and value.is_floating_point()})
    if dtype == torch.float64:
        return module.double()
    return module.float() if dtype == torch.float32 else module.to(dtype)


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
