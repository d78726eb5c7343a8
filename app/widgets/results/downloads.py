"""Every chart comes with its table, its CSV, the specifications as JSON and the command that recomputes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from app.widgets.results import provenance
from app.widgets.words import chips, glossary
from engine.basics.csv_text import csv_text
from engine.basics.folders import carried
from engine.desk import ProblemSource, commands
from engine.question import direction
from engine.scoring.scoring import Scoring


def file_button(label: str, content: Callable[[], str | bytes], name: str, mime: str, key: str,
                icon: str = ":material/download:", **more: Any) -> None:
    """A file to keep: `content` gives it when it is clicked, and the page does not run again for it.

    Nothing is kept for a button that nobody clicks; so the browser has no address that the next run of the page
    would take away while it looks there. `more` is what `st.download_button` takes besides.
    """
    st.download_button(label, carried(content), name, mime, key=key, icon=icon, on_click="ignore", **more)


def chart_extras(name: str, table: pd.DataFrame, scorings: Sequence[Scoring] = (),
                 source: ProblemSource | Sequence[ProblemSource] | None = None, command: str | None = None,
                 title: str = "Table, downloads and the command that recomputes this", quantity: str = "",
                 charts: Sequence[str] = (), about: Sequence[str] = ()) -> None:
    """The row below a chart: the table itself, CSV, spec JSON and command. `name` is the file stem; several
    sources are the seeds of an average; `title` is what stands on it; `quantity`: what its numbers with a sign are,
    which the CSV has as a column; `charts`: the keys of the charts above it, whose files say the same of themselves;
    `about`: what they say besides, see `provenance.lines`."""
    exported = table.assign(**{direction.QUANTITY: quantity}) if quantity else table
    with st.expander(title):
        if quantity:
            chips.note(quantity)
        st.dataframe(table, hide_index=True, width="stretch", column_config=glossary.columns(table.columns))
        with st.container(horizontal=True):
            file_button("CSV", partial(csv_text, exported), f"{name}.csv", "text/csv", f"csv:{name}")
            if scorings:
                file_button("Specifications (JSON)", partial(commands.specs_json, scorings), f"{name}-specs.json",
                            "application/json", f"json:{name}", icon=":material/data_object:")
        text = command or (commands.compare(source, name) if source is not None else None)
        described(charts, scorings, source, text, about)
        if text:
            st.code(text, language="bash", wrap_lines=True)


def described(charts: Sequence[str], scorings: Sequence[Scoring],
              source: ProblemSource | Sequence[ProblemSource] | None, command: str | None = None,
              about: Sequence[str] = ()) -> None:
    """What the files of charts, by their keys, say of where they are from."""
    lines = partial(provenance.lines, tuple(scorings), source, command, tuple(about))
    provenance.known().update(dict.fromkeys(charts, lines))


def oriented(names: Sequence[str], scorings: Sequence[Scoring]) -> str:
    """What the oriented scores in the columns of several scorings are, by their names."""
    return direction.named({name: direction.exported(scoring) for name, scoring in zip(names, scorings, strict=True)
                            if scoring.route.implies})


def of_two(scorings: Sequence[Scoring]) -> str:
    """The same of two rankings beside one another."""
    return oriented(("score_a", "score_b"), scorings)
