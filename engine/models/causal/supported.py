"""What the configuration of a model and the names of its adapters' weights say of whether it can be read here, before
any weight is loaded."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from engine.basics.errors import InvalidInput

INSTEAD = "choose a causal language model such as SmolLM2-135M-Instruct"
WEIGHTS = "adapter_model.safetensors"
"""The file of PEFT's adapters."""
LORA = (".lora_A.weight", ".lora_B.weight")
"""How the names of the matrices A and B end there."""
BITS = "bitsandbytes"
"""The library, and the method of quantisation, whose weights of 4 and 8 bits are read."""


def check_config(name: str, config: Any) -> None:
    """Raises one sentence for a configuration of transformers that is of no causal model, or of one that is not read
    here: an encoder, an encoder with its decoder, quantised weights."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_MASKED_LM_MAPPING

    given = config.to_dict()
    built = given.get("architectures") or []
    kind = built[0] if built else config.model_type
    writes = any("CausalLM" in kind or "LMHead" in kind or "ConditionalGeneration" in kind for kind in built)
    both_ways = type(config) in MODEL_FOR_MASKED_LM_MAPPING and not (given.get("is_decoder") or given.get("causal"))
    if (type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING or (built and not writes) or both_ways
            or given.get("is_encoder_decoder")):
        raise InvalidInput(f"`{name}` is a {kind}, which does not generate text from left to right; {INSTEAD}.")
    if quantised := given.get("quantization_config"):
        _check_quantised(name, quantised.get("quant_method"))


def _check_quantised(name: str, method: str) -> None:
    if method != BITS:
        raise InvalidInput(f"The weights of `{name}` are quantised ({method}), which is not supported here; give the "
                           "model in float32 or bfloat16, quantised by bitsandbytes, or as a GGUF file.")
    if not find_spec(BITS):
        raise InvalidInput(f"The weights of `{name}` are quantised by {BITS}, which is not installed; install it "
                           f"(`pip install {BITS}`), or give the model in float32 or bfloat16.")


def check_prompts(name: str, adapters: dict[str, Any]) -> None:
    """Raises `InvalidInput` for the configuration of adapters that learn tokens in front of every prompt."""
    if adapters.get("num_virtual_tokens"):
        raise InvalidInput(f"`{name}` is of the kind {adapters.get('peft_type')}, which learns tokens placed before "
                           "the prompt; give adapters of layers, such as LoRA's, or merge them if possible.")


def check_lora(name: str, folder: Path) -> None:
    """Raises `InvalidInput` for a folder of adapters that contains more than LoRA's A and B, such as DoRA's
    magnitudes."""
    from safetensors import safe_open

    with safe_open(folder / WEIGHTS, "pt") as file:
        others = [key for key in file.keys() if not key.endswith(LORA)]  # noqa: SIM118 - a file, no dictionary
    if others:
        raise InvalidInput(f"The adapters `{name}` hold more than LoRA's matrices A and B (`{others[0]}`), through "
                           "which records are attributed; ask about them on Compare or with `influence`, which read "
                           "all trained weights.")
