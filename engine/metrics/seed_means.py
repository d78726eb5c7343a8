"""The column `seed_means` of a table of results: the value of every seed in one cell, as in `0.512300 0.498100`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from engine.metrics.intervals import t_interval


def joined(values: Iterable[float]) -> str:
    """The cell that holds these values, seed by seed, to six decimal places; an undefined one is `nan`."""
    return " ".join(f"{value:.6f}" for value in values)


def split(cell: Any) -> np.ndarray:
    """(seeds,): the values of a cell; a reader of CSV makes the cell of one seed a number. Inverse of `joined`."""
    return np.array([float(value) for value in str(cell).split()])


def summary(values: Iterable[float]) -> dict[str, Any]:
    """The columns mean, ci95 (half width of the 95% t interval), n_seeds and seed_means of one row."""
    values = [float(value) for value in values]
    mean, half = t_interval(values)
    return {"mean": mean, "ci95": half, "n_seeds": len(values), "seed_means": joined(values)}
