"""The shelf of published results, which published with the program."""

from __future__ import annotations

from engine.basics.errors import StoreError
from engine.experiments import EXPERIMENTS, conventions, publish
from engine.library import notes
from engine.library.entry import Entry, Parameters, Shelf
from engine.library.notes import Noted
from engine.models.causal import catalogue
from engine.store.sketch import Bars, Sketch

BETWEEN = "."


class PublishedResults(Shelf):
    name, title, noun, fixed = "published", "Published results", "published result", True

    def entries(self) -> list[Entry]:
        noted, entries = notes.written(self.name), []
        for name, experiment in EXPERIMENTS.items():
            for scale in publish.scales(name, publish.folder(), None):
                key, trouble, manifest = f"{name}{BETWEEN}{scale}", "", {}
                try:
                    manifest = publish.stored_manifest(name, scale, publish.folder())
                except StoreError as error:
                    trouble = str(error)
                seeds = len(manifest.get("seeds", ()))
                summary = " · ".join([f"{scale} scale", *([f"{seeds} seed{'s' if seeds > 1 else ''}"] if seeds else []),
                                      "published with the program"])
                entries.append(Entry(self.name, key, experiment.title, summary, str(manifest.get("written", "")),
                                     "paper", _parameters(name, scale, manifest), noted.get(key, Noted()), trouble))
        return entries

    def sketch(self, key: str) -> Sketch | None:
        name, _, scale = key.partition(BETWEEN)
        result = publish.published(name, scale, publish.folder())
        if result is None:
            return None
        table = result[0]
        first = table[table["metric"] == table["metric"].iloc[0]] if len(table) and "metric" in table else table
        return Bars.of(first["mean"], f"The first values of {EXPERIMENTS[name].title}") if "mean" in first else None


def _parameters(name: str, scale: str, manifest: dict) -> Parameters:
    """Those of the Paper page at this result."""
    chosen = {"experiment": [name], "preset": [str(manifest.get("preset", scale))]}
    model = (manifest.get("payload") or {}).get("settings", {}).get("model")
    if (whose := conventions.of_folder(scale)) != conventions.AS_PAPER:
        chosen["as"] = [whose]
    return chosen | ({"llm": [catalogue.model_title(model)]} if model and EXPERIMENTS[name].models else {})
