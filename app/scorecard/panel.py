"""What the Scorecard page shows: the card, one benchmark with its question, and where exact answers lose."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.charts import benchmark_dots
from app.charts.draw import draw
from app.scorecard import data as card_data
from app.scorecard import state
from app.scorecard.state import Chosen
from app.widgets import chips, downloads, glossary, job_panel
from app.widgets.desk import desk
from engine import data
from engine.analysis.scorecard import BENCHMARKS, card
from engine.runs import scorecard as runs

ROLES = [card_data.EXACT, card_data.APPROXIMATE, card_data.CONTROL]
OWN = "loo"


def offer(chosen: Chosen, asked: dict) -> None:
    """What would be measured, and the button that starts it."""
    sizes = chosen.sizes
    with st.container(key="wf-card-offer"):
        glossary.markdown(f"**{len(asked['benchmarks'])} benchmarks of {len(asked['methods'])} methods and controls**, "
                          f"on {sizes.candidates} candidates: models on subsets, removals, planted examples, other "
                          f"seeds, random weights. {_trainings(chosen, asked)} It runs as a job, which says how "
                          "long it has left.")
    st.button("Run the scorecard", type="primary", icon=":material/play_arrow:", on_click=job_panel.act,
              args=(desk().jobs.submit, runs.KIND, asked, f"Scorecard of {data.title(chosen.source.dataset)}"))
    rows = "\n".join(f"| {one.title} | {one.definition} | {one.question} |"
                     for one in (BENCHMARKS[name] for name in asked["benchmarks"]))
    glossary.markdown(f"| benchmark | what it measures | what it asks |\n|---|---|---|\n{rows}")


def _trainings(chosen: Chosen, asked: dict) -> str:
    count = sum(BENCHMARKS[name].trainings(chosen.sizes, len(asked["methods"])) for name in asked["benchmarks"])
    return f"Up to {count:,} trainings of the model, beside what the methods themselves take."


def show(chosen: Chosen, table: pd.DataFrame) -> None:
    """The whole card, and one benchmark in detail."""
    whole = card_data.overview(table)
    number = st.column_config.NumberColumn(format="%.3f")
    st.dataframe(whole, hide_index=True, width="stretch",
                 column_config={one.title: number for one in BENCHMARKS.values()})
    chips.note(f"means of each benchmark's first measure · random weights: nearer to zero is better, elsewhere larger "
               f"is · {chosen.sizes.candidates} candidates · seed {chosen.source.seed}")
    _benchmark(chosen, table)
    extras(chosen, table)


def extras(chosen: Chosen, table: pd.DataFrame) -> None:
    """The long table with its downloads and the command."""
    narrowed = chosen.source.model_copy(update={"n_candidates": chosen.sizes.candidates})
    file, written = downloads.problem_file(narrowed)
    sizes = chosen.sizes
    downloads.chart_extras("scorecard", table, command=(
        f"{written}\npython -m engine scorecard --data {file} --behavior {chosen.behavior} --models {sizes.models} "
        f"--queries {sizes.queries} --out scorecard.csv"))


def _benchmark(chosen: Chosen, table: pd.DataFrame) -> None:
    left, right = st.columns([3, 2], gap="large")
    with left:
        name = state.benchmark(list(dict.fromkeys(table["benchmark"])))
        benchmark, own = BENCHMARKS[name], table[table["benchmark"] == name]
        measure = state.measure(list(dict.fromkeys(own["measure"])))
        shown = own[own["measure"] == measure]
        _dots(benchmark.title, measure, shown.dropna(subset=["mean"]), benchmark.asks is not None)
    with right:
        glossary.markdown(f"**{benchmark.question}**")
        if benchmark.asks is not None:
            chips.show(benchmark.asks(chosen.behavior))
        else:
            glossary.caption(f"No intervention and no training process are named: {benchmark.sought} is sought.")
        glossary.caption(f"{benchmark.definition} After {benchmark.source}.")
        said = card.verdicts(benchmark, shown, chosen.behavior)
        if said:
            glossary.markdown("**Where exact answers lose**\n\n" + "\n".join(f"- {sentence}" for sentence in said))
        else:
            glossary.caption("No exact method loses here by more than the intervals.")


def _dots(title: str, measure: str, own: pd.DataFrame, removes: bool) -> None:
    if own.empty:
        st.info("Nothing could be measured: no query was taken for the label that the mark goes with.")
        return
    half = own["ci95"].fillna(0.0)
    frame = own.assign(low=own["mean"] - half, high=own["mean"] + half)
    exact = own.loc[own["method"] == OWN, "mean"]
    ceiling = float(exact.iloc[0]) if removes and len(exact) else None
    best = own.loc[own["mean"].idxmax()]
    draw(benchmark_dots.dots, frame, f"{title}, {measure}" if measure else title, ROLES, ceiling, key="card:dots",
         alt=f"{title} of {len(own)} methods. Largest: {best['title']} with {best['mean']:.3f}.")
    glossary.caption("Dashed: exact leave-one-out, the exact answer to the question that this benchmark asks."
                     if ceiling is not None else "There is no exact answer to a question here, so no ceiling is drawn.")


def published() -> None:
    """On to the cards that came with the program."""
    st.page_link("../pages/paper.py", label="Published scorecards, with seeds, intervals and manifests",
                 icon=":material/fact_check:", query_params={"experiment": "scorecard", "preset": "small"})
