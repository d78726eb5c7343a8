"""`statements`: what the paper concludes, and what the published results say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write


def statements(
    results: Annotated[Path | None, typer.Option(help="Folder of published results, as `reproduce --out` writes it "
                                                      "(default: assets/results).", metavar="DIR")] = None,
    out: Annotated[Path | None, typer.Option(help="The same as a table: every comparison with its seeds, raw and "
                                                  "adjusted interval.", metavar="JSON")] = None,
    reading: Annotated[str, typer.Option("--as", help="Whose conventions the results follow: `paper` (its text) or "
                                                      "`authors` (their code).")] = "paper",
) -> None:
    """The paper's conclusions: confirmed, contradicted or undecided by the published results."""
    from engine.cli.score_files import check_output, json_text
    from engine.cli.statements_text import as_data, listed
    from engine.experiments import conventions
    from engine.experiments.statements import STATEMENTS
    from engine.experiments.statements.findings import findings, without_results

    conventions.check_name(reading)
    if results is not None and not results.is_dir():
        raise InvalidInput(f"There is no folder `{results}`; name one that `reproduce --out` has written.")
    if out is not None:
        check_output(out, ".json", inputs=())
    judged = findings(STATEMENTS.values(), results, reading)
    if out is not None:
        atomic_write(out, json_text(as_data(judged, reading)))
    print(listed(judged, without_results(STATEMENTS.values(), results, reading), reading))
