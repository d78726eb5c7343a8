"""Which class and which split the pictures of a folder belong to, by the folders that they lie in."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import PurePosixPath

from engine.basics.errors import InvalidInput
from engine.data.split_names import TEST, TRAIN, VAL, split_of

LeftOut = tuple[str, str]
"""A file and why it is not read."""


@dataclass(frozen=True)
class Row:
    """A picture: its file, its class, and its split, empty where there is none."""

    file: str
    label: str
    split: str = ""


@dataclass(frozen=True)
class FolderLayout:
    """rows: the pictures that are read. left_out: those that are not. said: what was decided, in sentences. tables: the
    files with the classes, where folders did not."""

    rows: tuple[Row, ...]
    left_out: tuple[LeftOut, ...] = ()
    said: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes to search."""
        return tuple(sorted({row.label for row in self.rows if row.split in ("", TRAIN)}))

    def settled(self) -> FolderLayout:
        """The layout with its training examples, and queries of their classes alone, said with their number.

        Raises `InvalidInput` where there is nothing to search, or fewer than two classes.
        """
        known, counts = set(self.classes), Counter(row.split for row in self.rows)
        if not known:
            raise InvalidInput(f"There are images in {_listed(counts)} but none in `train`; add those to search.")
        if len(known) < 2:
            raise InvalidInput(f"There is only one class, `{self.classes[0]}`; give at least two classes, each with "
                               "its own folder, or a table of files and labels.")
        rows = tuple(row for row in self.rows if row.label in known)
        gone = [(row.file, f"its class `{row.label}` is not in `train`") for row in self.rows if row.label not in known]
        said = list(self.said)
        if counts.keys() - {""}:
            queries = Counter(row.split for row in rows if row.split != TRAIN)
            about = f"{_listed(queries)} hold the verified queries" if queries else "no other split has labels"
            said.append(f"`train` ({counts[TRAIN]:,}) is searched; {about}.")
        if gone:
            strange = sorted({row.label for row in self.rows} - known)
            said.append(f"{_some(strange)} of the queries {'is' if len(strange) == 1 else 'are'} no class of `train`: "
                        f"{len(gone):,} queries are left out.")
        return replace(self, rows=rows, left_out=(*self.left_out, *gone), said=tuple(said))


def _listed(counts: Counter[str]) -> str:
    return " and ".join(f"`{split}` ({counts[split]:,})" for split in (TRAIN, VAL, TEST) if counts[split])


def _some(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names[:5]) + (", …" if len(names) > 5 else "")


def common(files: Iterable[str]) -> str:
    """The wrapping folders that all files share and below which there are further ones, with a slash at their end."""
    folders, start = [PurePosixPath(file).parts[:-1] for file in files], 0
    while folders and len({own[start:start + 1] for own in folders}) == 1 and any(
            len(own) > start + 1 for own in folders):
        start += 1
    return "".join(f"{part}/" for part in folders[0][:start]) if folders else ""


def split_level(folders: Iterable[tuple[str, ...]]) -> int | None:
    """At which depth folders are splits: 0 for `train/CLASS`, 1 for `CLASS/train`; None where none are.

    A folder is a split only where it holds, or lies in, folders of classes, and another split stands beside it.
    """
    deep = {own[:2] for own in folders if len(own) > 1}
    first, second = ({split_of(own[at]) for own in deep} for at in (0, 1))
    beside = {split_of(own[0]) for own in folders if own}
    if len(beside - {None}) > 1 and (TRAIN in first or (first and None not in first)):
        return 0
    return 1 if TRAIN in second and None not in second and len(second) > 1 else None


def _unclear(folders: Iterable[tuple[str, ...]]) -> tuple[str, str] | None:
    """(a split with training examples, what lies beside it under no name of a split), of which both hold the same
    folders, two at least; None where there is no such."""
    within = defaultdict[str, set[str]](set)
    for own in folders:
        if len(own) > 1:
            within[own[0]].add(own[1])
    return next(((name, other) for name in within if split_of(name) == TRAIN for other in within
                 if other != name and len(within[name] & within[other]) > 1), None)


def by_folders(files: Sequence[str]) -> FolderLayout:
    """The class of a picture is the folder that it lies in, the outermost one of several beside that of its split."""
    parts = {file: tuple(name for name, _ in groupby(PurePosixPath(file).parts[:-1])) for file in files}
    level = split_level(parts.values())
    if level is None and (pair := _unclear(parts.values())):
        raise InvalidInput(f"`{pair[0]}` and `{pair[1]}` contain folders of the same names, so they "
                           f"are not classes, and `{pair[1]}` does not name a split; call it `test`, or remove it.")
    if level is None and all(map(split_of, tops := {own[0] for own in parts.values() if own})) and len(tops) > 1:
        return FolderLayout((), tuple((file, "in no class folder") for file in files))
    rows, left_out = [], []
    for file, own in parts.items():
        split = "" if level is None else split_of(own[level]) if len(own) > level else None
        label = own[0:1] if level is None else own[1 - level:2 - level]
        if split is None:
            left_out.append((file, "outside the split folders"))
        elif not label:
            left_out.append((file, "in no class folder"))
        else:
            rows.append(Row(file, label[0], split))
    return FolderLayout(tuple(rows), tuple(left_out))
