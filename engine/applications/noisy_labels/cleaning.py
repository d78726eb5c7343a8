"""What a review makes of a user's own data: a cleaned copy in their format, moves as a shell script, a list by path.

A copy holds what the data were read as: with the classes of their reading, without what was decided to be wrong, and
with corrected labels. Nothing of the kept file itself is changed.
"""

from __future__ import annotations

import io
import shlex
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from engine.applications.decisions import Decision
from engine.applications.noisy_labels.decision_file import columns_of
from engine.applications.noisy_labels.review import consequences
from engine.applications.noisy_labels.source import NoisyData
from engine.basics.errors import InvalidInput
from engine.data import originals, tables, uploads
from engine.data.dataset import Dataset
from engine.data.frames import TITLES
from engine.data.rewriting import rewritten
from engine.data.split_names import TEST, TRAIN, split_of
from engine.data.splits import LISTED, UNFIT

REMOVED = ".removed"
"""The folder that a script moves pictures to; hidden, so that it is no class."""
SCRIPT = r"""#!/bin/sh
# {said}
# Run it in the parent folder of the class folders (or `train` and `test`): sh moves.sh [FOLDER]
# Nothing is deleted or overwritten; missing files are named and skipped.
set -eu
cd -- "${{1:-.}}"
move() {{
    if [ ! -e "$1" ]; then printf 'not there: %s\n' "$1" >&2; return 0; fi
    if [ -e "$3" ]; then printf 'already there: %s\n' "$3" >&2; return 0; fi
    mkdir -p -- "$2"
    mv -- "$1" "$3"
}}
"""


@dataclass(frozen=True)
class Outcome:
    """What becomes of every example that was read, by file: `labels`, the class it ends with, in the order of the
    dataset's splits; `removed`, those that go. relabelled: how many the review gave another label."""

    labels: Mapping[str, str]
    removed: tuple[str, ...]
    relabelled: int


def outcome(data: NoisyData, decisions: Mapping[int, Decision]) -> Outcome:
    """The outcome of a review. Raises `InvalidInput` for data that are not a user's own, and where a class would be
    left without an example."""
    dataset = _own(data)
    removed, relabelled = consequences(decisions)
    files, y = (*dataset.files, *dataset.test_files), np.concatenate([dataset.y_train, dataset.y_test])
    labels = {file: dataset.class_names[label] for file, label in zip(files, y, strict=True)}
    gone = tuple(sorted(dataset.files[data.rows[row]] for row in removed))
    for row, label in relabelled.items():
        labels[dataset.files[data.rows[row]]] = dataset.class_names[label]
    for file in gone:
        labels.pop(file)
    if empty := [name for name in dataset.class_names if name not in set(labels.values())]:
        raise InvalidInput(f"No example of the class `{empty[0]}` would remain; undo one of the decisions.")
    return Outcome(labels, gone, len(relabelled))


def decided_by_path(data: NoisyData, decisions: Mapping[int, Decision]) -> pd.DataFrame:
    """What changes, a row an example, as `engine.applications.noisy_labels.decision_file` has it."""
    removed, relabelled = consequences(decisions)
    return pd.DataFrame(columns_of(data, sorted({*removed, *relabelled}), decisions))


def moves(data: NoisyData, decisions: Mapping[int, Decision]) -> dict[str, str | None]:
    """file -> the path that it gets, None where it goes: those pictures alone whose path changes.

    Raises `InvalidInput` as `outcome` does, and for data that are no pictures in folders.
    """
    dataset, result = _pictures(data), outcome(data, decisions)
    queries = set() if dataset.test_from_train or dataset.test_origin == LISTED else set(dataset.test_files)
    taken, changed = {*dataset.files, *dataset.test_files}, dict[str, str | None](dict.fromkeys(result.removed))
    for file, label in result.labels.items():
        target = _target(file, label, (TEST if file in queries else TRAIN) if queries else "")
        if target != file:
            changed[file] = _free(target, taken)
            taken.add(changed[file] or "")
    return changed


def script(data: NoisyData, decisions: Mapping[int, Decision]) -> str:
    """The moves as a POSIX shell script; what is removed goes to the folder `REMOVED`. Raises as `moves` does."""
    changed = moves(data, decisions)
    gone = sum(target is None for target in changed.values())
    said = f"{len(changed) - gone} images to another folder, {gone} to {REMOVED}."
    lines = [SCRIPT.format(said=said)]
    for file, target in sorted(changed.items()):
        path = target or f"{REMOVED}/{file}"
        lines.append("move " + " ".join(shlex.quote(f"./{one}") for one in (file, PurePosixPath(path).parent, path)))
    return "\n".join([*lines, ""])


@dataclass(frozen=True)
class Format:
    """The format of a cleaned copy: what it is called, its ending and type, and how it is written."""

    title: str
    suffix: str
    mime: str
    write: Callable[[NoisyData, Outcome, Mapping[int, Decision]], bytes]


def _zip(data: NoisyData, result: Outcome, decisions: Mapping[int, Decision]) -> bytes:
    """The pictures with their paths below the folders of the classes, byte for byte. Unreadable ones and classes that
    are left out of the reading are not in it, nor is the list of wrong labels, whose paths would no longer hold."""
    dataset, changed, buffer = data.dataset, moves(data, decisions), io.BytesIO()
    files = (*dataset.files, *dataset.test_files)
    with originals.opened(_base(data)) as tree, zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as out:
        start = originals.prefix(tree, files)
        for file in files:
            target = changed.get(file, file)
            if target is not None:
                out.writestr(zipfile.ZipInfo(target, tree.date(start + file)), tree.read(start + file))
    return buffer.getvalue()


def _npz(data: NoisyData, result: Outcome, decisions: Mapping[int, Decision]) -> bytes:
    """x_train, y_train, x_query, y_query without the rows that go and with corrected labels; `flags` are left out."""
    dataset, buffer = data.dataset, io.BytesIO()
    remaining = np.array([file in result.labels for file in dataset.files])
    number = {name: index for index, name in enumerate(dataset.class_names)}
    y = np.array([number[result.labels[file]] for file in np.array(dataset.files)[remaining]])
    np.savez(buffer, x_train=dataset.raw_train[remaining], y_train=y, x_query=dataset.raw_test, y_query=dataset.y_test)
    return buffer.getvalue()


def _table(data: NoisyData, result: Outcome, decisions: Mapping[int, Decision]) -> bytes:
    """The table in the form that it came in, its rows in their order, without those that go and with corrected labels,
    in the type that they have where it holds them."""
    path, dataset = _base(data), data.dataset
    table = tables.read_table(path, label=uploads.reading(data.source.dataset).label)
    labels = {row: result.labels[file] for row, file in enumerate(table.names) if file in result.labels}
    files, y = (*dataset.files, *dataset.test_files), np.concatenate([dataset.y_train, dataset.y_test])
    before = {file: dataset.class_names[label] for file, label in zip(files, y, strict=True)}
    given = table.labels
    same = {row for row, label in labels.items() if before[table.names[row]] == label == given[row]}
    return rewritten(path.read_bytes(), path.suffix, table.label,
                     {row: None if row in same else label for row, label in labels.items()})


FORMATS: Mapping[str, Format] = {
    uploads.PICTURES: Format("Cleaned copy (zip)", ".zip", "application/zip", _zip),
    uploads.ARRAYS: Format("Cleaned copy (npz)", ".npz", "application/octet-stream", _npz),
    **{suffix: Format(f"Cleaned copy ({TITLES[suffix]})", suffix, "application/octet-stream", _table)
       for suffix in uploads.TABLES},
}


def format_of(data: NoisyData) -> Format:
    """The format of the data that were brought. Raises `InvalidInput` for data that are not a user's own."""
    _own(data)
    return replace(FORMATS[_base(data).suffix], suffix=uploads.ending(data.source.dataset))


def copy(data: NoisyData, decisions: Mapping[int, Decision]) -> bytes:
    """The cleaned copy, in the format of what was brought. Raises as `outcome` does."""
    return format_of(data).write(data, outcome(data, decisions), decisions)


def _base(data: NoisyData) -> Path:
    return uploads.base(data.source.dataset)


def _own(data: NoisyData) -> Dataset:
    if not data.source.is_own:
        raise InvalidInput("A cleaned copy is for your own data; for other data use the cleaned index.")
    return data.dataset


def _pictures(data: NoisyData) -> Dataset:
    if not uploads.holds_pictures(_own(data).name):
        raise InvalidInput("These data are not folders of images, so nothing can be moved; use the cleaned copy.")
    return data.dataset


def _target(file: str, label: str, split: str) -> str:
    """The path of a picture of a class: `CLASS/…`, where the data have splits with the folder of its own before or
    after it, or `split` before it where its folders name none."""
    *folders, name = PurePosixPath(file).parts
    own, label = [split] if split else [], UNFIT.sub("_", label)
    at = next((index for index, folder in enumerate(folders[:2]) if split_of(folder)), None) if split else None
    if at is not None:
        own = [folders.pop(at)]
    return "/".join([label, *own, *folders[1:], name] if at == 1 else [*own, label, *folders[1:], name])


def _free(path: str, taken: set[str]) -> str:
    """The path, or the first one with a number before its ending that is not taken."""
    pure, number = PurePosixPath(path), 1
    while path in taken:
        number += 1
        path = str(pure.with_name(f"{pure.stem}-{number}{pure.suffix}"))
    return path
