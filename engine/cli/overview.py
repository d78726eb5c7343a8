"""`list` and `doctor`: what there is to choose from, and what this machine has."""

from __future__ import annotations


def list_choices() -> None:
    """What there is to choose from, by the names to write."""
    from engine.cli.catalogue import catalogue

    print(catalogue())


def doctor() -> None:
    """Device, versions, and which data and models are found."""
    from engine.cli.diagnosis import diagnosis

    print(diagnosis())
