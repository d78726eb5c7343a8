"""What was predicted in lessons, by whom nobody can tell: one row a browser and lesson, and what a class is shown.

    HOME/lessons.sqlite   the newest `MOST` rows, none older than `LONGEST` seconds
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from engine.basics.databases import database_errors
from engine.basics.errors import InvalidInput
from engine.basics.folders import home_folder
from engine.basics.transactions import immediate

MOST, LONGEST = 20_000, 12 * 3600.0
MOST_VISITORS = 200
"""Browsers whose answers a class counts; a further one is told that the class is full."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    visitor TEXT NOT NULL, lesson TEXT NOT NULL, guess INTEGER, opened INTEGER NOT NULL DEFAULT 0,
    joined INTEGER NOT NULL DEFAULT 0, at REAL NOT NULL, PRIMARY KEY (visitor, lesson)
) STRICT;
CREATE TABLE IF NOT EXISTS shown (
    id INTEGER PRIMARY KEY CHECK (id = 1), step TEXT NOT NULL, stage TEXT NOT NULL
) STRICT;
"""


class Answer(NamedTuple):
    """guess: the index of the predicted option, None where none was given; opened: whether the result was seen."""

    guess: int | None = None
    opened: bool = False


class Answers:
    """Predictions of all browsers; several sessions may write at once. root: default, the home folder."""

    def __init__(self, root: Path | str | None = None) -> None:
        self.path = Path(root or home_folder()) / "lessons.sqlite"

    def of(self, visitor: str) -> dict[str, Answer]:
        """Lesson -> what this browser answered there."""
        with self._connected() as connection:
            rows = connection.execute("SELECT lesson, guess, opened FROM answers WHERE visitor = ?", (visitor,))
            return {lesson: Answer(guess, bool(opened)) for lesson, guess, opened in rows}

    def keep(self, visitor: str, lesson: str, answer: Answer, joined: bool = False) -> None:
        """Record what a browser answers, instead of what it answered before.

        Raises `InvalidInput` for a new visitor of a class that has `MOST_VISITORS`.
        """
        with self._connected() as connection, immediate(connection):
            if joined and not self._admits(connection, visitor):
                raise InvalidInput(f"This class has {MOST_VISITORS} devices already; share a device with a neighbour.")
            connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)",
                               (visitor, lesson, answer.guess, answer.opened, joined, time.time()))
            connection.execute("DELETE FROM answers WHERE at < ? OR rowid <= (SELECT max(rowid) FROM answers) - ?",
                               (time.time() - LONGEST, MOST))

    def forget(self, visitor: str, lesson: str) -> None:
        """As if this browser had not answered a lesson."""
        with self._connected() as connection:
            connection.execute("DELETE FROM answers WHERE visitor = ? AND lesson = ?", (visitor, lesson))

    def counts(self, lesson: str, options: int) -> list[int]:
        """How many of the class chose each of so many options."""
        with self._connected() as connection:
            rows = dict(connection.execute("SELECT guess, count(*) FROM answers WHERE lesson = ? AND joined = 1 "
                                           "AND guess IS NOT NULL GROUP BY guess", (lesson,)).fetchall())
        return [rows.get(option, 0) for option in range(options)]

    def show(self, step: str, stage: str) -> None:
        """What the class is shown from now on."""
        with self._connected() as connection:
            connection.execute("INSERT OR REPLACE INTO shown VALUES (1, ?, ?)", (step, stage))

    def shown(self) -> tuple[str, str] | None:
        """Step and stage that the class is shown; None before it begins."""
        with self._connected() as connection:
            return connection.execute("SELECT step, stage FROM shown").fetchone()

    def clear(self) -> None:
        """A new class: the answers of the one before are deleted, and what it was shown."""
        with self._connected() as connection, immediate(connection):
            connection.execute("DELETE FROM answers WHERE joined = 1")
            connection.execute("DELETE FROM shown")

    @staticmethod
    def _admits(connection: sqlite3.Connection, visitor: str) -> bool:
        others, = connection.execute("SELECT count(DISTINCT visitor) FROM answers WHERE joined = 1 AND visitor != ?",
                                     (visitor,)).fetchone()
        return others < MOST_VISITORS

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with database_errors(self.path, "the file of answers", "move it away; the lessons then start without answers"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=10, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(SCHEMA)
                yield connection
