"""ScienceQA's questions without a picture (Lu et al. 2022), read from parquet under WHICHFLUENCE_DATA."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from engine.errors import MissingData
from engine.folders import DATA, data_folder

FILE = Path("scienceqa") / "scienceqa_text.parquet"
COLUMNS = ("pid", "question", "choices", "answer", "hint", "subject", "topic", "solution")
REMEDY = f"set {DATA} to a folder that holds {FILE.as_posix()}, or give records of your own as JSONL"


@dataclass(frozen=True)
class Question:
    """A question with its choices, the index of the right one, and the explanation that leads to it."""

    pid: str
    question: str
    choices: tuple[str, ...]
    answer: int
    hint: str
    subject: str
    topic: str
    explanation: str

    @property
    def length(self) -> int:
        """Characters of all its parts."""
        return sum(map(len, (self.question, self.hint, self.explanation, *self.choices)))


def available() -> tuple[bool, str]:
    """Whether `load` works, and a sentence on where the file is or what to do."""
    folder = data_folder()
    if folder is not None and (folder / FILE).is_file():
        return True, f"Found under {DATA}: {FILE.as_posix()}."
    return False, f"ScienceQA is not on this machine; {REMEDY}."


def load() -> tuple[Question, ...]:
    """Every question with a valid answer and an explanation, ordered by pid. Raises `MissingData`."""
    found, said = available()
    if not found:
        raise MissingData(said)
    path = data_folder() / FILE
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _read(path: Path, changed: int) -> tuple[Question, ...]:
    import pyarrow.parquet as parquet

    try:
        rows = parquet.read_table(path, columns=list(COLUMNS)).to_pylist()
        questions = [Question(str(row["pid"]), row["question"].strip(), tuple(map(str, row["choices"])),
                              int(row["answer"]), (row["hint"] or "").strip(), row["subject"] or "",
                              row["topic"] or "", (row["solution"] or "").strip()) for row in rows]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # pyarrow's errors are ValueErrors
        raise MissingData(f"{FILE.as_posix()} is damaged or lacks one of the columns {', '.join(COLUMNS)}; "
                          f"replace it under {DATA}.") from None
    kept = [q for q in questions if q.explanation and q.question and 0 <= q.answer < len(q.choices)]
    return tuple(sorted(kept, key=lambda q: (len(q.pid), q.pid)))
