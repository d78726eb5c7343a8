"""What commands of requests read from files, or from several options, for one field: a function each, whose further
parameters are the options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from engine.analysis.removal_curve import order_of
from engine.basics.errors import InvalidInput
from engine.cli.problem import read_listed
from engine.cli.score_files import read_scores
from engine.cli.setting import ProblemOptions, ScoreFiles, Spec
from engine.cli.spec_files import read_spec
from engine.estimators.external import data_of
from engine.external.importing import stored
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

if TYPE_CHECKING:
    from engine.data.filters import Listing
    from engine.problems import Problem


@dataclass(frozen=True)
class Inputs:
    """What a command is about, read when it is needed."""

    data: Path
    setting: ProblemOptions

    @cached_property
    def listed(self) -> tuple[Problem, Listing]:
        """The problem, and what a filter can read of its training examples."""
        return read_listed(self.data, self.setting)


def read_scoring(inputs: Inputs, fields: Mapping[str, Any], spec: Spec) -> Scoring:
    """The specification with its estimator."""
    return read_spec(spec)


def read_singles(inputs: Inputs, fields: Mapping[str, Any], whole_only: Annotated[bool, typer.Option(
        "--whole-only", help="Compute the group's effect only, without one effect per example.")] = False
        ) -> bool:
    """Whether single examples are computed too."""
    return not whole_only


def read_rows(
    inputs: Inputs, fields: Mapping[str, Any],
    examples: Annotated[str | None, typer.Option(
        help="The training examples of the group: rows and ranges of rows (3,7,12-20), or a filter "
             "(\"label = cat | dog & file = 2024/*\"; records have prompt, response, answer, id and flag).",
        metavar="ROWS_OR_FILTER")] = None,
    top: Annotated[int | None, typer.Option(help="Instead: the top k of a ranking.", min=1)] = None,
    by: Annotated[Path | None, typer.Option(
        help="The ranking of --top: scores written by `influence` or `bring` for this problem (default: the "
             "specification's own scores).", metavar="NPZ")] = None,
    query: Annotated[int | None, typer.Option(help="The query of --top (default: the mean over all).",
                                              min=0)] = None,
) -> list[int]:
    """Rows of the training set: those that are named, or the top of a ranking."""
    if (examples is None) == (top is None) or (top is None and (by or query is not None)):
        raise InvalidInput("Give the training examples by --examples or by --top; --by and --query apply to --top.")
    problem, listing = inputs.listed
    if examples is not None:
        return listing.rows(examples)
    if query is not None and query >= len(problem.queries):
        raise InvalidInput(f"There is no query {query}; give 0 to {len(problem.queries) - 1}.")
    [ranking] = read_scores([by], problem).values() if by else compute(problem, fields["scoring"],
                                                                       inputs.setting.options())
    scores = ranking.scored if query is None else ranking.trusted[[query]]
    known = int((~np.isnan(scores)).any(0).sum())
    if (top or 0) > known:
        raise InvalidInput(f"--top asks for {top:,}, but {known:,} candidates have a score; ask for fewer.")
    return sorted(int(row) for row in ranking.candidates[order_of(scores)[:top]])


def read_external(inputs: Inputs, fields: Mapping[str, Any], scores: ScoreFiles = None) -> tuple[Scoring, ...]:
    """The scorings of score files, those of other programs put where every chunk finds them."""
    problem, _ = inputs.listed
    return tuple(one.scoring if one.scoring.route.computes else stored(one, data_of(problem))
                 for one in read_scores(scores or (), problem).values())


def read_pictures(inputs: Inputs, fields: Mapping[str, Any], picture: Annotated[list[Path] | None, typer.Option(
        help="A picture that is no query yet, read at the size of the training pictures; repeat it for several.",
        metavar="FILE")] = None) -> tuple[tuple[float, ...], ...]:
    """Values of pictures in files, as the model takes them."""
    from engine.data.pixels import as_input

    return tuple(as_input(one.read_bytes(), tuple(inputs.listed[0].x.shape[1:]), one.name) for one in picture or ())


READERS: Mapping[str, Callable[..., Any]] = {"scoring": read_scoring, "singles": read_singles, "rows": read_rows,
                                            "scores": read_external, "pictures": read_pictures}
"""By the name that `engine.requests.Option` gives them."""
