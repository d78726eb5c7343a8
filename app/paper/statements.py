"""What the paper concludes, with what the published results say of it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from app.paper.marks import MARKS, cells_address
from app.widgets.words import glossary
from engine.desk.published import AS_PAPER, CONTRADICTED, Finding, conventions, wording

HEIGHT = 460
"""Pixels of the list, which scrolls: what stands below it keeps its place while the list arrives."""


def show(findings: Sequence[Finding], others: Sequence[Finding], whose: str) -> None:
    """The list, or a sentence where nothing is published. others: the findings by the other reading of the paper."""
    st.subheader("What the paper concludes")
    command = "python -m engine statements" + ("" if whose == AS_PAPER else f" --as {whose}")
    glossary.caption(f"{wording.summary(findings, whose)} {wording.ADJUSTMENT} `{command}` prints the same.")
    if findings:
        rows = "".join(_row(finding, others, whose) for finding in findings)
        with st.container(height=HEIGHT, border=True, key="wf-concluded"):
            glossary.html('<table class="wf-table wf-statements"><thead><tr><th scope="col">Verdict</th>'
                          f'<th scope="col">Statement</th></tr></thead><tbody>{rows}</tbody></table>')


def _row(finding: Finding, others: Sequence[Finding], whose: str) -> str:
    quiet = '<span class="wf-second wf-quiet">too small to show the effect</span>' if finding.short else ""
    said = (wording.measured(finding), *wording.comparisons(finding), finding.why)
    lines = "".join(f"<p>{escape(line)}</p>" for line in said if line)
    address = cells_address(finding.statement.needs[0], finding.preset, whose)
    quiet += _by_other(finding, others, whose)
    return (f'<tr><th scope="row">{MARKS[finding.verdict]} {finding.verdict}{quiet}</th>'
            f"<td>{escape(finding.sentence)}<details><summary>{escape(_short(finding))}</summary>{lines}"
            f'<p><a href="{escape(address)}" target="_self">See its table</a></p></details></td></tr>')


def _by_other(finding: Finding, others: Sequence[Finding], whose: str) -> str:
    """What the other reading decides at the same scale; that it was not run where this one contradicts the paper."""
    other = next(name for name in conventions.TITLES if name != whose)
    same = next((one for one in others if one.statement is finding.statement and one.preset == finding.preset), None)
    if same is None and finding.verdict != CONTRADICTED:
        return ""
    decided = "not run" if same is None else f"{MARKS[same.verdict]} {same.verdict}"
    return f'<span class="wf-second wf-quiet">by {escape(conventions.TITLES[other])}: {decided}</span>'


def _short(finding: Finding) -> str:
    return " · ".join(filter(None, (wording.interval(finding), wording.origin(finding))))
