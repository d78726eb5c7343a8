"""How well the rankings find the labels that are known to be wrong: measures, precision and recall, a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import pandas as pd
import streamlit as st

from app.charts.draw import draw
from app.charts.precision_recall import precision_recall
from app.noisy_labels import state
from app.widgets.results import downloads
from app.widgets.words import glossary, look
from app.widgets.words.measures import definition
from engine.desk import noisy_labels as searches
from engine.desk.noisy_labels import BEHAVIOR_TITLES, NONE, NoisyData, NoisySource, Pair, Scored, rankings
from engine.metrics.detection import METRICS

COLUMNS = (NONE, *BEHAVIOR_TITLES.values())
REFERENCES = ("RepSim", "Confident learning")
NARROW = look.style("detection")


def show(source: NoisySource, sample: NoisyData, scored: Scored, pair: Pair) -> None:
    """The measures of the chosen ranking, its curve beside others, and the table of all."""
    noisy = sample.known_flags.noisy
    table = rankings.detections(scored.suspicion, noisy)
    own = table[(table["method"] == pair.method) & (table["behavior"] == pair.behavior)].iloc[0]
    for column, metric in zip(st.columns(len(METRICS)), METRICS, strict=True):
        column.metric(metric, f"{own[metric]:.3f}", help=definition(metric))
    left, right = st.columns([1, 1.15], gap="medium")
    with left:
        _curves(source, scored.suspicion, noisy, pair, own["AUPRC"])
    with right:
        _pairs(source, table, pair)
    glossary.caption(
        f"{pair.title} · {_known(sample)}, so a random order has AUPRC and P@k near {noisy.mean():.2f} and AUROC "
        f"near 0.50 · training seed {source.seed}, one run: intervals over seeds are in the tables of the Paper page.")


def _known(sample: NoisyData) -> str:
    """How many labels are known to be wrong; of a user's own, others may be."""
    wrong, count = int(sample.known_flags.noisy.sum()), len(sample.known_flags)
    corrupted = sample.corrupted_count if sample.source.is_own else 0
    note = f" ({corrupted:,} of them corrupted here; others may be wrong too)" if corrupted else ""
    return f"{wrong:,} of {count:,} labels are wrong{note}"


def _curves(source: NoisySource, suspicion: Mapping[Pair, np.ndarray], noisy: np.ndarray, pair: Pair,
            auprc: float) -> None:
    st.subheader("Precision and recall", help=glossary.hint("Precision and recall"))
    order = related(pair, list(suspicion))
    frame = rankings.curves(suspicion, noisy, order)
    draw(precision_recall, frame, [one.title for one in order], float(noisy.mean()), key="pr",
         alt=f"Precision over recall of {len(order)} rankings; {pair.title} has AUPRC {auprc:.3f}.")
    glossary.caption("Dashed grey: a random order.")
    downloads.chart_extras("precision-recall", frame, command=searches.command(source), charts=["pr"])


def _pairs(source: NoisySource, table: pd.DataFrame, pair: Pair) -> None:
    st.subheader("Methods and trusted behaviors", help=glossary.hint("behaviors"))
    metric = state.metric(list(METRICS))
    st.html(NARROW)
    glossary.html(table_html(table, metric, pair))
    glossary.caption(
        "◆ highest among a method's trusted behaviors · ★ highest of all · underlined: the chosen one. A method "
        "without a behavior is in the first column.")
    downloads.chart_extras("detection", table, command=searches.command(source))


def related(pair: Pair, known: Sequence[Pair]) -> list[Pair]:
    """The pairs whose curves stand beside one: the same method with every behavior, and the references."""
    family = [other for other in known if other.method == pair.method and other != pair]
    references = [other for other in known if other.method in REFERENCES and other != pair]
    return [pair, *family, *references]


def table_html(table: pd.DataFrame, metric: str, chosen: Pair) -> str:
    """Method × trusted behavior, one metric a cell."""
    best, top = rankings.preferred(table, metric), table[metric].max()
    values = {Pair(row["method"], row["behavior"]): row[metric] for _, row in table.iterrows()}
    head = "".join(f"<th scope=col>{escape('no behavior' if name == NONE else name)}</th>" for name in COLUMNS)

    def cell(pair: Pair) -> str:
        if pair not in values:
            return '<td><span class="wf-quiet">–</span></td>'
        value = values[pair]
        text = "no value" if value != value else f"{value:.3f}"
        marks = ("◆" if pair in best else "") + ("★" if value == top else "")
        text = f"<u>{text}</u>" if pair == chosen else text
        said = f' title="{"preferred behavior of this method" if pair in best else ""}"' if marks else ""
        return f"<td{said}>{f'<b>{text} {marks}</b>' if marks else text}</td>"

    rows = "".join(f'<tr><th scope="row">{escape(method)}</th>'
                   f'{"".join(cell(Pair(method, behavior)) for behavior in COLUMNS)}</tr>'
                   for method in dict.fromkeys(table["method"]))
    return ('<div class="wf-scroll wf-narrow" tabindex="0" role="region" '
            f'aria-label="{escape(metric)} by method and behavior">'
            f'<table class="wf-table"><thead><tr><th scope=col>{escape(metric)}</th>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div>")
