"""The rows of a published table, picked by what they are and read seed by seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from engine.basics.errors import InvalidInput
from engine.metrics import seed_means

Row = Mapping[str, Any]


class Missing(InvalidInput):
    """A row that a statement needs was not run at this scale."""


@dataclass(frozen=True)
class TableRows:
    """Some rows of a table: column -> word or number."""

    rows: tuple[Row, ...]

    @classmethod
    def of(cls, *tables: pd.DataFrame) -> TableRows:
        """All rows of some tables."""
        return cls(tuple(row for table in tables for row in table.to_dict("records")))

    def where(self, keep: Callable[[Row], bool] = lambda row: True, /, **named: str) -> TableRows:
        """The rows whose columns hold these words, and that `keep` keeps; maybe none."""
        return TableRows(tuple(row for row in self.rows
                               if all(row[column] == word for column, word in named.items()) and keep(row)))

    def seeds(self, **named: str) -> np.ndarray:
        """(seeds,) of the one row that this names. Raises `Missing` where there is none."""
        chosen = self.where(**named).rows
        if not chosen:
            raise Missing(f"This scale has no row {', '.join(word for word in named.values() if word)}.")
        return points(chosen[0])

    def mean(self) -> np.ndarray:
        """(seeds,) averaged over the rows, which have the same seeds. Raises `Missing` where there are none."""
        if not self.rows:
            raise Missing("This scale lacks the rows that are compared here.")
        return np.mean([points(row) for row in self.rows], axis=0)

    @property
    def seed_counts(self) -> set[int]:
        """How many seeds the rows have; one number where differences within a seed can be taken."""
        return {len(points(row)) for row in self.rows}

    def names(self, column: str) -> list[str]:
        """The words of a column, in order."""
        return list(dict.fromkeys(row[column] for row in self.rows))

    def split(self, column: str) -> Iterator[tuple[str, TableRows]]:
        """The rows of each word of a column."""
        for word in self.names(column):
            yield word, self.where(**{column: word})

    def largest(self) -> Row:
        """The row with the largest mean. Raises `Missing` where there are no rows."""
        if not self.rows:
            raise Missing("This scale lacks the rows that are compared here.")
        return max(self.rows, key=lambda row: row["mean"])


def points(row: Row) -> np.ndarray:
    """(seeds,): the value of every seed."""
    return seed_means.split(row["seed_means"])
