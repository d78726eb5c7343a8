"""What the studies of language models share: their chunks, summaries over seeds, and presets.

Each seed is one `train` chunk, then for every checkpoint one `records` and one `queries` chunk, which fill caches of
projected gradients, and then chunks that score and evaluate. What chunks leave under HOME/language is found again by
digest, or made again where it is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from engine.intervals import t_interval
from engine.jobs import Context, Output
from engine.language.attribution import LAYERS as attribution_layers
from engine.language.attribution import Attribution, Setting
from engine.language.behaviors import LANGUAGE_BEHAVIORS
from engine.language.estimators import REPSIM, LanguageEstimator, pairs
from engine.language.features import Features
from engine.language.lora import Recipe
from engine.problems.problem import pick_device
from engine.provenance import device_name, versions_of

HUB = {"Qwen3-8B": "Qwen/Qwen3-8B", "Gemma-2-9B-it": "google/gemma-2-9b-it",
       "Llama-3.1-8B-Instruct": "meta-llama/Llama-3.1-8B-Instruct"}
"""The paper's models, by its names, and where they are on the Hugging Face hub."""
ALL_MODELS = tuple(HUB)
SMALL_MODEL, PAPER_MODEL = "SmolLM2-135M-Instruct", HUB["Qwen3-8B"]
NUMERICS = 1
LAYERS = [share for share in attribution_layers if share < 1]
"""Where detection is measured for RepSim besides the setting's own layer, as shares of the depth."""
DEPTHS = {"L24": 25 / 36, "L28": 29 / 36, "L32": 33 / 36, "L35": 1.0}
"""The paper's layers, counted from zero in 36, as shares of the depth at their output."""


def settings(model: str, task: Mapping[str, Any], recipe: Mapping[str, Any], dimension: int, **more) -> dict[str, Any]:
    """Plain data of a preset."""
    return {"numerics": NUMERICS, "model": model, "task": dict(task), "recipe": dict(recipe),
            "projection": {"projector": "count_sketch", "dimension": dimension, "seed": 0}, **more}


def attribution(chosen: Mapping[str, Any], seed: int, context: Context, **options) -> Attribution:
    """The attribution of one seed."""
    device = pick_device(str(context.options.get("device", "cpu")))
    return Attribution(setting(chosen), seed, str(device), **options)


def setting(chosen: Mapping[str, Any]) -> Setting:
    """What of a preset determines the attribution."""
    return Setting.parse({name: chosen[name] for name in Setting.model_fields if name in chosen})


def chunk_keys(chosen: Mapping[str, Any]) -> list[str]:
    """The chunks of one seed that every study needs."""
    recipe = Recipe.parse(chosen["recipe"])
    return ["train", *(f"{part}/{place}" for place in range(recipe.checkpoints) for part in ("records", "queries"))]


def trained(found: Attribution, context: Context, share: float = 1.0) -> Attribution:
    """The attribution with its checkpoints on disk."""
    context.progress(0.0, "loading the model and its records")
    found.train(context.check, lambda part: context.progress(share * part, f"fine-tuning, seed {found.seed}"))
    return found


def shared_chunk(found: Attribution, key: str, sets: Sequence[str], context: Context) -> Output:
    """One of `chunk_keys`; `sets` names the queries whose gradients are cached."""
    trained(found, context, 1.0 if key == "train" else 0.0)
    if key == "train":
        losses = [point.facts["loss"] for point in found.points]
        cut = [item.cut for item in found.encoded]
        facts = {"losses": losses, "steps": found.points[-1].step, "records": len(found.encoded),
                 "tokens": sum(len(item.ids) for item in found.encoded), "truncated": int(np.count_nonzero(cut)),
                 "tokens_cut": int(sum(cut)), "trained_parameters": sum(found.sizes.values())}
        return Output(manifest={"facts": facts, "device": device_name(found.device), "run": found.identity})
    part, place = key.split("/")
    if int(place) >= len(found.points):  # a training with fewer steps than checkpoints
        return Output(manifest={"size": 0})
    point = found.points[int(place)]
    said = f"gradients of {part}, checkpoint {int(place) + 1} of {len(found.points)}"
    if part == "records":
        cache = found.record_cache(point, context.check, lambda done: context.progress(done, said))
        return Output(manifest={"size": cache.size + (found.states(None, context.check).size if _last(found, point)
                                                      else 0)})
    size = 0
    for number, name in enumerate(sets):
        cache = found.query_cache(point, found.task.queries[name], context.check,
                                  lambda done, number=number: context.progress((number + done) / len(sets), said))
        size += cache.size
        if _last(found, point):
            size += found.states(found.task.queries[name], context.check).size
    return Output(manifest={"size": size})


def _last(found: Attribution, point) -> bool:
    """Whether a checkpoint is the end of the training, where hidden states are read."""
    return point.step == found.points[-1].step


def seconds(chosen: Mapping[str, Any], key: str, sets: int, queries: int) -> float:
    """Guessed seconds of a chunk on two cores: passes over records, about half a second each for the small model."""
    sizes = {name: value for name, value in chosen["task"].items() if isinstance(value, int) and name != "seed"}
    n, recipe = sum(sizes.values()) - queries, Recipe.parse(chosen["recipe"])
    length = 1.0 if chosen["task"].get("longest") else 2.5
    passes = {"train": n * recipe.epochs, "records": n, "queries": 3 * sets * queries}
    return 0.5 * length * passes.get(key.split("/")[0], n)


def rankings(features: Features, sign: int, layers: Sequence[float] = ()) -> dict[tuple[str, str], np.ndarray]:
    """(method, behavior) as the paper's tables write them -> (n,) scores, the sought records' expected to be large.

    layers: where RepSim is read besides its own layer.
    """
    found = {}
    for estimator, behavior in pairs(features.behaviors):
        found[estimator.label, behavior_title(behavior)] = _ranking(estimator, features, behavior, sign)
    for share in layers:
        there = replace(features, layer=share)
        found[at_layer(REPSIM.label, share), "none"] = _ranking(REPSIM, there, "none", sign)
    return found


def _ranking(estimator: LanguageEstimator, features: Features, behavior: str, sign: int) -> np.ndarray:
    mean = estimator.score(features, behavior).mean(0, dtype=np.float64)
    return sign * mean if estimator.directed else mean


def at_layer(label: str, share: float) -> str:
    """`RepSim at 50%`: a method that reads a layer, with the share of the depth where it reads."""
    return f"{label} at {share:.0%}"


def behavior_title(name: str) -> str:
    """`Response loss`, or `none`."""
    return LANGUAGE_BEHAVIORS[name].title if name in LANGUAGE_BEHAVIORS else name


def summary(keys: Mapping[str, Any], values: Iterable[float]) -> dict[str, Any]:
    """One row of a table: what it is, and its mean over seeds."""
    values = [float(value) for value in values]
    mean, half = t_interval(values)
    return {**keys, "mean": mean, "ci95": half, "n_seeds": len(values),
            "seed_means": " ".join(f"{value:.6f}" for value in values)}


def table(chosen: Mapping[str, Any], columns: Sequence[str], seeds: Sequence[Mapping[tuple, float]]) -> list[dict]:
    """Rows out of one {key: value} a seed, keys in the order of `columns`."""
    model = model_title(chosen["model"])
    return [summary({"model": model, **dict(zip(columns, key, strict=True))}, [seed[key] for seed in seeds])
            for key in seeds[0]]


def model_title(name: str) -> str:
    """A model's name without its owner, as the paper writes it if the paper has it."""
    short = name.rstrip("/").rpartition("/")[2].removesuffix(".gguf")
    return {name.lower(): name for name in HUB}.get(short.lower(), short)


def told(payload: Mapping[str, Any], chosen: Mapping[str, Any], chunks, context: Context) -> dict[str, Any]:
    """The manifest of a study: settings, and what every seed's chunks said."""
    runs = [{"seed": seed, **{name: chunks[f"{seed}/train"].manifest[name] for name in ("facts", "run")},
             "cache_bytes": sum(chunks[f"{seed}/{key}"].manifest["size"] for key in chunk_keys(chosen)[1:])}
            for seed in payload["seeds"]]
    return {"spec": {"behaviors": list(LANGUAGE_BEHAVIORS), "settings": dict(chosen)}, "seeds": payload["seeds"],
            "runs": runs, "libraries": libraries(), "device": chunks[f"{payload['seeds'][0]}/train"].manifest["device"]}


def libraries() -> dict[str, str]:
    """Versions of what loads and adapts models."""
    return versions_of("transformers", "peft", "tokenizers")


def measured(found: Mapping[tuple, float]) -> dict[str, pd.DataFrame]:
    """{key: value} as a table that a chunk can hold, in its order."""
    rows = [{**{f"key{place}": part for place, part in enumerate(key)}, "value": float(value)}
            for key, value in found.items()]
    return {"measured": pd.DataFrame(rows)}


def read(chunk) -> dict[tuple, float]:
    """What `measured` made, out of a stored chunk."""
    return {tuple(row[:-1]): float(row[-1]) for row in chunk.table("measured").itertuples(index=False)}
