"""What the Scorecard page shows: the card, one benchmark with its question, and what is known of scores at chance."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from app.charts import benchmark_dots
from app.charts.draw import draw
from app.scorecard import data as card_data
from app.scorecard import state
from app.scorecard.state import ScorecardChoice
from app.widgets.jobs import guesses, job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from app.widgets.words.plain_text import plain
from engine.desk import commands
from engine.desk.analyses import BENCHMARKS, CEILING, OTHER, PROTOCOLS, Benchmark, ScorecardRequest, card, reasons
from engine.desk.shelves import Result

ROLES = [card_data.EXACT, card_data.APPROXIMATE, card_data.CONTROL]


def offer(chosen: ScorecardChoice, request: ScorecardRequest) -> None:
    """What would be measured, and the button that starts it."""
    if not request.benchmarks:
        st.info(f"No benchmark applies to {chosen.source.problem_class.noun}; compare its methods on *Compare*.")
        return
    sizes = chosen.sizes
    with st.container(key="wf-card-offer"):
        glossary.markdown(f"**{len(request.benchmarks)} benchmarks of {len(request.methods)} methods and controls**, "
                          f"on {sizes.candidates:,} candidates, {sizes.models:,} subsets of each of "
                          f"{len(sizes.fractions)} sizes, {sizes.seeds} training seeds: models on subsets, removals, "
                          f"planted examples, other seeds, random weights. {_trainings(chosen, request)} It runs as a "
                          f"job and takes {guesses.expected(request)}.")
    glossary.caption(protocol_sentence(sizes.protocol))
    st.button("Run the scorecard", type="primary", icon=":material/play_arrow:", on_click=job_panel.act,
              args=(desk().start, request), disabled=bool(chosen.source.no_training))
    job_panel.untrained(chosen.source)
    if chosen.scores:
        glossary.markdown(f"Scores of other programs: {_external(chosen)}. They can be measured once this "
                          "scorecard is computed.")
    rows = "\n".join(f"| {one.title} | {one.definition} | {one.question} |"
                     for one in (BENCHMARKS[name] for name in request.benchmarks))
    with st.container(key="wf-card-benchmarks"):
        glossary.markdown(f"| benchmark | measure | question |\n|---|---|---|\n{rows}")


def whole(request: ScorecardRequest, run: Result | None) -> None:
    """What the run that came with the program lacks of the request, and the button that measures all of it."""
    fields = [] if run is None else [(run.manifest["payload"][name], getattr(request, name), name)
                                     for name in ("benchmarks", "methods")]
    if all(len(there) == len(wanted) for there, wanted, _ in fields):
        return
    counted = " and ".join(f"{len(there)} of {len(wanted)} {name}" for there, wanted, name in fields)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        glossary.caption(f"The example has {counted}.", width="content")
        st.button("Run the whole scorecard", key="card:whole", icon=":material/play_arrow:", type="tertiary",
                  on_click=job_panel.act, args=(desk().start, request))


def external(chosen: ScorecardChoice, table: pd.DataFrame) -> pd.DataFrame:
    """The card with the scores of other programs that the list of Compare holds: measured, or what to press."""
    request = card_data.external(chosen)
    if request is None:
        return table
    glossary.markdown(f"Scores of other programs: {_external(chosen)}. Only benchmarks that retrain this model on "
                      "subsets can measure them; the others train different models, which these scores do not "
                      "describe.")
    answer = card_data.card(chosen, request)
    if answer is None:
        st.button("Measure the scores of other programs", icon=":material/play_arrow:", key="card:external",
                  on_click=job_panel.act, args=(desk().start, request))
        return table
    own = job_panel.beside(answer)
    return table if own is None else card_data.joined(table, own, chosen)


def _external(chosen: ScorecardChoice) -> str:
    return ", ".join(f"**{plain(scoring.route.title)}**" for scoring in chosen.scores)


def protocol_sentence(name: str) -> str:
    """How models without some examples are trained, and which question that makes of a benchmark."""
    protocol = PROTOCOLS[name]
    return f"Protocol `{name}`, {protocol.title.lower()}. {protocol.definition} It asks for {protocol.estimand}"


def _trainings(chosen: ScorecardChoice, request: ScorecardRequest) -> str:
    count = sum(BENCHMARKS[name].trainings(chosen.sizes, len(request.methods)) for name in request.benchmarks)
    return f"Up to {count:,} training runs of the model, in addition to the cost of the methods."


def show(chosen: ScorecardChoice, table: pd.DataFrame) -> None:
    """The whole card, and one benchmark in detail."""
    whole = card_data.overview(table)
    with st.container(key="wf-card-table"):
        st.dataframe(whole, hide_index=True, width="stretch")
    sizes = chosen.sizes
    chips.note("means of each benchmark's first measure ± 95% over queries or repetitions · random weights: nearer to "
               f"zero is better; otherwise larger is better · protocol {sizes.protocol} · {sizes.candidates:,} "
               f"candidates · {sizes.models:,} subsets of each size · up to {sizes.seeds} training seeds · seed "
               f"{chosen.source.seed}")
    _benchmark(chosen, table)
    extras(chosen, table)


def extras(chosen: ScorecardChoice, table: pd.DataFrame) -> None:
    """The long table with its downloads and the command."""
    narrowed = chosen.source.model_copy(update={"n_candidates": chosen.sizes.candidates})
    sizes = chosen.sizes
    named = [word for name in chosen.methods for word in ("--method", name)]
    downloads.chart_extras("scorecard", table, source=narrowed, charts=["card:dots"], command=commands.of_problem(
        "scorecard", narrowed, "--behavior", chosen.behavior, "--models", sizes.models, "--queries", sizes.queries,
        "--seeds", sizes.seeds, "--protocol", sizes.protocol, "--among", sizes.among, *named, "--out",
        "scorecard.csv"))


def _benchmark(chosen: ScorecardChoice, table: pd.DataFrame) -> None:
    left, right = st.columns([3, 2], gap="large")
    with left:
        name = state.benchmark(list(dict.fromkeys(table["benchmark"])))
        benchmark, own = BENCHMARKS[name], table[table["benchmark"] == name]
        measure = state.measure(list(dict.fromkeys(own["measure"])))
        shown = own[(own["measure"] == measure) & (own["method"] != CEILING)].dropna(subset=["mean"])
        _dots(benchmark.title, measure, shown, own[(own["method"] == CEILING)
                                                   & (own["measure"] == measure.removesuffix(OTHER))])
    with right:
        glossary.markdown(f"**{benchmark.question}**")
        if benchmark.asks is not None:
            chips.show(benchmark.asks(chosen.behavior))
        else:
            glossary.caption(f"No intervention or training process is defined; the target is {benchmark.sought}.")
        glossary.caption(f"{benchmark.definition} After {benchmark.source}.")
        if benchmark.retrains:
            glossary.caption(protocol_sentence(str(own["protocol"].iloc[0])))
    _said(benchmark, own, measure, chosen.behavior)


def _said(benchmark: Benchmark, own: pd.DataFrame, measure: str, behavior: str) -> None:
    """Exact answers that score lower, and why scores are at chance, as far as it was measured."""
    behind = card.verdicts(benchmark, own[own["measure"] == measure], behavior)
    if behind:
        glossary.markdown("**Exact answers that score lower**\n\n" + "\n".join(f"- {one}" for one in behind))
    else:
        glossary.caption("No exact method scores lower by more than the intervals.")
    if at_chance := reasons.reasons(benchmark, own, measure):
        glossary.markdown("**At chance**\n\n" + "\n".join(f"- {one}" for one in at_chance))


def _dots(title: str, measure: str, own: pd.DataFrame, reference: pd.DataFrame) -> None:
    """reference: the row of another seed's exact answer; empty where it was not measured."""
    if own.empty:
        st.info("Nothing could be measured: no query was predicted as the label associated with the mark.")
        return
    half = own["ci95"].fillna(0.0)
    frame = own.assign(low=own["mean"] - half, high=own["mean"] + half)
    ceiling = None if reference.empty else float(reference["mean"].iloc[0])
    best = own.loc[own["mean"].idxmax()]
    draw(benchmark_dots.dots, frame, [title, measure] if measure else [title], ROLES, ceiling, key="card:dots",
         alt=f"{title} of {len(own)} methods. Largest: {best['title']} with {best['mean']:.3f}.")
    glossary.caption("Dashed: " + ceiling_sentence(reference.iloc[0]) if ceiling is not None else
                     "No exact answer of another seed was measured here, so no ceiling is shown.")
    chips.note(_counts(own))


def ceiling_sentence(row: pd.Series) -> str:
    """What the dashed line is: measured between seeds, or 1 where there is one optimum."""
    if math.isnan(row["seed_sd"]) and row["mean"] == 1.0 and row["ci95"] == 0.0:
        return "1.00, because training ends at one optimum, so another seed gives the same answer."
    return f"{card.counted(row)} It is not an upper bound: a mean over many seeds can exceed it."


def _counts(own: pd.DataFrame) -> str:
    """What stands behind each dot."""
    row = own.iloc[0]
    clauses = [f"± is a 95% t interval over {int(own['n'].max()):,} queries or repetitions"]
    if row["subsets"]:
        clauses.append(f"{row['subsets']:,} subsets; sampling them adds ± {own['ci95_subsets'].median():.2f}")
    if row["n_seeds"] > 1:
        clauses.append(f"{row['n_seeds']} training seeds, standard deviation of their means "
                     f"{own['seed_sd'].median():.2f}; these two are medians over methods; the table lists them by "
                     "method")
    return " · ".join(clauses)


def published() -> None:
    """On to the cards that came with the program, and how scores of other programs get here."""
    glossary.caption("Scores imported on [Compare](compare) are measured here too.")
    st.page_link("../pages/paper.py", label="Published scorecards",
                 icon=":material/fact_check:", query_params={"experiment": "scorecard"})
