"""The language models of the paper and of this project, and how their names are written."""

from __future__ import annotations

from pathlib import Path

HUB = {"Qwen3-8B": "Qwen/Qwen3-8B", "Gemma-2-9B-it": "google/gemma-2-9b-it",
       "Llama-3.1-8B-Instruct": "meta-llama/Llama-3.1-8B-Instruct"}
"""The paper's models, by its names, and where they are on the Hugging Face hub."""
ALL_MODELS = tuple(HUB)
SMALL_MODEL, PAPER_MODEL = "SmolLM2-135M-Instruct", HUB["Qwen3-8B"]

EMBEDDED_MODEL, LONG_MODEL, CONCLUDED_MODEL = "World-0.4M", "World-0.4M-long", "World-0.4M-concluded"
EMBEDDED = (EMBEDDED_MODEL, LONG_MODEL, CONCLUDED_MODEL)
EMBEDDED_FOLDER = Path(__file__).parents[3] / "assets" / "embedded"
"""The models that need no download, the one to begin with first, and their folder. The long one has seen questions with
up to five choices and explanations as long as ScienceQA's, the concluded one the same with a marked conclusion."""


def is_embedded(name: str) -> bool:
    """Whether a name means an embedded model, whose questions are those of the embedded world."""
    return model_title(name) in EMBEDDED


def pass_seconds(name: str) -> float:
    """Of a forward and a backward pass over a record, of the embedded model or one of 135 million parameters."""
    return 0.0055 if is_embedded(name) else 0.8


def model_title(name: str) -> str:
    """A model's name without its owner, as the paper writes it if the paper has it."""
    short = name.rstrip("/").rpartition("/")[2].removesuffix(".gguf")
    return {name.lower(): name for name in HUB}.get(short.lower(), short)
