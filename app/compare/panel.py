"""The parts of the Compare page: the heatmap, the opened pair, its numbers and its charts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from app.charts import distribution, rank_change
from app.charts.draw import draw
from app.compare import data as comparisons
from app.compare import grid, noise_floor, queries
from app.widgets.choices import choice
from app.widgets.choices.selectors import pick, segments
from app.widgets.examples import looks, pictures, record_text, selection
from app.widgets.jobs.desk import desk
from app.widgets.results import agreements, downloads, two_rankings
from app.widgets.results.two_rankings import Pair
from app.widgets.words import chips, glossary
from engine.desk import commands
from engine.desk.analyses import Comparison
from engine.desk.compared import Compared
from engine.desk.datasets import Dataset, Sample
from engine.desk.noise_floor import Floors
from engine.metrics.agreement import FURTHER, METRICS
from engine.metrics.in_words import in_words
from engine.question import direction
from engine.scoring.convergence import Convergence
from engine.scoring.left_out import LeftOut
from engine.scoring.resolution import Resolution
from engine.scoring.scores import Scores

SHORTS = {metric.short: name for name, metric in METRICS.items()}
ALL, CHANGES, COUNTED = "all", "compare:changes", "compare:counted"
DOTS, TOP, QUERIES = "dots", "top", "queries"
DETAILS = {DOTS: "One against the other", TOP: "The top of both", QUERIES: "Query by query"}
RANKED = {two_rankings.MEAN: ("by the mean score", "by the mean score over all queries"),
          two_rankings.OFTEN: ("by how often in the top", "by how often they are in a query's top")}
"""What ranks the top list over all queries -> what it is called to choose from, and in a sentence."""


def metric_switch() -> str:
    """Which agreement the heatmap and the distribution show."""
    return SHORTS[segments("metric", "Agreement", list(SHORTS), "kendall", lambda short: METRICS[SHORTS[short]].title,
                           label_visibility="collapsed")]


def matrix(found: Compared, labels: Sequence[str], metric: str, pair: tuple[int, int], floors: Floors) -> None:
    """The matrix with its small print. floors: what another seed reaches in the cells about a single run."""
    cells = noise_floor.marked(comparisons.matrix(found, metric, labels, pair), found, floors, metric)
    grid.show(found.scorings, labels, cells, metric, comparisons.chance(metric, _candidates(found)), pair)
    chips.note(small_print(found))


def matrix_small_print(found: Compared, labels: Sequence[str], metric: str) -> None:
    """What the chosen agreement measures, the table and the downloads."""
    glossary.caption(f"{METRICS[metric].definition} {_chance_text(found, metric)} Press a cell to open that pair.")
    downloads.chart_extras("agreement", comparisons.table(found, labels), found.scorings, found.drawn_sources)


def announce(found: Compared) -> None:
    """Says so where another list of specifications has changed how many candidates are ranked."""
    state, listed = st.session_state, tuple(scoring.digest for scoring in found.scorings)
    drawn, count = tuple(source.key for source in found.sources), len(found.scores[0][0].candidates)
    before = state.get(COUNTED)
    if before is None or before[0] != drawn:
        state[COUNTED] = drawn, listed, count, ""
    elif before[1] != listed:
        state[COUNTED] = drawn, listed, count, "" if before[2] == count else (
            f"{count:,} candidates are ranked now, {before[2]:,} before: "
            + ("for a specification of the list every candidate costs a training or an optimum, so fewer are taken, "
               "the same for all." if count < before[2] else "nothing in the list is costly any more."))
    text = state[COUNTED][3]
    st.html(f'<div class="wf-note wf-announced" role="status">{text}</div>')


def small_print(found: Compared, lost: LeftOut | None = None) -> str:
    """What the numbers are over. lost: candidates that are left out (default: of the comparison)."""
    sizes = found.scores[0][0].provenance["sizes"]
    lost = lost or LeftOut.joined(found.comparison.lost)
    seeds = [source.seed for source in found.sources]
    over = (f"means over seeds {', '.join(map(str, seeds))}, ± is a 95% t interval over seeds" if len(seeds) > 1
            else f"seed {seeds[0]}, ± is a 95% t interval over queries")
    text = (f"{sizes['train']:,} training examples · {sizes['candidates']:,} candidates · {sizes['queries']:,} queries "
            f"· {over}")
    return f"{text} · {lost.count} candidates left out {lost.because}" if lost.count else text


def details() -> str:
    """Which view of the open pair is shown."""
    return segments("detail", "The pair in detail", list(DETAILS), DOTS, DETAILS.get)


def verdict(found: Compared, pair: tuple[int, int]) -> None:
    chips.verdict_badge(found.comparison.verdicts[pair[0]][pair[1]])


def questions(found: Compared, labels: Sequence[str], pair: tuple[int, int]) -> None:
    """Both questions, the words that differ marked."""
    for place, other in zip(pair, reversed(pair), strict=True):
        with st.container(key=f"wf-asked-{int(place == pair[1])}", gap=None):
            glossary.html(f'<div class="wf-asked"><strong>{escape(labels[place])}</strong>'
                          f"{chips.html(found.scorings[place], found.scorings[other])}</div>")
            glossary.html(f'<div class="wf-asked">{chips.sentence(found.scorings[place], found.scorings[other])}</div>')


def computed(found: Compared, labels: Sequence[str], pair: tuple[int, int]) -> None:
    """How the scores of both were computed."""
    with st.expander("How each was computed"), glossary.folded():
        for place in pair:
            chips.note(f"{labels[place]}: {how_computed([seed[place] for seed in found.scores])}")


def how_computed(seeds: Sequence[Scores]) -> str:
    """Exact or not, and how well it was solved: over all seeds."""
    scoring, found = seeds[0].scoring, Convergence.joined([scores.convergence for scores in seeds])
    if not scoring.route.implies:
        return f"Baseline, with which other rankings can be compared: {scoring.route.note}"
    text, missed = f"{'Exact' if scoring.exact else 'Approximate'}: {found.summary}", found.of - found.kept
    if missed:
        text += f" · {missed:,} candidates did not {'converge' if scoring.exact else 'reach the tolerance'}"
    text += _resolution(seeds)
    text += _noise(seeds)
    return " ".join((f"{text}.", *found.remarks(scoring.route.title), direction.scores_are(scoring)))


def _resolution(seeds: Sequence[Scores]) -> str:
    """In which precision scores were computed, and what their error bounds flag and leave out."""
    if "resolution" not in seeds[0].provenance:
        return ""
    where = "differences in " if seeds[0].scoring.finite else ""
    return "".join(f" · {clause}" for clause in (f"{where}{seeds[0].provenance['resolution']['precision']}",
                                                 *Resolution.joined(seeds).clauses))


def _noise(seeds: Sequence[Scores]) -> str:
    """How far the mean over the seeds of a process is settled; empty for a single run."""
    noise = [scores.noise for scores in seeds if scores.noise is not None]
    return f" · standard error over seeds {max(noise):.2f} of what separates training examples" if noise else ""


def numbers(found: Compared, pair: tuple[int, int]) -> None:
    """The agreements with their intervals: the three that are mapped above, and further ones."""
    for column, (name, metric) in zip(st.columns(3), METRICS.items(), strict=True):
        agreements.number(column, metric, found.comparison.agreement(name, *pair), _chance_text(found, name))
    further = comparisons.further(found, *pair)
    for column, (name, metric) in zip(st.columns(3), FURTHER.items(), strict=True):
        chance = agreements.by_chance(metric.chance(_candidates(found), 0.05))
        agreements.number(column, metric, further.agreement(name, 0, 1), chance)
    dropped = found.comparison.agreement("kendall_tau", *pair)
    text = f"{dropped.n_queries:,} queries"
    if dropped.n_dropped:
        text += (f", {dropped.n_dropped:,} of them dropped from Kendall's τ, because one of the rankings is constant "
                 "there")
    chips.note(text + f" · {dropped.n_seeds} seed{'s' if dropped.n_seeds != 1 else ''}")
    chips.note(agreeing(found.comparison, pair, _candidates(found)))


def agreeing(comparison: Comparison, pair: tuple[int, int], candidates: int) -> str:
    """τ and the overlap of the top in one sentence, with a word where both allow one; empty for a single candidate."""
    tau, overlap = (comparison.agreement(name, *pair) for name in ("kendall_tau", "top_overlap"))
    return in_words(tau, overlap, candidates).sentence if candidates > 1 else ""


def query_words(dataset: Dataset, sample: Sample, query: int) -> str:
    """What a query is: its label, or its words."""
    record = dataset.record("test", int(sample.query_index[query]))
    return f"“{dataset.class_names[sample.y_query[query]]}”" if record is None else record_text.short(record)


def query_picker(found: Compared, metric: str, pair: tuple[int, int]) -> int | None:
    """One query of the first seed, or None for all of them."""
    agreement = found.comparison.per_query[metric][0, pair[0], pair[1]]
    dataset, sample = desk().sample(found.sources[0])
    options = [ALL, *map(str, range(len(agreement)))]
    names, labels = dataset.class_names, sample.y_query

    def title(text: str) -> str:
        if text == ALL:
            return f"all {len(agreement)} queries"
        value = agreement[int(text)]
        value = agreements.signed(value, 2) if value == value else "undefined"
        return f"query {text} · {query_words(dataset, sample, int(text))} · {METRICS[metric].title} {value}"

    text = pick("ranks", "Rankings of", options, ALL, title, width=430, help=(
        "For all queries, dots and the top list rank by the mean score, and the density pools the queries."))
    if text == ALL:
        return None
    choice.hold("query", text)
    index = int(sample.query_index[int(text)])
    if dataset.record("test", index) is None:
        st.html(pictures.html(dataset, "test", index, 64, f"query {text}, labelled {names[labels[int(text)]]}"),
                width="content")
    return int(text)


def asked_words(found: Compared, pair: tuple[int, int], query: int | None) -> None:
    """The words of a query that is a record."""
    dataset, sample = desk().sample(found.sources[0])
    record = None if query is None else dataset.record("test", int(sample.query_index[query]))
    if record is not None:
        st.html(record_text.STYLE)
        words = record_text.asked(record, query, [found.scorings[place] for place in pair])
        st.html(record_text.html(record, words=words))


def changes(found: Compared, pair: Pair, places: tuple[int, int], labels: Sequence[str], query: int | None) -> None:
    """The top of both rankings."""
    first, second = (labels[place] for place in places)
    by = _ranked_by() if query is None else two_rankings.MEAN
    table = two_rankings.top_changes(pair, query, by=by)
    kept = int((table.kept == rank_change.KEPT[0]).sum())
    top = min(two_rankings.TOP, len(pair.candidates))
    glossary.markdown(
        f"**The top {top}**", help=f"Examples that support the behavior most: {pair.noun} and rank. Those below the "
                                   "dashed line are outside that side's top, in order but not to scale.")
    dataset, sample = desk().sample(found.sources[0])
    seen = looks.added(table, dataset, sample.train_index[table.example.to_numpy(dtype=int)])
    draw(rank_change.rank_change, seen, first, second, top, pair.noun, key=CHANGES, on_select="rerun",
         selection_mode=[rank_change.CHOSEN],
         alt=f"Slope chart of the top {top} training examples under {first} and under {second}: {kept} are in both.")
    over = (f", for query {query}" if query is not None else
            f", ranked {RANKED[by][1]} · query by query, as the agreements above are, "
            f"{two_rankings.shared(pair, top):.1f} of {top} on average")
    chips.note(f"{kept} of {top} are in both{over} · seed {found.sources[0].seed}")
    shown = table.drop(columns=["place_a", "place_b"])
    downloads.chart_extras("top", shown, [found.scorings[place] for place in places],
                           command=commands.scores(found.drawn_sources[0],
                                                            [found.scorings[place] for place in places]),
                           quantity=downloads.of_two([found.scorings[place] for place in places])
                           if by == two_rankings.MEAN else "score_a, score_b: share of queries that have it in the top")


def take_change() -> None:
    """Choose the training example whose dot in the slope chart was clicked since the last run."""
    points = (st.session_state.get(CHANGES) or {}).get("selection", {}).get(rank_change.CHOSEN) or [{}]
    row = points[-1].get("example")
    if row is not None and row != st.session_state.get(f"{CHANGES}:handled"):
        selection.choose(int(row))
    st.session_state[f"{CHANGES}:handled"] = row


def _ranked_by() -> str:
    """What ranks the examples over all queries."""
    return segments("ranked", "Ranked", list(RANKED), two_rankings.MEAN, lambda by: RANKED[by][0], help=(
        "One order for all queries: by the mean score, to which queries with large scores give most, or by how often "
        "an example is in the top of a query, to which every query gives the same."))


def spread(found: Compared, pair: tuple[int, int], labels: Sequence[str], metric: str) -> None:
    """How the agreement spreads over queries."""
    agreement = found.comparison.agreement(metric, *pair)
    values = comparisons.per_query(found, metric, *pair)
    title = METRICS[metric].title
    glossary.markdown(f"**{title}, query by query**", help=METRICS[metric].definition)
    if agreement.mean != agreement.mean:
        st.info("No query has a defined value here: one of the rankings is constant for all of them.")
        return
    bins = comparisons.histogram(values.agreement, metric, _candidates(found))
    draw(distribution.distribution, bins, agreement, metric, queries.between(metric),
         key=queries.chart_key(found, metric, pair), on_select="rerun", selection_mode=[distribution.BRUSHED],
         alt=f"Histogram of {title} over queries for {labels[pair[0]]} and {labels[pair[1]]}: mean "
             f"{agreements.plus_minus(agreement.mean, agreement.ci95)}, from {values.agreement.min():.2f} to "
             f"{values.agreement.max():.2f}.")
    queries.ends(metric)
    chips.note(f"Line and coloured band: mean ± 95% t interval over {agreement.interval_over}")
    downloads.chart_extras("per-query", values, [found.scorings[place] for place in pair], found.drawn_sources)


def _candidates(found: Compared) -> int:
    return int(found.trusted.sum())


def _chance_text(found: Compared, metric: str) -> str:
    return agreements.by_chance(comparisons.chance(metric, _candidates(found)))
