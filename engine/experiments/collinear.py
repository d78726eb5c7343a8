"""Which behaviors a study of a language model does not separate: those whose mean query gradients are collinear."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

NEAR_ONE = 0.95
"""Cosine from which on, at every checkpoint, a difference between two behaviors decides nothing."""
COLUMNS = ["first", "second", "end", "least"]


def table(manifest: Mapping[str, Any]) -> pd.DataFrame:
    """A row for every two behaviors, averaged over the seeds of a manifest: `first`, `second`, the cosine of their mean
    query gradients at the `end` of the training, and the `least` of all checkpoints. Empty where it has none."""
    rows = [{"first": first, "second": second, "end": row["cosine"][-1], "least": min(row["cosine"])}
            for run in manifest.get("runs", ()) for row in run.get("behavior_cosines", ())
            for first, second in [row["behaviors"]]]
    if not rows:
        return pd.DataFrame(columns=COLUMNS)
    return pd.DataFrame(rows).groupby(["first", "second"], sort=False, as_index=False)[["end", "least"]].agg(np.mean)


def undecidable(manifest: Mapping[str, Any], compared: Iterable[tuple[str, str]]) -> str:
    """Why a result decides no statement on behaviors that are compared, by their titles; empty where it may, or says
    nothing of them."""
    pairs = {frozenset(pair) for pair in compared}
    near = [row for row in table(manifest).to_dict("records")
            if frozenset((row["first"], row["second"])) in pairs and row["least"] >= NEAR_ONE]
    if not near:
        return ""
    said = ", ".join(f"{row['first'].lower()} and {row['second'].lower()} ({row['least']:.2f})" for row in near)
    return (f"Behaviors that are compared have collinear mean query gradients, with a cosine of at least {NEAR_ONE} at "
            f"every checkpoint: {said}. A difference between them is inconclusive.")
