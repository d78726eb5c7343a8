"""ScienceQA's questions without a picture (Lu et al. 2022): under WHICHFLUENCE_DATA, our own folder or a download."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.basics.errors import MissingData
from engine.basics.files import atomic_write
from engine.basics.folders import DATA
from engine.data.locations import Location, downloads
from engine.data.question import Question

FILE = Path("scienceqa") / "scienceqa_text.parquet"
COLUMNS = ("pid", "question", "choices", "answer", "hint", "subject", "topic", "solution")
REPOSITORY = "derek-thomas/ScienceQA"
LOCATION = Location("ScienceQA", FILE.parent, (FILE.name,), "630 MB",
                    f"set {DATA} to a folder that holds {FILE.as_posix()}, or give records of your own as JSONL")
available = LOCATION.available
content = LOCATION.content


def load(*, download: bool = True) -> tuple[Question, ...]:
    """Every question with a valid answer and an explanation, ordered by pid.

    Looked for under WHICHFLUENCE_DATA, then under WHICHFLUENCE_HOME, and if `download` is allowed fetched there, its
    pictures left out. Raises `MissingData`.
    """
    path = LOCATION.ready(download, _download) / FILE
    return _read(path, path.stat().st_mtime_ns)


def _download() -> None:
    """The hub's files, of which the questions without a picture are stored as one small file."""
    import huggingface_hub as hub
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    path = downloads() / FILE
    try:
        names = [name for name in hub.list_repo_files(REPOSITORY, repo_type="dataset") if name.endswith(".parquet")]
        rows = [row for name in sorted(names) for row in _without_picture(
            Path(hub.hf_hub_download(REPOSITORY, name, repo_type="dataset")), Path(name).name.partition("-")[0])]
        if not rows:
            raise ValueError("no questions")
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, lambda file: parquet.write_table(arrow.Table.from_pylist(rows), file))
    except Exception:  # the hub raises its own errors, those of its HTTP client and those of the disk
        raise MissingData(LOCATION.unreachable()) from None


def _without_picture(file: Path, split: str) -> Iterator[dict[str, Any]]:
    """The rows of a hub's file that have no picture, numbered among all of them."""
    import pyarrow.parquet as parquet

    number = 0
    for batch in parquet.ParquetFile(file).iter_batches(256, columns=["image", *COLUMNS[1:]]):
        pictured = batch.column("image").is_valid().to_pylist()
        for row, left_out in zip(batch.drop_columns(["image"]).to_pylist(), pictured, strict=True):
            if not left_out:
                yield {"pid": f"{split}-{number}", **row}
            number += 1


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
                          f"replace it in {DATA}.") from None
    valid = [q for q in questions if q.explanation and q.question and 0 <= q.answer < len(q.choices)]
    return tuple(sorted(valid, key=lambda q: (len(q.pid), q.pid)))
