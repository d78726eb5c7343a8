"""`explain`: why two specifications, or scores from elsewhere, disagree on a problem, link by link."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.analysis.explanation import Explanation, explain
from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.basics.options import Options
from engine.cli.bringing import read_scores
from engine.cli.commands import PROGRAM
from engine.cli.scoring import Setting, budget, check_output
from engine.cli.specs import read_specs
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.scoring.verdict import verdict
from engine.store.sealed import plain


def explain_pair(data: Sequence[Path], specs: Path | None, scores: Sequence[Path], between: Sequence[str], out: Path,
                 setting: Setting) -> None:
    """Write explanation.json, and print its sentence and its links. Several problems are the seeds of an average."""
    inputs = (*data, *([specs] if specs else []), *scores)
    check_output(out, ".json", inputs=inputs)
    if len(data) > 1 and scores:
        raise InvalidInput("Score files belong to one problem, but --data is given several times; explain them on the "
                           "problem that they were made for.")
    problems = [setting.problem(path) for path in data]
    named: dict[str, Scoring | Scores] = {}
    brought = read_scores(scores, problems[0])
    for name, side in (*(read_specs(specs, least=1) if specs else {}).items(), *brought.items()):
        if name in named:
            raise InvalidInput(f"Both a specification and a score file are named `{name}`; give one another name.")
        named[name] = side
    first, second = _pair(named, between)
    found = explain(problems, named[first], named[second], Options(budget=budget(setting.memory)))
    scorings = [_scoring(named[name]) for name in (first, second)]
    record = {"first": first, "second": second, "specs": [scoring.canonical() for scoring in scorings],
              "verdict": verdict(*scorings).code, **as_data(found),
              "data": [problem.fingerprint for problem in problems] if len(problems) > 1 else problems[0].fingerprint,
              "command": _command(inputs, data, specs, scores, (first, second), out, setting)}
    atomic_write(out, json.dumps(plain(record), indent=1, ensure_ascii=False) + "\n")
    print(told(found))
    if found.left_out:
        print(f"{found.left_out} candidates are left out because they did not converge everywhere.", file=sys.stderr)


def as_data(found: Explanation) -> dict[str, Any]:
    """An explanation as plain data."""
    return {"sentence": found.sentence, "links": [asdict(link) for link in found.links],
            "direct": found.direct.mean, "path": found.path, "slack": found.slack, "orders": found.orders,
            "n_seeds": found.n_seeds, "interval_over": found.direct.interval_over,
            "agreement": {name: {"mean": agreement.mean, "ci95": agreement.ci95}
                          for name, agreement in found.whole.items()},
            "brackets": {cause: list(found.bracket(cause)) for cause in _causes(found)},
            "notes": [*found.by_order, *found.notes], "left_out": found.left_out}


def over(found: Explanation) -> str:
    """What intervals run over, in words."""
    return f"{found.n_seeds} seeds" if found.n_seeds > 1 else "queries"


def told(found: Explanation) -> str:
    """The sentence and the links, as text for the terminal."""
    lines = [found.sentence]
    for link in found.links:
        spread = f" ± {100 * link.share_ci95:4.1f}" if link.share_ci95 == link.share_ci95 else ""
        lines.append(f"  {100 * link.share:5.1f}%{spread}  {link.length:.4f} ± {link.ci95:.4f}  "
                     f"τ = {link.agreement['kendall_tau']:+.3f}  {link.title}")
    if found.links:
        lines.append(f"  the way is {found.path:.4f} long, and the ends are {found.direct.mean:.4f} apart: slack "
                     f"{found.slack:.4f}; {found.orders} order{'s' if found.orders > 1 else ''} of the axes; ± is "
                     f"a 95% t interval over {over(found)}")
    return "\n".join([*lines, *found.by_order, *found.notes])


def _causes(found: Explanation) -> list[str]:
    return list(dict.fromkeys(cause for link in found.links for cause in link.causes))


def _scoring(side: Scoring | Scores) -> Scoring:
    return side.scoring if isinstance(side, Scores) else side


def _pair(named: dict[str, Any], between: Sequence[str]) -> tuple[str, str]:
    if not between and len(named) == 2:
        return tuple(named)
    if len(between) != 2 or between[0] == between[1]:
        raise InvalidInput(f"There are {len(named)} to choose from, {', '.join(f'`{name}`' for name in named)}; name "
                           "two of them with --between.")
    for name in between:
        if name not in named:
            raise InvalidInput(f"There is nothing named `{name[:60]}` to explain; choose from "
                               f"{', '.join(f'`{known}`' for known in named)}.")
    return between[0], between[1]


def _command(inputs, data: Sequence[Path], specs: Path | None, scores: Sequence[Path], pair: Sequence[str], out: Path,
             setting: Setting) -> str:
    short = {path: str(path.name if path.is_absolute() else path) for path in (*inputs, out)}
    given = [word for path in data for word in ("--data", short[path])]
    given += ["--specs", short[specs]] if specs else []
    for path in scores:
        given += ["--scores", short[path]]
    return f"{PROGRAM} " + shlex.join(["explain", *given, "--between", pair[0], "--between",
                                       pair[1], "--out", short[out], *setting.arguments])
