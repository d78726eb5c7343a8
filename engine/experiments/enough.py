"""Whether a published run is large enough to show an effect: rules that read the run, not its name.

Each rule gives the reason in one sentence, or nothing where the run is large enough or says nothing about it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from engine.data.tasks.response_corruption import SIZES
from engine.metrics.detection import auroc_by_chance
from engine.models.catalogue import model_title

LEARNED = 0.5
RANDOM = "Random"


@dataclass(frozen=True, eq=False)
class PublishedEvidence:
    """A published table, its manifest, and what another experiment published at the same scale (None: nothing)."""

    table: pd.DataFrame
    manifest: Mapping[str, Any]
    beside: Callable[[str], PublishedEvidence | None] = lambda name: None


def no_minimum(evidence: PublishedEvidence) -> str:
    """No rule: every size shows the effect."""
    return ""


def learned_classes(evidence: PublishedEvidence) -> str:
    """Each classifier reads at least half of the test examples of its data, averaged over its runs."""
    read: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run in evidence.manifest.get("runs", ()):
        accuracy = run.get("test_accuracy", run.get("factual", {}).get("test_accuracy"))
        if accuracy is not None:
            source = run.get("source", {})
            read[source.get("model", ""), source.get("dataset", "")].append(accuracy)
    means = {network: float(np.mean(accuracies)) for network, accuracies in read.items()}
    if not means or min(means.values()) >= LEARNED:
        return ""
    model, data = worst = min(means, key=means.__getitem__)
    which = "" if len(means) == 1 else f" ({model_title(model) or data})"
    return f"the model{which} reads {means[worst]:.0%} of the test examples correctly, less than half."


def learned_attack(evidence: PublishedEvidence) -> str:
    """The backdoor works on at least half of the prompts that should trigger it, before anything is removed.

    Read from the manifest, or else from Table A-11 at the same scale.
    """
    rates = [run["ASR"] for run in evidence.manifest.get("factual", ())]
    quality = None if rates else evidence.beside("table-a11")
    if quality is not None:
        rates = list(quality.table.loc[quality.table["metric"] == "ASR", "mean"])
    if not rates or np.mean(rates) >= LEARNED:
        return ""
    return f"the attack succeeds for {np.mean(rates):.0%} of the triggered prompts, less than half."


def detects_corruption(evidence: PublishedEvidence) -> str:
    """For every kind of corruption some ranking puts its records first more often than chance does.

    By the rank-sum test of every ranking of every seed at 0.05/(rankings · seeds), which a mean over the seeds has to
    pass; of Table A-17, which has no random ranking, by Figure 5-2 at the same scale.
    """
    if RANDOM not in set(evidence.table["method"]):
        ranked = evidence.beside("figure-5-2")
        return "" if ranked is None else detects_corruption(ranked)
    sizes = {**SIZES, **evidence.manifest.get("spec", {}).get("settings", {}).get("task", {})}
    kinds = evidence.table[evidence.table["metric"] == "AUROC"].groupby("corruption", sort=False)
    total = sizes["clean"] + sum(sizes[kind] for kind in kinds.groups)
    missed = [kind for kind, rows in kinds if not _above_chance(rows, sizes[kind], total - sizes[kind])]
    return f"no ranking finds the records with a wrong {' or '.join(missed)} better than chance." if missed else ""


def _above_chance(rows: pd.DataFrame, sought: int, others: int) -> bool:
    """Whether a mean AUROC is larger than random rankings explain."""
    rows = rows[rows["method"] != RANDOM]
    tests = len(rows) * rows["n_seeds"].max()
    return bool(rows["mean"].max() > auroc_by_chance(sought, others, 0.05 / tests))
