"""What one person keeps: comparisons, finished runs, published results, and own data."""

from engine.basics.registry import Registry
from engine.library.comparisons import Comparisons
from engine.library.entry import Entry, Shelf
from engine.library.own_data import OWN_DATA
from engine.library.published import PublishedResults
from engine.library.runs import RunShelf

SHELVES: Registry[Shelf] = Registry("shelf", (Comparisons(), RunShelf(), *OWN_DATA, PublishedResults()))

__all__ = ["SHELVES", "Entry", "Shelf"]
