"""Agreement where not every candidate of a query has a score in all arrays: each query over those that have."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

Compare = Callable[[np.ndarray], Mapping[str, np.ndarray]]


def over_known(compare: Compare, stack: np.ndarray, known: np.ndarray) -> dict[str, np.ndarray]:
    """name -> (M, M, m) of `compare`, each query's from the candidates that are known there.

    compare: a stack (M, q, k) -> name -> (M, M, q), query by query. stack (M, m, k), known (m, k). NaN for a query
    with fewer than two known candidates.
    """
    whole = np.asarray(known.all(1))
    if whole.all():
        return dict(compare(stack))
    found: dict[str, np.ndarray] = {}
    if whole.any():
        _fill(found, compare(stack[:, whole]), whole, stack)
    for query in np.flatnonzero(~whole & (known.sum(1) > 1)):
        _fill(found, compare(stack[:, query:query + 1, known[query]]), slice(query, query + 1), stack)
    return found or {name: np.full_like(values, np.nan) for name, values in compare(stack).items()}


def _fill(found: dict[str, np.ndarray], values: Mapping[str, np.ndarray], queries: np.ndarray | slice,
          stack: np.ndarray) -> None:
    for name, part in values.items():
        if name not in found:
            found[name] = np.full((len(stack), len(stack), stack.shape[1]), np.nan)
        found[name][:, :, queries] = part
