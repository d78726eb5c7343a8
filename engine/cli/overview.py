"""`list` and `doctor`: what there is to choose from, and what this machine has."""

from __future__ import annotations

from typing import Annotated

import typer


def list_choices(
    json: Annotated[bool, typer.Option("--json", help="As JSON: behaviors, and the JSON schema of each intervention, "
                                                     "process and estimator's settings.")] = False,
) -> None:
    """List behaviors, interventions, processes, estimators, datasets and experiments by name."""
    from json import dumps

    from engine.cli.catalogue import catalogue, schemas

    print(dumps(schemas(), indent=2, ensure_ascii=False) if json else catalogue())


def doctor() -> None:
    """Show device, versions, and the available data and models."""
    from engine.cli.diagnosis import diagnosis

    print(diagnosis())
