"""The shelves of own data: data sets, records, trained weights and scores of other programs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from engine.data import embeddings, new_files, record_files, samples, uploads
from engine.external import saved_tables as external_tables
from engine.library import notes, views
from engine.library.entry import Entry, Parameters, Shelf
from engine.library.notes import Noted
from engine.models import imported_models
from engine.store import external_scores
from engine.store.sketch import Sketch

FILE_NEEDED = "Saved comparisons and links that use it will need the file again."


class OwnFilesShelf(Shelf):
    """What a user stored. source: entries() and delete(name) of it; page: where one opens that was not seen yet."""

    def __init__(self, source: Any, name: str, title: str, noun: str, parameter: str, page: str,
                 loss: str = "Links that use it will need the file again.") -> None:
        self.source, self.name, self.title, self.noun, self.parameter = source, name, title, noun, parameter
        self.page, self.loss = page, loss

    def entries(self) -> list[Entry]:
        noted = notes.written(self.name)
        return [_entry(self, own.name, own.title, own.summary, own.written, noted, self.page, own.trouble)
                for own in self.source.entries()]

    def remove(self, key: str) -> None:
        self.source.delete(key)


class Uploads(OwnFilesShelf):
    def has(self, key: str) -> bool:
        return bool(uploads.content(key))

    def sketch(self, key: str) -> Sketch | None:
        return samples.sketch(key)

    def named_in(self, parameters: Parameters) -> list[str]:
        return [name for name in super().named_in(parameters) if uploads.is_upload(name)]


class Records(OwnFilesShelf):
    def sketch(self, key: str) -> Sketch | None:
        return samples.words(record_files.first(key))


class ExternalScoreShelf(Shelf):
    """Tables as their files hold them, and scores as comparisons name them: a code of an address names the latter."""

    name, title, noun, parameter = "brought", "Scores of other programs", "table of scores", "brought"
    loss = FILE_NEEDED

    def entries(self) -> list[Entry]:
        """A table, or scores of which no table is there; then those that cannot be read."""
        noted, imports = notes.written(self.name), external_tables.imports()
        listed = [(table.digest, table.file, table.shape, table.written) for table in imports.tables]
        known = {table.digest for table in imports.tables}
        listed += [(stored.digest, str(facts.get("file", "scores")), stored.manifest["shape"],
                    stored.manifest["written"]) for stored in imports.scores
                   if (facts := stored.manifest["facts"]).get("table") not in known]
        damaged = [Entry(self.name, key, f"Scores {key[:12]}", "", "", "", {}, noted.get(key, Noted()), trouble)
                   for key, trouble in imports.unreadable.items()]
        return [*(_entry(self, key, file, f"{shape[0]:,} × {shape[1]:,}", when, noted, "compare")
                  for key, file, shape, when in listed), *damaged]

    def named_in(self, parameters: Parameters) -> list[str]:
        """By the tables that a view reads, and the stored scores that its specifications name: those are kept under
        their table."""
        scores = {digest for texts in parameters.values() for text in texts
                  for digest in re.findall("[;]scores=([0-9a-f]{64})", text)}
        tables = {stored.digest: stored.manifest["facts"].get("table") or stored.digest
                  for stored in external_scores.entries()} if scores else {}
        return [*super().named_in(parameters), *(tables.get(digest, digest) for digest in sorted(scores))]

    def has(self, key: str) -> bool:
        return external_tables.has(key)

    def remove(self, key: str) -> None:
        external_tables.delete(key)


OWN_DATA: tuple[Shelf, ...] = (
    Uploads(uploads, "uploads", "Own data", "upload", "data", "examples", FILE_NEEDED),
    Records(record_files, "records", "Own records", "file of records", "file", "language_models"),
    OwnFilesShelf(embeddings, "embeddings", "Own embeddings", "file of embeddings", "embeddings", "noisy_labels"),
    OwnFilesShelf(new_files, "new", "Your own candidates outside the training data", "file of new candidates", "new",
                  "compare", FILE_NEEDED),
    OwnFilesShelf(imported_models, "models", "Own weights and recordings", "model", "weights", "compare"),
    ExternalScoreShelf())


def missing(parameters: Parameters) -> str:
    """What an address names and this machine lacks, as a sentence; empty where all is there."""
    lacking = [(shelf, key) for shelf in OWN_DATA for key in shelf.named_in(parameters) if not shelf.has(key)]
    if not lacking:
        return ""
    shelf, key = lacking[0]
    return f"It needs the {shelf.noun} `{key[:40]}`, which is no longer on this machine; upload the file again."


def _entry(shelf: Shelf, key: str, title: str, summary: str, written: float | str, noted: Mapping[str, Noted],
           page: str, trouble: str = "") -> Entry:
    """An entry that opens where it was last seen, else on `page`."""
    view = views.of(key)
    created = written if isinstance(written, str) else datetime.fromtimestamp(written, UTC).isoformat(
        timespec="seconds")
    where = (view.page, view.parameters) if view else (page, {shelf.parameter: [key]})
    return Entry(shelf.name, key, title, summary, created, *where, noted.get(key, Noted()), trouble)
