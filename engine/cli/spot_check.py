"""`spot-check`: how well an approximation ranks, against the exact answer to the same question on a random draw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.basics.files import atomic_write
from engine.cli.program import command_line
from engine.cli.setting import Data, Setting, Spec

if TYPE_CHECKING:
    from engine.analysis.spot_check import SpotCheck
    from engine.metrics.agreement import Agreement


def spot_check(
    data: Data,
    spec: Spec,
    out: Annotated[Path, typer.Option(help="What was measured, or why nothing was.", metavar="JSON")],
    candidates: Annotated[int, typer.Option(help="How many candidates are drawn at random.", min=3)] = 50,
    queries: Annotated[int, typer.Option(help="How many queries are drawn at random.", min=2)] = 50,
    seed: Annotated[int, typer.Option(help="Of the draw.", min=0)] = 0,
    most_seconds: Annotated[float, typer.Option(help="What the exact answer may cost, as far as it can be guessed.",
                                                min=0)] = 3600.0,
    setting: Setting = Setting(),
) -> None:
    """Measure how well an approximation ranks, against the exact answer to the same question."""
    from engine.analysis import spot_check as checked
    from engine.cli.problem import read_problem
    from engine.cli.progress import progress
    from engine.cli.score_files import check_output, json_text
    from engine.cli.spec_files import read_spec

    check_output(out, ".json", inputs=(data, spec))
    scoring, problem = read_spec(spec), read_problem(data, setting)
    with progress("the exact answer") as move:
        found = checked.spot_check(problem, scoring, candidates=candidates, queries=queries, seed=seed,
                                   most_seconds=most_seconds, options=setting.options(move))
    told = _record(found) if isinstance(found, checked.SpotCheck) else {"measured": False, "why": found.why}
    record = {"spec": scoring.canonical(), "sentence": found.sentence, **told, "data": problem.fingerprint,
              "command": command_line("spot-check", "--data", data, "--spec", spec, "--out", out, "--candidates",
                                      str(candidates), "--queries", str(queries), "--seed", str(seed),
                                      "--most-seconds", repr(most_seconds), *setting.arguments)}
    atomic_write(out, json_text(record))
    print(found.sentence)
    if isinstance(found, checked.SpotCheck):
        print(found.basis)
        print(found.reference_said)


def _record(found: SpotCheck) -> dict[str, Any]:
    return {"measured": True, "reference": found.reference.canonical(), "reference_bounded": found.bounded,
            "reference_computed": found.convergence.summary,
            "kendall_tau": {**_agreement(found.tau), "ci95_of_the_draw": _number(found.drawn_ci95),
                            "ci95_together": _number(found.ci95)},
            "top_overlap": {**_agreement(found.overlap), "top": found.top, "chance": found.chance},
            "word": found.words.word, "candidates": found.candidates, "of_candidates": found.of_candidates,
            "queries": found.queries, "of_queries": found.of_queries, "seed": found.seed}


def _agreement(found: Agreement) -> dict[str, Any]:
    return {"mean": _number(found.mean), "ci95": _number(found.ci95), "n_queries": found.n_queries,
            "n_dropped": found.n_dropped}


def _number(value: float) -> float | None:
    """JSON has no NaN."""
    return value if value == value else None
