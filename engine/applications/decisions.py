"""What people decided about rows of data: an append-only log in HOME, tied to the data that they looked at.

    HOME/reviews/<fingerprint>.sqlite   the last entry of a row that was not undone holds
"""

from __future__ import annotations

import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.basics.errors import StoreError, WhichfluenceError
from engine.basics.folders import home_folder
from engine.basics.transactions import immediate

WRONG, FINE, UNSURE = "wrong", "fine", "unsure"
LONGEST_NOTE = 2_000
SCHEMA = """
CREATE TABLE IF NOT EXISTS log (
    id INTEGER PRIMARY KEY, row INTEGER NOT NULL, verdict TEXT NOT NULL, label INTEGER, note TEXT NOT NULL,
    at REAL NOT NULL, undone INTEGER NOT NULL DEFAULT 0, session TEXT NOT NULL DEFAULT ''
) STRICT;
"""
ADD_SESSION = "ALTER TABLE log ADD COLUMN session TEXT NOT NULL DEFAULT ''"


@dataclass(frozen=True)
class Decision:
    """One verdict: row of the training set, `wrong`, `fine` or `unsure`, the right label where it is known, a note."""

    row: int
    verdict: str
    label: int | None = None
    note: str = ""
    at: float = 0.0


class Decisions(ABC):
    """The decisions about one set of data; several sessions may write at once, and every write is on disk.

    fingerprint: of the data. session: who decides here; each takes back its own decisions alone.
    """

    def __init__(self, fingerprint: str, root: Path | str | None = None, session: str = "") -> None:
        self.fingerprint, self.session = fingerprint, session
        self.path = Path(root or home_folder()) / "reviews" / f"{fingerprint}.sqlite"

    @abstractmethod
    def _checked(self, decision: Decision) -> Decision:
        """The decision, if it makes sense for these data. Raises `InvalidInput`."""

    def add(self, decisions: Iterable[Decision]) -> int:
        """Record decisions; how many. All of them or none. Raises as `decide` does."""
        checked = [self._checked(decision) for decision in decisions]
        with self._writing() as connection:
            for decision in checked:
                self._insert(connection, decision)
        return len(checked)

    def decide(self, row: int, verdict: str, label: int | None = None, note: str = "") -> Decision:
        """Record a verdict about a row. Raises `InvalidInput` for what makes no sense, `StoreError` for the disk."""
        decision = Decision(int(row), verdict, None if label is None else int(label), note.strip(), time.time())
        self.add([decision])
        return decision

    def decide_all(self, verdict: str, labels: Mapping[int, int | None]) -> int:
        """Record one verdict about many rows, each with its right label or None; how many. All of them or none, and
        one `undo` takes all back. Raises as `decide` does."""
        now = time.time()
        return self.add(Decision(int(row), verdict, None if label is None else int(label), at=now)
                        for row, label in labels.items())

    def undo(self) -> Decision | None:
        """Take back what this session decided last, one decision or many at once, and return the last of it; None where
        there is nothing to take back."""
        with self._writing() as connection:
            last = connection.execute("SELECT * FROM log WHERE undone = 0 AND session = ? ORDER BY id DESC LIMIT 1",
                                      (self.session,)).fetchone()
            if last is None:
                return None
            connection.execute("UPDATE log SET undone = 1 WHERE at = ? AND session = ? AND undone = 0",
                               (last["at"], self.session))
        return _decision(last)

    @property
    def has_own(self) -> bool:
        """Whether this session has a decision to take back."""
        if not self.path.is_file():
            return False
        with self._connected() as connection:
            cursor = connection.execute("SELECT 1 FROM log WHERE undone = 0 AND session = ? LIMIT 1", (self.session,))
            return cursor.fetchone() is not None

    def decisions(self) -> dict[int, Decision]:
        """row -> the decision that holds, in the order in which they were made."""
        if not self.path.is_file():
            return {}
        with self._connected() as connection:
            rows = connection.execute("SELECT * FROM log WHERE undone = 0 ORDER BY id").fetchall()
        standing: dict[int, Decision] = {}
        for row in rows:
            standing.pop(row["row"], None)
            standing[row["row"]] = _decision(row)
        return standing

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
