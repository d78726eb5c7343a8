"""What the published results say of every statement, at every scale that counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from engine.experiments import EXPERIMENTS, collinear, publish
from engine.experiments.conventions import AS_PAPER, KEY, of_folder
from engine.experiments.enough import PublishedEvidence
from engine.experiments.paper_numbers import in_our_names, in_paper_names
from engine.experiments.statements.rows import Missing, TableRows
from engine.experiments.statements.statement import Finding, Statement


def findings(statements: Iterable[Statement], out_dir: Path | str | None = None, whose: str = AS_PAPER
             ) -> list[Finding]:
    """One finding for each statement and scale; a quick check counts only where nothing larger is published.

    whose: the conventions by which the results were computed. A statement without published results has none. Raises
    `StoreError` for results that do not match their manifest.
    """
    listed, read = [], cache(lambda name, scale: evidence(name, scale, out_dir))
    for statement in statements:
        own = [_finding(statement, scale, read) for scale in _scales(statement, out_dir, whose)]
        larger = [finding for finding in own if not _is_quick(finding)]
        listed += larger or own
    return listed


def without_results(statements: Iterable[Statement], out_dir: Path | str | None = None, whose: str = AS_PAPER
                    ) -> list[Statement]:
    """The statements that no results published by these conventions say anything of."""
    return [statement for statement in statements if not _scales(statement, out_dir, whose)]


def evidence(name: str, scale: str, out_dir: Path | str | None = None) -> PublishedEvidence | None:
    """The published table and manifest of an experiment, with those of others at the same scale within reach."""
    known = publish.published(name, scale, out_dir)
    if known is None:
        return None
    return PublishedEvidence(*known, beside=cache(lambda other: evidence(other, scale, out_dir)))


def too_small(name: str, given: PublishedEvidence) -> str:
    """Why this run of an experiment cannot show the effect; empty where it can."""
    return EXPERIMENTS[name].too_small(given)


def _scales(statement: Statement, out_dir: Path | str | None, whose: str) -> list[str]:
    """The scales at which all that a statement needs is published."""
    every = [publish.scales(name, out_dir, whose) for name in statement.needs]
    return [scale for scale in every[0] if all(scale in names for names in every)]


def _finding(statement: Statement, scale: str, read: Callable[[str, str], PublishedEvidence | None]) -> Finding:
    given = {name: given_one for name in statement.needs if (given_one := read(name, scale)) is not None}
    preset = str(given[statement.needs[0]].manifest["preset"])
    short = next(filter(None, (too_small(name, given_one) for name, given_one in given.items())), "")
    try:
        clauses = statement.clauses(_rows(given))
    except Missing as error:
        return Finding(statement, scale, preset, short=short, lacks=str(error))
    whose = of_folder(scale)
    compared = [(in_our_names(first, whose), in_our_names(second, whose)) for first, second in statement.compared]
    alike = next(filter(None, (collinear.undecidable(one.manifest, compared) for one in given.values())), "")
    named = tuple(replace(clause, title=in_our_names(clause.title, whose)) for clause in clauses)
    return Finding(statement, scale, preset, named, short, alike)


def _rows(given: Mapping[str, PublishedEvidence]) -> dict[str, TableRows]:
    """The rows of each experiment. Raises `Missing` where they are not all of the same seeds."""
    rows = {name: TableRows.of(in_paper_names(one.table, str(one.manifest.get(KEY, AS_PAPER))))
            for name, one in given.items()}
    seeds = {tuple(one.manifest["seeds"]) for one in given.values()} if len(given) > 1 else set()
    if len(seeds) > 1 or len(set[int]().union(*(own.seed_counts for own in rows.values()))) > 1:
        raise Missing("Its rows do not all have the same seeds, so no within-seed difference can be computed.")
    return rows


def _is_quick(finding: Finding) -> bool:
    return EXPERIMENTS[finding.statement.needs[0]].presets[finding.preset].is_quick_check
