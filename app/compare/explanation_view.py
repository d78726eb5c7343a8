"""An explanation on the page: its sentence, the path as a waterfall, the links as a table, what is not identified."""

from __future__ import annotations

from html import escape
from math import nan

import pandas as pd
import streamlit as st

from app.charts import way
from app.charts.draw import draw
from app.widgets.frame.theme import AXIS_COLORS
from app.widgets.words import chips, glossary
from engine.basics.values import capital, signed
from engine.desk.analyses import ERROR_A, ERROR_B, LEAST_SLACK, SEED, Contribution, Explanation
from engine.metrics.agreement import METRICS

SLACK, DISAGREEMENT = "slack", "disagreement"
LETTERS = {ERROR_A: "≈", ERROR_B: "≈", SEED: "S"}


def show(explanation: Explanation, key: str) -> pd.DataFrame:
    """Draw it, and return the table of its links for the downloads."""
    glossary.html(f'<div class="wf-verdict" '
                  f'role="note"><strong>{escape(explanation.sentence)}</strong>{_whole(explanation)}</div>')
    table = links_table(explanation)
    if explanation.links and explanation.path > 0:
        draw(way.waterfall, steps(explanation), key=key, alt=_spoken(explanation))
    for end in explanation.ends:
        chips.note(end)
    if explanation.n_seeds > 1 and explanation.path > 0:
        glossary.markdown(
            "**Fractions by seed**", help="Dots: the fraction of each link in one seed. Bar and line: mean "
                                                 "and 95% t interval over the seeds.")
        draw(way.fractions, *fractions(explanation), key=f"{key}:shares", alt=_spoken_fractions(explanation))
    if explanation.links:
        st.dataframe(table, hide_index=True, width="stretch", key=f"{key}:links", column_config=_columns(table))
    for note in brackets(explanation):
        chips.note(note)
    if explanation.notes:
        title = f"Assumptions: {len(explanation.notes)} note{'s' if len(explanation.notes) > 1 else ''}"
        with st.expander(title), glossary.folded():
            for note in explanation.notes:
                glossary.markdown(f"- {note}")
    return table


def _columns(table: pd.DataFrame) -> dict:
    return glossary.columns(table, {
        **{name: st.column_config.NumberColumn(format="%.1f %%") for name in ("fraction of the path", "± 95% (share)")},
        **{name: st.column_config.NumberColumn(format="%.4f") for name in ("Kendall distance", "± 95%")},
        **{metric.title: st.column_config.NumberColumn(
            format="%.3f", help=glossary.hint(metric.title, metric.definition)) for metric in METRICS.values()}})


def _whole(explanation: Explanation) -> str:
    if not explanation.links:
        return ""
    text = (f"The direct difference is {explanation.direct.mean:.3f} in Kendall distance, the fraction of pairs "
            "ordered differently (rankings in random order: 0.5 on average). The path changes one axis at a time; "
            f"its length is {explanation.path:.3f}")
    if explanation.slack >= LEAST_SLACK:
        text += (f", {explanation.slack:.3f} more than the direct difference, because one change may undo part of "
                 f"another. Fractions are of {explanation.path:.3f}.")
    else:
        text += ", equal to the direct difference."
    if explanation.orders > 1:
        text += f" Averaged over {explanation.orders} orders of the axes."
    if explanation.left_out:
        text += f" {explanation.left_out} candidates are left out {explanation.lost.because}."
    return text


def steps(explanation: Explanation) -> pd.DataFrame:
    """The rows of the waterfall: a link each, what they cancel of one another, and the distance that remains."""
    rows, at = [], 0.0
    for index, link in enumerate(explanation.links):
        rows.append({"title": link.title, "start": at, "end": at + link.length, "change": link.length,
                     "said": f"{link.length:.3f} · {link.share:.0%}", "letter": letters(link), "half": link.ci95,
                     "color": way.color(link.causes, index == 0)})
        at += link.length
    direct = explanation.direct
    if explanation.slack >= LEAST_SLACK:
        rows.append({"title": SLACK, "start": at, "end": direct.mean, "change": -explanation.slack,
                     "said": f"−{explanation.slack:.3f}", "letter": "", "half": nan, "color": way.ERRORS[1]})
    rows.append({"title": DISAGREEMENT, "start": 0.0, "end": direct.mean, "change": direct.mean,
                 "said": f"{direct.mean:.3f}", "letter": "", "half": direct.ci95, "color": way.WHOLE})
    return pd.DataFrame(rows)


def _spoken(explanation: Explanation) -> str:
    """The waterfall in words."""
    changes = "; ".join(f"{row.title} {signed(row.change, 3, '+')}" for row in steps(explanation).itertuples())
    return f"Waterfall of the disagreement in Kendall distance: {changes}. {explanation.sentence}"


def fractions(explanation: Explanation) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(one row a link: mean fraction in percent with the ends of its interval; one row a link and seed)."""
    means, seeds = [], []
    for index, link in enumerate(explanation.links):
        cause = {"title": link.title, "letter": letters(link), "color": way.color(link.causes, index == 0)}
        half = 0.0 if link.share_ci95 != link.share_ci95 else link.share_ci95
        means.append({**cause, "share": 100 * link.share, "low": max(0.0, 100 * (link.share - half)),
                      "high": min(100.0, 100 * (link.share + half))})
        seeds += [{**cause, "share": 100 * fraction} for fraction in link.seeds]
    return pd.DataFrame(means), pd.DataFrame(seeds)


def _spoken_fractions(explanation: Explanation) -> str:
    fractions = "; ".join(f"{link.title} {100 * link.share:.0f}% ± {100 * link.share_ci95:.0f}"
                          for link in explanation.links)
    return f"Fraction of the path by link, mean over {explanation.n_seeds} seeds: {fractions}."


def letters(link: Contribution) -> str:
    """B, P, T, S for the seed, or ≈; several where they cannot be separated. Departures and checkpoints belong to T."""
    return "+".join(LETTERS.get(cause, cause if cause in AXIS_COLORS else "T") for cause in link.causes)


def links_table(explanation: Explanation) -> pd.DataFrame:
    """One row a link; with several seeds, its fraction in each."""
    rows = []
    for link in explanation.links:
        spread = {"± 95% (share)": 100 * link.share_ci95} if explanation.n_seeds > 1 else {}
        rows.append({"cause": link.title, "fraction of the path": 100 * link.share, **spread,
                     "Kendall distance": link.length, "± 95%": link.ci95,
                     **{METRICS[name].title: value for name, value in link.agreement.items()}})
    return pd.DataFrame(rows)


def brackets(explanation: Explanation) -> list[str]:
    """A sentence for every cause that is not separated from others, and for those that act together."""
    mixed = dict.fromkeys(cause for link in explanation.links for cause in link.causes if len(link.causes) > 1)
    sentences = []
    for cause in mixed:
        low, high = explanation.bracket(cause)
        title = explanation.titles[cause]
        sentences.append(f"{capital(title)}: between {low:.0%} and {high:.0%} of the path; no exact "
                         "scores separate it from the causes listed with it.")
    return [*sentences, *explanation.by_order]
