"""Saved comparisons: keep the view of the Compare page, and export a report. The Library lists what was kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import urlsplit

import streamlit as st

from app.compare import explanation as explanation_panel
from app.compare import report
from app.compare.bring import Shown
from app.widgets.frame.guard import guarded
from app.widgets.jobs import job_panel
from app.widgets.results import downloads
from app.widgets.words import glossary
from app.widgets.words.plain_text import sentence
from engine.basics.errors import WhichfluenceError
from engine.desk import shelves
from engine.desk.compared import Compared
from engine.desk.datasets import title
from engine.desk.shelves import Grid, Saved

PAGE = "compare"
FAULT, DONE = "saved:fault", "saved:done"
NAMED, SUGGESTED = "saved:name", "saved:suggested"


def keep(found: Compared, names: Sequence[str], pair: tuple[int, int], brought: Shown | None = None,
         place: int | None = None) -> None:
    """Name, note, save, link and report of the comparison on the page, with the brought scores that it shows. place:
    the chosen query of the first seed (default: all of them)."""
    with st.expander("Save, share or export this comparison", icon=":material/bookmark:"):
        _suggest(_suggested(found, names, pair))
        name = st.text_input("Name", key=NAMED, max_chars=shelves.LONGEST_NAME)
        note = st.text_area("Note", key="saved:note", max_chars=shelves.LONGEST_NOTE, height=80,
                            placeholder="What you looked for, and what you saw")
        query = shelves.address(_parameters())
        summary = _summary(found, names, brought)
        row = st.container(horizontal=True)
        row.button("Save", type="primary", icon=":material/bookmark_add:", on_click=_save,
                   args=(name, note, query, summary, _matrix(found)))
        _report_button(row, found, pair, name, note, query, summary, brought, place)
        _said()
        glossary.caption("The link reopens this view, for everybody who reaches this server"
                         + (", where the file with the brought scores is kept:" if brought else ":"))
        st.code(link(query), language=None, wrap_lines=True)


def link(query: str) -> str:
    """The full address of a view of the Compare page."""
    address = urlsplit(st.context.url or "")
    base = f"{address.scheme}://{address.netloc}" if address.scheme else ""
    return f"{base}/{PAGE}?{query}"


def _parameters() -> dict[str, list[str]]:
    return {name: st.query_params.get_all(name) for name in st.query_params}


def _suggest(name: str) -> None:
    """Puts a name into its field, unless the reader has written one there."""
    state = st.session_state
    if NAMED not in state or state[NAMED] == state.get(SUGGESTED):
        state[NAMED] = name
    state[SUGGESTED] = name


def _suggested(found: Compared, names: Sequence[str], pair: tuple[int, int]) -> str:
    first, second = (names[place].split(". ", 1)[-1] for place in pair)
    return f"{first} against {second}"[:shelves.LONGEST_NAME]


def _summary(found: Compared, names: Sequence[str], brought: Shown | None) -> str:
    theirs = [f"brought scores “{brought.scores.scoring.name}”"] if brought else []
    return " · ".join([title(found.sources[0].dataset), f"{len(names)} specifications",
                       f"{len(found.scores[0][0].candidates):,} candidates", *theirs, ", ".join(names)])[:500]


def _matrix(found: Compared) -> shelves.Rows:
    """Mean Kendall τ of every pair, for the small picture in the library."""
    places = range(len(found.scorings))
    means = [[found.comparison.agreement("kendall_tau", row, column).mean for column in places] for row in places]
    return Grid.of(means, -1.0, 1.0, "").rows


def _save(name: str, note: str, query: str, summary: str, matrix: shelves.Rows) -> None:
    try:
        entry = shelves.save(name, note, query, summary, matrix)
    except WhichfluenceError as error:
        st.session_state[FAULT] = str(error)
    else:
        st.session_state[DONE] = f"Saved as “{entry.saved.name}”; it is in the Library."


def _said() -> None:
    """What became of the last click."""
    if fault := st.session_state.pop(FAULT, None):
        st.error(sentence(fault), icon=":material/error:")
    if done := st.session_state.pop(DONE, None):
        st.success(sentence(done), icon=":material/check:")


def _report_button(row, found: Compared, pair: tuple[int, int], name: str, note: str, query: str, summary: str,
                   brought: Shown | None, place: int | None) -> None:
    """The report is written when it is asked for: it takes a few seconds."""
    asked = ("report", found.key, pair, name, note, query, brought and brought.scores.scoring.digest, place)
    row.button("Write the report", icon=":material/description:", on_click=_ask, args=(asked,),
               help="One HTML file with charts, questions, verdicts, manifests and commands, that needs no network.")
    if st.session_state.get("saved:asked") != asked:
        return
    with guarded("The report"):
        explained = job_panel.beside(explanation_panel.explanation(found, pair))
        if explained is None:
            return
        text = _written(asked, found, pair, name, note, query, summary, explained, brought, place)
        with row:
            downloads.file_button("Download the report", lambda: text, "comparison.html", "text/html",
                                  "saved:download")


def _ask(asked: tuple) -> None:
    st.session_state["saved:asked"] = asked


@st.cache_data(show_spinner="Writing the report", max_entries=8)
def _written(asked: tuple, _found: Compared, pair: tuple[int, int], name: str, note: str, query: str, summary: str,
             _explained, _brought: Shown | None, place: int | None) -> str:
    described = Saved.parse({"name": name, "note": note, "address": query, "summary": summary,
                             "created": datetime.now(UTC).isoformat(timespec="seconds")})
    return report.report(_found, pair, described, _explained, link(query), _brought, place)
