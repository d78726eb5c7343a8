"""Files of external scores: taking several in, which wait to be imported, and the list of those that are stored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import PurePosixPath

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.widgets.choices import choice
from app.widgets.jobs.desk import desk
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain, sentence
from app.widgets.words.times import written
from engine.basics.errors import WhichfluenceError
from engine.desk import Problem, external
from engine.desk.external import (
    AUTO,
    CHOICES,
    INFO,
    MOST_BYTES,
    READERS,
    SCORES,
    Numbering,
    SavedTable,
    Table,
    of_table,
    read_table,
    table_of,
)

NAME = "brought"
"""The tables of the address that wait to be imported."""
ROUND = "bring:round"
"""Counts what was taken in: the uploader then starts anew, so that a file is read once."""
KINDS = [suffix.removeprefix(".") for suffix in READERS]
PARTS = [PurePosixPath(name).suffix.removeprefix(".") for name in (INFO, SCORES)]


def waiting() -> list[str]:
    """The digests of the tables that wait to be imported."""
    return choice.several(NAME, _digest)


def _digest(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise ValueError("it is not the digest of external scores")
    return text


def leave_out(digest: str) -> None:
    """Let a table wait no more."""
    choice.keep(NAME, [other for other in choice.texts(NAME) if other != digest])


def wait_for(*digests: str) -> None:
    """Let tables wait to be imported."""
    choice.keep(NAME, list(dict.fromkeys([*choice.texts(NAME), *digests])))


def table(digest: str) -> tuple[Table, SavedTable]:
    """A stored table. Raises `MissingData` where it is not on this machine."""
    external.require(digest)
    return _loaded(digest, str(desk().jobs.root))


@st.cache_resource(show_spinner=False, max_entries=8)
def _loaded(digest: str, root: str) -> tuple[Table, SavedTable]:
    return external.load(digest)


def uploader(problem: Problem, candidates: int | None) -> None:
    """Takes files in, or a folder, and lists what is stored. candidates: how many of the problem's are ranked."""
    turn = st.session_state.get(ROUND, 0)
    left, right = st.columns([3, 2], gap="large")
    files = left.file_uploader("Files with scores", type=[*KINDS, *PARTS], key=f"bring:file:{turn}",
                               accept_multiple_files=True,
                               help=f"{', '.join(KINDS)}, up to {MOST_BYTES // 1_000_000} MB each; never unpickled. "
                                    f"For bergson, both files of a folder, {INFO} and {SCORES}, or its zip.")
    with right:
        with st.popover("A folder", icon=":material/drive_folder_upload:"):
            folder = st.file_uploader("All score files of a folder", key=f"bring:folder:{turn}",
                                      accept_multiple_files="directory")
        key = st.text_input("Array in the file", key="bring:key", help="Only if a file contains several tables.")
        _list()
    listed = [*(files or []), *(file for file in folder or [] if _readable(file.name))]
    if not listed:
        return
    taken, faults, doubts = [], False, False
    for file in _parcels(listed):
        try:
            digest = _taken(file, key.strip(), problem, candidates, left)
            doubts |= digest is None
            taken += [digest] if digest else []
        except WhichfluenceError as error:
            faults = True
            left.error(sentence(f"{PurePosixPath(file.name).name}: {error}" if len(listed) > 1 else str(error)),
                       icon=":material/error:")
    wait_for(*taken)
    if taken and not faults and not doubts:
        st.session_state[ROUND] = turn + 1
        st.rerun()


class _Parcel(BytesIO):
    """A file, or both files of a score folder. name: of the file, with its folders; info: what describes it."""

    def __init__(self, name: str, content: bytes, info: bytes | None = None) -> None:
        super().__init__(content)
        self.name, self.info = name, info


def _readable(name: str) -> bool:
    return PurePosixPath(name).suffix.lower().removeprefix(".") in KINDS or PurePosixPath(name).name in (INFO, SCORES)


def _parcels(files: Sequence) -> list[_Parcel]:
    """What is read as one table each."""
    infos = {str(PurePosixPath(file.name).parent): file for file in files if PurePosixPath(file.name).name == INFO}
    parcels = []
    for file in files:
        path = PurePosixPath(file.name)
        info = infos.get(str(path.parent)) if path.name == SCORES else None
        if path.name != INFO or not any(PurePosixPath(other.name).name == SCORES for other in files):
            parcels.append(_Parcel(file.name, file.getvalue(), None if info is None else info.getvalue()))
    return parcels


def _taken(file: _Parcel, key: str, problem: Problem, candidates: int | None, area: DeltaGenerator) -> str | None:
    """The digest of the stored table; None while the reader is asked what its first row is. Raises `InvalidInput`."""
    if file.info is not None:
        read = table_of(file.info, file.getvalue())
    else:
        known = Numbering.of(problem)
        read = read_table(file, file.name, key, AUTO, known)
        if read.first_row.doubt:
            first_row = area.radio(f"{file.name}: {read.first_row.doubt}", list(CHOICES), index=None,
                                   format_func=CHOICES.get, key=f"bring:first-row:{file.name}")
            if first_row is None:
                return None
            file.seek(0)
            read = read_table(file, file.name, key, first_row, known)
    of_table(problem, candidates, read)
    return external.keep(read, file.name)


def _list() -> None:
    """What is stored, each to be imported again or deleted, and what of it cannot be read."""
    imports, here = external.imports(), waiting()
    stored, damaged = imports.tables, imports.unreadable
    if not stored and not damaged:
        return
    with st.popover(f"Stored files ({len(stored) + len(damaged)})", icon=":material/folder_open:"):
        for one in stored:
            when = written(one.written, st.context.timezone)
            st.markdown(f"**{plain(one.file)}**  \n{shape(one)} · {when} · `{one.digest[:12]}`")
            buttons = st.container(horizontal=True)
            buttons.button("Use", key=f"bring:use:{one.digest}", disabled=one.digest in here, on_click=wait_for,
                           args=(one.digest,))
            _deletion(buttons, one.digest)
        for digest, trouble in damaged.items():
            st.markdown(f"**Scores `{digest[:12]}`**  \n{sentence(trouble)}")
            _deletion(st.container(horizontal=True), digest)
        every = [*(one.digest for one in stored), *damaged]
        if len(every) > 1:
            st.button(f"Delete all {len(every)}", key="bring:delete-all", icon=":material/delete_sweep:",
                      on_click=_delete, args=(every,))
        glossary.caption("Saved comparisons and links that use a deleted file will need it again.")


def _deletion(area: DeltaGenerator, digest: str) -> None:
    area.button("Delete", key=f"bring:delete:{digest}", icon=":material/delete:", on_click=_delete, args=([digest],))


def _delete(digests: Sequence[str]) -> None:
    for digest in digests:
        external.delete(digest)
        leave_out(digest)
    _loaded.clear()


def shape(stored: SavedTable) -> str:
    return " × ".join(f"{size:,}" for size in stored.shape)
