"""By which reading of the paper a study computes: what its text says, or what its authors' code does.

A study that computes by both reads `settings.get(KEY)`. The key is absent for the paper's words, so that a payload of
theirs has the digest that it had before there was a choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.basics.errors import InvalidInput
from engine.basics.registry import Registry, unknown

KEY = "conventions"
AS_PAPER, AS_AUTHORS = "paper", "authors"
TITLES: Mapping[str, str] = {AS_PAPER: "the paper's words", AS_AUTHORS: "the authors' code"}
"""name -> what a sentence calls it."""
SUFFIX = f"-{AS_AUTHORS}"

CHANGES: Registry[str] = Registry("study with the authors' conventions")
"""The kind of a study's job -> what it computes otherwise as the authors' code does, in a sentence. A study that is not
here computes by the paper's words alone."""


def of(settings: Mapping[str, Any]) -> str:
    """The name of the conventions that a study's settings were made with."""
    return str(settings.get(KEY, AS_PAPER))


def settings(own: Mapping[str, Any], conventions: str) -> dict[str, Any]:
    """The settings with these conventions, which is the key alone."""
    rest = {key: value for key, value in own.items() if key != KEY}
    return rest if conventions == AS_PAPER else {**rest, KEY: conventions}


def check_name(conventions: str) -> None:
    """Raises `InvalidInput` for conventions that do not exist."""
    if conventions not in TITLES:
        raise InvalidInput(unknown("reading of the paper", conventions, TITLES))


def check(name: str, study: str, conventions: str) -> None:
    """Raises `InvalidInput` for conventions that do not exist, or by which the study of experiment `name` does not
    compute."""
    check_name(conventions)
    if conventions != AS_PAPER and study not in CHANGES:
        raise InvalidInput(f"`{name}` is computed by {TITLES[AS_PAPER]} only; leave `--as {conventions}` out.")


def folder(scale: str, conventions: str) -> str:
    """Where results of a scale are published: those of the authors' code beside the others, as SCALE-authors."""
    return scale if conventions == AS_PAPER else f"{scale}{SUFFIX}"


def of_folder(scale: str) -> str:
    """The conventions of what a folder of published results holds."""
    return AS_AUTHORS if scale.endswith(SUFFIX) else AS_PAPER
