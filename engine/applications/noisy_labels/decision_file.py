"""The table that each step of a review hands to the next: a row an example, with what is decided about its label.

    row, file      which example: the row of the search, and its file or name where the data have such
    label          the label that it came with, by name
    verdict        `wrong`, `fine`, `unsure`, or nothing where nobody decided yet
    right_label    the class to use instead, by name; nothing where none is known, and the example is removed

Other columns, such as the scores of methods, are passed over. Without the column `verdict` the label is the one to use,
and an empty one removes the example; there, and only there, a table by row alone gives the number of the class.
"""

from __future__ import annotations

import csv
import io
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.applications.decisions import FINE, UNSURE, WRONG, Decision
from engine.applications.noisy_labels.source import NoisyData
from engine.basics.csv_text import QUOTE
from engine.basics.delimited import plain
from engine.basics.errors import InvalidInput
from engine.basics.files import read_whole

MOST_BYTES = 200_000_000
FILE, ROW, LABEL, VERDICT, RIGHT = "file", "row", "label", "verdict", "right_label"
BEFORE = {LABEL: "given_name", RIGHT: "right_name"}
"""What a review called the labels by name when `right_label` was the number of a class."""
HOW = ("give the columns `file` or `row`, `label`, `verdict` and `right_label`, as `noisy-labels` and the review desk "
       "write them")


@dataclass(frozen=True)
class Line:
    """One row of the table, as texts."""

    example: str
    label: str
    verdict: str
    right: str
    note: str


@dataclass(frozen=True)
class DecisionFile:
    """A table that was read. by: the column that says which example. verdicts: whether it has them, or labels to use
    alone. data: the fingerprint of what was reviewed, empty where it is not said. called: its name in sentences."""

    lines: tuple[Line, ...]
    by: str
    verdicts: bool
    data: str
    called: str

    def decisions(self, data: NoisyData) -> list[Decision]:
        """What is decided, in the order of the table. Raises `InvalidInput` for an example or a class that there is
        not, where an example came with a corrected label, and where a right label is the one that it has."""
        if self.by == ROW and self.data not in ("", data.fingerprint):
            raise InvalidInput("This review belongs to another dataset, sample or label noise; choose the data that "
                               "it was made on, and import it there.")
        rows, now = _rows(data, self.by), time.time()
        decided = [self._decision(line, rows, data, now) for line in self.lines]
        return [decision for decision in decided if decision is not None]

    def _decision(self, line: Line, rows: Mapping[str, int], data: NoisyData, now: float) -> Decision | None:
        """Of one line; None where a label to use is the one that the example has."""
        row, names = self._row(line, rows, data), data.dataset.class_names
        given, right = names[data.evidence.y[row]], self._class(line.right, names)
        if self.verdicts and _known(line.label, names) != given:
            raise InvalidInput(f"`{line.example[:80]}` has the label `{given}` in these data and `{line.label[:60]}` "
                               f"in {self.called}; give the decisions about these data.")
        if right is None or names[right] != given:
            return Decision(row, line.verdict, right, line.note, now)
        if self.verdicts:
            raise InvalidInput(f"{self.called} calls the label of `{line.example[:80]}` wrong but gives the same "
                               f"label, `{given}`, as right; give another label, or mark it as fine.")
        return None

    def _row(self, line: Line, rows: Mapping[str, int], data: NoisyData) -> int:
        if (known := _known(line.example, rows)) in rows:
            return rows[known]
        if self.by == ROW:
            raise InvalidInput(f"There is no training example {line.example[:20]}; {self.called} may be of another "
                               "dataset.")
        if known in data.dataset.test_files:
            raise InvalidInput(f"`{line.example[:80]}` is one of the verified examples, which are not searched; leave "
                               "it out.")
        raise InvalidInput(f"`{line.example[:80]}` is not among the searched examples; use the file names of the "
                           "preview and of `suspicion.csv`.")

    def _class(self, text: str, names: Sequence[str]) -> int | None:
        if not text:
            return None
        if self.by == ROW and not self.verdicts:
            if int(text) >= len(names):
                raise InvalidInput(f"There is no such class to relabel to; use 0 to {len(names) - 1}.")
            return int(text)
        if (known := _known(text, names)) not in names:
            raise InvalidInput(f"There is no class `{text[:60]}`; there are {', '.join(names[:10])}.")
        return names.index(known)


def read_decisions(path: Path) -> DecisionFile:
    """The table in a file. Raises `MissingData` where there is none, and `InvalidInput` as `parse_decisions` does."""
    too_large = f"`{path}` is larger than {MOST_BYTES // 1_000_000} MB, more than a list of decisions; check the path."
    return parse_decisions(read_whole(path, "file", MOST_BYTES, too_large), f"`{path}`")


def parse_decisions(content: bytes, called: str) -> DecisionFile:
    """The table in the content of a CSV, without the rows that nobody decided.

    Raises `InvalidInput` for another file, one that decides nothing, and for an example that stands there twice.
    """
    try:
        header, *rows = [row for row in csv.reader(io.StringIO(plain(content)[0].decode("utf-8-sig")), strict=True)
                         if row]
        table = _Columns(header)
        lines = [table.line(row) for row in rows]
    except (ValueError, csv.Error):
        raise InvalidInput(f"{called} is not a CSV of decisions; {HOW}.") from None
    decided = tuple(line for line in lines if line.verdict)
    if not decided:
        raise InvalidInput(f"{called} has no decisions: no row has a verdict; write `{WRONG}` into the column "
                           f"`{VERDICT}`, and the right label next to it if it is known." if table.verdicts else
                           f"{called} changes nothing: it has no rows; add at least one change.")
    [(example, times)] = Counter(line.example for line in decided).most_common(1)
    if times > 1:
        raise InvalidInput(f"{called} names the same `{table.by}` twice, {example[:80]}; keep one of them.")
    for line in decided:
        _check(line, called)
    fingerprints = {row[header.index("data")] for row in rows} if "data" in header else {""}
    return DecisionFile(decided, table.by, table.verdicts, fingerprints.pop() if len(fingerprints) == 1 else "several",
                        called)


class _Columns:
    """Where the columns of a table are. Raises `ValueError` for a table that has none of the forms."""

    def __init__(self, header: list[str]) -> None:
        self.width = len(header)
        self.verdicts = VERDICT in header
        self.by = FILE if FILE in header else ROW
        names = BEFORE if set(BEFORE.values()) <= set(header) else {LABEL: LABEL, RIGHT: RIGHT}
        wanted = [self.by, *((names[LABEL], VERDICT, names[RIGHT]) if self.verdicts else (LABEL,))]
        if any(header.count(name) != 1 for name in wanted):
            raise ValueError("a column that is missing or appears twice")
        self.at = [header.index(name) for name in wanted]
        self.note = header.index("note") if "note" in header else None

    def line(self, row: list[str]) -> Line:
        if len(row) != self.width:
            raise ValueError("a line of another length")
        example, label, *decided = (row[at].strip() for at in self.at)
        if self.by == ROW:
            example = str(_number(example))
        note = "" if self.note is None else row[self.note].removeprefix(QUOTE)
        if self.verdicts:
            verdict, right = decided
            return Line(example, label, verdict or (WRONG if right else ""), right, note)
        if self.by == ROW and label:
            _number(label)
        return Line(example, "", WRONG, label, note)


def columns_of(data: NoisyData, rows: Sequence[int] | np.ndarray, decisions: Mapping[int, Decision]) -> dict[str, Any]:
    """The columns that say which examples `rows` are, and what is decided about them."""
    names, at = data.dataset.class_names, data.rows[np.asarray(rows, dtype=np.int64)]
    decided = [decisions.get(int(row)) for row in rows]
    return {ROW: np.asarray(rows, dtype=np.int64), "dataset_row": at,
            **({FILE: [data.dataset.files[row] for row in at]} if data.dataset.files else {}),
            LABEL: [names[data.evidence.y[row]] for row in rows],
            VERDICT: ["" if one is None else one.verdict for one in decided],
            RIGHT: ["" if one is None or one.label is None else names[one.label] for one in decided]}


def _check(line: Line, called: str) -> None:
    if line.verdict not in (WRONG, FINE, UNSURE):
        raise InvalidInput(f"`{line.verdict[:40]}` is not a verdict; use {WRONG}, {FINE}, {UNSURE}.")
    if line.right and line.verdict != WRONG:
        raise InvalidInput(f"{called} gives `{line.example[:80]}` a right label and calls its label {line.verdict}; a "
                           f"right label needs the verdict `{WRONG}`.")


def _rows(data: NoisyData, by: str) -> dict[str, int]:
    """What names each example -> its row."""
    if by == FILE and data.dataset.files:
        return {data.dataset.files[at]: row for row, at in enumerate(data.rows)}
    return {str(row): row for row in range(len(data.rows))} if by == ROW else {}


def _known(text: str, names: Collection[str]) -> str:
    """A text as it is, or without the apostrophe that keeps a spreadsheet from computing it."""
    return text if text in names else text.removeprefix(QUOTE)


def _number(text: str) -> int:
    """A whole number of a table; raises `ValueError` for other text, and for one that no row or label can have."""
    number = int(text)
    if not 0 <= number < 2**53:
        raise ValueError("out of range")
    return number
