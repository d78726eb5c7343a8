"""The commands that recompute what a page shows, as text for a shell."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from engine.models.own_architecture import declared
from engine.problems import ProblemSource
from engine.problems.source import SOFTMAX
from engine.requests import Request
from engine.scoring.scoring import Scoring


def problem_file(source: ProblemSource, suffix: str = "") -> tuple[str, str]:
    """(file, command that writes it): the arrays of softmax regression; of a network, what it is trained from, and of
    new candidates, what they are."""
    text = shlex.quote(source.model_dump_json(exclude_defaults=True))
    if source.model != SOFTMAX or source.outside:
        return f"problem{suffix}.json", f"{declaration(source.model)}echo {text} > problem{suffix}.json"
    return f"problem{suffix}.npz", f"python -m engine export-problem --source {text} --out problem{suffix}.npz"


def declaration(model: str) -> str:
    """The line that makes a model of the user's own known to the commands after it; empty for other models."""
    own = declared()
    return f"{own.shell}\n" if own and own.module and own.name == model else ""


def of_problem(name: str, source: ProblemSource, *words: Any, scoring: Scoring | None = None) -> str:
    """The command `name` on a problem with further words, behind those that write what it reads: the problem, and a
    scoring as `spec.json`."""
    file, write = problem_file(source)
    lines, given = [write], ["--data", file]
    if scoring is not None:
        lines.append(write_spec(scoring))
        given += ["--spec", "spec.json"]
    return "\n".join([*lines, shlex.join(["python", "-m", "engine", name, *given, *map(str, words)])])


def write_spec(scoring: Scoring, file: str = "spec.json") -> str:
    """The command that writes a scoring as a file."""
    return f"echo {shlex.quote(json.dumps(scoring.model_dump(mode='json'), ensure_ascii=False))} > {file}"


def of_request(request: Request, source: ProblemSource, *words: str) -> str:
    """The commands that ask the same of the same problem, and write what is asked for first."""
    name = request.command or request.name
    return of_problem(name, source, *request.words, "--out", f"{name}.csv", *words)


def compare(source: ProblemSource | Sequence[ProblemSource], name: str, command: str = "compare", *words: Any) -> str:
    """The commands that recompute a comparison from the downloaded specifications, for one or several seeds."""
    sources = [source] if isinstance(source, ProblemSource) else list(source)
    lines = []
    for one in sources:
        suffix = f"-{one.seed}" if len(sources) > 1 else ""
        file, write = problem_file(one, suffix)
        lines += [write, shlex.join(["python", "-m", "engine", command, "--data", file, "--specs", f"{name}-specs.json",
                                     "--out", f"{name}{suffix}.csv", *map(str, words)])]
    return "\n".join(lines)


def scores(source: ProblemSource, scorings: Sequence[Scoring]) -> str:
    """The commands that recompute the scores themselves, one file a scoring."""
    file, write = problem_file(source)
    lines = [write]
    for number, scoring in enumerate(scorings, 1):
        spec = f"spec-{number}.json"
        lines += [write_spec(scoring, spec),
                  f"python -m engine influence --data {file} --spec {spec} --out scores-{number}.npz"]
    return "\n".join(lines)


def specs_json(scorings: Sequence[Scoring]) -> str:
    """specs.json as the command line reads it: a list of named specifications."""
    names = [scoring.title for scoring in scorings]
    names = [name if names.index(name) == index else f"{name} ({index + 1})" for index, name in enumerate(names)]
    listed = [{"name": name, "spec": scoring.model_dump(mode="json")}
              for name, scoring in zip(names, scorings, strict=True)]
    return json.dumps(listed, indent=2, ensure_ascii=False)
