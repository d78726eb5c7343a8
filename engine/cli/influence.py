"""`influence` and `compare`: a user's problem and specifications in, scores or agreement out."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.basics.csv_text import csv_text
from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.basics.noted import noting
from engine.basics.values import figures
from engine.cli.program import PARTLY, command_line
from engine.cli.setting import Data, NewCandidates, ProblemOptions, ScoreFiles, Spec

if TYPE_CHECKING:
    import pandas as pd

    from engine.problems import Problem
    from engine.scoring.scores import Scores
    from engine.scoring.scoring import Scoring

COLUMNS = ["a", "b", "metric", "mean", "ci95", "n_queries", "n_dropped", "verdict"]


def influence(
    data: Data,
    spec: Spec,
    out: Annotated[Path, typer.Option(help="Output scores; a manifest .json is written beside them.",
                                      metavar="NPZ")],
    new_candidates: NewCandidates = None,
    setting: ProblemOptions = ProblemOptions(),
) -> None:
    """Score the candidates for every query under a specification."""
    from engine.cli.problem import Inputs
    from engine.cli.score_files import check_scores_output, write_scores
    from engine.cli.spec_files import read_spec

    check_scores_output(out, inputs=(data, spec, *filter(None, [new_candidates]), *setting.reading.inputs))
    scoring = read_spec(spec)
    setting.options()
    with noting() as notes:
        problem, names = Inputs(data, setting).with_new(new_candidates)
        scores = _computed(problem, [scoring], setting)[0]
    if names:
        scores.provenance["new_candidates"] = {"first": problem.n, "names": list(names)}
    write_scores(out, scores, command_line("influence", {"data": data, "spec": spec, "out": out,
                                                         "new_candidates": new_candidates}, setting.arguments), notes)


def compare(
    data: Data,
    specs: Annotated[Path, typer.Option(help='A JSON list of {"name": …, "spec": {…}}, at least two.',
                                        metavar="JSON")],
    out: Annotated[Path, typer.Option(help="Output agreement, one row per pair and metric.", metavar="CSV")],
    scores: ScoreFiles = None,
    metric: Annotated[list[str] | None, typer.Option(help="A further metric: spearman, rbo or jaccard; "
                                                          "repeatable.")] = None,
    new_candidates: NewCandidates = None,
    setting: ProblemOptions = ProblemOptions(),
) -> None:
    """Compare specifications, and say why their scores differ. Those that the model has no answer to are left out; the
    exit code is then 3."""
    import pandas as pd

    from engine.analysis.comparison import with_refused
    from engine.cli.problem import Inputs
    from engine.cli.score_files import check_output, read_scores
    from engine.cli.spec_files import read_specs
    from engine.metrics.agreement import METRICS
    from engine.metrics.agreement import metric as agreement_metric

    check_output(out, ".csv", inputs=(data, specs, *(scores or ()), *setting.reading.inputs))
    metrics = tuple(dict.fromkeys((*METRICS, *(agreement_metric(name).name for name in metric or ()))))
    listed = read_specs(specs, least=1 if scores else 2)
    setting.options()
    problem, _ = Inputs(data, setting).with_new(new_candidates)
    external = read_scores(scores or (), problem, beside=listed)
    named, refused = _answerable(problem, listed, external)
    table = pd.DataFrame(columns=COLUMNS)
    if len(named) + len(external) > 1:
        scored = dict(zip(named, _computed(problem, list(named.values()), setting), strict=True))
        table = _agreement(problem, {**scored, **external}, metrics)
    atomic_write(out, csv_text(with_refused(table, metrics, [*listed, *external], refused)))
    if refused:
        raise typer.Exit(PARTLY)


def _agreement(problem: Problem, scores: Mapping[str, Scores], metrics: Sequence[str]) -> pd.DataFrame:
    """The table of a comparison; stderr says what is left out of it, or below resolution."""
    from engine.analysis import comparison
    from engine.scoring import resolution
    from engine.scoring.left_out import LeftOut

    result = comparison.compare([list(scores.values())], list(scores), metrics=metrics, problem=type(problem))
    if below := sum(result.below_resolution):
        print(f"{below:,} scores are below resolution; they are flagged and included.", file=sys.stderr)
    if any((*result.unranked, *result.unsigned)):
        print(f"Scores {resolution.left_out(sum(result.unranked), sum(result.unsigned))}.", file=sys.stderr)
    if left_out := sum(result.left_out):
        print(f"{left_out} candidates are left out of the comparison {LeftOut.joined(result.lost).because}.",
              file=sys.stderr)
    return result.table()[COLUMNS]


def _answerable(problem: Problem, named: dict[str, Scoring], external: Mapping[str, Scores]
                ) -> tuple[dict[str, Scoring], dict[str, str]]:
    """Those of the scorings that the problem can be asked, and of the others why not, which stderr says. Raises
    `InvalidInput` where nothing is left."""
    from engine.scoring.compute import refusals

    names = list(named)
    refused = {names[row]: why for row, why in refusals(problem, list(named.values())).items()}
    if len(refused) == len(named) and not external:
        name, why = next(iter(refused.items()))
        raise InvalidInput(f"Specification `{name}`: {why}")
    for name, why in refused.items():
        print(f"Specification `{name}` is not computed: {why}", file=sys.stderr)
    return {name: scoring for name, scoring in named.items() if name not in refused}, refused


def _computed(problem: Problem, scorings: list[Scoring], setting: ProblemOptions) -> list[Scores]:
    """The scores, with a bar where stderr is a terminal and a warning where they are not to be taken at their word."""
    from engine.cli.progress import progress
    from engine.scoring.compute import compute

    with progress(f"{len(problem.candidates):,} candidates × {len(problem.queries):,} queries") as move:
        scored = compute(problem, scorings, setting.options(move))
    for said in dict.fromkeys(said for scores in scored for said in scores.provenance.get("rounded", [])):
        print(said, file=sys.stderr)
    for scores in scored:
        _warn(scores)
    return scored


def _warn(scores: Scores) -> None:
    from engine.scoring.resolution import Resolution

    warnings = Resolution.joined([scores]).warnings
    if warnings:
        print(f"Scores under {scores.scoring.title}: {'; '.join(warnings)}. scores.npz has `error` and `resolved`.",
              file=sys.stderr)
    how = scores.convergence
    if how.reached < how.of:
        goal = "converge" if how.exact else "reach the solver's tolerance"
        print(f"{how.of - how.reached} of {how.of} candidates did not {goal} under {scores.scoring.title} (largest "
              f"residual {figures(how.largest, 2)}) and are flagged; "
              "exclude them, or try another --l2.", file=sys.stderr)
    if scores.noise is not None:
        print(f"Over seeds, the standard error of a score under {scores.scoring.title} is {scores.noise:.2f} of the "
              "spread over training examples; `standard_error` has one per score.", file=sys.stderr)
    for remark in how.remarks(scores.scoring.route.title):
        print(remark, file=sys.stderr)
