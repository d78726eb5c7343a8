"""What the paper's names mean: literature, text and code as three specifications of one name."""

from __future__ import annotations

from html import escape

import streamlit as st

from app.widgets.words import glossary
from engine.basics.values import capital
from engine.desk.paper_names import NAMES, READINGS, Meaning, PaperName, lacking, measured

HEIGHT = 460
"""Pixels of the list, which scrolls."""


def show() -> None:
    """A row a name: what its readings make of it, with their formulas, B, P, T and sources below."""
    st.subheader("What the paper's names mean")
    command = lacking()
    glossary.caption("Each name in the literature, in the paper's text and in its authors' code: three "
                     "specifications of one name, audited as the paper audits methods."
                     + (f" Their agreement has not been computed yet; `{command}` computes it." if command else ""))
    rows = "".join(_row(name) for name in NAMES.values())
    with st.container(height=HEIGHT, border=True, key="wf-names"):
        glossary.html('<table class="wf-table wf-statements"><thead><tr><th scope="col">Name</th>'
                      f'<th scope="col">Its readings</th></tr></thead><tbody>{rows}</tbody></table>')
    st.page_link("../pages/guide.py", label="All formulas in the guide", icon=":material/menu_book:",
                 query_params={"guide": "paper-names"})


def _row(name: PaperName) -> str:
    lines = "".join(_reading(READINGS[reading], meaning) for reading, meaning in name.meanings.items())
    said = "".join(f"<br>{escape(sentence)}" for sentence in measured(name))
    return (f'<tr><th scope="row">{escape(name.title)}</th><td>{escape(name.note)}{said}'
            f"<details><summary>Formulas, B, P, T and sources</summary>{lines}</details></td></tr>")


def _reading(title: str, meaning: Meaning) -> str:
    axes = " · ".join(f"{axis}: {words}" for axis, words in (
        ("B", meaning.behavior), ("P", meaning.intervention), ("T", meaning.process)))
    return (f"<p><b>{escape(capital(title))}</b> <code>{escape(meaning.formula)}</code><br>{escape(axes)}"
            f'<span class="wf-second wf-quiet">{escape(meaning.source)}</span></p>')
