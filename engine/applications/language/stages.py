"""The chunks of a job that every attribution needs: the training, and the caches of its checkpoints.

Each seed is one `train` chunk, then for every checkpoint one `records` and one `queries` chunk, which fill caches of
projected gradients. Many records are divided: a chunk for each shard comes before the one that merges them. Where a
study reads gradients `unprojected`, projections of the last checkpoint alone are filled, and for every checkpoint a
`products` chunk (`mean_products`).
What chunks leave under HOME/language is found again by digest, or made again where it is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.applications.language import shards, width
from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.mean_products import MeanProducts
from engine.applications.language.shards import Shards
from engine.basics.contents import contents as files_content
from engine.basics.errors import InvalidInput, WhichfluenceError
from engine.basics.provenance import device_name, versions_of
from engine.data import questions
from engine.data.records import reporting
from engine.jobs import Context, Output
from engine.models.causal import finetune, loading, lora
from engine.models.causal.finetune import FineTuneCheckpoint
from engine.models.causal.recipe import FineTuning
from engine.problems.problem import pick_device

CACHED = "records", "queries", "products"
"""The chunks that fill caches."""
UNKNOWN = ""
UNFETCHED = (UNKNOWN, "hub")
"""What stands for files that were not on this machine when a run was asked for."""
STATES = 0.25
"""About what hidden states take of the time of the passes over records at the last checkpoint."""


def attribution(chosen: Mapping[str, Any], seed: int, context: Context, **options) -> Attribution:
    """The attribution of one seed, with its records read."""
    run = Attribution(setting(chosen), seed, str(pick_device(context.device)), **options)
    with reporting(lambda done: context.progress(0.0, f"reading records, {done:.0%}")):
        _ = run.task
    return run


def setting(chosen: Mapping[str, Any]) -> Setting:
    """What of a preset determines the attribution."""
    return Setting.parse({name: chosen[name] for name in Setting.model_fields if name in chosen})


def contents(chosen: Setting) -> dict[str, str]:
    """What the files behind the names in a setting hold: the model's, and those that the task is drawn from."""
    files = [path for key in ("train", "queries") if isinstance(path := chosen.task.get(key), str)]
    task = (files_content([Path(path) for path in files if Path(path).is_file()]) if files
            else questions.of(chosen.task).content())
    return {"model": loading.identity(chosen.model)["files"], "task": task}


def check_contents(data: Mapping[str, Any]) -> None:
    """Raises `InvalidInput` where the files are no longer those that the payload was made for."""
    expected, present = data.get("contents", {}), contents(setting(data["settings"]))
    for name, what in (("model", "model"), ("task", "records")):
        if expected.get(name, UNKNOWN) not in (present[name], *UNFETCHED):
            raise InvalidInput(f"The files of this run's {what} have changed since the request; request it again.")


def chunk_keys(chosen: Mapping[str, Any]) -> list[str]:
    """The chunks of one seed that every study needs."""
    recipe = FineTuning.parse(chosen["recipe"])
    of = shards.count(chosen["task"])
    divided = [f"/{number}" for number in range(of)] if of > 1 else []
    patterns = [*(f"records/{{}}{shard}" for shard in divided), "records/{}", "queries/{}"]
    points = range(recipe.checkpoints)
    keys = [pattern.format(index) for index in points for pattern in patterns]
    if chosen.get("unprojected"):
        keys = keys[-len(patterns):] + [f"products/{index}" for index in points]
    return ["train", *keys]


def before(keys: Sequence[str], key: str) -> list[str]:
    """Which of a seed's chunks `keys` have to be stored before chunk `key`: the training before all others, shards
    before they are merged, and before every chunk that is not one of `chunk_keys` those, and chunks of one word that
    stand before it. Chunks that are called by a number beside others stand for themselves."""
    earlier, path = keys[:keys.index(key)], key.split("/")
    if path[0] == "records" and len(path) == 2:
        return ["train", *(other for other in earlier if other.startswith(f"{key}/"))]
    if path[0] in CACHED:
        return ["train"]
    return [other for other in earlier if "/" not in other or other.startswith(CACHED)]


def fraction(chosen: Mapping[str, Any], key: str) -> float:
    """Of the passes over all records, what chunk `key` makes: a shard its part, and merging them next to none, but for
    hidden states at the end of the training."""
    of = shards.count(chosen["task"]) if key.startswith("records") else 1
    if of == 1 or "/" not in key:
        return 1.0
    if key.count("/") == 2:
        return 1.0 / of
    return STATES if key == f"records/{FineTuning.parse(chosen['recipe']).checkpoints - 1}" else 0.01


def trained(run: Attribution, context: Context, fraction: float = 1.0) -> Attribution:
    """The run with its checkpoints on disk, and with the width of its projection chosen."""
    context.progress(0.0, "loading the model and its records")
    run.train(context.check, context.part(f"fine-tuning, seed {run.seed}", end=fraction))
    choice = width.choose(run, context.check)
    run.projection, run.tried = choice.projection, choice.tried
    return run


def is_trained(chosen: Mapping[str, Any], seed: int, context: Context) -> bool:
    """Whether the training of a seed lies on this machine; False where that cannot be told, as its chunk will say."""
    try:
        return attribution(chosen, seed, context).is_trained
    except WhichfluenceError:
        return False


def shared_chunk(run: Attribution, key: str, sets: Sequence[str], context: Context) -> Output:
    """One of `chunk_keys`; `sets` names the queries whose gradients are cached."""
    trained(run, context, 1.0 if key == "train" else 0.0)
    if key == "train":
        losses = [point.facts["loss"] for point in run.points]
        cut = [item.cut for item in run.encoded]
        facts = {"losses": losses, "steps": run.points[-1].step, "records": len(run.encoded),
                 "tokens": sum(len(item.ids) for item in run.encoded), "truncated": int(np.count_nonzero(cut)),
                 "tokens_cut": int(sum(cut)),
                 "trained_parameters": sum(own.numel() for own in lora.trained(run.model).values()),
                 **run.encoder.facts, **finetune.facts_of(run.points),
                 **({"scored_parameters": sum(run.sizes.values()), "unmarked": run.unmarked} if run.scope else {})}
        return Output(manifest={"facts": facts, "device": device_name(run.device), "run": run.identity})
    content, index, *shard = key.split("/")
    if int(index) >= len(run.points):  # a training with fewer steps than checkpoints
        return Output(manifest={"size": 0})
    point = run.points[int(index)]
    said = f"gradients of {content}, checkpoint {int(index) + 1} of {len(run.points)}"
    if shard:
        number, of = int(shard[0]), shards.count(run.setting.task)
        Shards(run, of).fill(point, number, context.check, context.part(f"{said}, shard {number + 1} of {of}"))
        return Output(manifest={"size": 0})
    return Output(manifest={"size": _filled(run, content, point, sets, said, context)})


def _filled(run: Attribution, content: str, point: FineTuneCheckpoint, sets: Sequence[str], said: str,
            context: Context) -> int:
    """The bytes of the caches of a checkpoint, which are there then."""
    if content == "products":
        products = MeanProducts(run, tuple(sets))
        return products.cached(point, context.check, context.part(f"products with mean {said}")).size
    of = shards.count(run.setting.task)
    states, last = f"hidden states of {content}", point.step == run.points[-1].step  # where they are read
    gradients = 1 - STATES if last else 1.0
    if content == "records":
        end = 0.0 if last and of > 1 else gradients  # shards are merged in no time
        size = Shards(run, of).merged(point, context.check, context.part(said, end=end)).size
        if last:
            size += run.states(None, context.check, context.part(states, end)).size
        return size
    size = 0
    for number, name in enumerate(sets):
        start, end, after = ((number + done) / len(sets) for done in (0.0, gradients, 1.0))
        report = context.part(said, start, end)
        size += run.query_cache(point, run.task.queries[name], context.check, report).size
        if last:
            report = context.part(states, end, after)
            size += run.states(run.task.queries[name], context.check, report).size
    return size


def libraries() -> dict[str, str]:
    """Versions of what loads and adapts models."""
    return versions_of("transformers", "peft", "tokenizers")
