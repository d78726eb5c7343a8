"""What one person keeps, in one place: comparisons, finished runs, published results, and what was brought."""

from engine.basics.registry import Registry
from engine.library.comparisons import Comparisons
from engine.library.entry import Entry, Shelf
from engine.library.kept_data import KEPT
from engine.library.published import PublishedResults
from engine.library.runs import Runs

SHELVES: Registry[Shelf] = Registry("shelf")
for _shelf in (Comparisons(), Runs(), *KEPT, PublishedResults()):
    SHELVES.add(_shelf.name, _shelf)

__all__ = ["SHELVES", "Entry", "Shelf"]
