"""Where every table and figure of the paper stands: the table that opens the Paper page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

import streamlit as st

from app.paper.marks import MARKS, cells_address
from app.widgets.jobs.reproductions import scale_title
from app.widgets.words import glossary
from engine.desk.published import AS_PAPER, EXPERIMENTS, FULL, VERDICTS, ScoreboardRow, conventions, studies


def show(entries: Sequence[ScoreboardRow], whose: str) -> None:
    """A sentence that counts, and one row for each entry with a link to its cells."""
    with st.container(key="wf-paper-counted"):
        glossary.markdown(summary(entries, whose))
    rows = "".join(_row(entry, whose) for entry in entries)
    head = "".join(f'<th scope="col">{title}</th>' for title in (
        "Table or figure", "Our scale", "Outcome", "Numbers reproduced by"))
    with st.container(key="wf-scoreboard"):
        glossary.html('<div class="wf-scroll" tabindex="0" role="region" aria-label="All tables and figures">'
                      f'<table class="wf-table wf-statements wf-scoreboard"><thead><tr>{head}</tr></thead>'
                      f"<tbody>{rows}</tbody></table></div>")


def summary(entries: Sequence[ScoreboardRow], whose: str) -> str:
    """How many there are, at which scales, and how many of them show nothing yet."""
    full = [entry for entry in entries if entry.preset == FULL]
    quick = [entry for entry in entries if entry.scale and _is_quick(entry)]
    missing = [entry for entry in entries if not entry.scale]
    within, judged = (sum(entry.within[index] for entry in full) for index in (0, 1))
    clauses = [f"**{len(full)}** at the paper's own scale" + (
        f" ({within} of {judged} cells within their tolerance)" if judged else "")]
    if between := len(entries) - len(full) - len(quick) - len(missing):
        clauses.append(f"**{between}** at a smaller scale that can show the effect")
    if quick:
        clauses.append(f"**{len(quick)}** as a quick check only, which is not evidence")
    if missing:
        clauses.append(f"**{len(missing)}** not run")
    return (f"The paper has {len(entries)} tables and figures with results. Ours, by {conventions.TITLES[whose]}: "
            f"{', '.join(clauses)}.")


def _row(entry: ScoreboardRow, whose: str) -> str:
    address = escape(cells_address(entry.name, entry.preset, whose))
    return (f'<tr><th scope="row"><a href="{address}" target="_self">{escape(entry.head)}</a>'
            f'<span class="wf-second wf-quiet">{escape(entry.shows)}</span></th>'
            f"<td>{_scale(entry, whose)}</td><td>{_outcome(entry)}</td><td>{_reproduced(entry)}</td></tr>")


def _scale(entry: ScoreboardRow, whose: str) -> str:
    if not entry.scale:
        only = whose not in studies.offered(entry.name)
        return f"by {conventions.TITLES[AS_PAPER]} only" if only else "not run yet"
    seeds = f"{entry.seeds} seed{'' if entry.seeds == 1 else 's'}"
    details = ", ".join(filter(None, (seeds, entry.model)))
    return f'{escape(scale_title(entry.preset))}<span class="wf-second wf-quiet">{escape(details)}</span>'


def _outcome(entry: ScoreboardRow) -> str:
    """The statements, then those of other scales; where the run decides nothing, why."""
    if not entry.scale:
        return "—"
    said = escape(" · ".join(_counted(entry.verdicts))) or "no statement depends on it alone"
    below = [f"{scale_title(scale)}: {' · '.join(_counted(counts))}" for scale, counts in entry.elsewhere.items()]
    if entry.short:
        below.append(f"Too small to show the effect: {entry.short}")
    elif _is_quick(entry):
        below.append("A quick check; too small to show the effect.")
    return said + "".join(f'<span class="wf-second wf-quiet">{escape(line)}</span>' for line in below)


def _reproduced(entry: ScoreboardRow) -> str:
    """Of the cells at the paper's own scale, how many lie within their tolerance by which reading."""
    if not entry.reproduced:
        return '<span class="wf-quiet">not judged</span>' if len(entry.not_run) < len(conventions.TITLES) else (
            '<span class="wf-quiet">not run at the paper\'s scale</span>')
    names = {**conventions.TITLES, **{name: name for name in entry.reproduced if name not in conventions.TITLES}}
    if entry.not_run:
        (run,) = [whose for whose in conventions.TITLES if whose not in entry.not_run]
        said = f"{names[run]}: {entry.reproduced.get(run, 0)} of {sum(entry.reproduced.values())} cells"
        below = ", ".join(f"{names[whose]}: not run" for whose in entry.not_run)
        return f'{escape(said)}<span class="wf-second wf-quiet">{escape(below)}</span>'
    return escape(" · ".join(f"{names[name]} {count}" for name, count in entry.reproduced.items()))


def _counted(verdicts: Counter[str]) -> list[str]:
    return [f"{MARKS[verdict]} {count} {verdict}" for verdict in VERDICTS if (count := verdicts[verdict])]


def _is_quick(entry: ScoreboardRow) -> bool:
    return EXPERIMENTS[entry.name].presets[entry.preset].is_quick_check
