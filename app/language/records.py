"""The records view: waiting for a run, then its ranked records, with one of them opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from app.charts import heatmap
from app.charts.draw import draw
from app.language import desk as review_desk
from app.language import opened, published, state
from app.language.panel import SOUGHT, alt_of
from app.widgets.jobs import guesses, job_panel
from app.widgets.jobs.desk import desk
from app.widgets.pickers.new_picker import MARKS
from app.widgets.results import downloads
from app.widgets.words import glossary
from engine.desk import Waiting, models
from engine.desk.language import (
    METHODS,
    READOUTS,
    Attributed,
    Ranking,
    Study,
    of_query,
)

FLAGS = {"answer": "wrong answer", "rationale": "mismatched rationale", "poison": "poison", "benign": "benign trigger"}


def show(wanted: Study, estimator: str, behavior: str) -> None:
    """The records of a run, once it is there."""
    if METHODS[estimator].reads and behavior in wanted.lacking:
        st.error(f"“{READOUTS[behavior].title}” needs {wanted.lacking[behavior]} in every query; choose another "
                 "behavior, or mark it in the records.", icon=":material/error:")
        return
    run = _run(wanted)
    if run is not None:
        _records(wanted, run, estimator, behavior)


def _run(wanted: Study) -> Attributed | None:
    """A finished run; where there is none, how long it takes and a button, or how far it is."""
    run = desk().known(wanted.request)
    if isinstance(run, Attributed):
        return run
    if run is not None:
        job_panel.beside(run)
        return None
    with st.container(border=True):
        larger = "" if models.is_embedded(wanted.model) else (
            " A model with more than 135 million parameters takes longer; a GPU is faster.")
        trains = "fine-tunes the model and " if wanted.setting.recipe.epochs else ""
        glossary.markdown(f"**This has not been computed yet.** It {trains}caches gradients: "
                          f"{guesses.expected(wanted.request)}.{larger} You can close the browser meanwhile, and "
                          "cancel and resume.")
        if lacking := wanted.missing:
            st.warning(lacking, icon=":material/folder_off:")
        st.button("Start", type="primary", icon=":material/play_arrow:", key="language:start",
                  on_click=job_panel.act, args=(desk().start, wanted.request))
    return None


def _records(wanted: Study, run: Attributed, estimator: str, behavior: str) -> None:
    """The ranked records, one of them opened."""
    manifest, tables = run.manifest, run.tables
    ranking = Ranking(METHODS[estimator], behavior,
                      tuple(name for name in (*READOUTS, *wanted.ranges) if name in manifest["behaviors"]),
                      manifest["sign"] < 0 and wanted.typed is None, state.layer())
    if ranking.method.reads and behavior not in ranking.behaviors:
        st.error(f"These queries lack what “{READOUTS[behavior].title}” requires, such as a span, or an answer of one "
                 "token; choose another behavior.", icon=":material/error:")
        return
    query = state.query([" ".join(prompt.split()) for prompt in tables["queries"]["prompt"]])
    if query is not None:
        each = _by_query(wanted)
        if each is None:
            return
        tables = {**tables, "records": of_query(tables["records"], each.tables["by_query"], query)}
    _head(wanted, manifest["facts"], ranking, query)
    _sketch(manifest["sketch"])
    shown = _filtered(ranking.listed(tables["records"]), ranking)
    if shown.empty:
        st.info("No record is in the top tenth of one ranking but not of the other.", icon=":material/filter_alt_off:")
        return
    review, taken = review_desk.open_review(wanted)
    decisions = review.decisions()
    clicked = _table(wanted, review_desk.marked(shown, review, decisions), ranking)
    row = state.record(_titles(shown), clicked)
    review_desk.show(wanted, shown, tables["records"], ranking, review, taken, decisions, row)
    opened.show(wanted, tables, row, ranking, query, on_desk=any(one not in decisions for one in shown["record"]))
    review_desk.exports(wanted, review, decisions)
    if "detection" in tables:
        _detection(wanted, tables["detection"], facts=manifest["facts"])
    downloads.chart_extras(f"records-{wanted.digest[:8]}", shown, command=wanted.command, quantity=ranking.quantity)
    with st.expander("The same in Python"):
        st.code(wanted.program(ranking.column, ranking.opposing_first), language="python", wrap_lines=True)


def _by_query(wanted: Study) -> Attributed | None:
    """The scores of each query; where they are not there, a button that computes them, or how far they are."""
    each = desk().known(wanted.by_query)
    if isinstance(each, Attributed):
        return each
    if isinstance(each, Waiting):
        job_panel.watch(each)
        return None
    st.button("Score each query separately", type="primary", icon=":material/play_arrow:", key="language:each",
              on_click=job_panel.act, args=(desk().start, wanted.by_query),
              help="A separate run, once for all queries; the training and gradients are already stored.")
    return None


def _head(wanted: Study, facts: Mapping[str, int], ranking: Ranking, query: int | None) -> None:
    """What stands below, and what was trained on."""
    many = facts["truncated"]
    cut = (f" {many} {'was' if many == 1 else 'were'} longer than the context and cut at the start of "
           f"{'its' if many == 1 else 'their'} prompt." if many else "")
    over = "for your prompt" if wanted.typed else "averaged over the queries" if query is None else f"for query {query}"
    through = "" if "unmarked" not in facts else (
        f" Scored by the loss of {MARKS[wanted.tokens]}, through {facts['scored_parameters']:,} of "
        f"{facts['trained_parameters']:,} trained parameters; {facts['unmarked']:,} records have no token that is "
        "scored.")
    heading = "Records that harm it most" if ranking.opposing_first else "Records that teach it"
    st.subheader(heading if ranking.method.reads else "Records by score")
    glossary.caption(f"{facts['records']:,} training records, {facts['tokens']:,} tokens, {facts['steps']} steps.{cut} "
                     f"{ranking.first} Scores are {over}.{through}")


def _sketch(sketch: Mapping[str, Any]) -> None:
    """How far the scores depend on the draw of the projection; a warning where that is too far."""
    if sketch["met"]:
        glossary.caption(sketch["sentence"])
    else:
        st.warning(sketch["sentence"], icon=":material/help:")


def _filtered(table: pd.DataFrame, ranking: Ranking) -> pd.DataFrame:
    pair = state.two_behaviors(ranking.behaviors) if ranking.method.reads else None
    return table if pair is None else ranking.only_under(table, *pair)


def _table(wanted: Study, shown: pd.DataFrame, ranking: Ranking) -> int | None:
    """The records as a table; the place of the row that is chosen in it."""
    event = st.dataframe(
        shown.assign(**{"known as": shown["known as"].map(lambda text: FLAGS.get(text, text))}), hide_index=True,
        width="stretch", height=360, key=f"language:table:{wanted.digest[:8]}:{len(shown)}", on_select="rerun",
        selection_mode="single-row", alt=f"{len(shown)} training records by rank", column_config={
            "score": st.column_config.NumberColumn(format="%.2e", help=ranking.quantity), "record": None,
            "prompt": st.column_config.TextColumn(width="medium"),
            "response": st.column_config.TextColumn(width="large")})
    rows = event.selection.rows if event and event.selection else []
    return rows[0] if rows else None


def _titles(shown: pd.DataFrame) -> dict[int, str]:
    """A line a listed record, in their order."""
    return {int(row): f"Rank {rank}: {' '.join(prompt.split())[:80]}"
            for row, rank, prompt in zip(shown["record"], shown["rank"], shown["prompt"], strict=True)}


def _detection(wanted: Study, detected: pd.DataFrame, facts: Mapping[str, int]) -> None:
    """How well each estimator and behavior finds the records whose flags are known, in this run alone."""
    with st.expander("Detection of the flagged records in this run"):
        table = detected.rename(columns={"value": "mean"}).assign(ci95=float("nan"), n_seeds=1)
        for kind in table["sought"].unique():
            of_kind = table[table["sought"] == kind]
            glossary.markdown(f"##### {SOUGHT.get(kind, kind.capitalize())}")
            chance = float(of_kind[of_kind["metric"] == "share"]["mean"].iloc[0])
            shown = published.cells(of_kind, "AUPRC", "behavior")
            draw(heatmap.score_heatmap, shown, "AUPRC", chance, key=f"language:own:{kind}",
                 alt=alt_of(shown, f"AUPRC by estimator and behavior, {kind}"))
        glossary.caption("Area under the precision-recall curve; one seed. Chance is the fraction of flagged "
                         "records.")
        downloads.chart_extras("detection-of-this-run", detected[detected["metric"] != "share"], title="As a table")
        charts = [f"language:own:{kind}" for kind in detected["sought"].unique()]
        downloads.described(charts, (), None, wanted.command, [
            "Question: how well does each estimator, with each behavior, rank the flagged records first?",
            f"{wanted.model} · {facts['records']:,} training records · seed {wanted.seed}"])
