"""What people decided about suspicious labels: kept in HOME, tied to the pictures and labels that they looked at.

    HOME/reviews/<fingerprint>.sqlite   an append-only log; the last entry of a row that was not undone holds
"""

from __future__ import annotations

import io
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from engine.applications.noisy_labels.source import NoisyData
from engine.basics.csv_text import csv_text
from engine.basics.errors import InvalidInput, StoreError, WhichfluenceError
from engine.basics.folders import home_folder
from engine.basics.transactions import immediate

WRONG, FINE, UNSURE = "wrong", "fine", "unsure"
VERDICTS = {WRONG: "wrong label", FINE: "fine", UNSURE: "unsure"}
LONGEST_NOTE = 2_000
MOST_BYTES = 50_000_000
SCHEMA = """
CREATE TABLE IF NOT EXISTS log (
    id INTEGER PRIMARY KEY, row INTEGER NOT NULL, verdict TEXT NOT NULL, label INTEGER, note TEXT NOT NULL,
    at REAL NOT NULL, undone INTEGER NOT NULL DEFAULT 0, session TEXT NOT NULL DEFAULT ''
) STRICT;
"""
ADD_SESSION = "ALTER TABLE log ADD COLUMN session TEXT NOT NULL DEFAULT ''"
COLUMNS = ("data", "row", "dataset_row", "given_label", "given_name", "verdict", "right_label", "right_name", "note",
           "decided_at")


@dataclass(frozen=True)
class Decision:
    """One verdict: row of the training set, `wrong`, `fine` or `unsure`, the right label where it is known, a note."""

    row: int
    verdict: str
    label: int | None = None
    note: str = ""
    at: float = 0.0


class Review:
    """The decisions about one dataset; several sessions may write at once, and every write is on disk.

    session: who decides here; each takes back its own decisions alone.
    """

    def __init__(self, data: NoisyData, root: Path | str | None = None, session: str = "") -> None:
        self.data, self.session = data, session
        self.path = Path(root or home_folder()) / "reviews" / f"{data.fingerprint}.sqlite"

    def decide(self, row: int, verdict: str, label: int | None = None, note: str = "") -> Decision:
        """Record a verdict about a row. Raises `InvalidInput` for what makes no sense, `StoreError` for the disk."""
        decision = self._checked(Decision(int(row), verdict, None if label is None else int(label), note.strip(),
                                          time.time()))
        with self._writing() as connection:
            self._insert(connection, decision)
        return decision

    def decide_all(self, verdict: str, labels: Mapping[int, int | None]) -> int:
        """Record one verdict about many rows, each with its right label or None; how many. All of them or none, and
        one `undo` takes all back. Raises as `decide` does."""
        now = time.time()
        decisions = [self._checked(Decision(int(row), verdict, None if label is None else int(label), at=now))
                     for row, label in labels.items()]
        with self._writing() as connection:
            for decision in decisions:
                self._insert(connection, decision)
        return len(decisions)

    def undo(self) -> Decision | None:
        """Take back what this session decided last, one decision or many at once, and return the last of it; None where
        there is nothing to take back."""
        with self._writing() as connection:
            found = connection.execute("SELECT * FROM log WHERE undone = 0 AND session = ? ORDER BY id DESC LIMIT 1",
                                       (self.session,)).fetchone()
            if found is None:
                return None
            connection.execute("UPDATE log SET undone = 1 WHERE at = ? AND session = ? AND undone = 0",
                               (found["at"], self.session))
        return _decision(found)

    @property
    def has_own(self) -> bool:
        """Whether this session has a decision to take back."""
        if not self.path.is_file():
            return False
        with self._connected() as connection:
            found = connection.execute("SELECT 1 FROM log WHERE undone = 0 AND session = ? LIMIT 1", (self.session,))
            return found.fetchone() is not None

    def decisions(self) -> dict[int, Decision]:
        """row -> the decision that holds, in the order in which they were made."""
        if not self.path.is_file():
            return {}
        with self._connected() as connection:
            rows = connection.execute("SELECT * FROM log WHERE undone = 0 ORDER BY id").fetchall()
        found: dict[int, Decision] = {}
        for row in rows:
            found.pop(row["row"], None)
            found[row["row"]] = _decision(row)
        return found

    def table(self) -> pd.DataFrame:
        """The decisions as they are exported, one row a decision."""
        given, names, rows = self.data.evidence.y, self.data.dataset.class_names, []
        files = self.data.dataset.files
        for decision in self.decisions().values():
            label = decision.label
            rows.append((self.data.fingerprint, decision.row, int(self.data.rows[decision.row]),
                         int(given[decision.row]), names[given[decision.row]], decision.verdict,
                         "" if label is None else str(label), "" if label is None else names[label], decision.note,
                         time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(decision.at))))
        table = pd.DataFrame(rows, columns=list(COLUMNS))
        if files:
            table.insert(1, "file", [files[self.data.rows[row]] for row in self.decisions()])
        return table

    def to_csv(self) -> str:
        """The decisions as CSV; texts that a spreadsheet would take for a formula are quoted with an apostrophe."""
        return csv_text(self.table())

    def import_csv(self, content: bytes) -> int:
        """Add the decisions of an exported file; how many. All of them or none.

        Raises `InvalidInput` for another file, and for a review of another dataset.
        """
        decisions = [self._checked(decision) for decision in self._parsed(content)]
        with self._writing() as connection:
            for decision in decisions:
                self._insert(connection, decision)
        return len(decisions)

    def _parsed(self, content: bytes) -> list[Decision]:
        if len(content) > MOST_BYTES:
            raise InvalidInput(f"The review file is larger than {MOST_BYTES // 1_000_000} MB; give an exported one.")
        try:
            table = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False, encoding="utf-8")
        except (ValueError, pd.errors.ParserError):
            raise InvalidInput("The review file is not a CSV that can be read; give one that was exported "
                               "here.") from None
        if missing := [column for column in COLUMNS if column not in table]:
            raise InvalidInput(f"The review file has no column `{missing[0]}`; give one that was exported here.")
        if (table["data"] != self.data.fingerprint).any():
            raise InvalidInput("This review is of another dataset, or of another draw or noise of it; choose the data "
                               "that it was made on, and import it there.")
        now = time.time()
        try:
            return [Decision(int(row), verdict, int(label) if label else None, note.removeprefix("'"), now)
                    for row, verdict, label, note in zip(table["row"], table["verdict"], table["right_label"],
                                                         table["note"], strict=True)]
        except ValueError:
            raise InvalidInput("The review file has a row or a label that is not a number; correct it.") from None

    def _checked(self, decision: Decision) -> Decision:
        classes, n = self.data.evidence.classes, len(self.data.evidence.y)
        if decision.verdict not in VERDICTS:
            raise InvalidInput(f"`{decision.verdict[:40]}` is no verdict; use {', '.join(VERDICTS)}.")
        if not 0 <= decision.row < n:
            raise InvalidInput(f"There is no training example {decision.row}; they are numbered 0 to {n - 1:,}.")
        if decision.label is not None:
            if decision.verdict != WRONG:
                raise InvalidInput("A right label goes with the verdict `wrong` alone; leave it out.")
            if not 0 <= decision.label < classes:
                raise InvalidInput(f"There is no class {decision.label}; use 0 to {classes - 1}.")
            if decision.label == self.data.evidence.y[decision.row]:
                raise InvalidInput("The right label is the given one; choose another, or call it fine.")
        if len(decision.note) > LONGEST_NOTE:
            raise InvalidInput(f"The note is longer than {LONGEST_NOTE:,} letters; shorten it.")
        return decision

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=10.0, isolation_level=None)) as connection:
                connection.row_factory = sqlite3.Row
                connection.executescript(SCHEMA)
                _complete(connection)
                yield connection
        except (sqlite3.DatabaseError, OSError) as error:
            if isinstance(error, WhichfluenceError):
                raise
            raise StoreError(f"The review `{self.path.name[:16]}…` cannot be used ({error}); check the disk and its "
                             "permissions, or move the file away.") from error

    def _insert(self, connection: sqlite3.Connection, decision: Decision) -> None:
        connection.execute("INSERT INTO log (row, verdict, label, note, at, session) VALUES (?, ?, ?, ?, ?, ?)",
                           (decision.row, decision.verdict, decision.label, decision.note, decision.at, self.session))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._connected() as connection, immediate(connection):
            yield connection


def _complete(connection: sqlite3.Connection) -> None:
    """Give a log from before sessions were told apart its column; its entries are nobody's to take back."""
    if not any(column["name"] == "session" for column in connection.execute("PRAGMA table_info(log)")):
        try:
            connection.execute(ADD_SESSION)
        except sqlite3.OperationalError as error:
            if "duplicate column" not in str(error):  # another process was faster
                raise


def _decision(row: sqlite3.Row) -> Decision:
    return Decision(row["row"], row["verdict"], row["label"], row["note"], row["at"])


def verified_by(data: NoisyData, decisions: Mapping[int, Decision]) -> dict[str, str]:
    """file -> the verified class of every example whose label somebody looked at and knows: an empty text where it is
    the given one. What `engine.data.readings.Reading` takes as trusted."""
    files, names = data.dataset.files, data.dataset.class_names
    known = {decision.row: "" if decision.verdict == FINE else names[decision.label or 0]
             for decision in decisions.values()
             if decision.verdict == FINE or (decision.verdict == WRONG and decision.label is not None)}
    return {files[data.rows[row]]: name for row, name in known.items()}


def consequences(decisions: Mapping[int, Decision]) -> tuple[list[int], dict[int, int]]:
    """(rows to remove, rows to relabel with their label): wrong without and wrong with the right label."""
    wrong = [decision for decision in decisions.values() if decision.verdict == WRONG]
    return (sorted(decision.row for decision in wrong if decision.label is None),
            {decision.row: decision.label for decision in wrong if decision.label is not None})


def cleaned(data: NoisyData, decisions: Mapping[int, Decision]) -> pd.DataFrame:
    """The training set after the review: `dataset_row`, the row in the dataset's training split, and its `label`."""
    removed, relabelled = consequences(decisions)
    labels, kept = data.evidence.y.copy(), np.ones(len(data.evidence.y), dtype=bool)
    kept[removed] = False
    for row, label in relabelled.items():
        labels[row] = label
    return pd.DataFrame({"dataset_row": data.rows[kept], "label": labels[kept]}).sort_values(
        "dataset_row", ignore_index=True)
