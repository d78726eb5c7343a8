"""`statements`: what the paper concludes, and what the published results say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.errors import InvalidInput


def statements(
    results: Annotated[Path | None, typer.Option(help="Folder of published results, as `reproduce --out` writes it "
                                                      "(default: assets/results).", metavar="DIR")] = None,
) -> None:
    """What the paper concludes: confirmed, contradicted or undecided by the published results."""
    from engine.cli.statements_text import listed
    from engine.experiments.statements import STATEMENTS
    from engine.experiments.statements.findings import findings

    if results is not None and not results.is_dir():
        raise InvalidInput(f"There is no folder `{results}`; name one that `reproduce --out` has written.")
    print(listed(findings(STATEMENTS.values(), results)))
