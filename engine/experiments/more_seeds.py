"""A published table that grows seed by seed: what other seeds found, put together with what stands there.

A row's mean and interval follow from its `seed_means`, so that a table needs no scores of the seeds that were there
before. What belongs to one run alone (when, how long, versions, device, digest) is kept as a part of the manifest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from engine.basics import resident
from engine.basics.errors import InvalidInput
from engine.jobs import STORED_FRACTION, stored_part
from engine.metrics import seed_means
from engine.metrics.intervals import t_interval

AVERAGED = ("wrong_removed", "ci95_queries", "ci95_subsets")
"""Columns that are means over the seeds at which they are known."""
SUMMARY = ("mean", "ci95", "n_seeds", "n_dropped", "seed_means", "note", *AVERAGED)
"""The columns that depend on the seeds; all others say what a row is."""
OF_A_RUN = ("seeds", "command", "written", "wall_seconds", "versions", "device", "passes", "study_digest",
            resident.KEY, STORED_FRACTION)
LISTS = ("runs", "factual")
"""What a manifest holds once a seed."""
DECIDING = ("study", "preset", "settings", "contents")
"""Of a payload, what decides the numbers besides the seeds."""


def together(standing: tuple[pd.DataFrame, Mapping[str, Any]], fresh: tuple[pd.DataFrame, Mapping[str, Any]]
             ) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table and the manifest of both, each given as (table, manifest).

    mean and ci95 are those of `t_interval` over the values of all seeds; queries that were dropped are added up.
    Raises `InvalidInput` where `check` does, and where the rows differ.
    """
    (before, old), (after, new) = standing, fresh
    check(old, new["payload"])
    keys = [column for column in before.columns if column not in SUMMARY]
    joined = before.merge(after, on=keys, how="inner", suffixes=("", " of the fresh"), validate="one_to_one")
    if list(before.columns) != list(after.columns) or not len(joined) == len(before) == len(after):
        raise InvalidInput("The rows of the new seeds are not those that are published; publish them without "
                           "adding, which replaces those.")
    table = joined[before.columns].assign(**_summaries(joined, len(old["seeds"]), len(new["seeds"])))
    return table, _manifest(old, new)


def check(standing: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
    """Raises `InvalidInput` where the seeds of a payload cannot stand beside those of a manifest: a seed is there
    already or would leave a gap, or what else decides the numbers differs."""
    seeds, more = standing["seeds"], payload["seeds"]
    if list(more) != list(range(seeds[-1] + 1, seeds[-1] + 1 + len(more))):
        raise InvalidInput(f"Seeds {seeds[0]} to {seeds[-1]} are published; give {seeds[-1] + 1} as the first seed, or "
                           "publish without adding, which replaces those.")
    requested, before = (json.loads(json.dumps({key: one.get(key) for key in DECIDING}))
                         for one in (payload, standing["payload"]))
    if requested != before:
        raise InvalidInput("The published results have other settings, data or models, so these seeds cannot be "
                           "added; publish without adding, which replaces them.")


def _summaries(joined: pd.DataFrame, before: int, after: int) -> dict[str, Sequence[Any] | pd.Series]:
    """Columns of `SUMMARY` over the seeds of both."""
    texts = [f"{old} {new}" for old, new in zip(joined["seed_means"], joined["seed_means of the fresh"], strict=True)]
    values = [seed_means.split(text) for text in texts]
    intervals = [t_interval(each) for each in values]
    columns: dict[str, Sequence[Any] | pd.Series] = {
        "seed_means": texts, "n_seeds": [int((~np.isnan(each)).sum()) for each in values],
        "mean": [mean for mean, _ in intervals], "ci95": [half for _, half in intervals]}
    if "n_dropped" in joined:
        columns["n_dropped"] = joined["n_dropped"] + joined["n_dropped of the fresh"]
    if "note" in joined:
        columns["note"] = joined["note"].fillna("").where(lambda note: note != "", joined["note of the fresh"])
    for name in {*AVERAGED} & {*joined.columns}:
        columns[name] = _averaged(joined, name, before, after)
    return columns


def _averaged(joined: pd.DataFrame, name: str, before: int, after: int) -> pd.Series:
    """The mean of a column over all seeds (rows,), where it is NaN in the one table that of the other."""
    both = joined[[name, f"{name} of the fresh"]].apply(pd.to_numeric)
    weights = np.array([before, after])
    return (both * weights).sum(axis=1, min_count=1) / (both.notna() * weights).sum(axis=1)


def _manifest(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The newer manifest, with the seeds and runs of both, and what belongs to one run alone as its `parts`."""
    runs = [*old.get("parts", [_of_a_run(old)]), _of_a_run(new)]
    seeds = [seed for run in runs for seed in run["seeds"]]
    lists = {key: [*old[key], *new[key]] for key in LISTS if key in old and key in new}
    peaks = [run.get(resident.KEY) for run in runs]
    stored = sum(len(run["seeds"]) * run.get(STORED_FRACTION, 0.0) for run in runs) / len(seeds)
    return {**{key: value for key, value in new.items() if key not in (resident.KEY, STORED_FRACTION)}, **lists,
            **resident.manifest_part(*peaks), **stored_part(stored), "seeds": seeds,
            "wall_seconds": sum(run["wall_seconds"] for run in runs),
            "payload": {**new["payload"], "seeds": seeds}, "parts": runs}


def _of_a_run(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {key: manifest[key] for key in OF_A_RUN if key in manifest}
