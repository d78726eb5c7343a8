"""What the paper concludes, with what the published results say of it: the list that opens the Paper page."""

from __future__ import annotations

from html import escape
from urllib.parse import urlencode

import streamlit as st

from app.widgets import glossary, published
from app.widgets.plain_text import sentence
from engine.basics.errors import StoreError
from engine.experiments.statements import STATEMENTS, told
from engine.experiments.statements.findings import findings
from engine.experiments.statements.statement import CONFIRMED, CONTRADICTED, UNDECIDED, Finding

HEIGHT = 460
"""Pixels of the list, which scrolls: what stands below it keeps its place while the list arrives."""
MARKS = {CONFIRMED: "✓", CONTRADICTED: "✗", UNDECIDED: "?"}


def show() -> None:
    """The list, or a sentence where nothing is published or a file was altered."""
    st.subheader("What the paper concludes")
    try:
        found = _found(str(published.folder()), published.changed())
    except StoreError as error:
        st.error(sentence(error), icon=":material/error:")
        return
    glossary.caption(f"{told.summary(found)} A statement is confirmed where the 95% interval over seeds of every "
                     "comparison lies on its side, and contradicted where one lies on the other side. `python -m "
                     "engine statements` prints the same.")
    if found:
        rows = "".join(_row(finding) for finding in found)
        with st.container(height=HEIGHT, border=True, key="wf-concluded"):
            glossary.html('<table class="wf-table wf-statements"><thead><tr><th scope="col">Verdict</th>'
                          f'<th scope="col">Statement</th></tr></thead><tbody>{rows}</tbody></table>')


@st.cache_resource(show_spinner=False, max_entries=4)
def _found(root: str, changed: tuple[int, ...]) -> list[Finding]:
    return findings(STATEMENTS.values(), root)


def _row(finding: Finding) -> str:
    quiet = '<span class="wf-second wf-quiet">too small to show the effect</span>' if finding.short else ""
    lines = "".join(f"<p>{escape(line)}</p>" for line in (told.measured(finding), finding.why) if line)
    address = urlencode({"experiment": finding.statement.needs[0], "preset": finding.preset})
    return (f'<tr><th scope="row">{MARKS[finding.verdict]} {finding.verdict}{quiet}</th>'
            f"<td>{escape(finding.statement.sentence)}<details><summary>{escape(_short(finding))}</summary>{lines}"
            f'<p><a href="?{escape(address)}" target="_self">See its table</a></p></details></td></tr>')


def _short(finding: Finding) -> str:
    return " · ".join(filter(None, (finding.figure, told.origin(finding))))
