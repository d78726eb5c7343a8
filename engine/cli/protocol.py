"""The options that say how models of subsets are trained, and what the subsets are drawn from."""

from __future__ import annotations

from typing import Annotated

import typer

from engine.analysis.options import AMONG, PROTOCOL

Protocol = Annotated[str, typer.Option(help=PROTOCOL)]
Among = Annotated[str, typer.Option(help=AMONG)]
