"""The shelf of saved comparisons: each reopens the Compare page as it was."""

from __future__ import annotations

from engine.basics.errors import WhichfluenceError
from engine.library import notes
from engine.library.entry import Entry, Shelf
from engine.library.notes import Noted
from engine.library.own_data import missing
from engine.store import comparisons as saved
from engine.store.sketch import Grid, Sketch


class Comparisons(Shelf):
    name, title, noun = "comparisons", "Saved comparisons", "saved comparison"
    named = True
    loss = "Its name, note and link are deleted; the scores stay in the store."

    def entries(self) -> list[Entry]:
        tagged, entries = notes.written(self.name), []
        for key in saved.stored_keys():
            noted = tagged.get(key, Noted())
            try:
                comparison = saved.load(key).saved
            except WhichfluenceError as error:
                entries.append(Entry(self.name, key, "A comparison that cannot be read", "", "", "", {}, noted,
                                     str(error)))
                continue
            entries.append(Entry(self.name, key, comparison.name, comparison.summary, comparison.created, "compare",
                                 comparison.parameters, Noted(note=comparison.note, tags=noted.tags),
                                 missing(comparison.parameters)))
        return entries

    def has(self, key: str) -> bool:
        return key in saved.stored_keys()

    def sketch(self, key: str) -> Sketch | None:
        rows = saved.load(key).saved.matrix
        return Grid(rows, -1.0, 1.0, "Matrix of rank correlations (mean Kendall τ) between its specifications"
                    ) if rows else None

    def annotate(self, key: str, name: str, note: str, tags: str) -> None:
        Noted.parse({"note": note, "tags": notes.split(tags)})
        saved.change(key, name, note)
        notes.write(self.name, key, "", tags)

    def remove(self, key: str) -> None:
        saved.delete(key)
