"""Findings as `statements` prints them, and as data for its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.experiments import conventions, reproduction
from engine.experiments.paper_numbers import in_our_names
from engine.experiments.scoreboard import lacking
from engine.experiments.statements import wording
from engine.experiments.statements.statement import LEVEL, Clause, Finding, Statement, adjusted_level


def listed(findings: Sequence[Finding], without: Sequence[Statement], whose: str) -> str:
    """Each finding as its verdict and sentence, with its origin, figure, comparisons and reason below; then the
    statements without results by these conventions, how many are which, and what decides."""
    width = max((len(finding.verdict) for finding in findings), default=0)
    blocks = ["\n".join([f"{finding.verdict:<{width}}  {finding.sentence}",
                         *(f"{'':<{width}}  {line}" for line in _below(finding) if line)]) for finding in findings]
    blocks += [f"{'not run':<{width}}  {in_our_names(statement.sentence, whose)}\n"
               f"{'':<{width}}  {lacking(statement.needs[0], whose)}"
               for statement in without if findings or whose != conventions.AS_PAPER]
    return "\n\n".join([*blocks, wording.summary(findings, whose), *([wording.ADJUSTMENT] if findings else [])])


def _below(finding: Finding) -> tuple[str, ...]:
    command = reproduction.command(finding.statement.needs[0], finding.preset,
                                   conventions=conventions.of_folder(finding.scale)).removeprefix("python -m engine ")
    compared = wording.comparisons(finding)
    return (f"{wording.origin(finding)} ({command})", wording.measured(finding), *(f"  {line}" for line in compared),
            finding.why)


def as_data(findings: Sequence[Finding], whose: str) -> dict[str, Any]:
    """What is printed, as numbers: every comparison with the values of its seeds and both intervals."""
    return {"conventions": whose, "adjustment": wording.ADJUSTMENT,
            "statements": [_finding(finding) for finding in findings]}


def _finding(finding: Finding) -> dict[str, Any]:
    count = len(finding.clauses)
    return {"statement": finding.statement.name, "sentence": finding.sentence, "verdict": finding.verdict,
            "needs": list(finding.statement.needs), "scale": finding.scale, "preset": finding.preset,
            "figure": finding.statement.figure, "why": finding.why, "n_comparisons": count,
            "level": LEVEL, "adjusted_level": adjusted_level(count) if count else None,
            "comparisons": [_clause(clause, count) for clause in finding.clauses]}


def _clause(clause: Clause, count: int) -> dict[str, Any]:
    mean = clause.interval()[0]
    raw, adjusted = (clause.bounds(level) for level in (LEVEL, adjusted_level(count)))
    return {"title": clause.title, "mean": mean, "beyond": clause.beyond, "n_seeds": clause.seeds,
            "values": list(clause.values), "grain": clause.grain, "outcome": clause.outcome(count), "note": clause.note,
            "interval": _finite(raw), "adjusted_interval": _finite(adjusted)}


def _finite(bounds: tuple[float, float]) -> list[float] | None:
    """The ends, or None (null) of one seed, which has none."""
    return None if bounds[0] != bounds[0] else list(bounds)
