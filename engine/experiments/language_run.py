"""One attribution as a page asks for it: train, score every record for a set of queries or for one that was typed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from engine.errors import InvalidInput
from engine.experiments import language
from engine.jobs import Context, JobKind, Output
from engine.language import detection, tokens
from engine.language.attribution import Attribution, Setting
from engine.language.behaviors import LANGUAGE_BEHAVIORS
from engine.language.estimators import pairs
from engine.language.records import Record
from engine.language.tasks import TASKS

KIND = "language_run"
SHADED = 12
"""How many of the highest-ranked records of each behavior get their tokens' contributions."""


def payload(setting: Setting, seed: int = 0, asked: Sequence[Record] = ()) -> dict[str, Any]:
    """What determines the scores. asked: records to explain in place of the task's own queries."""
    TASKS[setting.task.get("name", "")]
    return {"settings": {"numerics": language.NUMERICS, **setting.model_dump(mode="json")}, "seed": seed,
            "asked": [record.model_dump(mode="json") for record in asked]}


def asked(data: Mapping[str, Any], found: Attribution) -> tuple[Record, ...]:
    """The queries of a run."""
    if data["asked"]:
        return tuple(Record.parse(item) for item in data["asked"])
    return found.task.queries[found.task.reference]


def plan(data: Mapping[str, Any]) -> list[str]:
    return [*language.chunk_keys(data["settings"]), "tokens", "scores"]


def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
    found = language.attribution(data["settings"], data["seed"], context)
    queries = asked(data, found)
    if not found.behaviors([found.encoder.encode(record) for record in queries]):
        raise InvalidInput("No behavior can be read off these queries; give each a response.")
    if key.startswith("queries"):
        language.trained(found, context, 0.0)
        place = int(key.partition("/")[2])
        if place < len(found.points):
            cache = found.query_cache(found.points[place], queries, context.check,
                                      lambda done: context.progress(done, f"queries, checkpoint {place + 1}"))
            return Output(manifest={"size": cache.size})
        return Output(manifest={"size": 0})
    if key in ("tokens", "scores"):
        language.trained(found, context, 0.0)
        return _tokens_chunk(found, queries, context) if key == "tokens" else _scores_chunk(found, queries)
    return language.shared_chunk(found, key, [], context)


def column(estimator: str, behavior: str) -> str:
    """The name of a score's column."""
    return f"{estimator}|{behavior}"


def _scores_chunk(found: Attribution, queries: Sequence[Record]) -> Output:
    """Every record with its mean support under every estimator and behavior, and how well flags are found."""
    features, task = found.features(queries), found.task
    scores = {column(estimator.name, behavior): estimator.score(features, behavior).mean(0, dtype=np.float64)
              for estimator, behavior in pairs(features.behaviors)}
    rows = [{"record": place, "id": record.id, "prompt": record.prompt, "response": record.response,
             "flags": json.dumps(record.flags), "spans": json.dumps(record.spans), "marks": json.dumps(record.marks)}
            for place, record in enumerate(task.train)]
    ranked = language.rankings(features, task.sign)
    measured = [{"sought": title, "method": method, "behavior": behavior, "metric": metric, "value": value}
                for title, flag in task.sought.items() if 0 < task.flagged(flag).sum() < len(task.train)
                for (method, behavior), values in ranked.items()
                for metric, value in detection.detection(task.flagged(flag), values).items()]
    tables = {"records": pd.DataFrame(rows).assign(**scores),
              "queries": pd.DataFrame([{"id": r.id, "prompt": r.prompt, "response": r.response} for r in queries])}
    return Output({**tables, **({"detection": pd.DataFrame(measured)} if measured else {})},
                  manifest={"sign": task.sign, "behaviors": list(features.behaviors)})


def _tokens_chunk(found: Attribution, queries: Sequence[Record], context: Context) -> Output:
    """Token contributions of the records that GradSim ranks highest and lowest under each behavior."""
    encoded = [found.encoder.encode(record) for record in queries]
    features, size, rows = found.features(queries), found.setting.recipe.batch, []
    found.place(found.points[-1])
    for place, name in enumerate(features.behaviors):
        context.progress(place / len(features.behaviors), "contributions of tokens")
        towards = tokens.direction(found.model, found.encoder, encoded, LANGUAGE_BEHAVIORS[name].read, size,
                                   context.check)
        chosen = np.unique(np.concatenate([_ends(estimator.score(features, name).mean(0)) for estimator, behavior in
                                           pairs(features.behaviors) if behavior == name]))
        parts = tokens.contributions(found.model, found.encoder, [found.encoded[row] for row in chosen], towards, size,
                                     context.check)
        for row, values in zip(chosen, parts, strict=True):
            rows += [{"behavior": name, "record": int(row), "place": at, "text": text, "contribution": float(value)}
                     for at, (text, value) in enumerate(zip(found.encoder.words(found.encoded[row]), values,
                                                            strict=True))]
    return Output({"tokens": pd.DataFrame(rows)})


def _ends(scores: np.ndarray) -> np.ndarray:
    """The rows of the `SHADED` largest and smallest scores."""
    order = np.argsort(-scores, kind="stable")
    return np.concatenate([order[:SHADED], order[-SHADED:]])


def finish(data: Mapping[str, Any], chunks, context: Context) -> Output:
    scored, train = chunks["scores"], chunks["train"].manifest
    tables = {name: scored.table(name) for name in scored.tables}
    return Output({**tables, "tokens": chunks["tokens"].table("tokens")}, manifest={
        "spec": {"settings": data["settings"]}, "seeds": [data["seed"]], "sign": scored.manifest["sign"],
        "behaviors": scored.manifest["behaviors"], "facts": train["facts"], "run": train["run"],
        "libraries": language.libraries(), "device": train["device"]})


def weight(data: Mapping[str, Any], key: str) -> float:
    """Passes over records, with the queries' four behaviors counted as three."""
    task = TASKS[data["settings"]["task"]["name"]]
    sizes = {name: data["settings"]["task"].get(name, value) for name, value in task.sizes.items()}
    held = len(data["asked"]) or sizes.get("validation") or sizes.get("test") or sizes.get("held") or 1
    n = max(1, sum(value for name, value in sizes.items() if name not in ("validation", "test", "held"))) or 50
    per = {"train": n * data["settings"]["recipe"]["epochs"], "records": n, "queries": 3 * held, "tokens": n,
           "scores": 1}
    return float(per.get(key.partition("/")[0], 1))


JOB = JobKind(KIND, plan, run_chunk, finish, weight)
