"""Whether the first row of a table of numbers names its columns, or is a row of scores like the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.basics.errors import InvalidInput

if TYPE_CHECKING:
    from engine.problems import Problem

NAMES, SCORES, AUTO = "names", "scores", "auto"
CHOICES = {NAMES: "the names of the columns", SCORES: "a row of scores"}


@dataclass(frozen=True)
class Numbering:
    """What a table of a problem may look like. queries: m; candidates: their numbers (k,); n: training examples.
    ids: what records are called, of the training set and of the queries, each by its number; empty without records."""

    queries: int
    candidates: tuple[int, ...]
    n: int
    ids: tuple[Mapping[str, int], ...] = ()

    @classmethod
    def of(cls, problem: Problem) -> Numbering:
        ids = tuple({name: number for number, name in enumerate(names)} for names in problem.ids)
        return cls(len(problem.queries), tuple(problem.candidates.tolist()), problem.n, ids)

    def numbers(self, names: Iterable[object], what: str) -> np.ndarray | None:
        """The numbers of records that are called by their ids, int64; None where no name is an id.

        Raises `InvalidInput` where some are ids and others are not.
        """
        texts = [str(name).strip() for name in names]
        known = max(self.ids, key=lambda ids: sum(text in ids for text in texts), default={})
        odd = next((text for text in texts if text not in known), None)
        if not any(text in known for text in texts):
            return None
        if odd is not None:
            raise InvalidInput(f"The {what} are named by ids of records, but `{odd[:40]}` is not one of this "
                               "problem's; import scores of this problem, or choose the problem that they were "
                               "computed on.")
        return np.array([known[text] for text in texts], dtype=np.int64)

    def fits(self, rows: int, columns: int) -> bool:
        """Whether a table of that shape is one of queries and training examples, either way round."""
        sizes = (len(self.candidates), self.n)
        return (rows == self.queries and columns in sizes) or (columns == self.queries and rows in sizes)

    def names(self, numbers: Sequence[int]) -> bool:
        """Whether these are the candidates, or all training examples, in any order."""
        return sorted(numbers) in (sorted(self.candidates), list(range(self.n)))


@dataclass(frozen=True)
class FirstRow:
    """How a first row is read. remark: a sentence for the reader; doubt: why the user should say it, empty if clear."""

    kind: str
    remark: str = ""
    doubt: str = ""


def judge(cells: Sequence[str], rows: int, known: Numbering | None = None) -> FirstRow:
    """What the first row is. rows: how many rows follow it; known: the problem that the table is for.

    Text names columns, and so do 0, 1, 2, … in order. Other distinct whole numbers do where they are the problem's
    candidates: then the rows below have to be as many as its queries, and where one is missing the shape says so.
    Where the rows below are as many as they should be and the numbers are others, it is left to the reader.
    """
    cells = [cell.strip() for cell in cells]
    if any(not is_number(cell) for cell in cells):
        return FirstRow(NAMES)
    counted = len(cells) > 1 and cells == [str(number) for number in range(len(cells))]
    whole = len(cells) > 1 and all(cell.isdecimal() for cell in cells) and len(set(cells)) == len(cells)
    if known is None or not whole:
        return FirstRow(NAMES if counted else SCORES)
    named = counted or known.names([int(cell) for cell in cells])
    with_it, without = known.fits(rows + 1, len(cells)), known.fits(rows, len(cells))
    if named:
        what = f"0 to {len(cells) - 1:,}" if counted else "the numbers of the training examples"
        return FirstRow(NAMES, f"The first row holds {what}, and is read as the names of the columns.")
    if without and not with_it:
        return FirstRow(NAMES, doubt="The first row holds whole numbers that do not number the candidates, and "
                                     f"without it the table has the expected {rows:,} rows; specify whether it is a "
                                     "header or scores.")
    return FirstRow(SCORES)


def said(first_row: str, judged: FirstRow) -> FirstRow:
    """The first row as the reader says it is, or as it was judged where that is left to the data."""
    if first_row == AUTO:
        return judged
    against = ", although it looks like " + CHOICES[judged.kind] if judged.kind != first_row and (
        judged.remark or judged.doubt) else ""
    return FirstRow(first_row, f"The first row is read as {CHOICES[first_row]}, as chosen{against}.")


def is_number(text: str) -> bool:
    """Whether a cell holds a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
