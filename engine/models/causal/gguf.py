"""A GGUF file as safetensors in the shared folder: it is converted once, and again where what was stored is damaged.

    SHARED/models/NAME-DIGEST/    config.json, model.safetensors, the files of the tokenizer, and `sha256` over them all
"""

from __future__ import annotations

import io
import json
import os
import shutil
from contextlib import redirect_stderr, suppress
from pathlib import Path

import torch

from engine.basics.contents import content, contents
from engine.basics.files import discard, disk_errors, make_folder, write_synced
from engine.basics.folders import shared_folder
from engine.basics.locks import one_at_a_time

SEAL = "sha256"
"""The file that vouches for the others; the last that is written."""


def converted(path: Path, name: str) -> Path:
    """The folder of the converted model of that name. Raises `StoreError` where it cannot be written, and as
    transformers does."""
    target = shared_folder() / "models" / f"{name}-{content(path)[:12]}"
    if not _is_whole(target):
        make_folder(target.parent)
        with one_at_a_time(target.parent):
            if not _is_whole(target):
                _convert(path, target)
    return target


def _is_whole(folder: Path) -> bool:
    with suppress(OSError):
        return (folder / SEAL).read_bytes().decode("latin-1") == _digest(folder)
    return False


def _digest(folder: Path) -> str:
    return contents(path for path in folder.iterdir() if path.name != SEAL)


def _convert(path: Path, target: Path) -> None:
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with redirect_stderr(io.StringIO()):  # the converter's bar heeds no setting
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    tied = set(model.all_tied_weights_keys)
    weights = {key: value.contiguous() for key, value in model.state_dict().items() if key not in tied}
    settings = {key: value for key, value in model.config.to_dict().items() if key != "quantization_config"}
    settings["architectures"] = [type(model).__name__]
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with disk_errors(f"the converted model `{target.name}`"):
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            save_file(weights, draft / "model.safetensors", metadata={"format": "pt"})
            tokenizer.save_pretrained(draft)
            (draft / "config.json").write_text(json.dumps(settings, indent=1, default=str), encoding="utf-8")
            write_synced(draft / SEAL, _digest(draft))
            discard(target, shared_folder() / "tmp")
            os.rename(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
