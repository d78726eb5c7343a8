"""Findings as `statements` prints them."""

from __future__ import annotations

from collections.abc import Sequence

from engine.experiments.statements import told
from engine.experiments.statements.statement import Finding


def listed(findings: Sequence[Finding]) -> str:
    """Each finding as its verdict and sentence, with its origin, figure and reason below; then how many are which."""
    width = max((len(finding.verdict) for finding in findings), default=0)
    blocks = ["\n".join([f"{finding.verdict:<{width}}  {finding.statement.sentence}",
                         *(f"{'':<{width}}  {line}" for line in _below(finding) if line)]) for finding in findings]
    return "\n\n".join([*blocks, told.summary(findings)])


def _below(finding: Finding) -> tuple[str, ...]:
    command = f"reproduce {finding.statement.needs[0]} --preset {finding.preset}"
    return f"{told.origin(finding)} ({command})", told.measured(finding), finding.why
