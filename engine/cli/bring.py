"""`bring` writes scores of other programs as scores.npz with a manifest, which other commands read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.cli.program import command_line
from engine.cli.setting import Data, ProblemOptions
from engine.external.header_row import AUTO, CHOICES, Numbering

if TYPE_CHECKING:
    from engine.external.reading import Interpretation, TablePreview
    from engine.external.table import Table
    from engine.problems import Problem
    from engine.question.specification import Specification
    from engine.scoring.scores import Scores


@dataclass(frozen=True)
class TableLayout:
    """How tables of other programs are to be read; `auto` is told from the tables themselves."""

    name: Annotated[list[str] | None, typer.Option(help="Name of each file (default: the file name).")] = None
    key: Annotated[str, typer.Option(help="The array, if the file has several.")] = ""
    first_row: Annotated[str, typer.Option(help="The first row of a CSV: names, scores or auto.")] = AUTO
    axes: Annotated[str, typer.Option(help="The rows: queries, candidates or auto.")] = AUTO
    order: Annotated[str, typer.Option(help="Order of training examples without names: candidates (as in the "
                                            "problem), training (as in its training set) or auto.")] = AUTO
    sign: Annotated[str, typer.Option(help="plus if a larger score supports the behavior, minus if it opposes it, "
                                           "unsigned if neither, or auto.")] = AUTO


@dataclass(frozen=True)
class ImportedTable:
    """One table that is imported: from where, what it is called, what it claims by which file (None: by what it
    says itself), and where its scores are written."""

    path: Path
    name: str
    spec: Path | None
    out: Path


def bring(
    scores: Annotated[list[Path], typer.Option(help="Scores of another program: npy, npz, safetensors, pt, parquet or "
                                                    "csv, or a folder of them; repeatable.",
                                               metavar="PATH")],
    data: Data,
    out: Annotated[Path, typer.Option(help="Output scores for other commands, with a manifest .json beside them; for "
                                           "several files, a folder.", metavar="NPZ_OR_FOLDER")],
    spec: Annotated[list[Path] | None, typer.Option(help="The claimed specification as a JSON object, one for all "
                                                         "files or one each (default: claim.json next to the file, or "
                                                         "the file's own).",
                                                    metavar="JSON")] = None,
    layout: TableLayout = TableLayout(),
    setting: ProblemOptions = ProblemOptions(),
) -> None:
    """Import scores of other programs, and compare them with the exact answer to their claimed question."""
    from engine.cli.problem import Inputs
    from engine.cli.score_files import check_scores_output, write_scores
    from engine.external import importing, matching

    sources = _sources(scores, layout, spec or [], out)
    for source in sources:
        new = source.out != out and not out.exists()
        check_scores_output(out.parent / source.out.name if new else source.out, (source.path, data, *(spec or []),
                                                                                     *setting.reading.inputs))
    _check(layout, matching.AXES, importing.SIGNS, matching.ORDERS)
    problem, options = Inputs(data, setting).problem, setting.options()
    written = [(source, *_imported(source, layout, problem, options, len(sources))) for source in sources]
    if sources[0].out != out:
        out.mkdir(exist_ok=True)
    for source, external, summary, given in written:
        write_scores(source.out, external, command_line("bring", {"scores": source.path, "data": data, **given},
                                                        setting.arguments))
        print(summary)


def _sources(paths: Sequence[Path], layout: TableLayout, specs: Sequence[Path], out: Path) -> list[ImportedTable]:
    from engine.external.files import names, sources

    files = [file for path in paths for file in sources(path)]
    given = layout.name or names([str(file.resolve() if file.is_dir() else file) for file in files])
    for option, count in (("--name", len(given)), ("--spec", len(specs) if len(specs) > 1 else len(files))):
        if count != len(files):
            raise InvalidInput(f"There are {len(files):,} tables of scores and {count:,} of {option}; give one for "
                               "each, in the same order.")
    if len(set(given)) < len(given):
        raise InvalidInput("Two tables of scores have the same name; give each its own with --name.")
    if len(files) > 1 and out.suffix:
        raise InvalidInput(f"--out is `{out}`, but there are {len(files):,} tables of scores; give a folder, in which "
                           "each gets its own file.")
    claims: Sequence[Path | None] = specs if len(specs) == len(files) else [specs[0] if specs else None] * len(files)
    written = [out] if len(files) == 1 else [out / f"{name.replace('/', '-')}.npz" for name in given]
    return [ImportedTable(*one) for one in zip(files, given, claims, written, strict=True)]


def _imported(source: ImportedTable, layout: TableLayout, problem: Problem, options: Options, of: int
              ) -> tuple[Scores, str, dict[str, object]]:
    """(the scores, what was read of them as text, the options that read them so again)."""
    from engine.external import importing
    from engine.external.reading import preview

    table = _table(source.path, layout, problem)
    claimed, because = _claim(source, table, problem)
    reference, why = _reference(problem, claimed, options)
    seen = preview(problem, table, reference)
    chosen = _chosen(layout, seen)
    held = importing.matched(problem, table, chosen.axes, chosen.order, {"file": source.path.name,
                                                                         **seen.facts(chosen)})
    scoring = importing.scoring_of(held, claimed, source.name, chosen.sign, seen.decided(chosen),
                                   None if chosen.agreement != chosen.agreement else chosen.agreement)
    external = importing.scores_of(problem, held, scoring)
    first_row = table.first_row.kind if source.path.suffix.lower() == ".csv" else None
    given: dict[str, object] = {"spec": source.spec, "out": source.out, "name": source.name,
                                "key": layout.key or None, "first_row": first_row, "axes": chosen.axes,
                                "order": chosen.order, "sign": chosen.sign}
    title = [f"{source.name}:"] if of > 1 else []
    lines = [*title, *filter(None, (because, why)), _summary(seen, external, reference, chosen)]
    return external, "\n".join(lines), given


def _claim(source: ImportedTable, table: Table, problem: Problem) -> tuple[Specification, str]:
    """(what is claimed, what says so, empty where the user does). Raises `InvalidInput` where nothing says it."""
    from engine.cli.spec_files import read_spec
    from engine.external.guess import beside, guess

    if source.spec is not None:
        return read_spec(source.spec).specification, ""
    if (written := beside(source.path)) is not None:
        return written, f"Claimed specification, from `claim.json`: {written.title}."
    if (guessed := guess(table, str(source.path), type(problem))) is not None:
        return guessed.claim.specification, (f"{guessed.because} Claimed specification: {guessed.claim.title}; to "
                                             "claim another, use --spec.")
    raise InvalidInput(f"Nothing in `{source.path}` states which question its scores answer; give the specification "
                       "with --spec.")


def _reference(problem: Problem, claimed: Specification, options: Options) -> tuple[Scores | None, str]:
    """(the best scores that answer the claim here, why they are not the exact answer)."""
    from engine.external.reading import answered, instead
    from engine.scoring.compute import compute

    scores, scoring, trouble = answered(claimed, type(problem), lambda one: compute(problem, [one], options)[0])
    return scores, instead(scoring, trouble)


def _check(layout: TableLayout, axes: Collection[str], signs: Collection[str], orders: Collection[str]) -> None:
    for option, text, known in (("--axes", layout.axes, axes), ("--sign", layout.sign, signs),
                                ("--order", layout.order, orders), ("--first-row", layout.first_row, CHOICES)):
        if text not in (AUTO, *known):
            raise InvalidInput(f"{option} is `{text}`; give {', '.join(known)} or {AUTO}.")


def _table(scores: Path, layout: TableLayout, problem: Problem) -> Table:
    """The table in the file. Raises `InvalidInput` where it is open what its first row is."""
    from engine.external.files import read_table

    table = read_table(scores, "", layout.key, layout.first_row, Numbering.of(problem))
    if table.first_row.doubt:
        raise InvalidInput(f"{table.first_row.doubt} Give --first-row names, or --first-row scores.")
    return table


def _chosen(layout: TableLayout, seen: TablePreview) -> Interpretation:
    """How the table is read, as chosen or as seen. Raises `InvalidInput` where neither tells it."""
    axes = _axes(layout, seen)
    return seen.under(axes, _order(layout, seen, axes), _sign(layout, seen))


def _axes(layout: TableLayout, seen: TablePreview) -> str:
    """As chosen or as seen. Raises `InvalidInput` where neither tells it."""
    if layout.axes == AUTO and not seen.axes_certain:
        raise InvalidInput(f"{seen.reasons[-2]} Give --axes queries, or --axes candidates.")
    return seen.likely.axes if layout.axes == AUTO else layout.axes


def _order(layout: TableLayout, seen: TablePreview, axes: str) -> str:
    """As chosen or as seen. Raises `InvalidInput` where neither tells it."""
    fitting = seen.orders(axes)
    if layout.order != AUTO:
        return layout.order
    if len(fitting) > 1 and not seen.certain:
        raise InvalidInput(f"{seen.reasons[-2]} Give --order candidates, or --order training.")
    return fitting[0] if fitting else "candidates"


def _sign(layout: TableLayout, seen: TablePreview) -> str:
    """As chosen or as seen. Raises `InvalidInput` where neither tells it."""
    if layout.sign != AUTO:
        return layout.sign
    if not seen.certain:
        raise InvalidInput(f"{seen.reasons[-1]} Give --sign plus, --sign minus or --sign unsigned, as in the "
                           "program's documentation.")
    return seen.likely.sign


def _summary(seen: TablePreview, external: Scores, reference: Scores | None, chosen: Interpretation) -> str:
    """What was read and how it agrees with the reference, as text for the terminal."""
    from engine.external.importing import MEANING, agreement_with
    from engine.external.matching import AXES
    from engine.metrics.agreement import METRICS

    decided = external.provenance["brought"]["sign_decided"]["by"]
    lines = [*seen.reasons, f"Read as: {AXES[chosen.axes]}; sign {chosen.sign}, {MEANING[chosen.sign]}; decided by "
                            f"{decided}."]
    if reference is not None:
        what = "the exact answer" if reference.scoring.exact else reference.scoring.route.title
        lines += [f"  {METRICS[name].title:<16} {agreement.mean:+.3f} ± {agreement.ci95:.3f} with {what}"
                  for name, agreement in agreement_with(reference, external, METRICS).items()]
    flagged = int((~external.converged).sum())
    return "\n".join(lines + ([f"{flagged} candidates have scores that are not finite and are flagged."]
                              if flagged else []))
