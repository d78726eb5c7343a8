"""`run`: the workbench in the browser."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

ENTRY = Path(__file__).parents[2] / "app" / "main.py"


def run(
    options: Annotated[list[str] | None, typer.Argument(
        help="Options of Streamlit, after `--`: `run -- --server.headless true`.", metavar="[-- OPTIONS]")] = None,
    port: Annotated[int, typer.Option(help="Where it answers: http://localhost:PORT.", min=1, max=65_535)] = 8501,
) -> None:
    """Serve the workbench to this machine's browser until Ctrl-C."""
    command = [sys.executable, "-m", "streamlit", "run", str(ENTRY), "--server.port", str(port), *(options or [])]
    os.execv(sys.executable, command)  # so that signals reach the server itself
