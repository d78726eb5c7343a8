"""Labels in a file beside pictures: a table with a column of files and one of classes, or COCO's annotations."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.basics.errors import InvalidInput
from engine.basics.strict_json import parse_json
from engine.data import columns
from engine.data.file_tree import Tree
from engine.data.frames import READERS, read_frame
from engine.data.layout import FolderLayout, Row, split_level
from engine.data.split_names import split_of

if TYPE_CHECKING:
    import pandas as pd

STEMS = ("labels", "label", "metadata")
"""What a table is called whose classes count, and not the folders of the pictures."""
SUFFIXES = tuple(READERS)
COCO = ("images", "annotations", "categories")


class NotAnnotations(InvalidInput):
    """Annotations in COCO's form from which no labels can be read."""


def by_files(tree: Tree, tables: Sequence[str], pictures: Sequence[str], beside_folders: bool) -> FolderLayout | None:
    """The layout that tables give the pictures; None where none speaks of them.

    beside_folders: whether the folders tell classes too, so that only a table of `STEMS` that has every picture
    counts. Raises `InvalidInput` for annotations that name no picture.
    """
    known = _Known(pictures)
    rows: dict[str, Row] = {}
    twice, sentences, used, lacking, strange = set[str](), list[str](), list[str](), list[str](), 0
    for name in tables:
        stem = PurePosixPath(name).stem.casefold()
        if beside_folders and stem not in STEMS:
            continue
        read = _read(tree, name, known, not beside_folders)
        if read is None:
            continue
        labelled, unlabelled, unknown, said = read
        if beside_folders and len({row.file for row in labelled}) < len(pictures):
            continue
        for row in labelled:
            if rows.setdefault(row.file, row) != row:
                twice.add(row.file)
        lacking += unlabelled
        strange += unknown
        used.append(name)
        sentences.append(f"The classes are those of `{name}`{said}.")
    if not rows:
        return None
    if strange:
        table = "it" if len(sentences) == 1 else "them"
        match = "rows of {} match" if strange > 1 else "row of {} matches"
        sentences.append(f"{strange:,} {match.format(table)} no image here.")
    left_out = [(file, "labelled with several classes" if file in twice else "labelled with none" if file in lacking
                 else "not among the files with a label") for file in pictures if file not in rows or file in twice]
    unambiguous = [row for file, row in rows.items() if file not in twice]
    return FolderLayout(tuple(_split(unambiguous)), tuple(left_out), tuple(sentences), tuple(used))


def _split(rows: Sequence[Row]) -> Iterator[Row]:
    """Rows with the split of the folder that their picture lies in, where no table says it."""
    if any(row.split for row in rows):
        yield from (Row(row.file, row.label, row.split or "train") for row in rows)
        return
    tops = {row.file: split_of(PurePosixPath(row.file).parts[0]) or "" for row in rows}
    folders = [PurePosixPath(row.file).parts[:-1] for row in rows]
    whole = "train" in tops.values() and len(set(tops.values())) > 1 or split_level(folders) == 0
    yield from (Row(row.file, row.label, tops[row.file]) if whole else row for row in rows)


class _Known:
    """The pictures by what a table may call them: their path, its end, or their name without its ending."""

    def __init__(self, pictures: Sequence[str]) -> None:
        self.files, self.by_name = set(pictures), defaultdict[str, list[str]](list)
        for file in pictures:
            for name in {PurePosixPath(file).name, PurePosixPath(file).stem}:
                self.by_name[name].append(file)

    def file(self, value: object, folder: str) -> str | None:
        """The picture that a cell of a table in a folder means; None for none, or more than one."""
        text = unicodedata.normalize("NFC", str(value).strip().replace("\\", "/")).removeprefix("./")
        for path in (f"{folder}{text}", text):
            if path in self.files:
                return path
        named = self.by_name.get(PurePosixPath(text).name, []) if text else []
        ends = [file for file in named if f"/{file}".rsplit(".", 1)[0].endswith(f"/{text.rsplit('.', 1)[0]}")] or named
        near = [file for file in ends if file.startswith(folder)]
        return near[0] if len(near) == 1 else ends[0] if len(ends) == 1 else None


def _read(tree: Tree, name: str, known: _Known, strict: bool) -> tuple[list[Row], list[str], int, str] | None:
    """(rows, files without a label, how many rows name no picture, which columns were read); None for a table of
    something else. strict: whether annotations that name no picture are refused."""
    suffix, folder = PurePosixPath(name).suffix.lower(), f"{PurePosixPath(name).parent}/".removeprefix("./")
    content = tree.read(name)
    try:
        if suffix == ".json" and isinstance(data := parse_json(content, f"`{name}`"), Mapping):
            return _coco(data, name, folder, known) if strict else None
        frame = read_frame(content, suffix, f"table `{name}`").frame
    except NotAnnotations:
        raise
    except InvalidInput:
        return None
    if any(known.file(cell, folder) for cell in frame.columns):  # a table without a row of names
        import pandas as pd

        frame = pd.concat([pd.DataFrame([list(frame.columns)], columns=frame.columns), frame]).set_axis(
            ["file", "label", *(f"column {k}" for k in range(3, len(frame.columns) + 1))][:len(frame.columns)],
            axis=1)
    hits = {column: sum(known.file(value, folder) is not None for value in frame[column].head(50))
            for column in frame.columns}
    column = max(hits, key=lambda one: hits[one], default=None)
    if column is None or not hits[column]:
        return None
    others = frame.drop(columns=column)
    try:
        label = others.columns[0] if len(others.columns) == 1 else columns.label_column(others)[0]
    except InvalidInput:
        if strict:
            raise InvalidInput(f"`{name}` names images, but none of its columns is certainly the label column; name "
                               "it `label`.") from None
        return None
    if others[label].map(lambda value: isinstance(value, (list, dict))).any():
        if strict:
            raise InvalidInput(f"`{name}` names images, but its column `{str(label)[:60]}` holds lists or objects, "
                               "not classes; write one text or number per row.")
        return None
    split = columns.find(others.drop(columns=label), columns.SPLITS)
    usual = "" if columns.find(others, columns.LABELS[:1]) == label else f" (files in `{column}`, labels in `{label}`)"
    return *_rows(frame, (column, label, split), _split_of_name(name), folder, known), usual


def _split_of_name(name: str) -> str:
    """The split that a table speaks of by its own name, such as `train_labels.csv`, or by that of its folder."""
    path = PurePosixPath(name)
    words = [*re.split(r"[_\W]+", path.stem), *path.parts[:1][:len(path.parts) - 1]]
    return next(filter(None, map(split_of, words)), "")


def _rows(frame: pd.DataFrame, read: tuple, split: str, folder: str, known: _Known) -> tuple[list[Row], list[str], int]:
    rows, unlabelled, strange = [], [], 0
    column, label, of_split = read
    for row, value in enumerate(frame[column]):
        file, own = known.file(value, folder), frame[label].iloc[row]
        if file is None:
            strange += 1
        elif own is None or own != own or not str(own).strip():
            unlabelled.append(file)
        else:
            part = split_of(frame[of_split].iloc[row]) if of_split else split
            rows.append(Row(file, str(own).strip(), part or split))
    return rows, unlabelled, strange


def _coco(data: Mapping, name: str, folder: str, known: _Known) -> tuple[list[Row], list[str], int, str] | None:
    """Annotations in COCO's form: a picture has the category of its annotations, if it is one."""
    if not all(isinstance(data.get(key), list) for key in COCO[:2]):
        return None
    if missing := [key for key in COCO if not data.get(key)]:
        raise NotAnnotations(f"`{name}` names no images: its {' and '.join(f'`{key}`' for key in missing)} "
                           f"{'is' if len(missing) == 1 else 'are'} empty; export the annotations again, or put the "
                           "images of each class into a separate folder.")
    try:
        titles = {one["id"]: str(one["name"]) for one in data["categories"]}
        labels = defaultdict[object, set[str]](set)
        for one in data["annotations"]:
            labels[one["image_id"]].add(titles[one["category_id"]])
        images = [(one["id"], known.file(one["file_name"], folder)) for one in data["images"]]
    except (KeyError, TypeError):
        raise NotAnnotations(f"`{name}` lacks a key of COCO's annotations (`id`, `file_name`, `image_id`, "
                             "`category_id`, `name`); export it again.") from None
    files = [(file, sorted(labels[key])) for key, file in images if file is not None]
    rows = [Row(file, label, _split_of_name(name)) for file, own in files for label in own]
    return rows, [file for file, own in files if not own], len(images) - len(files), ""
