"""Named collections: one line registers a thing, and command line and pages list it by themselves."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar, cast

from engine.basics.errors import InvalidInput

T = TypeVar("T")


class Registry(dict[str, T], Generic[T]):
    """An ordered mapping from a name to a registered thing, whose look-up error names what exists.

    >>> shapes = Registry("shape")
    >>> shapes.add("disc", 1)
    1
    >>> shapes["disc"]
    1
    """

    def __init__(self, noun: str, things: Mapping[str, T] | Iterable[Any] = ()) -> None:
        """things: those that are registered from the start, by name or each with its `name`."""
        super().__init__()
        self.noun = noun
        given = things.items() if isinstance(things, Mapping) else [
            (one.name, one) for one in cast(Iterable[Any], things)]
        for name, thing in given:
            self.add(name, thing)

    def add(self, name: str, thing: T, *, replace: bool = False) -> T:
        """Register `thing` as `name` and return it; a taken name is refused unless `replace`."""
        if name in self and not replace:
            raise InvalidInput(f"A {self.noun} named `{name}` is already registered; choose another name.")
        self[name] = thing
        return thing

    def remove(self, name: str) -> None:
        """Forget `name`; unknown names are ignored."""
        self.pop(name, None)

    def __getitem__(self, name: str) -> T:
        try:
            return super().__getitem__(name)
        except (KeyError, TypeError):
            raise InvalidInput(unknown(self.noun, name, self)) from None


def unknown(noun: str, name: object, known: Iterable[str]) -> str:
    """The sentence for a name that does not exist: the nearest name, or all of them."""
    near = difflib.get_close_matches(str(name), list(known), n=1)
    hint = f"did you mean `{near[0]}`?" if near else "known: " + ", ".join(f"`{k}`" for k in known) + "."
    return f"There is no {noun} `{name}`; {hint}"
