"""The parts of the Language models page that published results fill: heatmaps, the ablation, and removal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.charts import before_after, heatmap
from app.charts.draw import draw
from app.language import published as results
from app.language import question as language_question
from app.language import state
from app.language.published import PublishedScale
from app.widgets.jobs import reproductions
from app.widgets.pickers import example as example_line
from app.widgets.results import collinearity, downloads
from app.widgets.words import glossary
from app.widgets.words.measures import definition
from engine.desk.language import METHODS, READOUTS, REPSIM, SHARES
from engine.desk.published import language_tables

EXPERIMENT = {"response_corruption": "figure-5-2", "conditional_backdoor": "table-5-2"}
SOUGHT = {"answer": "Wrong answers", "rationale": "Mismatched rationales", "poison": "Poisoned records"}
CARRIED = ("estimator", "behavior", "layer")
"""What of the address goes along from the heatmaps to the records."""
MEASURES = ("AUPRC", "AUROC", "P@5%", "P@10%", "BT-FPR")


def question(lacking: Mapping[str, str] = MappingProxyType({}), ranges: Sequence[str] = ()) -> tuple[str, str]:
    """Estimator and behavior, with the English question below them; for RepSim also its layer. lacking, ranges: as
    `state.question` takes them."""
    estimator, behavior = state.question(lacking, ranges)
    if estimator == REPSIM.name:
        glossary.caption(
            "RepSim reads no behavior: it compares hidden states of one layer at the end of the prompt. Table A-17 on "
            "the Paper page compares layers.")
    language_question.show(METHODS[estimator], behavior)
    return estimator, behavior


def example() -> None:
    """What the page opens with, and one click to records of one's own."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="wf-shipped", width="content"):
        example_line.tag("Published results, part of the program.")
        st.button("My own records", key="language:own", icon=":material/upload:", type="tertiary",
                  on_click=state.own_records)


def choose_scale(experiment: str, area: DeltaGenerator | None = None) -> PublishedScale | None:
    """Which result of an experiment, chosen in `area` (default: here); None, with what to do, where there is none."""
    scales = results.scales(experiment)
    if not scales:
        with st.container(border=True):
            glossary.markdown(
                "**There is no result of this study yet.** It can be computed with the command below, or on the Runs "
                f"page; at the small scale {reproductions.cost(experiment, 'small').text}.")
            st.code(f"python -m engine reproduce {experiment} --preset small", language="bash", wrap_lines=True)
            st.page_link("../pages/runs.py", label="Start it on the Runs page", icon=":material/play_arrow:",
                         query_params={"experiment": experiment, "preset": "small", "start": "open"})
        return None
    by_name = {scale.name: scale for scale in scales}
    titles = {scale.name: scale.title for scale in scales}
    return by_name[state.scale(titles, area or st)] if len(scales) > 1 else scales[0]


def detection() -> None:
    """Heatmaps of estimator × behavior, one for each kind of record that is sought."""
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    task = state.task(list(EXPERIMENT), row)
    experiment = EXPERIMENT[task]
    scale = choose_scale(experiment, row)
    if scale is None:
        return
    state.settle()
    table = language_tables.at_layer(scale.result.table, state.layer())
    metric = state.measure([name for name in MEASURES if name in set(table["metric"])], row)
    kinds = {kind: table[table["corruption"] == kind] for kind in table["corruption"].unique()} if (
        "corruption" in table) else {"poison": table}
    state.take_click(list(kinds))
    chosen = _chosen_cell(table)
    prevalence = _prevalence(scale, task)
    for column, (kind, rows) in zip(st.columns(len(kinds), gap="large"), kinds.items(), strict=True):
        with column:
            glossary.markdown(f"##### {SOUGHT[kind]}")
            shown = results.cells(rows, metric, "behavior", chosen)
            draw(heatmap.score_heatmap, shown, metric, 0.5 if metric == "AUROC" else prevalence,
                 key=f"language:heatmap:{kind}", alt=alt_of(shown, f"{SOUGHT[kind]}, {metric}"), on_select="rerun",
                 selection_mode=heatmap.SELECTION)
    under = "" if results.unbounded(table, metric) else "Below each value: the half width of its 95% interval. "
    glossary.caption(f"{definition(metric)} {under}Dashed: the best mean. Click a cell to choose its estimator and "
                     "behavior."
                     f"{_lacking(table)} {_scale_sentence(scale)}")
    if said := results.wide(table, metric):
        glossary.caption(f":material/warning: {said}")
    _finding(kinds, metric, 0.5 if metric == "AUROC" else prevalence)
    _to_records(task)
    _extras(experiment, scale, table, [f"language:heatmap:{kind}" for kind in kinds], [_asked()])
    collinearity.show(scale.result.manifest, "language:collinear")


def _extras(experiment: str, scale: PublishedScale, table: pd.DataFrame, charts: Sequence[str],
            questions: Sequence[str]) -> None:
    """Table, downloads and command of a published result, and what the files of its charts say of it."""
    manifest = scale.result.manifest
    seeds = f"Seeds {', '.join(map(str, manifest['seeds']))}." if manifest.get("seeds") else ""
    downloads.chart_extras(f"{experiment}-{scale.name}", table, command=manifest.get("command"), charts=charts,
                           about=[*questions, f"{_scale_sentence(scale)} {seeds}"])


def _asked() -> str:
    """The question of the chosen estimator and behavior; every other cell poses that of its own row and column."""
    estimator, behavior = state.chosen_question()
    read = f" with {READOUTS[behavior].title.lower()}" if estimator.reads else ""
    return f"{estimator.label}{read}: {estimator.asks(behavior)}"


def _to_records(task: str) -> None:
    """On to the records themselves, with what is chosen here."""
    st.page_link("../pages/language_models.py", label="Read the records at the top of such a ranking",
                 icon=":material/list:", query_params={**{name: values[-1] for name in CARRIED
                                                          if (values := st.query_params.get_all(name))},
                                                       "show": "records", "task": task})


def _chosen_cell(table: pd.DataFrame) -> tuple[str, str]:
    estimator, behavior = state.chosen_question()
    at_layer = language_tables.repsim(state.layer())
    label = at_layer if estimator is REPSIM and at_layer in set(table["method"]) else estimator.label
    return label, READOUTS[behavior].title if estimator.reads else results.NO_BEHAVIOR


def _lacking(table: pd.DataFrame) -> str:
    """Where a result was made without the chosen layer, the one that is shown."""
    there = language_tables.repsim(state.layer()) in set(table["method"])
    return "" if there else " RepSim is available for the last layer only."


def _finding(kinds: Mapping[str, pd.DataFrame], metric: str, chance: float) -> None:
    """Which estimator and behavior have the best mean on each panel, and what is not separated from it over seeds."""
    clauses = []
    for kind, of_kind in kinds.items():
        rows = of_kind[(of_kind["metric"] == metric) & (of_kind["behavior"] != "none")]
        best, tied = results.leading(rows, metric)
        half = f" ± {best['ci95']:.2f}" if pd.notna(best["ci95"]) else ", one seed"
        clauses.append(f"{SOUGHT[kind].lower()} by **{best['method']}** with **{best['behavior'].lower()}** "
                       f"({best['mean']:.2f}{half}{_tied(tied, len(rows) - 1)})")
    glossary.markdown(f"Best mean among the estimators that read a behavior: {'; '.join(clauses)}. "
                      f"Chance is {chance:.2f}.")


def _tied(tied: pd.DataFrame | None, others: int) -> str:
    """What is not separated from the best mean over seeds."""
    if tied is None:
        return ""
    names = [f"{row['method']} with {row['behavior'].lower()}" for _, row in tied.iterrows()]
    if not names:
        return f"; separated from all {others} others over seeds"
    listed = " and ".join(names) if len(names) <= 2 else f"{len(names)} of the {others} others"
    return f"; not separated from {listed} over seeds"


def ablation() -> None:
    """The grid of Table A-15: the query with or without trigger, crossed with the target."""
    glossary.markdown(
        "A behavior needs a query and a target. The poison taught only a **triggered** query with the **harmful** "
        "target; the other three are controls.")
    scale = choose_scale("table-a15")
    if scale is None:
        return
    table = language_tables.at_layer(scale.result.table, state.layer())
    shown = results.cells(table, "AUPRC", "crossing")
    draw(heatmap.score_heatmap, shown, "AUPRC", _prevalence(scale, "conditional_backdoor"),
         key="language:ablation",
         alt=alt_of(shown, "AUPRC by query and target"))
    glossary.caption("Columns: is the trigger in the query, and which answer is the target. "
                     f"{_scale_sentence(scale)} {results.wide(table, 'AUPRC')}")
    _extras("table-a15", scale, table, ["language:ablation"], [
        "Question: how well does each ranking detect the poisoned records, for the query with or without the trigger "
        "and the harmful or the right answer as target?"])
    collinearity.show(scale.result.manifest, "language:collinear")


def removal() -> None:
    """Before and after the removal of each ranking's top tenth (Table A-14)."""
    glossary.markdown(
        "The test of an attribution: remove the records that it ranks highest, retrain with the same "
        "seed, and measure whether the behavior remains.")
    scale = choose_scale("table-a14")
    if scale is None:
        return
    rows, seeds = language_tables.removal_rows(scale.result.table, "ASR")
    draw(before_after.before_after, rows, seeds, "Attack success", key="language:removal",
         alt="Attack success before and after removal: " + "; ".join(
             f"{row['label']} {row['before']:.2f} to {row['after']:.2f}" for row in rows.to_dict("records")))
    glossary.caption(
        "Grey diamond: before. Blue dot: mean after removal and retraining; ticks: single seeds. *Oracle* rows "
        f"remove a known group. {_scale_sentence(scale)}")
    _extras("table-a14", scale, scale.result.table, ["language:removal"], [
        "Question: how often does the attack succeed after the top 10% of a ranking are removed and the model is "
        "fine-tuned again?"])


def _prevalence(scale: PublishedScale, task: str) -> float:
    """The fraction of sought records: what chance gives."""
    manifest = scale.result.manifest
    sizes = manifest.get("spec", {}).get("settings", {}).get("task", {})
    n = sum(value for name, value in sizes.items()
            if isinstance(value, int) and name in (*SHARES[task],))
    return sizes.get("answer", sizes.get("poison", 0)) / n if n else 0.1


def _scale_sentence(scale: PublishedScale) -> str:
    manifest, seeds = scale.result.manifest, scale.seeds
    runs = manifest.get("runs") or [{}]
    n = runs[0].get("facts", {}).get("records")
    return (f"{scale.model}, {manifest.get('scale', '')}; " + (f"{n:,} training records, " if n else "")
            + f"{seeds} seed{'s' if seeds != 1 else ''}.")


def alt_of(cells: pd.DataFrame, title: str) -> str:
    """A heatmap in words: its title and every cell."""
    texts = [f"{row['row']}, {row['column']}: {row['value']}{row['spread']}" for row in cells.to_dict("records")]
    return f"{title}: {'; '.join(texts)}"
