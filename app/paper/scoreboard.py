"""Where every table and figure of the paper stands: the table that opens the Paper page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

import streamlit as st

from app.paper.marks import MARKS, cells_address
from app.widgets.jobs.reproductions import scale_title
from app.widgets.words import glossary
from engine.desk.published import EXPERIMENTS, FULL, VERDICTS, ScoreboardRow


def show(entries: Sequence[ScoreboardRow]) -> None:
    """A sentence that counts, and one row for each entry with a link to its cells."""
    with st.container(key="wf-paper-counted"):
        glossary.markdown(summary(entries))
    rows = "".join(_row(entry) for entry in entries)
    head = "".join(f'<th scope="col">{title}</th>' for title in ("Table or figure", "Our scale", "Outcome"))
    with st.container(key="wf-scoreboard"):
        glossary.html('<div class="wf-scroll" tabindex="0" role="region" aria-label="All tables and figures">'
                      f'<table class="wf-table wf-statements wf-scoreboard"><thead><tr>{head}</tr></thead>'
                      f"<tbody>{rows}</tbody></table></div>")


def summary(entries: Sequence[ScoreboardRow]) -> str:
    """How many there are, at which scales, and how many of them show nothing yet."""
    full = [entry for entry in entries if entry.preset == FULL]
    quick = [entry for entry in entries if entry.scale and _is_quick(entry)]
    missing = [entry for entry in entries if not entry.scale]
    within, judged = (sum(entry.within[index] for entry in full) for index in (0, 1))
    clauses = [f"**{len(full)}** at the paper's own scale" + (
        f" ({within} of {judged} cells within the tolerance set beforehand)" if judged else "")]
    if between := len(entries) - len(full) - len(quick) - len(missing):
        clauses.append(f"**{between}** at a smaller scale that can show the effect")
    if quick:
        clauses.append(f"**{len(quick)}** as a quick check only, which is no evidence")
    if missing:
        clauses.append(f"**{len(missing)}** not run")
    return f"The paper has {len(entries)} tables and figures with results. Ours: {', '.join(clauses)}."


def _row(entry: ScoreboardRow) -> str:
    address = escape(cells_address(entry.name, entry.preset))
    return (f'<tr><th scope="row"><a href="{address}" target="_self">{escape(entry.head)}</a>'
            f'<span class="wf-second wf-quiet">{escape(entry.shows)}</span></th>'
            f"<td>{_scale(entry)}</td><td>{_outcome(entry)}</td></tr>")


def _scale(entry: ScoreboardRow) -> str:
    if not entry.scale:
        return "not run yet"
    seeds = f"{entry.seeds} seed{'' if entry.seeds == 1 else 's'}"
    details = ", ".join(filter(None, (seeds, entry.model)))
    return f'{escape(scale_title(entry.preset))}<span class="wf-second wf-quiet">{escape(details)}</span>'


def _outcome(entry: ScoreboardRow) -> str:
    """Cells within tolerance and statements, then those of other scales; where the run decides nothing, why."""
    if not entry.scale:
        return "—"
    clauses = [f"{entry.within[0]} of {entry.within[1]} cells within tolerance"] if entry.within[1] else []
    clauses += _counted(entry.verdicts)
    said = escape(" · ".join(clauses)) or "no statement depends on it alone"
    below = [f"{scale_title(scale)}: {' · '.join(_counted(counts))}" for scale, counts in entry.elsewhere.items()]
    if entry.short:
        below.append(f"Too small to show the effect: {entry.short}")
    elif _is_quick(entry):
        below.append("A quick check; too small to show the effect.")
    return said + "".join(f'<span class="wf-second wf-quiet">{escape(line)}</span>' for line in below)


def _counted(verdicts: Counter[str]) -> list[str]:
    return [f"{MARKS[verdict]} {count} {verdict}" for verdict in VERDICTS if (count := verdicts[verdict])]


def _is_quick(entry: ScoreboardRow) -> bool:
    return EXPERIMENTS[entry.name].presets[entry.preset].is_quick_check
