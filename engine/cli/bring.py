"""`bring` writes scores of other programs as scores.npz with a manifest, which `compare` and `explain` read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.basics.errors import InvalidInput
from engine.cli.program import command_line
from engine.cli.setting import Data, Setting
from engine.external.header_row import AUTO, CHOICES, Numbering

if TYPE_CHECKING:
    from engine.external.reading import Preview
    from engine.external.table import Table
    from engine.problems import Problem
    from engine.scoring.scores import Scores


@dataclass(frozen=True)
class Layout:
    """How a table of another program is to be read; `auto` is told from the table itself."""

    name: Annotated[str, typer.Option(help="What to call them (default: the file's name).")] = ""
    key: Annotated[str, typer.Option(help="Which array, where the file holds several.")] = ""
    first_row: Annotated[str, typer.Option(help="What the first row of a csv is: names, scores, or auto.")] = AUTO
    axes: Annotated[str, typer.Option(help="What the rows are: queries, candidates, or auto.")] = AUTO
    order: Annotated[str, typer.Option(help="How training examples stand that the table does not name: candidates, "
                                            "as the problem lists them, training, as in its training set, or "
                                            "auto.")] = AUTO
    sign: Annotated[str, typer.Option(help="plus where a larger score supports the behavior, minus where it works "
                                           "against it, or auto.")] = AUTO


def bring(
    scores: Annotated[Path, typer.Option(help="Scores of another program: npy, npz, safetensors, pt, parquet or "
                                              "csv, or the folder that it wrote.",
                                         metavar="FILE")],
    data: Data,
    spec: Annotated[Path, typer.Option(help="The specification that the scores claim, as a JSON object.",
                                       metavar="JSON")],
    out: Annotated[Path, typer.Option(help="Scores to write for `compare` and `explain`; a manifest .json is written "
                                           "beside them.", metavar="NPZ")],
    layout: Layout = Layout(),
    setting: Setting = Setting(),
) -> None:
    """Bring scores of another program, and see how they agree with the exact answer to what they claim."""
    from engine.cli.problem import read_problem
    from engine.cli.score_files import check_scores_output, write_scores
    from engine.cli.spec_files import read_spec
    from engine.external import claim, matching
    from engine.external.reading import preview
    from engine.scoring.compute import compute
    from engine.scoring.scoring import Scoring

    check_scores_output(out, inputs=(scores, data, spec))
    _check(layout, matching.AXES, claim.SIGNS.values(), matching.ORDERS)
    claimed, options = read_spec(spec), setting.options()
    problem = read_problem(data, setting)
    table = _table(scores, layout, problem)
    reference = compute(problem, [Scoring.of(claimed.behavior, claimed.intervention, claimed.process)], options)[0]
    seen = preview(problem, table, reference)
    axes, sign = _axes(layout, seen), _sign(layout, seen)
    order = _order(layout, seen, axes)
    external = claim.bring(problem, table, claimed.specification, layout.name or scores.stem, axes, sign,
                           seen.decision(axes, order, sign, layout.sign == AUTO), order)
    first_row = table.first_row.kind if scores.suffix.lower() == ".csv" else None
    write_scores(out, external, command_line("bring", {
        "scores": scores, "data": data, "spec": spec, "out": out, "name": layout.name or None,
        "key": layout.key or None, "first_row": first_row, "axes": axes, "order": order, "sign": claim.SIGNS[sign]},
        setting.arguments))
    print(_told(seen, external, reference, axes, sign))


def _check(layout: Layout, axes: Collection[str], signs: Collection[str], orders: Collection[str]) -> None:
    for option, text, known in (("--axes", layout.axes, axes), ("--sign", layout.sign, signs),
                                ("--order", layout.order, orders), ("--first-row", layout.first_row, CHOICES)):
        if text not in (AUTO, *known):
            raise InvalidInput(f"{option} is `{text}`; give {', '.join(known)} or {AUTO}.")


def _table(scores: Path, layout: Layout, problem: Problem) -> Table:
    """The table in the file. Raises `InvalidInput` where it is open what its first row is."""
    from engine.external.files import read_table

    table = read_table(scores, "", layout.key, layout.first_row, Numbering.of(problem))
    if table.first_row.doubt:
        raise InvalidInput(f"{table.first_row.doubt} Give --first-row names, or --first-row scores.")
    return table


def _axes(layout: Layout, seen: Preview) -> str:
    """As chosen or as seen. Raises `InvalidInput` where neither tells it."""
    if layout.axes == AUTO and not seen.axes_certain:
        raise InvalidInput(f"{seen.reasons[-2]} Give --axes queries, or --axes candidates.")
    return seen.likely.axes if layout.axes == AUTO else layout.axes


def _order(layout: Layout, seen: Preview, axes: str) -> str:
    """As chosen or as seen. Raises `InvalidInput` where neither tells it."""
    fitting = seen.orders(axes)
    if layout.order != AUTO:
        return layout.order
    if len(fitting) > 1 and not seen.certain:
        raise InvalidInput(f"{seen.reasons[-2]} Give --order candidates, or --order training.")
    return fitting[0] if fitting else "candidates"


def _sign(layout: Layout, seen: Preview) -> int:
    """+1 or −1, as chosen or as seen. Raises `InvalidInput` where neither tells it."""
    from engine.external.claim import SIGNS

    if layout.sign != AUTO:
        return {text: number for number, text in SIGNS.items()}[layout.sign]
    if not seen.certain:
        raise InvalidInput(f"{seen.reasons[-1]} Give --sign plus, or --sign minus, as the program's documentation "
                           "says.")
    return seen.likely.sign


def _told(seen: Preview, external: Scores, reference: Scores, axes: str, sign: int) -> str:
    """What was read and how it agrees with the exact answer, as text for the terminal."""
    from engine.external.claim import MEANING, SIGNS, agreement_with
    from engine.external.matching import AXES
    from engine.metrics.agreement import METRICS

    decided = external.provenance["brought"]["sign_decided"]["by"]
    lines = [*seen.reasons, f"Taken: {AXES[axes]}; sign {SIGNS[sign]}, {MEANING[sign]}; decided by {decided}."]
    lines += [f"  {METRICS[name].title:<16} {agreement.mean:+.3f} ± {agreement.ci95:.3f} with the exact answer"
              for name, agreement in agreement_with(reference, external, METRICS).items()]
    flagged = int((~external.converged).sum())
    return "\n".join(lines + ([f"{flagged} candidates have scores that are not finite, and are flagged."]
                              if flagged else []))
