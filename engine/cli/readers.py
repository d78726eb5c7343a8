"""What commands of requests read from files, or from several options, for one field: a function each, whose further
parameters are the options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from engine.analysis.removal_curve import order_of
from engine.analysis.subset_bank import Bank
from engine.basics.errors import InvalidInput
from engine.cli.bank_files import read_bank
from engine.cli.language_run import LanguageRun
from engine.cli.noisy_labels import SearchedData
from engine.cli.problem import Inputs
from engine.cli.reading import say
from engine.cli.score_files import read_scores
from engine.cli.setting import ScoreFiles, Spec
from engine.cli.spec_files import read_spec, read_specs
from engine.data.records import Record, read_jsonl
from engine.estimators.external import data_of
from engine.external.importing import stored
from engine.problems import Problem
from engine.scoring.compute import compute
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring


def read_scoring(inputs: Inputs, fields: Mapping[str, Any], spec: Spec) -> Scoring:
    """The specification with its estimator."""
    return read_spec(spec)


def read_scored(inputs: Inputs, fields: Mapping[str, Any], spec: Annotated[Path | None, typer.Option(
        help="The specification and its estimator, as a JSON object.", metavar="JSON")] = None,
        scores: Annotated[Path | None, typer.Option(
        help="Instead: scores written by `bring` or `influence` for this problem.", metavar="NPZ")] = None) -> Scoring:
    """A specification with its estimator, or the scoring of a file."""
    if spec and not scores:
        return read_spec(spec)
    if scores and not spec:
        return read_external(inputs, fields, [scores])[0]
    raise InvalidInput("Give one specification with --spec, or one file of scores with --scores.")


def read_singles(inputs: Inputs, fields: Mapping[str, Any], whole_only: Annotated[bool, typer.Option(
        "--whole-only", help="Compute only the group's effect, without one effect per example.")] = False
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
        raise InvalidInput("Give the training examples with --examples or --top; --by and --query apply to --top.")
    problem = inputs.problem
    if examples is not None:
        return inputs.listing.rows(examples)
    if query is not None and query >= len(problem.queries):
        raise InvalidInput(f"There is no query {query}; give 0 to {len(problem.queries) - 1}.")
    [ranking] = read_scores([by], problem).values() if by else compute(problem, fields["scoring"],
                                                                       inputs.setting.options())
    scores = ranking.scored if query is None else ranking.trusted[[query]]
    known = int((~np.isnan(scores)).any(0).sum())
    if (top or 0) > known:
        raise InvalidInput(f"--top is {top:,}, but only {known:,} candidates have a score; give a smaller number.")
    return sorted(int(row) for row in ranking.candidates[order_of(scores)[:top]])


def read_external(inputs: Inputs, fields: Mapping[str, Any], scores: ScoreFiles = None) -> tuple[Scoring, ...]:
    """The scorings of score files, those of other programs put where every chunk finds them."""
    problem = inputs.problem
    return tuple(one.scoring if one.scoring.route.computes else stored(one, data_of(problem))
                 for one in read_scores(scores or (), problem).values())


def read_pictures(inputs: Inputs, fields: Mapping[str, Any], picture: Annotated[list[Path] | None, typer.Option(
        help="An image outside the set of queries, read at the size of the training images; repeatable.",
        metavar="FILE")] = None) -> tuple[tuple[float, ...], ...]:
    """Values of pictures in files, as the model takes them."""
    from engine.data.new_files import survey_of
    from engine.data.pixels import as_input

    trained = survey_of(inputs.sampled.dataset) if picture and inputs.sampled else None
    return tuple(as_input(one.read_bytes(), tuple(inputs.problem.x.shape[1:]), one.name, trained)
                 for one in picture or ())


def read_records(inputs: Inputs, fields: Mapping[str, Any], record: Annotated[Path | None, typer.Option(
        help="JSONL of records with a wrong response, outside the set of queries.", metavar="JSONL")] = None
        ) -> tuple[Record, ...]:
    """The records of a file."""
    return read_jsonl(record) if record else ()


def read_named(inputs: Inputs, fields: Mapping[str, Any], specs: Annotated[Path | None, typer.Option(
        help='A JSON list of {"name": …, "spec": {…}}.', metavar="JSON")] = None, scores: ScoreFiles = None
        ) -> dict[str, Scoring | Scores]:
    """Specifications and scores by name, specifications first."""
    if specs is None and not scores:
        raise InvalidInput("No input is given; use --specs, --scores or both.")
    specifications = read_specs(specs, least=1) if specs else {}
    return {**specifications, **read_scores(scores or (), inputs.problem, beside=specifications)}


def read_batches(inputs: Inputs, fields: Mapping[str, Any], new_candidates: Annotated[Path, typer.Option(
        help="The candidates, as in `influence`; JSONL for a language model is read line by line and may be of any "
             "size.",
        metavar="PATH")]) -> Any:
    """New candidates in batches."""
    return inputs.batches(new_candidates)


def read_others(inputs: Inputs, fields: Mapping[str, Any]) -> list[Problem]:
    """The problem under further seeds."""
    return inputs.others


def read_required_bank(inputs: Inputs, fields: Mapping[str, Any], bank: Annotated[Path, typer.Option(
        help="Models on subsets, written by `subsets` for this problem.", metavar="NPZ")]) -> Bank:
    """Models on subsets."""
    return read_bank(bank, inputs.problem)


def read_optional_bank(inputs: Inputs, fields: Mapping[str, Any], bank: Annotated[Path | None, typer.Option(
        help="Models written by `subsets`, instead of --subsets, --share, --seed, --protocol and --among.",
        metavar="NPZ")] = None) -> Bank | None:
    """Models on subsets that need not be trained."""
    return read_bank(bank, inputs.problem) if bank else None


def read_other_bank(inputs: Inputs, fields: Mapping[str, Any], other: Annotated[Path | None, typer.Option(
        help="A bank with another --later, for the ceiling.", metavar="NPZ")] = None) -> Bank | None:
    """The same subsets, trained with another seed."""
    return read_bank(other, inputs.problem) if other else None


def read_language_run(inputs: None, fields: Mapping[str, Any], run: LanguageRun = LanguageRun()) -> Any:
    """The run of a language model."""
    return run.request


def read_searched(inputs: None, fields: Mapping[str, Any], searched: SearchedData = SearchedData()) -> Any:
    """The labels that are searched."""
    from engine.applications.noisy_labels.drawing import draw_cached

    source = searched.chosen()
    say(draw_cached(source).dataset)
    return source


READERS: Mapping[str, Callable[..., Any]] = {
    "scoring": read_scoring, "scored": read_scored, "singles": read_singles, "rows": read_rows, "scores": read_external,
    "pictures": read_pictures, "records": read_records, "named": read_named, "batches": read_batches,
    "others": read_others, "bank": read_required_bank, "optional_bank": read_optional_bank,
    "other_bank": read_other_bank, "language_run": read_language_run, "searched": read_searched}
"""By the name that `engine.requests.Option` gives them."""
