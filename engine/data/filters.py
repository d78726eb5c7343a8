"""Which training examples are meant: a text that names rows, or says what is true of them.

    3, 10-14                              rows and ranges of rows
    label = Bag | Coat                    of one of these classes
    file = shoes/*_back.png               whose path fits; `*` stands for any text, `?` for any one character
    prompt = *mammal* & 0-999             both; a record has `prompt`, `response`, `answer`, `id` and `flag`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.basics.errors import InvalidInput
from engine.data.dataset import Dataset
from engine.data.records import Record
from engine.data.sampling import Sample

AND, OR, IS = "&", "|", "="
SHOWN = 8
"""Values that a sentence lists before it says how many more there are."""
_OF_RECORDS: dict[str, Callable[[Record], Sequence[str]]] = {
    "prompt": lambda record: [record.prompt], "response": lambda record: [record.response],
    "id": lambda record: [record.id], "flag": lambda record: record.flags}


@dataclass(frozen=True, eq=False)
class Listing:
    """The training examples of a draw, by what a filter can read of them.

    n: how many there are. fields: name -> the texts of an example, by its row; several where any of them may fit.
    """

    n: int
    fields: dict[str, Callable[[int], Sequence[str]]]

    @classmethod
    def of(cls, dataset: Dataset, sample: Sample) -> Listing:
        """What stands in the dataset of the sampled training set."""
        index, names = sample.train_index, dataset.class_names
        fields: dict[str, Callable[[int], Sequence[str]]] = {dataset.noun: lambda row: [names[sample.y_train[row]]]}
        if dataset.records is not None:
            records = dataset.records[0]
            fields |= {name: _read_at(read, records, index) for name, read in _OF_RECORDS.items()}
            return cls(len(index), fields)
        files, flags = dataset.files, dataset.flags
        if files:
            fields["file"] = lambda row: [files[index[row]]]
        if flags is not None:
            fields["flag"] = lambda row: ["wrong"] if flags[index[row]] else []
        return cls(len(index), fields)

    @classmethod
    def of_labels(cls, labels: np.ndarray) -> Listing:
        """Arrays of which nothing but their labels (n,) is known."""
        return cls(len(labels), {"label": lambda row: [str(labels[row])]})

    def rows(self, text: str) -> list[int]:
        """The rows that a text means, in ascending order. Raises `InvalidInput` for one that means none."""
        rows = set(range(self.n))
        for part in (part.strip() for part in text.split(AND)):
            name, given, pattern = (piece.strip() for piece in part.partition(IS))
            rows &= self._fitting(name.casefold(), pattern) if given else self._named(part)
        if not rows:
            raise InvalidInput(f"No training example matches `{text.strip()[:80]}`; change the filter.")
        return sorted(rows)

    def _named(self, text: str) -> set[int]:
        rows: set[int] = set()
        for low, high in _ranges(text):
            if high >= self.n:
                raise InvalidInput(f"There is no training example {high}; the rows are 0 to {self.n - 1:,}.")
            rows |= set(range(low, high + 1))
        return rows

    def _fitting(self, name: str, pattern: str) -> set[int]:
        if name not in self.fields:
            raise InvalidInput(f"`{name[:40]}` is not a field to filter by; use {_either(list(self.fields))}.")
        if not pattern:
            raise InvalidInput(f"`{name}` has no value to compare with; write for example {name} {IS} a*.")
        texts = [self.fields[name](row) for row in range(self.n)]
        fits = re.compile("|".join(_expression(one.strip()) for one in pattern.split(OR)), re.DOTALL | re.IGNORECASE)
        matches = {row for row, own in enumerate(texts) if any(fits.fullmatch(text) for text in own)}
        if not matches:
            known = list(dict.fromkeys(text for own in texts for text in own))
            raise InvalidInput(f"No training example has `{name} {IS} {pattern[:60]}`; there is {_either(known)}.")
        return matches


def rows_in(text: str, most: int) -> tuple[int, ...]:
    """Rows and ranges of rows, `3, 10-14`, in ascending order, at most `most` in all.

    Raises `InvalidInput` for what is no list of rows, and for one of too many.
    """
    rows: set[int] = set()
    for low, high in _ranges(text):
        if high - low < most:
            rows |= set(range(low, high + 1))
        if high - low >= most or len(rows) > most:
            raise InvalidInput(too_many(most))
    return tuple(sorted(rows))


def _ranges(text: str) -> Iterator[tuple[int, int]]:
    """(first, last) of every part of a list of rows."""
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, dash, last = (number.strip() for number in part.partition("-"))
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and len(first) < 10 and len(last) < 10):
            raise InvalidInput(f"`{part[:40]}` matches no training example; write rows and ranges, such as "
                               f"3, 10-14, or a filter, such as label {IS} cat.")
        if int(last) < int(first):
            raise InvalidInput(f"The range {first}-{last} runs backwards; write {last}-{first}.")
        yield int(first), int(last)


def too_many(most: int) -> str:
    """The sentence for a group that is too large."""
    return f"A group holds at most {most:,} examples here; select fewer."


def _read_at(read: Callable[[Record], Sequence[str]], records: Sequence[Record], index: np.ndarray
             ) -> Callable[[int], Sequence[str]]:
    return lambda row: read(records[index[row]])


def _expression(pattern: str) -> str:
    return re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")


def _either(values: Sequence[str]) -> str:
    """`a, b or c`, the first few of them."""
    shown = [f"`{value[:40]}`" for value in values[:SHOWN]]
    if len(values) > SHOWN:
        return f"{', '.join(shown)} or one of {len(values) - SHOWN:,} others"
    return " or ".join(filter(None, [", ".join(shown[:-1]), shown[-1]])) if shown else "none anywhere"
