"""The shelves of what was brought: data, records, trained weights and scores of other programs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from engine.basics.errors import WhichfluenceError
from engine.basics.sizes import spell_bytes
from engine.data import record_files, samples, uploads
from engine.external import kept as brought_tables
from engine.library import notes, views
from engine.library.entry import Entry, Parameters, Shelf
from engine.library.notes import Noted
from engine.models import brought_models
from engine.store.sketch import Sketch

ASKED_AGAIN = "Saved comparisons and links that name it ask for the file again."


class Uploads(Shelf):
    name, title, noun, parameter = "uploads", "Own data", "upload", "data"
    loss = ASKED_AGAIN

    def entries(self) -> list[Entry]:
        noted, found = notes.written(self.name), []
        for kept in uploads.entries():
            trouble = ""
            try:
                uploads.base(kept.name)
            except WhichfluenceError as error:
                trouble = str(error)
            what = uploads.title(kept.name) if not trouble else "Your data"
            found.append(_entry(self, kept.name, kept.file or what, f"{what} · {spell_bytes(kept.size)}", kept.written,
                                noted, "examples", trouble))
        return found

    def has(self, key: str) -> bool:
        return bool(uploads.content(key))

    def sketch(self, key: str) -> Sketch | None:
        return samples.sketch(key)

    def remove(self, key: str) -> None:
        uploads.delete(key)

    def named_in(self, parameters: Parameters) -> list[str]:
        return [name for name in super().named_in(parameters) if uploads.is_upload(name)]


class Records(Shelf):
    name, title, noun, parameter = "records", "Own records", "file of records", "file"
    loss = "Links that name it ask for the file again."

    def entries(self) -> list[Entry]:
        noted = notes.written(self.name)
        return [_entry(self, kept.name, "Records for Language models", spell_bytes(kept.size), kept.written, noted,
                       "language_models") for kept in record_files.entries()]

    def sketch(self, key: str) -> Sketch | None:
        return samples.words(record_files.first(key))

    def remove(self, key: str) -> None:
        record_files.delete(key)


class Models(Shelf):
    name, title, noun, parameter = "models", "Own weights and recordings", "model", "weights"
    loss = "Links that name it ask for the file again."

    def entries(self) -> list[Entry]:
        noted = notes.written(self.name)
        return [_entry(self, kept.name, kept.title, kept.summary, kept.written, noted, "compare", kept.trouble)
                for kept in brought_models.entries()]

    def remove(self, key: str) -> None:
        brought_models.delete(key)


class Brought(Shelf):
    name, title, noun, parameter = "brought", "Scores of other programs", "table of scores", "brought"
    loss = ASKED_AGAIN

    def entries(self) -> list[Entry]:
        noted = notes.written(self.name)
        return [_entry(self, kept.digest, kept.file, f"{kept.shape[0]:,} × {kept.shape[1]:,}", kept.written, noted,
                       "compare") for kept in brought_tables.entries()]

    def has(self, key: str) -> bool:
        return brought_tables.has(key)

    def remove(self, key: str) -> None:
        brought_tables.delete(key)


KEPT: tuple[Shelf, ...] = (Uploads(), Records(), Models(), Brought())


def missing(parameters: Parameters) -> str:
    """What an address names and this machine lacks, as a sentence; empty where all is there."""
    lacking = [(shelf, key) for shelf in KEPT for key in shelf.named_in(parameters) if not shelf.has(key)]
    if not lacking:
        return ""
    shelf, key = lacking[0]
    return f"It needs the {shelf.noun} `{key[:40]}`, which is no longer on this machine; bring the file again."


def _entry(shelf: Shelf, key: str, title: str, summary: str, written: float | str, noted: Mapping[str, Noted],
           page: str, trouble: str = "") -> Entry:
    """An entry that opens where it was last seen, else on `page`."""
    view = views.of(key)
    created = written if isinstance(written, str) else datetime.fromtimestamp(written, UTC).isoformat(
        timespec="seconds")
    where = (view.page, view.parameters) if view else (page, {shelf.parameter: [key]})
    return Entry(shelf.name, key, title, summary, created, *where, noted.get(key, Noted()), trouble)
