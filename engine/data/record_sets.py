"""Records as a dataset: what a task trains on is its training split, what it asks about is its test split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.basics.files import read_whole
from engine.data.dataset import Dataset
from engine.data.record_forms import Turns
from engine.data.records import SPANS, Record, parse_content
from engine.data.tasks import Task, build
from engine.data.tasks import own as own_task

HELD = 0.1
"""The fraction of a user's own records that becomes queries."""
NO_ANSWER = "no answer"


def load(name: str, title: str, settings: Mapping[str, Any], note: str = "") -> Dataset:
    """The dataset of a task with its sizes. Raises as the task does."""
    return dataset(name, title, build(settings), note)


def own(path: Path, name: str, title: str, turns: Turns = "last", rules: Mapping[str, str] | None = None) -> Dataset:
    """A user's own records, a JSONL file, as `parse_content` takes turns and rules; the last tenth of them are the
    queries.

    Raises `InvalidInput` for a file that holds no records, or a single one.
    """
    records = parse_content(read_whole(path, "file"), turns=turns, rules=rules)
    held = max(1, int(HELD * len(records)))
    said = f"{len(records) - held:,} records, and the last {held:,} of the file as queries."
    return replace(dataset(name, title, own_task.of_records(records, {"held": held}), said),
                   said=(said, marked_sentence(records)))


def marked_sentence(records: Sequence[Record]) -> str:
    """How many of some records have each span, and how many say that their response is not to be learnt, or name one
    that is not."""
    marked = " and ".join(f"{sum(span in record.spans for record in records):,} have an {span} span" for span in SPANS)
    avoided = sum(record.metadata.get("label") is False for record in records)
    rejected = sum("rejected" in record.metadata for record in records)
    return (f"Of these {len(records):,}, {marked}."
            + (f" {avoided:,} have `label` false, which marks a response to avoid; they are trained on like the "
               "others, so leave them out if that is not intended." if avoided else "")
            + (f" {rejected:,} have a `rejected` response, which is not read." if rejected else ""))


def dataset(name: str, title: str, task: Task, note: str = "") -> Dataset:
    """A task as a dataset: labels are the stated answers, flags are what the task did to a record."""
    queries = task.queries[task.reference]
    names = sorted({answer_of(record) for record in (*task.train, *queries)})
    sought = np.logical_or.reduce([task.flagged(flag) for flag in task.sought.values()]) if task.sought else None
    return Dataset(
        name, title, _rows(task.train), numbered(task.train, names), _rows(queries), numbered(queries, names),
        class_names=tuple(names), note=note, flags=sought, records=(task.train, queries))


def _rows(records: Sequence[Record]) -> np.ndarray:
    return np.arange(len(records))[:, None]


def numbered(records: Sequence[Record], names: Sequence[str]) -> np.ndarray:
    """The numbers (n,) that the answers of records have among `names`."""
    numbers = {name: number for number, name in enumerate(names)}
    return np.array([numbers[answer_of(record)] for record in records], dtype=np.int64)


def answer_of(record: Record) -> str:
    """The label of a record."""
    return record.answer or NO_ANSWER

