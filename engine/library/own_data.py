"""The shelves of own data: data sets, records, trained weights and scores of other programs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from engine.basics.errors import WhichfluenceError
from engine.basics.sizes import spell_bytes
from engine.data import record_files, samples, uploads
from engine.external import kept as external_tables
from engine.library import notes, views
from engine.library.entry import Entry, Parameters, Shelf
from engine.library.notes import Noted
from engine.models import imported_models
from engine.store.sketch import Sketch

FILE_NEEDED = "Saved comparisons and links that name it ask for the file again."


class Uploads(Shelf):
    name, title, noun, parameter = "uploads", "Own data", "upload", "data"
    loss = FILE_NEEDED

    def entries(self) -> list[Entry]:
        noted, entries = notes.written(self.name), []
        for upload in uploads.entries():
            trouble = ""
            try:
                uploads.base(upload.name)
            except WhichfluenceError as error:
                trouble = str(error)
            what = uploads.title(upload.name) if not trouble else "Your data"
            entries.append(_entry(self, upload.name, upload.file or what, f"{what} · {spell_bytes(upload.size)}",
                                  upload.written, noted, "examples", trouble))
        return entries

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
        return [_entry(self, file.name, "Records for Language models", spell_bytes(file.size), file.written, noted,
                       "language_models") for file in record_files.entries()]

    def sketch(self, key: str) -> Sketch | None:
        return samples.words(record_files.first(key))

    def remove(self, key: str) -> None:
        record_files.delete(key)


class Models(Shelf):
    name, title, noun, parameter = "models", "Own weights and recordings", "model", "weights"
    loss = "Links that name it ask for the file again."

    def entries(self) -> list[Entry]:
        noted = notes.written(self.name)
        return [_entry(self, model.name, model.title, model.summary, model.written, noted, "compare", model.trouble)
                for model in imported_models.entries()]

    def remove(self, key: str) -> None:
        imported_models.delete(key)


class ExternalScores(Shelf):
    name, title, noun, parameter = "brought", "Scores of other programs", "table of scores", "brought"
    loss = FILE_NEEDED

    def entries(self) -> list[Entry]:
        noted = notes.written(self.name)
        return [_entry(self, table.digest, table.file, f"{table.shape[0]:,} × {table.shape[1]:,}", table.written, noted,
                       "compare") for table in external_tables.entries()]

    def has(self, key: str) -> bool:
        return external_tables.has(key)

    def remove(self, key: str) -> None:
        external_tables.delete(key)


OWN_DATA: tuple[Shelf, ...] = (Uploads(), Records(), Models(), ExternalScores())


def missing(parameters: Parameters) -> str:
    """What an address names and this machine lacks, as a sentence; empty where all is there."""
    lacking = [(shelf, key) for shelf in OWN_DATA for key in shelf.named_in(parameters) if not shelf.has(key)]
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
