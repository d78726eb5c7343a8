"""Findings in words, the same on the Paper page and on the command line."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from engine.basics.values import signed
from engine.experiments import EXPERIMENTS
from engine.experiments.conventions import AS_PAPER, TITLES
from engine.experiments.statements.statement import CONFIRMED, CONTRADICTED, UNDECIDED, Clause, Finding, adjusted_level

VERDICTS = (CONFIRMED, CONTRADICTED, UNDECIDED)
ADJUSTMENT = ("A statement of k comparisons is confirmed if the 95% interval over seeds of each of them lies on the "
              "stated side, and contradicted if one lies on the other side at level 1 − 0.05/k (Bonferroni over its k "
              "comparisons); there is no adjustment across statements.")
"""What decides, in one sentence."""


def origin(finding: Finding) -> str:
    """`Table 5-1 at scale small, 3 seeds`."""
    head = f"{EXPERIMENTS[finding.statement.needs[0]].title.partition(':')[0]} at scale {finding.scale}"
    return f"{head}, {_counted(finding.seeds, 'seed')}" if finding.clauses else head


def measured(finding: Finding) -> str:
    """What the figure is, the figure, and how many comparisons hold; empty where nothing was computed."""
    if not finding.clauses:
        return ""
    return "; ".join(filter(None, (f"{finding.statement.figure} {interval(finding)}", finding.counted)))


def interval(finding: Finding) -> str:
    """`−0.137 ± 0.074 (± 0.15 adjusted for 4)`: the least comparison with its raw and its adjusted half width."""
    return f"{finding.figure} ({finding.adjusted})" if finding.adjusted else finding.figure


def comparisons(finding: Finding) -> list[str]:
    """A line for each comparison: its mean, its raw and its adjusted interval, what has to be exceeded, the outcome."""
    return [_compared(clause, finding) for clause in finding.clauses]


def _compared(clause: Clause, finding: Finding) -> str:
    count, mean = len(finding.clauses), clause.interval()[0]
    title = clause.title or finding.statement.figure
    if math.isnan(clause.interval()[1]):
        return f"{title}: {_signed(mean)}; one seed has no interval"
    level = 100 * adjusted_level(count)
    adjusted = (f"adjusted for {count} ({level:.4g}%) {_span(clause.bounds(adjusted_level(count)))}" if count > 1
                else "one comparison, nothing to adjust")
    beyond = f"; more than {clause.beyond:g} needed" if clause.beyond else ""
    grain = (f"; its spread over seeds is taken as that of rounding to steps of {clause.grain:.2g}"
             if clause.is_rounded else "")
    return (f"{title}: {_signed(mean)}; 95% interval {_span(clause.bounds())}; {adjusted}{beyond}{grain}: "
            f"{clause.outcome(count)}")


def _span(bounds: tuple[float, float]) -> str:
    return " to ".join(map(_signed, bounds))


def _signed(number: float) -> str:
    return signed(number, 3, "+")


def summary(findings: Sequence[Finding], whose: str = AS_PAPER) -> str:
    """`2 confirmed, 0 contradicted, 17 undecided by the paper's words, of which 15 by runs too small to show the
    effect.`, then what that means for the statements, most of which have results at several scales."""
    if not findings:
        by = "" if whose == AS_PAPER else f" by {TITLES[whose]}"
        return f"No results{by} are published yet to check a statement."
    counts = Counter(finding.verdict for finding in findings)
    short = sum(bool(finding.short) for finding in findings)
    tallies = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
    small = f", of which {short} by runs too small to show the effect" if short else ""
    return f"{tallies} by {TITLES[whose]}{small}. {_over_scales(findings)}"


def _over_scales(findings: Sequence[Finding]) -> str:
    """`Of 19 statements, 11 are confirmed at one scale or more and contradicted at none, 1 is contradicted at one or
    more, and 7 are undecided at every scale.`"""
    verdicts: dict[str, set[str]] = {}
    for finding in findings:
        verdicts.setdefault(finding.statement.name, set()).add(finding.verdict)
    contradicted = sum(CONTRADICTED in own for own in verdicts.values())
    open_at_all = sum(own == {UNDECIDED} for own in verdicts.values())
    confirmed = len(verdicts) - contradicted - open_at_all
    return (f"Of {_counted(len(verdicts), 'statement')}, {confirmed} {_are(confirmed)} confirmed at one scale or more "
            f"and contradicted at none, {contradicted} {_are(contradicted)} contradicted at one or more, and "
            f"{open_at_all} {_are(open_at_all)} undecided at every scale.")


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
