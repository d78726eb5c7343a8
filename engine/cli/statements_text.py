"""Findings as `statements` prints them, and as data for its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.experiments.statements import wording
from engine.experiments.statements.statement import LEVEL, Clause, Finding, adjusted_level


def listed(findings: Sequence[Finding]) -> str:
    """Each finding as its verdict and sentence, with its origin, figure, comparisons and reason below; then how many
    are which, and what decides."""
    width = max((len(finding.verdict) for finding in findings), default=0)
    blocks = ["\n".join([f"{finding.verdict:<{width}}  {finding.statement.sentence}",
                         *(f"{'':<{width}}  {line}" for line in _below(finding) if line)]) for finding in findings]
    return "\n\n".join([*blocks, wording.summary(findings), *([wording.ADJUSTMENT] if findings else [])])


def _below(finding: Finding) -> tuple[str, ...]:
    command = f"reproduce {finding.statement.needs[0]} --preset {finding.preset}"
    compared = wording.comparisons(finding)
    return (f"{wording.origin(finding)} ({command})", wording.measured(finding), *(f"  {line}" for line in compared),
            finding.why)


def as_data(findings: Sequence[Finding]) -> dict[str, Any]:
    """What is printed, as numbers: every comparison with the values of its seeds and both intervals."""
    return {"adjustment": wording.ADJUSTMENT, "statements": [_finding(finding) for finding in findings]}


def _finding(finding: Finding) -> dict[str, Any]:
    count = len(finding.clauses)
    return {"statement": finding.statement.name, "sentence": finding.statement.sentence, "verdict": finding.verdict,
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
