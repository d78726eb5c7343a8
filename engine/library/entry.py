"""An entry of the library, and what a shelf of entries of one kind answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.basics.errors import InvalidInput
from engine.library import notes, views
from engine.library.notes import Noted
from engine.store import comparisons
from engine.store.sketch import Sketch

Parameters = Mapping[str, list[str]]


@dataclass(frozen=True)
class Entry:
    """Something that is kept. key: tells it from others of its shelf; created: UTC, as ISO 8601; page, parameters: the
    address that opens it, the page empty where nothing does; trouble: why it cannot be opened as it was."""

    shelf: str
    key: str
    title: str
    summary: str
    created: str
    page: str
    parameters: Parameters = field(default_factory=dict)
    noted: Noted = Noted()
    trouble: str = ""
    seconds: float | None = None

    @property
    def text(self) -> str:
        """All that a search looks through."""
        return "\n".join([self.title, self.summary, self.noted.note, *self.noted.tags])


class Shelf(ABC):
    """All entries of one kind. parameter: by which an address names one of them; loss: what deleting one means."""

    name: str
    title: str
    noun: str
    loss: str = ""
    parameter: str = ""
    fixed: bool = False
    """Whether its entries published with the program and stay."""
    named: bool = False
    """Whether its entries have a name that can be changed."""

    @abstractmethod
    def entries(self) -> list[Entry]:
        """All of them; one that cannot be read stands there with its trouble."""

    def has(self, key: str) -> bool:
        """Whether there is an entry of that key."""
        return any(entry.key == key for entry in self.entries())

    def sketch(self, key: str) -> Sketch | None:
        """What its small picture is drawn from; None where there is none. Raises for what is gone or damaged."""
        return None

    def annotate(self, key: str, name: str, note: str, tags: str) -> None:
        """Keep a note and tags (separated by commas); `name` counts where entries have names of their own. Raises
        `InvalidInput`."""
        self.require(key)
        notes.write(self.name, key, note, tags)

    def delete(self, key: str) -> None:
        """Forget an entry, with its note; one that is gone already is fine."""
        self.remove(key)
        notes.forget(self.name, key)
        views.forget(key)

    def remove(self, key: str) -> None:
        """Remove the entry itself. Raises `InvalidInput` where entries are `fixed`; all other shelves say how."""
        raise InvalidInput("Published results cannot be deleted.")

    def require(self, key: str) -> None:
        """Raises `InvalidInput` where there is no such entry."""
        if not self.has(key):
            raise InvalidInput(f"This {self.noun} is no longer there; it was deleted.")

    def named_by(self, key: str) -> int:
        """How many saved comparisons name an entry."""
        return sum(key in self.named_in(entry.saved.parameters) for entry in comparisons.entries()
                   ) if self.parameter else 0

    def named_in(self, parameters: Parameters) -> list[str]:
        """The keys of entries that an address names."""
        return list(parameters.get(self.parameter, ())) if self.parameter else []
