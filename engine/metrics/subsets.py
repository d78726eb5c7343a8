"""Agreement where not every candidate of a query takes part in all arrays: each query over those that do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from engine.metrics.agreement import of_signs

Compare = Callable[[np.ndarray], Mapping[str, np.ndarray]]


def over_known(compare: Compare, stack: np.ndarray, known: np.ndarray, signs: np.ndarray | None = None
               ) -> dict[str, np.ndarray]:
    """name -> (M, M, m) of `compare`, each query's from the candidates that take part there.

    compare: a stack (M, q, k) -> name -> (M, M, q), query by query. stack (M, m, k), known (m, k). signs (m, k): the
    candidates for metrics of signs, where they are others (`engine.metrics.positions`). NaN for a query with fewer than
    two candidates.
    """
    values = _over(compare, stack, known)
    if signs is None or not (apart := np.asarray((signs != known).any(1))).any():
        return values
    recomputed = _over(compare, stack[:, apart], signs[apart])
    for name in filter(of_signs, values):
        values[name][:, :, apart] = recomputed[name]
    return values


def _over(compare: Compare, stack: np.ndarray, known: np.ndarray) -> dict[str, np.ndarray]:
    whole = np.asarray(known.all(1))
    if whole.all():
        return dict(compare(stack))
    filled: dict[str, np.ndarray] = {}
    if whole.any():
        _fill(filled, compare(stack[:, whole]), whole, stack)
    for query in np.flatnonzero(~whole & (known.sum(1) > 1)):
        _fill(filled, compare(stack[:, query:query + 1, known[query]]), slice(query, query + 1), stack)
    return filled or {name: np.full_like(values, np.nan) for name, values in compare(stack).items()}


def _fill(filled: dict[str, np.ndarray], values: Mapping[str, np.ndarray], queries: np.ndarray | slice,
          stack: np.ndarray) -> None:
    for name, part in values.items():
        if name not in filled:
            filled[name] = np.full((len(stack), len(stack), stack.shape[1]), np.nan)
        filled[name][:, :, queries] = part
