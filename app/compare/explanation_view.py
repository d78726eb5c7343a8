"""An explanation on the page: its sentence, the way as a bar, the links as a table, and what could not be told."""

from __future__ import annotations

from html import escape

import pandas as pd
import streamlit as st

from app.charts import way
from app.charts.draw import draw
from app.widgets.words import chips, glossary
from engine.desk.analyses import ERROR_A, ERROR_B, LEAST_SLACK, SEED, Explanation, Link
from engine.metrics.agreement import METRICS

LETTERS = {ERROR_A: "≈", ERROR_B: "≈", SEED: "S"}


def show(found: Explanation, key: str) -> pd.DataFrame:
    """Draw it, and return the table of its links for the downloads."""
    glossary.html(f'<div class="wf-verdict" role="note"><strong>{escape(found.sentence)}</strong>{_whole(found)}</div>')
    table = links_table(found)
    if found.links and found.path > 0:
        draw(way.way, bars(found), found.direct.mean, key=key, alt=f"The way, link by link: {found.sentence}")
        _legend(found)
    for end in found.ends:
        chips.note(end)
    if found.n_seeds > 1 and found.path > 0:
        glossary.markdown(
            "**The shares, seed by seed**", help="Dots: the share of each link in one seed. Bar and line: mean "
                                                 "and 95% t interval over the seeds.")
        draw(way.shares, *shares(found), key=f"{key}:shares", alt=_spoken_shares(found))
    if found.links:
        st.dataframe(table, hide_index=True, width="stretch", key=f"{key}:links", column_config=_columns(table))
    for note in brackets(found):
        chips.note(note)
    if found.notes:
        title = f"How it was read: {len(found.notes)} remark{'s' if len(found.notes) > 1 else ''}"
        with st.expander(title), glossary.folded():
            for note in found.notes:
                glossary.markdown(f"- {note}")
    return table


def _columns(table: pd.DataFrame) -> dict:
    return glossary.columns(table, {
        **{name: st.column_config.NumberColumn(format="%.1f %%") for name in ("share of the way", "± 95% (share)")},
        **{name: st.column_config.NumberColumn(format="%.4f") for name in ("Kendall distance", "± 95%")},
        **{metric.title: st.column_config.NumberColumn(
            format="%.3f", help=glossary.hint(metric.title, metric.definition)) for metric in METRICS.values()}})


def _whole(found: Explanation) -> str:
    if not found.links:
        return ""
    text = (f"The ends are {found.direct.mean:.3f} apart in Kendall distance, the fraction of pairs that they order "
            "differently (rankings in random order: 0.5 on average). The way changes one thing at a time and is "
            f"{found.path:.3f} long")
    if found.slack >= LEAST_SLACK:
        text += (f", {found.slack:.3f} more than the ends are apart, as one change may undo a part of another: every "
                 f"share is of {found.path:.3f}, not of {found.direct.mean:.3f}.")
    else:
        text += ", as far as the ends are apart."
    if found.orders > 1:
        text += f" Averaged over {found.orders} orders of the axes, so that none of them decides."
    lost = f" {found.left_out} candidates are left out {found.lost.because}." if found.left_out else ""
    return f"{text}{lost}"


def bars(found: Explanation) -> pd.DataFrame:
    """One row a link: where it starts and ends along the way, its letter and colour."""
    rows, at = [], 0.0
    for place, link in enumerate(found.links):
        rows.append({"start": at, "end": at + link.length, "middle": at + link.length / 2, "letter": letters(link),
                     "title": link.title, "length": link.length, "share": link.share,
                     "color": way.color(link.causes, place == 0)})
        at += link.length
    return pd.DataFrame(rows)


def shares(found: Explanation) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(one row a link: mean share in percent with the ends of its interval; one row a link and seed)."""
    means, seeds = [], []
    for place, link in enumerate(found.links):
        cause = {"title": link.title, "letter": letters(link), "color": way.color(link.causes, place == 0)}
        half = 0.0 if link.share_ci95 != link.share_ci95 else link.share_ci95
        means.append({**cause, "share": 100 * link.share, "low": max(0.0, 100 * (link.share - half)),
                      "high": min(100.0, 100 * (link.share + half))})
        seeds += [{**cause, "share": 100 * share} for share in link.seeds]
    return pd.DataFrame(means), pd.DataFrame(seeds)


def _spoken_shares(found: Explanation) -> str:
    told = "; ".join(f"{link.title} {100 * link.share:.0f}% ± {100 * link.share_ci95:.0f}" for link in found.links)
    return f"Share of the way of each link, mean over {found.n_seeds} seeds: {told}."


def letters(link: Link) -> str:
    """B, P, T, S for the seed, or ≈; several where they cannot be told apart."""
    return "+".join(LETTERS.get(cause, cause) for cause in link.causes)


def links_table(found: Explanation) -> pd.DataFrame:
    """One row a link; with several seeds, its share in each."""
    rows = []
    for link in found.links:
        spread = {"± 95% (share)": 100 * link.share_ci95} if found.n_seeds > 1 else {}
        rows.append({"cause": link.title, "share of the way": 100 * link.share, **spread,
                     "Kendall distance": link.length, "± 95%": link.ci95,
                     **{METRICS[name].title: value for name, value in link.agreement.items()}})
    return pd.DataFrame(rows)


def brackets(found: Explanation) -> list[str]:
    """A sentence for every cause that is not told apart from others, and for those that act together."""
    mixed = dict.fromkeys(cause for link in found.links for cause in link.causes if len(link.causes) > 1)
    told = []
    for cause in mixed:
        low, high = found.bracket(cause)
        title = found.titles[cause]
        told.append(f"{title[0].upper()}{title[1:]}: between {low:.0%} and {high:.0%} of the way; no exact scores tell "
                    "it from the causes beside it.")
    return [*told, *found.by_order]


def _legend(found: Explanation) -> None:
    items = "".join(
        f'<span class="wf-key"><i style="background:{way.color(link.causes, place == 0)}"></i>'
        f"{escape(letters(link))} {escape(link.title)}</span>" for place, link in enumerate(found.links))
    glossary.html(f'<div class="wf-keys">{items}</div>')
