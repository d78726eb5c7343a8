"""Saved comparisons: keep the view of the Compare page, and export a report. The Library lists what was kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.compare import explanation as explanation_panel
from app.compare import report
from app.widgets.choices import choice
from app.widgets.frame.guard import guarded
from app.widgets.jobs import job_panel
from app.widgets.results import downloads, figures
from app.widgets.words import glossary
from app.widgets.words.labels import numbered
from app.widgets.words.labels import short as short_labels
from app.widgets.words.plain_text import sentence
from engine.desk import shelves
from engine.desk.analyses import Explanation
from engine.desk.compared import Compared
from engine.desk.datasets import title
from engine.desk.notebook import notebook
from engine.desk.shelves import Grid, Saved

PAGE = "compare"
NAMED, SUGGESTED = "saved:name", "saved:suggested"


def keep(compared: Compared, names: Sequence[str], pair: tuple[int, int], chosen_query: int | None = None) -> None:
    """Name, note, save, link and report of the comparison on the page. chosen_query: of the first seed (default: all
    of them)."""
    with st.expander("Save, share or export this comparison", icon=":material/bookmark:"):
        _suggest(_suggested(compared, names, pair))
        name = st.text_input("Name", key=NAMED, max_chars=shelves.LONGEST_NAME)
        note = st.text_area("Note", key="saved:note", max_chars=shelves.LONGEST_NOTE, height=80,
                            placeholder="What you compared, and what you observed")
        query = shelves.address(choice.parameters())
        summary = _summary(compared, names)
        row = st.container(horizontal=True)
        row.button("Save", type="primary", icon=":material/bookmark_add:", on_click=job_panel.act,
                   args=(_save, name, note, query, summary, _matrix(compared)))
        _report_button(row, compared, pair, name, note, query, summary, chosen_query)
        with row:
            again = partial(notebook, name, compared.ranked_sources, numbered(short_labels(compared.scorings)),
                            compared.scorings, pair, link(query))
            downloads.file_button("Download a notebook", again,
                                  f"{figures.named(name)}.ipynb", "application/x-ipynb+json", "saved:notebook",
                                  icon=":material/code:", help="A notebook that recomputes this comparison in Python.")
        glossary.caption("The link reopens this view for everyone with access to this server"
                         + (":" if all(scoring.route.computes for scoring in compared.scorings) else
                            ", where the files with the scores of other programs are stored:"))
        st.code(link(query), language=None, wrap_lines=True)


def link(query: str) -> str:
    """The full address of a view of the Compare page."""
    address = urlsplit(st.context.url or "")
    base = f"{address.scheme}://{address.netloc}" if address.scheme else ""
    return f"{base}/{PAGE}?{query}"


def _suggest(name: str) -> None:
    """Puts a name into its field, unless the reader has written one there."""
    state = st.session_state
    if NAMED not in state or state[NAMED] == state.get(SUGGESTED):
        state[NAMED] = name
    state[SUGGESTED] = name


def _suggested(compared: Compared, names: Sequence[str], pair: tuple[int, int]) -> str:
    first, second = (names[index].split(". ", 1)[-1] for index in pair)
    return f"{first} against {second}"[:shelves.LONGEST_NAME]


def _summary(compared: Compared, names: Sequence[str]) -> str:
    return " · ".join([title(compared.sources[0].dataset), f"{len(names)} specifications",
                       f"{len(compared.scores[0][0].candidates):,} candidates", ", ".join(names)])[:500]


def _matrix(compared: Compared) -> shelves.Rows:
    """Mean Kendall τ of every pair, for the small picture in the library."""
    indices = range(len(compared.scorings))
    means = [[compared.comparison.agreement("kendall_tau", row, column).mean for column in indices] for row in indices]
    return Grid.of(means, -1.0, 1.0, "").rows


def _save(name: str, note: str, query: str, summary: str, matrix: shelves.Rows) -> None:
    entry = shelves.save(name, note, query, summary, matrix)
    st.toast(sentence(f"Saved as “{entry.saved.name}”; it is in the Library."), icon=":material/check:")


def _report_button(row: DeltaGenerator, compared: Compared, pair: tuple[int, int], name: str, note: str, query: str,
                   summary: str, chosen_query: int | None) -> None:
    """The report is written on request: it takes a few seconds."""
    wanted = ("report", compared.key, pair, name, note, query, chosen_query)
    row.button("Write the report", icon=":material/description:", on_click=_ask, args=(wanted,),
               help="One HTML file with charts, questions, verdicts, manifests and commands; it works offline.")
    if st.session_state.get("saved:asked") != wanted:
        return
    with guarded("The report"):
        explained = job_panel.beside(explanation_panel.explanation(compared, pair))
        if explained is None:
            return
        text = _written(wanted, compared, pair, name, note, query, summary, explained, chosen_query)
        with row:
            downloads.file_button("Download the report", lambda: text, f"{figures.named(name)}-report.html",
                                  "text/html", "saved:download")


def _ask(wanted: tuple) -> None:
    st.session_state["saved:asked"] = wanted


@st.cache_data(show_spinner="Writing the report", max_entries=8)
def _written(wanted: tuple, _compared: Compared, pair: tuple[int, int], name: str, note: str, query: str, summary: str,
             _explained: Explanation, chosen_query: int | None) -> str:
    described = Saved.parse({"name": name, "note": note, "address": query, "summary": summary,
                             "created": datetime.now(UTC).isoformat(timespec="seconds")})
    return report.report(_compared, pair, described, _explained, link(query), chosen_query)
