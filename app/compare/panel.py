"""The parts of the Compare page: the heatmap, the opened pair, its numbers and its charts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from app.charts import distribution, figure, heatmap, rank_change, rank_flow
from app.charts.draw import draw
from app.compare import data as comparisons
from app.compare import grid, measured, noise_floor, queries
from app.widgets.choices import choice
from app.widgets.choices.selectors import pick, segments
from app.widgets.examples import looks, pictures, record_text, sampled_examples, selection
from app.widgets.jobs.desk import desk
from app.widgets.pickers import pickers
from app.widgets.results import agreements, downloads, figures, two_rankings
from app.widgets.results.two_rankings import RankingPair
from app.widgets.words import chips, glossary
from engine.basics.values import signed
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
from engine.scoring.scoring import Scoring

SHORTS = {metric.short: name for name, metric in METRICS.items()}
ALL, CHANGES, COUNTED = "all", "compare:changes", "compare:counted"
DOTS, TOP, QUERIES, FLOW = "dots", "top", "queries", "flow"
DETAILS = {DOTS: "Scatter", TOP: "Top k", QUERIES: "Query by query", FLOW: "Rank flow"}
FLOWING, FLOW_TOP = "compare:flow", 6
RANKED = {two_rankings.MEAN: ("by the mean score", "by the mean score over all queries"),
          two_rankings.OFTEN: ("by frequency in the top", "by the number of queries that have it in the top")}
"""What ranks the top list over all queries -> what it is called to choose from, and in a sentence."""


def metric_switch() -> str:
    """Which agreement the heatmap and the distribution show."""
    return SHORTS[segments("metric", "Agreement", list(SHORTS), "kendall", lambda short: METRICS[SHORTS[short]].title,
                           label_visibility="collapsed")]


def matrix(compared: Compared, listed: Sequence[Scoring], labels: Sequence[str], metric: str, pair: tuple[int, int],
           floors: Floors) -> None:
    """The matrix of the whole list with its small print. floors: what another seed reaches in the cells about a single
    run."""
    whole = len(compared.rows) == len(listed)
    checked = measured.known(compared) if compared.waiting is None and whole else ()
    own = comparisons.matrix(compared, metric, [labels[row] for row in compared.rows], pair)
    cells = comparisons.widened(noise_floor.marked(own, compared, floors, metric), compared.rows, labels, pair)
    grid.show(listed, labels, cells, metric, comparisons.chance(metric, _candidates(compared)), pair,
              measured.rows(compared, checked))
    if compared.waiting is not None:
        said = [f"Hatched cells: computed over {len(compared.sources)} of {compared.seeds} seeds. The others are added "
                "when they are done."] * (compared.seeds > 1)
        said += ["**…**: not computed yet."] * (len(compared.rows) < len(listed))
        glossary.caption(" ".join(said))
    chips.note(small_print(compared))
    measured.below(compared, checked)


def matrix_small_print(compared: Compared, labels: Sequence[str], metric: str, pair: tuple[int, int]) -> None:
    """What the chosen agreement measures, the matrix as a figure, the table and the downloads."""
    figures.offer("agreement", f"{METRICS[metric].title} of {len(labels)} specifications: {small_print(compared)}",
                  lambda: figure.specification(heatmap.heatmap(
                      comparisons.matrix(compared, metric, labels, pair), metric,
                      comparisons.chance(metric, _candidates(compared)))))
    glossary.caption(f"{METRICS[metric].definition} {_chance_text(compared, metric)} Press a cell to open that pair.")
    downloads.chart_extras("agreement", comparisons.table(compared, labels), compared.scorings, compared.ranked_sources,
                           charts=["agreement"])


def announce(compared: Compared) -> None:
    """Says so where another list of specifications has changed how many candidates are ranked."""
    state, listed = st.session_state, tuple(scoring.digest for scoring in compared.scorings)
    keys, count = tuple(source.key for source in compared.sources), len(compared.scores[0][0].candidates)
    before = state.get(COUNTED)
    if before is None or before[0] != keys:
        state[COUNTED] = keys, listed, count, ""
    elif before[1] != listed:
        state[COUNTED] = keys, listed, count, "" if before[2] == count else (
            f"{count:,} candidates are ranked ({before[2]:,} before): "
            + ("at least one specification retrains or re-optimises for each candidate, so fewer candidates are used "
               "for all specifications." if count < before[2] else
               "no specification in the list retrains or re-optimises."))
    text = state[COUNTED][3]
    st.html(f'<div class="wf-note wf-announced" role="status">{text}</div>')


def small_print(compared: Compared, lost: LeftOut | None = None) -> str:
    """What the numbers are over. lost: candidates that are left out (default: of the comparison)."""
    sizes = compared.scores[0][0].provenance["sizes"]
    lost = lost or LeftOut.joined(compared.comparison.lost)
    seeds = [source.seed for source in compared.sources]
    alone = (f" of {compared.seeds}, the others are not done" if compared.seeds > len(seeds) else
             " alone, because imported scores belong to one seed" if pickers.seed_count() > len(seeds) else "")
    over = (f"means over seeds {', '.join(map(str, seeds))}{alone}, ± is a 95% t interval over seeds" if len(seeds) > 1
            else f"seed {seeds[0]}{alone}, ± is a 95% t interval over queries")
    text = (f"{sizes['train']:,} training examples · {sizes['candidates']:,} candidates{_of_what(compared)} · "
            f"{sizes['queries']:,} queries · {over}")
    return f"{text} · {lost.count} candidates left out {lost.because}" if lost.count else text


def _of_what(compared: Compared) -> str:
    return sampled_examples.of_what(compared.sources[0], compared.scores[0][0])


def details() -> str:
    """Which view of the open pair is shown."""
    return segments("detail", "The pair in detail", list(DETAILS), DOTS, DETAILS.get)


def verdict(compared: Compared, pair: tuple[int, int]) -> None:
    chips.verdict_badge(compared.comparison.verdicts[pair[0]][pair[1]])


def questions(compared: Compared, labels: Sequence[str], pair: tuple[int, int]) -> None:
    """Both questions, the words that differ marked."""
    for index, other in zip(pair, reversed(pair), strict=True):
        with st.container(key=f"wf-asked-{int(index == pair[1])}", gap=None):
            glossary.html(f'<div class="wf-asked"><strong>{escape(labels[index])}</strong>'
                          f"{chips.html(compared.scorings[index], compared.scorings[other])}</div>")
            question = chips.sentence(compared.scorings[index], compared.scorings[other])
            glossary.html(f'<div class="wf-asked">{question}</div>')


def computed(compared: Compared, labels: Sequence[str], pair: tuple[int, int]) -> None:
    """How the scores of both were computed."""
    with st.expander("How they were computed"), glossary.folded():
        for index in pair:
            chips.note(f"{labels[index]}: {how_computed([seed[index] for seed in compared.scores])}")


def how_computed(seeds: Sequence[Scores]) -> str:
    """Exact or not, and how well it was solved: over all seeds."""
    scoring, convergence = seeds[0].scoring, Convergence.joined([scores.convergence for scores in seeds])
    if not scoring.route.implies:
        return f"Baseline, for comparison with other rankings: {scoring.route.note}"
    missed = convergence.of - convergence.reached
    text = f"{'Exact' if scoring.exact else 'Approximate'}: {convergence.summary}"
    if missed:
        text += f" · {missed:,} candidates did not {'converge' if scoring.exact else 'reach the tolerance'}"
    text += _resolution(seeds)
    text += _noise(seeds)
    return " ".join((f"{text}.", *convergence.remarks(scoring.route.title), direction.scores_are(scoring)))


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
    return f" · standard error over seeds {max(noise):.2f} of the spread over training examples" if noise else ""


def numbers(compared: Compared, pair: tuple[int, int]) -> None:
    """The agreements with their intervals: the three that are mapped above, and further ones."""
    for column, (name, metric) in zip(st.columns(3), METRICS.items(), strict=True):
        agreements.number(column, metric, compared.comparison.agreement(name, *pair), _chance_text(compared, name))
    further = comparisons.further(compared, *pair)
    for column, (name, metric) in zip(st.columns(3), FURTHER.items(), strict=True):
        chance = agreements.by_chance(metric.chance(_candidates(compared), 0.05))
        agreements.number(column, metric, further.agreement(name, 0, 1), chance)
    dropped = compared.comparison.agreement("kendall_tau", *pair)
    text = f"{dropped.n_queries:,} queries"
    if dropped.n_dropped:
        text += (f", {dropped.n_dropped:,} of them dropped from Kendall's τ, because one of the rankings is constant "
                 "there")
    chips.note(text + f" · {dropped.n_seeds} seed{'s' if dropped.n_seeds != 1 else ''}")
    chips.note(agreeing(compared.comparison, pair, _candidates(compared)))


def agreeing(comparison: Comparison, pair: tuple[int, int], candidates: int) -> str:
    """τ and the overlap of the top in one sentence, with a word where both allow one; empty for a single candidate."""
    tau, overlap = (comparison.agreement(name, *pair) for name in ("kendall_tau", "top_overlap"))
    return in_words(tau, overlap, candidates).sentence if candidates > 1 else ""


def query_words(dataset: Dataset, sample: Sample, query: int) -> str:
    """What a query is: its label, or its words."""
    record = dataset.record("test", int(sample.query_index[query]))
    return f"“{dataset.class_names[sample.y_query[query]]}”" if record is None else record_text.short(record)


def query_picker(compared: Compared, metric: str, pair: tuple[int, int]) -> int | None:
    """One query of the first seed, or None for all of them."""
    agreement = compared.comparison.per_query[metric][0, pair[0], pair[1]]
    dataset, sample = desk().sample(compared.sources[0])
    options = [ALL, *map(str, range(len(agreement)))]
    names, labels = dataset.class_names, sample.y_query

    def title(text: str) -> str:
        if text == ALL:
            return f"all {len(agreement)} queries"
        value = agreement[int(text)]
        value = signed(value, 2) if value == value else "undefined"
        return f"query {text} · {query_words(dataset, sample, int(text))} · {METRICS[metric].title} {value}"

    text = pick("ranks", "Rankings of", options, ALL, title, width=430, help=(
        "For all queries, the scatter plot and the top list use the mean score, and the density pools the queries."))
    if text == ALL:
        return None
    choice.hold("query", text)
    index = int(sample.query_index[int(text)])
    if dataset.record("test", index) is None:
        st.html(pictures.html(dataset, "test", index, 64, f"query {text}, labelled {names[labels[int(text)]]}"),
                width="content")
    return int(text)


def query_text(compared: Compared, pair: tuple[int, int], query: int | None) -> None:
    """The words of a query that is a record."""
    dataset, sample = desk().sample(compared.sources[0])
    if query is None:
        return
    if (record := dataset.record("test", int(sample.query_index[query]))) is not None:
        st.html(record_text.STYLE)
        words = record_text.queried(record, query, [compared.scorings[index] for index in pair],
                                    compared.sources[0].model)
        st.html(record_text.html(record, words=words))


def changes(compared: Compared, pair: RankingPair, indices: tuple[int, int], labels: Sequence[str], query: int | None
            ) -> None:
    """Top k rankings."""
    first, second = (labels[index] for index in indices)
    by = _ranked_by() if query is None else two_rankings.MEAN
    table = two_rankings.top_changes(pair, query, by=by)
    common = int((table.membership == rank_change.MEMBERSHIP[0]).sum())
    top = min(two_rankings.TOP, len(pair.candidates))
    glossary.markdown(
        f"**The top {top}**", help=f"Examples that support the behavior most: {pair.noun} and rank. Those below the "
                                   "dashed line are outside the top on that side, in order but not to scale.")
    dataset, sample = desk().sample(compared.sources[0])
    seen = looks.added(table, dataset, sample.train_index[table.example.to_numpy(dtype=int)])
    draw(rank_change.rank_change, seen, first, second, top, pair.noun, key=CHANGES, on_select="rerun",
         selection_mode=[rank_change.CHOSEN],
         alt=f"Slope chart of the top {top} training examples under {first} and under {second}: {common} are in both.")
    over = (f", for query {query}" if query is not None else
            f", ranked {RANKED[by][1]} · query by query, as the agreements above are, "
            f"{two_rankings.shared(pair, top):.1f} of {top} on average")
    chips.note(f"{common} of {top} are in both{over} · of {len(pair.candidates):,} candidates{_of_what(compared)} · "
               f"seed {compared.sources[0].seed}")
    shown, source = table.drop(columns=["position_a", "position_b"]), compared.ranked_sources[0]
    scorings = [compared.scorings[index] for index in indices]
    downloads.chart_extras("top", shown, scorings, source, commands.scores(source, scorings), charts=[CHANGES],
                           quantity=downloads.of_two(scorings)
                           if by == two_rankings.MEAN else "score_a, score_b: fraction of queries that have it in the "
                                                           "top")


def flow(compared: Compared, labels: Sequence[str], query: int | None) -> None:
    """The top of every specification, and the ranks of its examples under all of them."""
    by = _ranked_by() if query is None else two_rankings.MEAN
    everything = comparisons.pair(compared, *range(len(labels)))
    top = min(FLOW_TOP, len(everything.candidates))
    table = two_rankings.flow(everything, query, top, by)
    count, common = table.example.nunique(), int((table.tops == len(labels)).sum()) // len(labels)
    dataset, sample = desk().sample(compared.sources[0])
    seen = looks.added(table, dataset, sample.train_index[table.example.to_numpy(dtype=int)])
    over = f"query {query}" if query is not None else f"all queries, ranked {RANKED[by][1]}"
    draw(rank_flow.flow, seen, list(labels), top, everything.noun, key=FLOWING, on_select="rerun",
         selection_mode=[rank_change.CHOSEN],
         alt=f"Ranks of the top {top} of {len(labels)} specifications under all of them, {over}: {count} training "
             f"examples, {common} of them in the top {top} of every specification.")
    chips.note(f"{common} of {count} are in every top {top} · {over} · seed {compared.sources[0].seed}")
    source = compared.ranked_sources[0]
    downloads.chart_extras("rank-flow", table.assign(ranking=[labels[index] for index in table.ranking]),
                           compared.scorings, source, commands.scores(source, compared.scorings), charts=[FLOWING])


def take_change(chart: str) -> None:
    """Choose the training example whose dot in a chart of ranks was clicked since the last run."""
    points = (st.session_state.get(chart) or {}).get("selection", {}).get(rank_change.CHOSEN) or [{}]
    row = points[-1].get("example")
    if row is not None and row != st.session_state.get(f"{chart}:handled"):
        selection.choose(int(row))
    st.session_state[f"{chart}:handled"] = row


def _ranked_by() -> str:
    """What ranks the examples over all queries."""
    return segments("ranked", "Ranked", list(RANKED), two_rankings.MEAN, lambda by: RANKED[by][0], help=(
        "One ranking for all queries: by the mean score, which weights queries by the size of their scores, or by the "
        "number of queries that have the example in their top, which weights queries equally."))


def spread(compared: Compared, pair: tuple[int, int], labels: Sequence[str], metric: str) -> None:
    """How the agreement spreads over queries."""
    agreement = compared.comparison.agreement(metric, *pair)
    values = comparisons.per_query(compared, metric, *pair)
    title = METRICS[metric].title
    glossary.markdown(f"**{title}, query by query**", help=METRICS[metric].definition)
    if agreement.mean != agreement.mean:
        st.info("No query has a defined value here: one of the rankings is constant for all of them.")
        return
    bins = comparisons.histogram(values.agreement, metric, _candidates(compared))
    draw(distribution.distribution, bins, agreement, metric, queries.between(metric),
         key=queries.chart_key(compared, metric, pair), on_select="rerun", selection_mode=[distribution.BRUSHED],
         alt=f"Histogram of {title} over queries for {labels[pair[0]]} and {labels[pair[1]]}: mean "
             f"{agreements.plus_minus(agreement.mean, agreement.ci95)}, from {values.agreement.min():.2f} to "
             f"{values.agreement.max():.2f}.")
    queries.ends(metric)
    chips.note(f"Line and coloured band: mean ± 95% t interval over {agreement.interval_over}")
    downloads.chart_extras("per-query", values, [compared.scorings[index] for index in pair], compared.ranked_sources,
                           charts=[queries.chart_key(compared, metric, pair)])


def _candidates(compared: Compared) -> int:
    return int(compared.trusted.sum())


def _chance_text(compared: Compared, metric: str) -> str:
    return agreements.by_chance(comparisons.chance(metric, _candidates(compared)))
