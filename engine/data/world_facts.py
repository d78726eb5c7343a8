"""What is true in the embedded world: entities and their classes, opposites, and numbers, read from one JSON file.

    {"kinds": {CLASS: {"trait": what every member does, "members": [...]}},
     "opposites": [[WORD, WORD], ...], "numbers": [the words for 0, 1, 2, ...]}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from engine.basics.contents import content as digest_of_file
from engine.basics.errors import MissingData

FILE = Path(__file__).parents[2] / "assets" / "embedded" / "world.json"
WORD = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True)
class EntityClass:
    """A class of entities. trait: what every member does or has, as “has feathers”."""

    name: str
    trait: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class WorldFacts:
    """kinds: disjoint classes. opposites: pairs of words. numbers: their words, from zero on."""

    kinds: tuple[EntityClass, ...]
    opposites: tuple[tuple[str, str], ...]
    numbers: tuple[str, ...]

    def words(self) -> Iterator[str]:
        """Every word of a fact, repeated where it stands in several."""
        for kind in self.kinds:
            yield from (kind.name, *kind.trait.split(), *kind.members)
        for pair in self.opposites:
            yield from pair
        yield from self.numbers


def content(path: Path | None = None) -> str:
    """The digest of the file; empty where it is not there."""
    try:
        return digest_of_file(path or FILE)
    except OSError:
        return ""


def read(path: Path | None = None) -> WorldFacts:
    """The facts of a file (default: the embedded world). Raises `MissingData` where it is absent or damaged."""
    path = path or FILE
    return _read(path, content(path))


@lru_cache(maxsize=2)
def _read(path: Path, changed: str) -> WorldFacts:
    try:
        data = json.loads(path.read_bytes())
        kinds = (EntityClass(name, kind["trait"], tuple(kind["members"])) for name, kind in data["kinds"].items())
        facts = WorldFacts(tuple(kinds), tuple((first, second) for first, second in data["opposites"]),
                           tuple(data["numbers"]))
        sound = _sound(facts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise MissingData(f"The file of the embedded world ({path.name}) is missing or damaged; restore "
                          "assets/embedded from a fresh copy of this project.")
    return facts


def _sound(facts: WorldFacts) -> bool:
    """Whether questions can be asked of the facts: enough of each, one word an answer, no word with two meanings."""
    members = [member for kind in facts.kinds for member in kind.members]
    turned = [word for pair in facts.opposites for word in pair]
    return (len(facts.kinds) > 1 and len(facts.opposites) > 1 and len(facts.numbers) > 2
            and all(WORD.fullmatch(word) for word in facts.words())
            and all(len(set(words)) == len(words) for words in (members, turned, facts.numbers))
            and all(kind.members for kind in facts.kinds))
