"""Which column of a user's table is what: its label, its split, and what names a row."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.basics.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

LABELS = ("label", "labels", "target", "class", "y", "category", "species", "outcome", "klasse", "kategorie", "etikett")
SPLITS = ("split", "set", "subset", "partition")
NAMES = ("path", "file", "id", "name")
"""Columns that may name an example, the first of them that is there."""
MOST_CLASSES = 30
MOST_CHOICES = 500
CHOSEN, CALLED, ALONE, LAST = "as chosen", "by its name", "the only one with few distinct texts", "the last one"
"""How the column of the labels is known; the last three are guesses."""
OTHERWISE = "choose another column"


class UnclearLabels(InvalidInput):
    """No column is sure to hold the labels, or the one that was taken cannot.

    choices: every column with what it holds, in words, those that look like classes first; the first is the guess.
    """

    def __init__(self, sentence: str, frame: pd.DataFrame):
        super().__init__(sentence)
        order = sorted(list(frame.columns)[:-MOST_CHOICES - 1:-1], key=_unlike(frame))
        self.choices = {str(one): _described(frame[one]) for one in order}


def find(frame: pd.DataFrame, names: tuple[str, ...]) -> str | None:
    """The first of `names`, in any case, that is a column."""
    known = {str(column).casefold(): column for column in reversed(list(frame.columns))}
    return next((known[name] for name in names if name in known), None)


def label_column(frame: pd.DataFrame, chosen: str = "") -> tuple[str, str]:
    """(the column with the labels, how it is known; empty where it is called `label`).

    chosen: the column that the user named. Raises `InvalidInput` where there is none such, and where nothing tells.
    """
    if chosen:
        if chosen not in frame.columns:
            raise UnclearLabels(f"The table has no column `{chosen[:60]}`; it has {_listed(frame)}.", frame)
        return chosen, CHOSEN
    named = find(frame, LABELS) or next((one for one in frame.columns if set(LABELS[:4]) & set(
        re.split(r"[^a-z]+", str(one).casefold()))), None)
    if named is not None:
        return named, "" if named == LABELS[0] else CALLED
    fitting = [one for one in frame.columns if one != find(frame, NAMES) and one != find(frame, SPLITS)
               and _is_like_classes(frame[one])]
    marks = [one for one in fitting if frame[one].isin([0, 1]).all()]
    if len(marks) > 1 and (frame[marks].sum(axis=1) == 1).all():
        raise UnclearLabels(f"Of {_listed(frame[marks])} one is 1 in every row, as with one-hot classes; write "
                            "the name of the class into one column `label`, or choose a column.", frame)
    texts = [one for one in fitting if frame[one].dtype.kind not in "iu"]
    last = frame.columns[-1] if len(frame.columns) else None
    guess = texts[0] if len(texts) == 1 else last if last in fitting else None
    if _are_cells(frame.columns):
        raise InvalidInput(f"The names of the columns, {_listed(frame)}, look like a row of data; put a row of names "
                           "above the data.")
    if guess is None:
        raise UnclearLabels(f"The table has no column `label`, and none of {_listed(frame)} is certainly the label "
                            "column; name it `label`, or choose another column.", frame)
    return guess, ALONE if len(texts) == 1 else LAST


def label_sentence(column: str, how: str) -> str:
    """Which column holds the labels, as `label_column` knows it; empty where it is called `label`."""
    otherwise = "" if how == CHOSEN else "; choose another one if they are not"
    return f"The labels are the column `{column[:60]}`, {how}{otherwise}." if how else ""


def are_measured(values: pd.Series, classes: int) -> bool:
    """Whether values, of which so many are distinct, are numbers that measure: too many of them for classes, and some
    with a fraction or most of them there once."""
    import pandas as pd

    numbers = pd.to_numeric(values, errors="coerce")
    if not numbers.notna().all():
        return False
    fractions, half = (numbers % 1 != 0).any(), len(values) // 2
    return bool(classes > (min(MOST_CLASSES, half) if fractions else max(MOST_CLASSES, half)))


def _are_cells(names: pd.Index) -> bool:
    """Whether names of columns are numbers that do not count the columns."""
    numbers = [str(name) for name in names if re.fullmatch(r"[+-]?\d*\.?\d+([eE][+-]?\d+)?(\.\d+)?", str(name))]
    counted = all(name.isdecimal() for name in numbers) and [int(name) for name in numbers] == list(
        range(int(numbers[0]), int(numbers[0]) + len(numbers))) if numbers else True
    return not counted


def _is_like_classes(values: pd.Series) -> bool:
    if values.dtype.kind == "f" or values.map(lambda value: isinstance(value, (list, dict))).any():
        return False
    try:
        return 2 <= values.nunique() <= min(MOST_CLASSES, max(2, len(values) // 2))
    except TypeError:  # arrays and objects, which tell nothing
        return False


def _unlike(frame: pd.DataFrame) -> Callable[[str], int]:
    """How little a column looks like labels: 0 for a few texts, 1 for a few numbers, 2 for what names a row or a split,
    3 for anything else."""
    others = find(frame, NAMES), find(frame, SPLITS)
    return lambda column: 2 if column in others else 3 if not _is_like_classes(frame[column]) else int(
        frame[column].dtype.kind in "iu")


def _described(values: pd.Series) -> str:
    """How many values there are, with some of them."""
    unlike = values.dropna().astype(str).drop_duplicates()
    some = ", ".join(value[:20] for value in unlike.head(3))
    return f"{len(unlike):,} value{'' if len(unlike) == 1 else 's'}: {some}{', …' if len(unlike) > 3 else ''}"


def _listed(frame: pd.DataFrame) -> str:
    names = [f"`{str(name)[:40]}`" for name in frame.columns]
    return ", ".join(names[:8]) + (f" and {len(names) - 8:,} more" if len(names) > 8 else "") or "no columns"
