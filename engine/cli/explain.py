"""`explain`: why two specifications, or scores from elsewhere, disagree on a problem, link by link."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.cli.program import command_line
from engine.cli.setting import ProblemOptions, ScoreFiles

if TYPE_CHECKING:
    from engine.problems import Problem
    from engine.scoring.scores import Scores
    from engine.scoring.scoring import Scoring


def explain(
    data: Annotated[list[Path], typer.Option(help="The problem: an npz, or a problem.json; several, each as its own "
                                                  "option, are the seeds of an average.", metavar="FILE")],
    out: Annotated[Path, typer.Option(help="The explanation to write.", metavar="JSON")],
    specs: Annotated[Path | None, typer.Option(help='A JSON list of {"name": …, "spec": {…}}.',
                                               metavar="JSON")] = None,
    scores: ScoreFiles = None,
    between: Annotated[list[str] | None, typer.Option(help="The names of the two to explain, as two options (default: "
                                                           "the only two).", metavar="NAME")] = None,
    setting: ProblemOptions = ProblemOptions(),
) -> None:
    """Attribute a disagreement to behavior, intervention, training process and approximation error."""
    from engine.analysis import explanation
    from engine.cli.explain_text import as_data, as_text
    from engine.cli.problem import read_problem
    from engine.cli.score_files import check_output, json_text
    from engine.scoring.identities import ProblemFacts
    from engine.scoring.verdict import verdict

    files = scores or ()
    check_output(out, ".json", inputs=(*data, *([specs] if specs else []), *files, *setting.reading.inputs))
    if len(data) > 1 and files:
        raise InvalidInput("Score files belong to one problem, but --data is given several times; explain them on "
                           "their own problem.")
    problems = [read_problem(path, setting) for path in data]
    named = _sides(specs, files, problems[0])
    first, second = _pair(named, between or ())
    why = explanation.explain(problems, named[first], named[second], setting.options())
    scorings = [_scoring(named[name]) for name in (first, second)]
    record = {"first": first, "second": second, "specs": [scoring.canonical() for scoring in scorings],
              "verdict": verdict(scorings[0], scorings[1], ProblemFacts.of(problems[0])).code, **as_data(why),
              "data": [problem.fingerprint for problem in problems] if len(problems) > 1 else problems[0].fingerprint,
              "command": command_line("explain", {
                  "data": data, "specs": specs, "scores": list(files), "between": [first, second], "out": out},
                  setting.arguments)}
    atomic_write(out, json_text(record))
    print(as_text(why))
    if why.left_out:
        print(f"{why.left_out} candidates are left out {why.lost.because}.", file=sys.stderr)


def _sides(specs: Path | None, scores: Sequence[Path], problem: Problem) -> dict[str, Scoring | Scores]:
    """What there is to explain, by name: specifications first, then score files."""
    from engine.cli.score_files import read_scores
    from engine.cli.spec_files import read_specs

    specifications = read_specs(specs, least=1) if specs else {}
    return {**specifications, **read_scores(scores, problem, beside=specifications)}


def _scoring(side: Scoring | Scores) -> Scoring:
    from engine.scoring.scores import Scores

    return side.scoring if isinstance(side, Scores) else side


def _pair(named: Collection[str], between: Sequence[str]) -> tuple[str, str]:
    if not between and len(named) == 2:
        first, second = named
        return first, second
    if len(between) != 2 or between[0] == between[1]:
        raise InvalidInput(f"There are {len(named)} to choose from, {', '.join(f'`{name}`' for name in named)}; name "
                           "two of them with --between.")
    for name in between:
        if name not in named:
            raise InvalidInput(f"No specification or score file is named `{name[:60]}`; choose from "
                               f"{', '.join(f'`{known}`' for known in named)}.")
    return between[0], between[1]

