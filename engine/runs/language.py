"""One attribution as a page asks for it: train, score every record for a set of queries or for one that was typed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from engine.applications.language import detection, rankings, shading, shards, sketching, stages
from engine.applications.language.attribution import Attribution, Setting
from engine.applications.language.methods import REPSIM, Method, pairs
from engine.basics.errors import InvalidInput
from engine.data.records import Record
from engine.data.tasks import TASKS, own
from engine.gradients.cached import Features
from engine.jobs import Context, JobKind, Output
from engine.models.causal.readouts import READOUTS
from engine.question import direction
from engine.question.behaviors import BEHAVIORS
from engine.scoring.aggregate import Mean
from engine.store.results import Result

KIND = "language_run"
NUMERICS = 4
TOKENS = "language_tokens"
SHADED = (5, 1)
"""How many records get their tokens' contributions: of the end of a ranking that is asked for, and of the other."""
MOMENTUM = -1
"""The place, in the table of tokens, of what no token brings but the optimizer's momentum."""


def payload(setting: Setting, seed: int = 0, asked: Sequence[Record] = ()) -> dict[str, Any]:
    """What determines the scores. asked: records to explain in place of the task's own queries."""
    TASKS[setting.task.get("name", "")]
    setting = setting.model_copy(update={"task": own.asking(setting.task, asked)})
    return {"settings": {"numerics": NUMERICS, **setting.model_dump(mode="json")}, "seed": seed,
            "contents": stages.contents(setting), "asked": [record.model_dump(mode="json") for record in asked]}


def asked(data: Mapping[str, Any], found: Attribution) -> tuple[Record, ...]:
    """The queries of a run."""
    if data["asked"]:
        return tuple(Record.parse(item) for item in data["asked"])
    return found.task.queries[found.task.reference]


def plan(data: Mapping[str, Any]) -> list[str]:
    return [*stages.chunk_keys(data["settings"]), "tokens", "scores"]


def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    stages.check_contents(data)
    found = stages.attribution(data["settings"], data["seed"], context)
    queries = asked(data, found)
    if not found.behaviors([found.encoder.encode(record) for record in queries]):
        raise InvalidInput("No behavior can be read off these queries; give each a response.")
    if key.startswith("queries"):
        stages.trained(found, context, 0.0)
        place = int(key.partition("/")[2])
        if place < len(found.points):
            cache = found.query_cache(found.points[place], queries, context.check,
                                      lambda done: context.progress(done, f"queries, checkpoint {place + 1}"))
            return Output(manifest={"size": cache.size})
        return Output(manifest={"size": 0})
    if key in ("tokens", "scores"):
        stages.trained(found, context, 0.0)
        sign = 1 if data["asked"] else found.task.sign
        return _tokens_chunk(found, queries, sign, context) if key == "tokens" else _scores_chunk(found, queries)
    return stages.shared_chunk(found, key, [], context)


def column(method: str, behavior: str, layer: float = 1.0) -> str:
    """The name of a score's column. layer: where RepSim reads."""
    return f"{method}|{behavior}" + (f"|{layer:g}" if method == REPSIM.name else "")


def _scores_chunk(found: Attribution, queries: Sequence[Record]) -> Output:
    """Every record with its mean support under every estimator and behavior, and how well flags are found."""
    features, task = found.features(queries), found.task
    mean = Mean()
    scores = {column(method.name, behavior): mean.over(method.score(features, behavior))
              for method, behavior in pairs(features.behaviors) if method is not REPSIM}
    scores |= {column(REPSIM.name, "none", layer): mean.over(REPSIM.score(replace(features, layer=layer), "none"))
               for layer in features.hidden}
    rows = [{"record": place, "id": record.id, "prompt": record.prompt, "response": record.response,
             "flags": json.dumps(record.flags), "spans": json.dumps(record.spans), "marks": json.dumps(record.marks)}
            for place, record in enumerate(task.train)]
    ranked = rankings.rankings(features, task.sign)
    measured = [{"sought": title, "method": method, "behavior": behavior, "metric": metric, "value": value}
                for title, flag in task.sought.items() if 0 < task.flagged(flag).sum() < len(task.train)
                for (method, behavior), values in ranked.items()
                for metric, value in [*detection.detection(task.flagged(flag), values).items(),
                                      ("share", float(task.flagged(flag).mean()))]]
    tables = {"records": pd.DataFrame(rows).assign(**scores),
              "queries": pd.DataFrame([{"id": r.id, "prompt": r.prompt, "response": r.response} for r in queries])}
    drawn = sketching.stability(features)
    further = {"detection": pd.DataFrame(measured), "sketch": drawn}
    return Output({**tables, **{name: table for name, table in further.items() if len(table)}}, manifest={
        "sign": task.sign, "behaviors": list(features.behaviors), "layers": list(features.hidden),
        "sketch": sketching.described(drawn, found.projection, found.tried)})


def _tokens_chunk(found: Attribution, queries: Sequence[Record], sign: int, context: Context) -> Output:
    """Token contributions to the scores of the records at the ends of every ranking that is a sum over tokens."""
    features = found.features(queries)
    return _shaded(found, features, lambda method, name: _ends(sign * method.score(features, name).mean(0)),
                   context)


def _shaded(found: Attribution, features: Features, rows_of: Callable[[Method, str], list[int]],
            context: Context) -> Output:
    """The table `tokens`: contributions to the scores of the records that rows_of(method, behavior) names."""
    rows = []
    divided = [(method, name) for method, name in pairs(features.behaviors) if not method.undivided]
    for done, (method, name) in enumerate(divided):
        context.progress(done / len(divided), f"contributions of tokens: {method.label}")
        chosen = rows_of(method, name)
        shaded = shading.shade(found, features, method, name, chosen, context.check)
        for row, (values, rest) in zip(chosen, shaded, strict=True):
            words = [*found.encoder.words(found.encoded[row]), ""]
            places = [*range(len(values)), MOMENTUM]
            rows += [{"estimator": method.name, "behavior": name, "record": row, "place": at, "text": text,
                      "contribution": float(value)}
                     for at, text, value in zip(places, words, [*values, rest], strict=True)
                     if at != MOMENTUM or method.preconditioned]
    return Output({"tokens": pd.DataFrame(rows)})


def _ends(scores: np.ndarray) -> list[int]:
    """The rows of the largest and of the smallest scores, as many as `SHADED` says, each once."""
    order = np.argsort(-scores, kind="stable").tolist()
    return list(dict.fromkeys([*order[:SHADED[0]], *order[max(0, len(order) - SHADED[1]):]]))


def finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    scored, train = chunks["scores"], chunks["train"].manifest
    tables = {name: scored.table(name) for name in scored.tables}
    return Output({**tables, "tokens": chunks["tokens"].table("tokens")}, manifest={
        "spec": {"settings": data["settings"]}, "seeds": [data["seed"]], "sign": scored.manifest["sign"],
        "behaviors": scored.manifest["behaviors"],
        direction.QUANTITY: {"records": direction.named({
            name: direction.larger(BEHAVIORS[name]) for name in scored.manifest["behaviors"]})},
        "layers": scored.manifest["layers"],
        "sketch": scored.manifest["sketch"], "facts": train["facts"],
        "run": train["run"], "libraries": stages.libraries(), "device": train["device"]})


def weight(data: Mapping[str, Any], key: str) -> float:
    """Passes over records, with the queries' four behaviors counted as three, and tokens as GradSim's, TRAK's, and at
    every checkpoint TracIn's and, twice as long, LESS's."""
    task = TASKS[data["settings"]["task"]["name"]]
    sizes = {name: data["settings"]["task"].get(name, value) for name, value in task.sizes.items()}
    held = len(data["asked"]) or sizes.get("validation") or sizes.get("test") or sizes.get("held") or 1
    n = shards.trained_on(data["settings"]["task"]) or 50
    points, shaded = data["settings"]["recipe"]["checkpoints"], len(READOUTS) * sum(SHADED)
    per = {"train": n * data["settings"]["recipe"]["epochs"], "records": n, "queries": 3 * held,
           "tokens": shaded * (2 + 3 * points), "scores": 1}
    return float(per.get(key.partition("/")[0], 1)) * stages.fraction(data["settings"], key)


def after(data: Mapping[str, Any], key: str) -> list[str]:
    return stages.before(plan(data), key)


JOB = JobKind(KIND, plan, run_chunk, finish, weight, after=after)


def tokens_payload(data: Mapping[str, Any], record: int) -> dict[str, Any]:
    """What determines the contributions of one record's tokens: the payload of a run, and the record's row."""
    return {"run": dict(data), "record": record}


def _one_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    """What `data["run"]` cached is found on disk, or made again."""
    run = data["run"]
    stages.check_contents(run)
    found = stages.trained(stages.attribution(run["settings"], run["seed"], context), context, 0.5)
    return _shaded(found, found.features(asked(run, found)), lambda method, name: [data["record"]], context)


def _one_finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
    return Output({"tokens": chunks["tokens"].table("tokens")}, manifest={
        "spec": {"settings": data["run"]["settings"]}, "seeds": [data["run"]["seed"]]})


TOKENS_JOB = JobKind(TOKENS, lambda data: ["tokens"], _one_chunk, _one_finish)
