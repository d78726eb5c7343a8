"""The options that say how models of subsets are trained, and what the subsets are drawn from."""

from __future__ import annotations

from typing import Annotated

import typer

Protocol = Annotated[str, typer.Option(
    help="How models without some examples are trained: weights (the recorded run, weight 0 in place), subset "
         "(ordinary training on the subset alone, same seed) or seeds (the same, a seed of its own for each model).")]
Among = Annotated[str, typer.Option(
    help="What subsets are drawn from: candidates (every other training example is in all of them) or all (any "
         "training example may be left out).")]
