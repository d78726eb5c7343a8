"""Causal language models by name: a folder, a name under WHICHFLUENCE_MODELS (GGUF or safetensors), the embedded one,
or the hub."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from engine.basics.contents import contents
from engine.basics.errors import InvalidInput, MissingData, WhichfluenceError
from engine.basics.strict_json import parse_json
from engine.models.causal import gguf
from engine.models.causal.catalogue import EMBEDDED, EMBEDDED_FOLDER, HUB, model_title
from engine.models.causal.lora import check_targets
from engine.models.causal.narrow import narrow_matrices, ready_passes
from engine.models.causal.recipe import FineTuning
from engine.models.causal.supported import WEIGHTS, check_config, check_lora, check_prompts
from engine.models.quantised import read_quantised

MODELS = "WHICHFLUENCE_MODELS"
OWNERS = {"SmolLM2-135M-Instruct": "HuggingFaceTB/"}
"""Whose models are meant by names that the presets use without an owner."""
FILES = (".gguf", ".safetensors", ".bin", ".json", ".jinja", ".txt", ".model")
"""The suffixes of what weights, configuration and tokenizer are read from."""
ADAPTERS = "adapter_config.json"
"""What a folder of PEFT's adapters holds instead of a model's configuration."""
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json", "vocab.txt")
"""The files of which a folder with a tokenizer has one at least."""
SLACK = 1.35
"""Memory beyond the weights that a batch of short records needs, as a factor; long records need more."""


@dataclass(frozen=True)
class ModelFiles:
    """Where a model's files are. source: a folder or a name on the hub; gguf: the file in that folder, if it is one."""

    name: str
    source: str
    gguf: str = ""

    @property
    def local(self) -> bool:
        return Path(self.source).is_dir()

    @property
    def base(self) -> str:
        """The name of the model whose adapters these are; empty where it is a model itself. Raises `InvalidInput` for
        adapters that do not name it."""
        path = Path(self.source) / ADAPTERS
        if not self.local or not path.is_file() or (Path(self.source) / "config.json").is_file():
            return ""
        given = parse_json(path.read_bytes(), f"`{self.name}/{ADAPTERS}`", "save the adapters again with PEFT")
        name = given.get("base_model_name_or_path") if isinstance(given, dict) else None
        if not isinstance(name, str) or not (Path(self.source) / WEIGHTS).is_file():
            raise InvalidInput(f"The adapters `{self.name}` name no base model or have no `{WEIGHTS}`; save them again "
                               "with PEFT's `save_pretrained`.")
        check_prompts(self.name, given)
        beside = Path(self.source).parent / name
        return str(beside) if not Path(name).exists() and beside.is_dir() else name


def find(name: str) -> ModelFiles:
    """The files of a model: a path, a folder under WHICHFLUENCE_MODELS, an embedded one, else the hub's name. Raises
    `InvalidInput` for an empty name, and a folder of several GGUF files."""
    if not name.strip():
        raise InvalidInput("The name of the model is empty; give a folder, or a name such as SmolLM2-135M-Instruct.")
    candidates = [Path(name).expanduser()]
    named = os.environ.get(MODELS, "").strip()
    if named:
        candidates += [Path(named).expanduser() / name, Path(named).expanduser() / name.rpartition("/")[2]]
    for folder in [*candidates, *([EMBEDDED_FOLDER / name] if name in EMBEDDED else ())]:
        if folder.is_file() and folder.suffix == ".gguf":
            return ModelFiles(folder.stem, str(folder.parent), folder.name)
        if folder.is_dir():
            packed = sorted(path.name for path in folder.glob("*.gguf"))
            whole = any((folder / name).is_file() for name in ("config.json", ADAPTERS))
            if len(packed) > 1 and not whole:
                raise InvalidInput(f"`{folder.name}` holds several GGUF files ({', '.join(packed[:4])}); name the one "
                                   "to read by its path.")
            if whole or packed:
                return ModelFiles(folder.name, str(folder), "" if whole else packed[0])
    return ModelFiles(name, OWNERS.get(name, "") + name)


def absolute(name: str) -> str:
    """A model's name with a relative path as an absolute one, so that processes that start elsewhere find it too."""
    path = Path(name).expanduser()
    return str(path.absolute()) if name.strip() and path.exists() else name


def available() -> list[str]:
    """The names of the local models: those under WHICHFLUENCE_MODELS, then the embedded ones."""
    named = os.environ.get(MODELS, "").strip()
    folder = Path(named).expanduser()
    own = [path.name for path in (sorted(folder.iterdir()) if named and folder.is_dir() else ())
           if path.is_dir() and any(any(path.glob(kind)) for kind in ("*.gguf", "config.json", ADAPTERS))]
    return [*own, *(name for name in EMBEDDED
                    if name not in own and (EMBEDDED_FOLDER / name / "config.json").is_file())]


def is_causal(name: str) -> bool:
    """Whether a name means a causal language model: one of this machine, of the paper, a file, or a name with its owner
    on the hub."""
    return "/" in name or name.endswith(".gguf") or model_title(name) in HUB or bool(name.strip()) and find(name).local


def check(name: str, *, lora: bool = False, recipe: FineTuning | None = None) -> None:
    """Raises one sentence for a model on this machine that `load` refuses by its configuration or tokenizer, without
    loading weights; with `lora` also for adapters that are more than LoRA's A and B; with a recipe also where its
    adapters cannot be attached. Others are checked when fetched.
    """
    files = find(name)
    if files.base:
        if lora:
            check_lora(name, Path(files.source))
        check(files.base)
    elif files.local and not files.gguf:
        config = _checked(name, files)
        if recipe is not None and recipe.rank:
            check_targets(config.to_json_string(use_diff=False), recipe)


def _checked(name: str, files: ModelFiles) -> Any:
    """The configuration. Raises one sentence for a model that cannot be read here."""
    config = _config(files)
    check_config(name, config)
    _check_tokenizer(name, files)
    return config


def load(name: str, device: str = "cpu", *, narrow: bool = False) -> tuple[Any, Any]:
    """(model in evaluation mode, tokenizer). Raises one sentence for what is no causal model, too large or absent.

    Weights are bfloat16 on a GPU, and on a CPU float32, but for matrices that are asked to be `narrow`. A folder of
    PEFT's adapters is loaded with the model that it names as its base.
    """
    files = _converted(find(name))
    if files.base:
        return _adapted(files, *load(files.base, device, narrow=narrow))
    config = _checked(name, files)
    dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
    spread = _check_memory(name, config, device, dtype)
    model, tokenizer = _read(files, dtype, spread)
    model = model if spread else model.to(device)
    model.config.use_cache = False
    if dtype == torch.bfloat16:
        ready_passes(model)
    elif narrow:
        narrow_matrices(model)
    return model.eval(), tokenizer


def vocabulary(model: Any) -> int:
    """How many tokens the model has embeddings of."""
    return int(model.get_input_embeddings().weight.shape[0])


def _read(files: ModelFiles, dtype: torch.dtype, spread: bool) -> tuple[Any, Any]:
    """(model, tokenizer) of files that were checked. Raises `InvalidInput` where weights are missing, which
    transformers would draw at random."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with _hub(files), _quiet():
        revision = _options(files)
        tokenizer = AutoTokenizer.from_pretrained(files.source, **revision)
        options = {**revision, "device_map": "auto"} if spread else revision
        model: Any
        model, info = AutoModelForCausalLM.from_pretrained(files.source, dtype=dtype, output_loading_info=True,
                                                           **options)
    if missing := sorted(info["missing_keys"]):
        raise InvalidInput(f"The files of `{files.name}` lack {len(missing):,} of the model's weights, such as "
                           f"`{missing[0]}`; save the whole model again.")
    if quantiser := vars(model).get("hf_quantizer"):
        read_quantised(model)
        quantiser.remove_quantization_config(model)
    return model, tokenizer


def _adapted(files: ModelFiles, model: Any, tokenizer: Any) -> tuple[Any, Any]:
    """The model with the adapters of a folder, and their own tokenizer where it holds one."""
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors import safe_open
    from transformers import AutoTokenizer

    with _hub(files), _quiet():
        if any((Path(files.source) / file).is_file() for file in TOKENIZERS):
            tokenizer = AutoTokenizer.from_pretrained(files.source, **_options(files))
        adapted = PeftModel.from_pretrained(model, files.source, is_trainable=True).eval()
        with safe_open(Path(files.source) / WEIGHTS, "pt") as file:
            lacks = get_peft_model_state_dict(adapted, save_embedding_layers=False).keys() - set(file.keys())
    if lacks:
        raise InvalidInput(f"The adapters `{files.name}` lack {len(lacks):,} of the weights that their configuration "
                           f"names, such as `{min(lacks)}`; save them again with PEFT.")
    return adapted, tokenizer


def identity(name: str) -> dict[str, str]:
    """What tells two models of one name apart: the name, with every byte of local files or the revision on the hub.

    A model of the hub that was not fetched yet has no revision: `hub`, alone.
    """
    source = find(name)
    if not source.local:
        revision = _revision(source)
        return {"name": source.name, "files": f"hub:{revision}" if revision else "hub"}
    files = [path for path in Path(source.source).iterdir() if path.suffix in FILES and path.is_file()]
    base = f"+{identity(source.base)['files']}" if source.base else ""
    return {"name": source.name, "files": contents(files)[:16] + base}


def _revision(files: ModelFiles) -> str | None:
    """The commit that the hub's main branch stood at when the model was fetched; None where it was not."""
    from huggingface_hub import try_to_load_from_cache

    try:
        cached = try_to_load_from_cache(files.source, "config.json")
    except ValueError:  # no name that the hub can have
        return None
    return Path(cached).parent.name if isinstance(cached, str) else None


def _config(files: ModelFiles) -> Any:
    from transformers import AutoConfig

    with _hub(files):
        return AutoConfig.from_pretrained(files.source, **_options(files))


def _options(files: ModelFiles) -> dict[str, Any]:
    """The revision to load: the one that was fetched, so that it is the one of `identity`. No code of a repository is
    run, and nobody is asked whether it should be."""
    revision = None if files.local else _revision(files)
    return {"trust_remote_code": False, **({"revision": revision} if revision else {})}


def _check_tokenizer(name: str, files: ModelFiles) -> None:
    if files.local and not any((Path(files.source) / file).is_file() for file in TOKENIZERS):
        raise InvalidInput(f"`{name}` has no tokenizer (tokenizer.json); put its files next to the weights, or choose "
                           "another model.")


def sizes(config: Any, dtype: torch.dtype) -> tuple[int, float]:
    """(parameters, bytes of them) of a model of this configuration, whose matrices may be quantised; nothing is
    allocated."""
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model: Any = AutoModelForCausalLM.from_config(config)
    count, size, head = model.num_parameters(), dtype.itemsize, model.get_output_embeddings()
    if not (quantised := config.to_dict().get("quantization_config")):
        return count, float(count * size)
    short = sum(module.weight.numel() for module in model.modules()
                if isinstance(module, nn.Linear) and module is not head)
    return count, (count - short) * size + short * (5 / 8 if quantised.get("load_in_4bit") else 1)  # with its scales


def _check_memory(name: str, config: Any, device: str, dtype: torch.dtype) -> bool:
    """Refuse what cannot fit; whether the model has to be spread over several GPUs."""
    count, size = sizes(config, dtype)
    wanted = size * SLACK
    if device.startswith("cuda"):
        free = [torch.cuda.mem_get_info(number)[0] for number in range(torch.cuda.device_count())]
        if wanted <= free[torch.device(device).index or 0]:
            return False
        if wanted <= sum(free):
            return True
        have, what = sum(free), "the GPU has" if len(free) == 1 else "the GPUs have"
    else:
        have, what = _free_memory(), "this machine has"
        if wanted <= have:
            return False
    fits = have / wanted * count / 1e9
    raise InvalidInput(f"`{name}` has {count / 1e9:.2g} billion parameters and needs about {wanted / 2**30:.0f} GiB, "
                       f"but {what} only {have / 2**30:.1f} GiB free; a model that fits has up to {fits:.2g} billion "
                       "parameters.")


def _free_memory() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            rows = dict(line.split(":", 1) for line in file)
        return int(rows["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@contextmanager
def _hub(files: ModelFiles) -> Iterator[None]:
    """Turns what transformers and the hub raise into one sentence about the model."""
    log = logging.getLogger("huggingface_hub")
    level = log.level
    log.setLevel(logging.CRITICAL)  # its retries: the sentence below says what became of them
    try:
        yield
    except (WhichfluenceError, MemoryError, torch.cuda.OutOfMemoryError):
        raise
    except Exception as error:
        if files.local:
            first = next(iter(str(error).splitlines()), "").rstrip(".")
            raise InvalidInput(f"The files of `{files.name}` cannot be loaded as a language model ({first}); replace "
                               "them or choose another model.") from None
        raise MissingData(f"`{files.name}` is not on this machine and could not be fetched from the Hugging Face hub; "
                          f"set {MODELS} to a folder of local models, or connect to a network (a gated model also "
                          "needs a login).") from None
    finally:
        log.setLevel(level)


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars of transformers: a job shows its own. No warnings of what PEFT asks it by old names."""
    from transformers.utils import logging as bars

    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        if shown:
            bars.enable_progress_bar()


def _converted(files: ModelFiles) -> ModelFiles:
    if not files.gguf:
        return files
    with _hub(files), _quiet():
        return ModelFiles(files.name, str(gguf.converted(Path(files.source) / files.gguf, files.name)))
