"""Findings in words, the same on the Paper page and on the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from engine.experiments import EXPERIMENTS
from engine.experiments.statements.statement import CONFIRMED, CONTRADICTED, UNDECIDED, Finding

VERDICTS = (CONFIRMED, CONTRADICTED, UNDECIDED)


def origin(finding: Finding) -> str:
    """`Table 5-1 at scale small, 3 seeds`."""
    head = f"{EXPERIMENTS[finding.statement.needs[0]].title.partition(':')[0]} at scale {finding.scale}"
    return f"{head}, {finding.seeds} seed{'' if finding.seeds == 1 else 's'}" if finding.clauses else head


def measured(finding: Finding) -> str:
    """What the figure is, the figure, and how many comparisons hold; empty where nothing was computed."""
    if not finding.clauses:
        return ""
    return "; ".join(filter(None, (f"{finding.statement.figure} {finding.figure}", finding.counted)))


def summary(findings: Sequence[Finding]) -> str:
    """`2 confirmed, 0 contradicted, 17 undecided, of which 15 by runs too small to show the effect.`"""
    if not findings:
        return "Nothing is published yet that a statement could be checked on."
    counts = Counter(finding.verdict for finding in findings)
    short = sum(bool(finding.short) for finding in findings)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
    return f"{told}{f', of which {short} by runs too small to show the effect' if short else ''}."
