"""Two rankings of suspicious labels side by side: what they ask, why and how far they differ, whom only one flags."""

from __future__ import annotations

import numpy as np
import streamlit as st

from app.charts import rank_change, rank_scatter
from app.charts.draw import draw
from app.noisy_labels import review_queue, state
from app.noisy_labels.question import question
from app.widgets.examples import cards, looks
from app.widgets.results import agreements, downloads, two_rankings
from app.widgets.results.two_rankings import RankingPair as RankedPair
from app.widgets.words import chips, glossary
from engine.desk import noisy_labels as searches
from engine.desk.noisy_labels import NoisyData, NoisySource, Pair, Scored, rankings, scoring_of, suspicion, why
from engine.metrics.agreement import FURTHER, METRICS, summarize
from engine.question import direction

CARDS = 10
STYLE = ("<style>.wf-only { display: flex; flex-wrap: wrap; gap: .6rem; } .wf-only .wf-example { width: 96px; }"
         "</style>")


def show(source: NoisySource, sample: NoisyData, scored: Scored, first: Pair, second: Pair) -> None:
    """All that is known of a pair of rankings."""
    chips.verdict_badge(why(first, second))
    for column, pair, other in zip(st.columns(2, gap="large"), (first, second), (second, first), strict=True):
        with column:
            glossary.markdown(f"**{pair.title}**")
            glossary.html(question(pair, other))
    _numbers(scored, first, second)
    _only_one(sample, scored, first, second)
    _charts(source, sample, scored, first, second)


def _numbers(scored: Scored, first: Pair, second: Pair) -> None:
    """The agreements that mean something for both: a ranking that asks nothing has no sign."""
    directed = all(scoring_of(pair) for pair in (first, second))
    metrics = [metric for name, metric in (*METRICS.items(), *FURTHER.items()) if directed or name != "sign_agreement"]
    agreement = rankings.agreements(scored.suspicion, first, second, [metric.name for metric in metrics])
    count = len(scored.suspicion[first])
    compared = min(count, rankings.MOST_COMPARED)
    for start in range(0, len(metrics), 3):
        for column, metric in zip(st.columns(3), metrics[start:start + 3], strict=False):
            chance = agreements.by_chance(metric.chance(compared, 0.05))
            agreements.number(column, metric, summarize(np.array([agreement[metric.name]])), chance)
    over = f"{compared:,} of {count:,} labels, sampled once" if compared < count else f"{count:,} labels"
    unsigned = "" if directed else " · no sign agreement, as a ranking without a question has no sign"
    chips.note(f"{over} · one ranking each, from one trained model, so these numbers have no interval{unsigned}")


def _only_one(sample: NoisyData, scored: Scored, first: Pair, second: Pair) -> None:
    """The labels that one ranking flags and the other does not."""
    glossary.markdown("**Flagged by only one of them**")
    st.html(cards.STYLE + STYLE)
    fraction = state.fraction()
    glossary.caption("Below each: given label → predicted label if different, rank here · "
                     "the rank in the other ranking.")
    ranks = rankings.all_ranks({pair: scored.suspicion[pair] for pair in (first, second)})
    for column, own, other in zip(st.columns(2, gap="large"), (first, second), (second, first), strict=True):
        rows = [int(row) for row in rankings.flagged(scored.suspicion, own, fraction, other)]
        with column:
            glossary.caption(_said(sample, rows, own, other))
            if rows:
                faces = "".join(review_queue.face(sample, scored, row, _ranks(ranks[own], ranks[other], row))
                                for row in rows[:CARDS])
                st.html(f'<div class="wf-only">{faces}</div>')
                st.button("Review them at the review desk", icon=":material/fact_check:",
                          key=f"labels:desk:{'first' if own == first else 'second'}", on_click=state.to_the_desk,
                          args=(own, other))


def _said(sample: NoisyData, rows: list[int], own: Pair, other: Pair) -> str:
    """How many there are, and how many of them are known to be wrong."""
    if not rows:
        return f"{own.title} flags nothing that {other.title} does not flag as well."
    flags = sample.flags
    wrong = "" if flags is None or not flags.noisy.any() else (
        f"; {int(flags.noisy[rows].sum()):,} of them are known to be wrong")
    shown = f", the first {CARDS} shown" if len(rows) > CARDS else ""
    return f"{len(rows):,} flagged by {own.title}, not by {other.title}{wrong}{shown}."


def _ranks(own: np.ndarray, other: np.ndarray, row: int) -> str:
    return (f'<div class="ranks" title="rank here, and in the other ranking"><span class="own">{int(own[row]):,}</span>'
            f" · {int(other[row]):,}</div>")


def _charts(source: NoisySource, sample: NoisyData, scored: Scored, first: Pair, second: Pair) -> None:
    """Rank against rank, and the top of both rankings."""
    ranked, names = _ranked(source, sample, scored, first, second), (first.title, second.title)
    left, right = st.columns(2, gap="large")
    with left:
        glossary.markdown("**Rank against rank**", help="Rank 1 is the most suspicious label. On the dashed diagonal, "
                                                        "both rank a label the same.")
        table = two_rankings.ranking(ranked, 0)
        dots = (rank_scatter.points, table, *names, two_rankings.TOP, "label", "Suspicion")
        chart = dots if len(table) <= two_rankings.POINTS else (
            rank_scatter.density, two_rankings.density(ranked, 0), *names)
        draw(*chart, key="labels:scatter",
             alt=f"The rank of every label under {names[0]} (across) against its rank under {names[1]} (up).")
        downloads.chart_extras("label-ranks", table, command=searches.command(source),
                               quantity=_suspicion(first, second), charts=["labels:scatter"])
    with right:
        _top(source, sample, ranked, names, _suspicion(first, second))


def _suspicion(first: Pair, second: Pair) -> str:
    """What the scores in the tables of two rankings are."""
    return direction.named({"score_a": suspicion(first), "score_b": suspicion(second)})


def _top(source: NoisySource, sample: NoisyData, ranked: RankedPair, names: tuple[str, str], quantity: str) -> None:
    table, top = two_rankings.top_changes(ranked, 0), min(two_rankings.TOP, len(ranked.candidates))
    common = int((table.membership == rank_change.MEMBERSHIP[0]).sum())
    glossary.markdown(f"**The top {top}**", help="The most suspicious labels: the given label and its rank. Those "
                                                 "below the dashed line are outside that side's top, in order but "
                                                 "not to scale.")
    seen = looks.added(table, sample.dataset, sample.rows[table.example.to_numpy(dtype=int)])
    draw(rank_change.rank_change, seen, *names, top, key="labels:changes",
         alt=f"Slope chart of the {top} most suspicious labels under {names[0]} and under {names[1]}: {common} in "
             f"both.")
    chips.note(f"{common} of {top} are in both")
    downloads.chart_extras("label-top", table.drop(columns=["position_a", "position_b"]),
                           command=searches.command(source), quantity=quantity, charts=["labels:changes"])


def _ranked(source: NoisySource, sample: NoisyData, scored: Scored, first: Pair, second: Pair) -> RankedPair:
    """The two side by side, with a single query: all trusted examples together."""
    scores = np.stack([scored.suspicion[pair] for pair in (first, second)])[:, None]
    labels = np.asarray(sample.dataset.class_names)[sample.evidence.y]
    key = ("labels", source.model_dump_json(), scored.facts["data"], *first, *second)
    return RankedPair(key, scores, two_rankings.ranks(scores), np.arange(scores.shape[-1]), labels)
