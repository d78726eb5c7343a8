"""What the studies of language models share: the plain data of their presets, tables and summaries over seeds.

Each seed is the chunks of `engine.applications.language.stages`, and then chunks that score and evaluate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from engine.applications.language import collinearity, methods, rankings, shards, sketching, stages
from engine.applications.language.attribution import LAYERS as attribution_layers
from engine.applications.language.attribution import Attribution
from engine.applications.language.mean_products import MeanProducts
from engine.data.tasks.wording import AUTHORS, as_authors
from engine.experiments.study import study
from engine.gradients.cached import CachedFeatures
from engine.jobs import Context, JobKind, Output
from engine.metrics import seed_means
from engine.models.causal.catalogue import is_embedded, model_title
from engine.models.causal.readouts import READOUTS
from engine.models.causal.recipe import FineTuning
from engine.store.results import Result

NUMERICS = 1
PAPER_COUNTS_RECIPE = {"checkpoints": 2, "learning_rate": 2e-3, "batch": 32, "precision": "mixed"}
"""Of a small model on the paper's number of records, for as many epochs as each study says."""
LAYERS = [share for share in attribution_layers if share < 1]
"""Where detection is measured for RepSim besides the setting's own layer, as shares of the depth."""
DEPTHS = {"L24": 25 / 36, "L28": 29 / 36, "L32": 33 / 36, "L35": 1.0}
"""The paper's layers, counted from zero in 36, as shares of the depth at their output."""
CHECKPOINTS_AT, DIMENSION, DROPOUT = "0.33,0.66,1", 8192, 0.05
"""Where the authors' code stores checkpoints, the width of what TRAK regresses on there, and the adapters' dropout."""
LOG_PROBABILITY = READOUTS["answer_log_probability"].title
"""What their code reads as answer logit."""

Further = Mapping[str, Callable[[Attribution, Context], Output]]
"""Chunk -> what computes it of a trained attribution."""


def settings(model: str, task: Mapping[str, Any], recipe: Mapping[str, Any], dimension: int, **more) -> dict[str, Any]:
    """Plain data of a preset."""
    return {"numerics": NUMERICS, "model": model, "task": dict(task), "recipe": dict(recipe),
            "projection": {"projector": "count_sketch", "dimension": dimension, "seed": 0}, **more}


def expanded(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """A study's settings, with all that the authors' conventions choose together where they are named."""
    if not as_authors(chosen):
        return dict(chosen)
    removals = {"removals": [[method, LOG_PROBABILITY if behavior == "Answer logit" else behavior]
                             for method, behavior in chosen["removals"]]} if "removals" in chosen else {}
    return {**chosen, **removals, "unprojected": True, "task": {**chosen["task"], "conventions": AUTHORS},
            "recipe": {**chosen["recipe"], "checkpoints_at": CHECKPOINTS_AT, "dropout": DROPOUT},
            "projection": {**chosen["projection"], "dimension": DIMENSION}}


def _expanding(function: Callable[..., Any]) -> Callable[..., Any]:
    """A study's function of a payload and more, given the expanded settings."""
    return lambda payload, *more: function({**payload, "settings": expanded(payload["settings"])}, *more)


def features(chosen: Mapping[str, Any], attribution: Attribution, name: str, sets: Sequence[str]) -> CachedFeatures:
    """What methods read of the training records for a set of queries, one of the `sets` that a study asks about, by the
    products of its conventions."""
    if chosen.get("unprojected"):
        return MeanProducts(attribution, tuple(sets)).features(name)
    return attribution.features(attribution.task.queries[name])


def ranked(chosen: Mapping[str, Any], of_records: CachedFeatures, sign: int, layers: Sequence[float] = ()
           ) -> dict[tuple[str, str], np.ndarray]:
    """The rankings of the training records by the methods of a study's conventions."""
    return rankings.rankings(of_records, sign, layers,
                             methods.AUTHORS if chosen.get("unprojected") else methods.METHODS)


def seconds(chosen: Mapping[str, Any], key: str, sets: int, queries: int) -> float:
    """Guessed seconds of a chunk on two cores: passes over records, about half a second each for the small model, and
    a hundredth of that for the embedded one."""
    n, recipe = shards.trained_on(chosen["task"]), FineTuning.parse(chosen["recipe"])
    length = 0.01 if is_embedded(chosen["model"]) else 1.0 if chosen["task"].get("longest") else 2.5
    passes = {"train": n * recipe.epochs, "records": n, "queries": 3 * sets * queries}
    return 0.5 * length * passes.get(key.split("/")[0], n) * stages.fraction(chosen, key)


def on_disk(payload: Mapping[str, Any], key: str, context: Context) -> float:
    """Of a study whose chunks are called by seed and part: 1 for a training that lies on this machine, else 0."""
    seed, _, chunk = key.partition("/")
    return float(chunk == "train" and stages.is_trained(payload["settings"], int(seed), context))


def study_of_runs(name: str, sets: Callable[[Attribution], Sequence[str]],
                  further: Callable[[Mapping[str, Any]], Further], finish: Callable[..., Output],
                  weight: Callable[..., float]) -> JobKind:
    """A study whose every seed is the chunks of `stages`, and then others, of the trained attribution.

    sets: the queries whose gradients are cached. further(settings): chunk -> what computes it.
    """
    def keys(payload: Mapping[str, Any], seed: int) -> list[str]:
        return [f"{seed}/{chunk}" for chunk in (*stages.chunk_keys(payload["settings"]), *further(payload["settings"]))]

    def run_chunk(payload: Mapping[str, Any], key: str, context: Context) -> Output:
        seed, _, chunk = key.partition("/")
        own, attribution = further(payload["settings"]), stages.attribution(payload["settings"], int(seed), context)
        if chunk in own:
            return own[chunk](stages.trained(attribution, context, 0.0), context)
        return stages.shared_chunk(attribution, chunk, sets(attribution), context)

    def after(payload: Mapping[str, Any], key: str) -> list[str]:
        seed, _, chunk = key.partition("/")
        chunks = [other.partition("/")[2] for other in keys(payload, int(seed))]
        return [f"{seed}/{other}" for other in stages.before(chunks, chunk)]

    def plan(payload: Mapping[str, Any]) -> list[str]:
        return [key for seed in payload["seeds"] for key in keys(payload, seed)]

    return study(name, _expanding(plan), _expanding(run_chunk), _expanding(finish), _expanding(weight),
                 on_disk=_expanding(on_disk), after=_expanding(after))


def table(chosen: Mapping[str, Any], columns: Sequence[str], seeds: Sequence[Mapping[tuple, float]]) -> list[dict]:
    """Rows out of one {key: value} a seed, keys in the order of `columns`."""
    model = model_title(chosen["model"])
    return [{"model": model, **dict(zip(columns, key, strict=True)), **seed_means.summary(seed[key] for seed in seeds)}
            for key in seeds[0]]


def manifest(payload: Mapping[str, Any], chosen: Mapping[str, Any], chunks: Mapping[str, Result],
         context: Context) -> dict[str, Any]:
    """The manifest of a study: settings, and what every seed's chunks said."""
    runs = [{"seed": seed, **{name: chunks[f"{seed}/train"].manifest[name] for name in ("facts", "run")},
             "cache_bytes": sum(chunks[f"{seed}/{key}"].manifest["size"] for key in stages.chunk_keys(chosen)[1:]),
             **(chunks[f"{seed}/scores"].manifest.get("sketched", {}) if f"{seed}/scores" in chunks else {})}
            for seed in payload["seeds"]]
    return {"spec": {"behaviors": list(READOUTS), "settings": dict(chosen)},
            "runs": runs, "libraries": stages.libraries(),
            "device": chunks[f"{payload['seeds'][0]}/train"].manifest["device"]}


def sketched(chosen: Mapping[str, Any], attribution: Attribution, of_records: CachedFeatures) -> dict[str, Any]:
    """Of a chunk's manifest, for the run of its seed: how alike the behaviors are for a set of queries, and how far
    scores depend on the draw of the projection, where gradients are projected."""
    if chosen.get("unprojected"):
        projected = replace(of_records, points=tuple(filter(None, [of_records.regressed])))
        return {"sketched": {"behavior_cosines": collinearity.cosines(projected)}}
    stability = sketching.stability(of_records)
    return {"sketched": {"sketch": sketching.described(stability, attribution.projection, attribution.tried),
                         "sketch_agreement": stability.to_dict("records"),
                         "behavior_cosines": collinearity.cosines(of_records)}}


def measured(values: Mapping[tuple, float]) -> dict[str, pd.DataFrame]:
    """{key: value} as a table that a chunk can hold, in its order."""
    rows = [{**{f"key{index}": term for index, term in enumerate(key)}, "value": float(value)}
            for key, value in values.items()]
    return {"measured": pd.DataFrame(rows)}


def read(chunk) -> dict[tuple, float]:
    """What `measured` made, out of a stored chunk."""
    return {tuple(row[:-1]): float(row[-1]) for row in chunk.table("measured").itertuples(index=False)}
