"""What people decided about rows of data: an append-only log in HOME, tied to the data that they looked at.

    HOME/reviews/<fingerprint>.sqlite   the last entry of a row that was not undone holds
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.basics.databases import database_errors
from engine.basics.errors import InvalidInput
from engine.basics.folders import home_folder
from engine.basics.transactions import immediate

VERDICTS = WRONG, FINE, UNSURE = "wrong", "fine", "unsure"
LONGEST_NOTE = 2_000
SCHEMA = """
CREATE TABLE IF NOT EXISTS log (
    id INTEGER PRIMARY KEY, row INTEGER NOT NULL, verdict TEXT NOT NULL, label INTEGER, note TEXT NOT NULL,
    at REAL NOT NULL, undone INTEGER NOT NULL DEFAULT 0, session TEXT NOT NULL DEFAULT '',
    event TEXT NOT NULL DEFAULT '', text TEXT NOT NULL DEFAULT ''
) STRICT;
"""
COLUMNS_ADDED = ("session", "event", "text")
MOST_HISTORY = 200


@dataclass(frozen=True)
class Decision:
    """One verdict: row of the training set, `wrong`, `fine` or `unsure`, the right label where it is known, a note.

    event: the act that made it, one name for all that were decided at once; empty before it is recorded.
    session: who decided. text: what is to stand in place of a wrong text, empty where that is not known.
    """

    row: int
    verdict: str
    label: int | None = None
    note: str = ""
    at: float = 0.0
    event: str = ""
    session: str = ""
    text: str = ""


class DecidedMeanwhile(InvalidInput):
    """Another decision about the row was recorded since it was looked at; `decision` is that one."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"Row {decision.row:,} has been decided by someone else: {decision.verdict}.")
        self.decision = decision


class Decisions(ABC):
    """The decisions about one set of data; several sessions may write at once, and every write is on disk.

    fingerprint: of the data. session: who decides here; each takes back its own decisions alone.
    """

    def __init__(self, fingerprint: str, root: Path | str | None = None, session: str = "") -> None:
        self.fingerprint, self.session = fingerprint, session
        self.path = Path(root or home_folder()) / "reviews" / f"{fingerprint}.sqlite"

    def _checked(self, decision: Decision) -> Decision:
        """The decision, if it makes sense for these data. Raises `InvalidInput`."""
        if decision.verdict not in VERDICTS:
            raise InvalidInput(f"`{decision.verdict[:40]}` is not a verdict; use {', '.join(VERDICTS)}.")
        self._check(decision)
        if len(decision.note) > LONGEST_NOTE:
            raise InvalidInput(f"The note is longer than {LONGEST_NOTE:,} characters; shorten it.")
        return decision

    @abstractmethod
    def _check(self, decision: Decision) -> None:
        """Raises `InvalidInput` for a row, a label or a text that these data have not."""

    def add(self, decisions: Iterable[Decision], event: str = "", seen: str | None = None) -> int:
        """Record decisions as one act; how many. All of them or none, and once: an `event` that was recorded before,
        be it undone since, changes nothing. seen: the event of the decision that stood when the rows were looked at,
        empty for none; where another stands now, `DecidedMeanwhile` is raised. Raises as `decide` does."""
        checked = [self._checked(decision) for decision in decisions]
        event = event or secrets.token_hex(8)
        with self._writing() as connection:
            if connection.execute("SELECT 1 FROM log WHERE event = ? LIMIT 1", (event,)).fetchone():
                return 0
            for decision in checked:
                if seen is not None:
                    self._as_seen(connection, decision.row, seen)
                self._record(connection, decision, event)
        return len(checked)

    def decide(self, row: int, verdict: str, label: int | None = None, note: str = "", event: str = "",
               seen: str | None = None, text: str = "") -> Decision:
        """Record a verdict about a row; `event` and `seen` as `add` has them. Raises `InvalidInput` for what makes no
        sense, `StoreError` for the disk."""
        decision = Decision(int(row), verdict, None if label is None else int(label), note.strip(), time.time(),
                            text=text.strip())
        self.add([decision], event, seen)
        return decision

    def decide_all(self, verdict: str, labels: Mapping[int, int | None], seen: Mapping[int, Decision]) -> int:
        """Record one verdict about many rows, each with its right label or None; how many. One `undo` takes all back.
        seen: the decisions that stood when the rows were looked at; a row about which another stands now is left as it
        is. Raises as `decide` does, and records none of them then."""
        now, event = time.time(), secrets.token_hex(8)
        checked = [self._checked(Decision(int(row), verdict, None if label is None else int(label), at=now))
                   for row, label in labels.items()]
        with self._writing() as connection:
            fresh = [one for one in checked if _event(self._standing(connection, one.row)) == _event(seen.get(one.row))]
            for one in fresh:
                self._record(connection, one, event)
        return len(fresh)

    def undo(self) -> Decision | None:
        """Take back what this session decided last, one decision or many at once, and return the last of it; None where
        there is nothing to take back."""
        with self._writing() as connection:
            last = connection.execute("SELECT * FROM log WHERE undone = 0 AND session = ? ORDER BY id DESC LIMIT 1",
                                      (self.session,)).fetchone()
            if last is None:
                return None
            connection.execute("UPDATE log SET undone = 1 WHERE event = ?", (last["event"],))
        return _decision(last)

    def take_back(self, event: str) -> None:
        """Take back what one act decided, whoever did it and whenever: what stood before it holds again, or nothing.
        Nothing happens where it was taken back already. Another's later decision about the same row stays."""
        with self._writing() as connection:
            connection.execute("UPDATE log SET undone = 1 WHERE event = ?", (event,))

    def history(self) -> list[Decision]:
        """The last decisions that were not taken back, the newest first, those that a later one replaces among them."""
        if not self.path.is_file():
            return []
        with self._connected() as connection:
            rows = connection.execute("SELECT * FROM log WHERE undone = 0 ORDER BY id DESC LIMIT ?", (MOST_HISTORY,))
            return [_decision(row) for row in rows.fetchall()]

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
        with database_errors(self.path, "the review", "move it away; the review then starts empty"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=10.0, isolation_level=None)) as connection:
                connection.row_factory = sqlite3.Row
                connection.executescript(SCHEMA)
                _complete(connection)
                yield connection

    def _as_seen(self, connection: sqlite3.Connection, row: int, seen: str) -> None:
        standing = self._standing(connection, row)
        if standing is not None and standing.event != seen:
            raise DecidedMeanwhile(standing)

    def _standing(self, connection: sqlite3.Connection, row: int) -> Decision | None:
        last = connection.execute("SELECT * FROM log WHERE row = ? AND undone = 0 ORDER BY id DESC LIMIT 1",
                                  (row,)).fetchone()
        return None if last is None else _decision(last)

    def _record(self, connection: sqlite3.Connection, decision: Decision, event: str) -> None:
        connection.execute("INSERT INTO log (row, verdict, label, note, at, session, event, text) "
                           "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                           (decision.row, decision.verdict, decision.label, decision.note, decision.at, self.session,
                            event, decision.text))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._connected() as connection, immediate(connection):
            yield connection


def _complete(connection: sqlite3.Connection) -> None:
    """Give an older log its columns. What is in it was nobody's session, and each entry was an act of its own."""
    present = {column["name"] for column in connection.execute("PRAGMA table_info(log)")}
    if missing := [name for name in COLUMNS_ADDED if name not in present]:
        with immediate(connection):
            for name in missing:
                _add_column(connection, name)
            connection.execute("UPDATE log SET event = 'at ' || at || ' ' || session WHERE event = ''")
    connection.execute("CREATE INDEX IF NOT EXISTS log_by_event ON log (event)")


def _add_column(connection: sqlite3.Connection, name: str) -> None:
    try:
        connection.execute(f"ALTER TABLE log ADD COLUMN {name} TEXT NOT NULL DEFAULT ''")
    except sqlite3.OperationalError as error:
        if "duplicate column" not in str(error):  # another process was faster
            raise


def _decision(row: sqlite3.Row) -> Decision:
    return Decision(row["row"], row["verdict"], row["label"], row["note"], row["at"], row["event"], row["session"],
                    row["text"])


def _event(decision: Decision | None) -> str:
    return "" if decision is None else decision.event
