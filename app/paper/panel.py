"""The parts of the Paper page, in the order in which they stand."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from app.charts import curves as curve_charts
from app.charts import paper_dots
from app.charts.draw import draw
from app.paper import names as paper_names
from app.paper import notes as paper_notes
from app.paper import rows as paper_rows
from app.paper import scoreboard, state, statements
from app.paper import table as paper_table
from app.widgets.frame.guard import guarded
from app.widgets.jobs import reproductions
from app.widgets.pickers import specification_list
from app.widgets.results import collinearity, downloads, manifest_view
from app.widgets.words import chips, glossary
from app.widgets.words.measures import definition
from engine.basics.values import signed
from engine.desk import ProblemSource, datasets, published
from engine.desk.published import (
    AS_PAPER,
    EXPERIMENTS,
    FULL,
    ONE_SEED,
    Published,
    conventions,
    differences,
    studies,
)
from engine.scoring.identities import ProblemFacts
from engine.scoring.scoring import Scoring
from engine.scoring.verdict import verdict


def overview(whose: str) -> None:
    """The scoreboard and the statements by one reading of the paper; a sentence where a published file was altered."""
    with guarded("The scoreboard"):
        entries, findings = published.evidence(whose)
        (other,) = [name for name in conventions.TITLES if name != whose]
        scoreboard.show(entries, whose)
        statements.show(findings, published.evidence(other)[1], whose)
    with guarded("The audit of names"):
        paper_names.show()


def reading_notes(name: str, whose: str) -> None:
    """What the experiment says of itself, and what the authors' code computes otherwise where that is shown."""
    if EXPERIMENTS[name].note:
        glossary.caption(EXPERIMENTS[name].note)
    if whose != AS_PAPER and whose in studies.offered(name):
        glossary.caption(f"As {conventions.TITLES[whose]} does it: {conventions.CHANGES[EXPERIMENTS[name].study]}.")


def elsewhere(name: str) -> None:
    """A link to the page that shows more of a study of language models."""
    if any("model" in preset.settings for preset in EXPERIMENTS[name].presets.values()):
        st.page_link("../pages/language_models.py", label="See it as a heatmap on the Language models page",
                     icon=":material/forum:")


def scale_notes(name: str, preset: str, result: Published | None, model: str = "") -> None:
    """Whether the scale is a quick check, where it is too small, and how it differs from the paper's."""
    presets = EXPERIMENTS[name].presets
    if presets[preset].is_quick_check and len(presets) > 1:
        glossary.caption("A quick check that the code runs; too small to show the paper's effects.")
    if result is not None and (said := published.too_small(name, preset, result)):
        st.warning(f"Too small to show the effect: {said}", icon=":material/zoom_out:")
    if lines := differences(EXPERIMENTS[name], preset):
        with st.expander("How this scale differs from the paper's"):
            glossary.markdown("\n".join(f"- {line}" for line in lines))


def empty(name: str, preset: str, joined: pd.DataFrame | None, model: str, whose: str) -> None:
    """Nothing was computed yet: what would do it, how long it takes, and the paper's numbers alone."""
    if whose in studies.offered(name):
        _to_compute(name, preset, studies.other_model(name, preset, model), model, whose)
    else:
        st.info(f"This is computed by {conventions.TITLES[AS_PAPER]} only.", icon=":material/info:")
    if joined is None:
        return
    measure = state.choose_measure(joined)
    glossary.markdown("##### The paper's numbers")
    if definition(measure):
        glossary.caption(definition(measure))
    rows = paper_rows.rows_of(joined, measure, judge=False)
    notes, numbers = paper_notes.of_rows(name, rows.to_dict("records"))
    paper_table.show(rows, numbers, notes, judged=False)


def _to_compute(name: str, preset: str, other: str | None, model: str, whose: str) -> None:
    """The command that computes what is not here, how long it takes, and where to start it."""
    of, by = f" for {model}" if other else "", "" if whose == AS_PAPER else f" by {conventions.TITLES[whose]}"
    with st.container(border=True):
        glossary.markdown(f"**Our numbers{of}{by} at this scale have not been computed yet.** Computing them runs "
                          f"{reproductions.seeds(name, preset)}; "
                          f"{reproductions.cost(name, preset, other, whose).text}. It can be cancelled and resumed.")
        st.code(studies.command(name, preset, other, whose), language="bash", wrap_lines=True)
        st.page_link("../pages/runs.py", label="Start it on the Runs page", icon=":material/play_arrow:",
                     query_params={"experiment": name, "preset": preset, "as": whose, "start": "open",
                                   "other": other or ""})


def comparison(name: str, preset: str, joined: pd.DataFrame, measure: str, dataset: str | None,
               result: Published) -> None:
    """Charts and table of the paper beside ours."""
    judged, joined = preset == FULL, paper_rows.of_tables(joined)
    if not (joined["metric"] == measure).any():
        return
    rows = paper_rows.rows_of(joined if dataset is None else joined[joined["dataset"] == dataset], measure, judged)
    st.subheader(f"{measure}: the paper and ours", help=glossary.hint(measure))
    glossary.caption(" ".join(filter(None, (definition(measure), _interval(rows),
                                            paper_notes.on_origin(rows),
                                            paper_notes.SPREAD if rows["spread"].notna().any() else "",
                                            paper_rows.sizes_sentence(rows)))))
    _sentence(rows, measure, judged)
    if "model" in result.table and (said := EXPERIMENTS[name].beside(str(result.table["model"].iloc[0]))):
        glossary.caption(said)
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        draw(paper_dots.values, rows, measure, paper_rows.chance(measure), key="paper:values",
             height=paper_dots.height(rows), alt=_values_alt(rows, measure))
        if paper_rows.chance(measure):
            glossary.caption("Dashed line: average for scores in random order, " f"{paper_rows.chance(measure):g}.")
    with right:
        draw(paper_dots.differences, rows, key="paper:differences",
             height=paper_dots.height(rows.dropna(subset="difference")), alt=_differences_alt(rows, measure))
        glossary.caption(("Line: Welch's 95% interval of the difference, over our seeds and the paper's. "
                          if rows["difference_ci95"].notna().any() else "")
                         + ("Grey bar: the tolerance of this measure." if judged else "Dashed line: no difference."))
    notes, numbers = paper_notes.of_rows(name, rows.to_dict("records"))
    paper_table.show(rows, numbers, notes, judged)
    for group, title in paper_rows.OURS.items():
        _of_ours(result, group, title, measure, dataset)
    table = joined.drop(columns=["tolerance", "within"]) if not judged else joined
    pairs = EXPERIMENTS[name].pairs
    downloads.chart_extras(f"{name}-{preset}", table, tuple(dict.fromkeys(sum(pairs.values(), ()))),
                           command=result.manifest.get("command"), charts=["paper:values", "paper:differences"])
    if pairs:
        questions(rows, pairs, _problem(name, preset), _facts(name, preset))


def _facts(name: str, preset: str) -> ProblemFacts:
    """What verdicts ask of the kind of model that a study trains."""
    settings = EXPERIMENTS[name].presets[preset].settings
    source = settings["source"] if "source" in settings else settings["sources"][0]
    return ProblemFacts.of(ProblemSource.parse(source).problem_class)


def _problem(name: str, preset: str) -> dict[str, str]:
    """The address parameters of a network's data and model; empty where softmax regression is compared."""
    source = EXPERIMENTS[name].presets[preset].settings.get("source", {})
    return {"data": source["dataset"], "model": source["model"]} if "model" in source else {}


def questions(rows: pd.DataFrame, pairs: Mapping[tuple[str, str, str], tuple[Scoring, Scoring]],
              problem: Mapping[str, str], facts: ProblemFacts) -> None:
    """What the two sides of a chosen row ask, and a link that asks it of data of the reader's choice."""
    known = {row["label"].replace("|", ", "): pair for row in rows.to_dict("records")
             if (pair := pairs.get((row.get("axis"), row["comparison"], paper_rows.written(row)))) is not None}
    if not known:
        return
    st.subheader("The two questions behind a row")
    pair = known[state.choose_row(list(known))]
    for column, scoring, other in zip(st.columns(2, gap="large"), pair, reversed(pair), strict=True):
        with column:
            chips.question(scoring, other)
    chips.verdict_badge(verdict(*pair, facts))
    st.page_link("../pages/compare.py", label="Compare them on data of your choice", icon=":material/compare_arrows:",
                 query_params={**specification_list.address_of(pair, (0, 1)), **problem})


def curves(name: str, preset: str, joined: pd.DataFrame | None, measure: str, dataset: str | None,
           result: Published) -> None:
    """Panel (b) of Figure 4-1, and Figure A-2, with the authors' stored values below."""
    if "curve" not in result.table or not result.table["curve"].isin(paper_rows.SYMBOLS).any():
        return
    panel = "Panel (b): approximation" if EXPERIMENTS[name].paper_table else "Approximation"
    st.subheader(f"{panel} error", help=glossary.hint("approximation error"))
    glossary.caption("Approximate against exact scores of the same specification, ours. The paper plots these curves "
                     "without printing their numbers; below each are those from its authors' files.")
    dataset = dataset or result.table["dataset"].iloc[0]
    for column, kind in zip(st.columns(2, gap="large"), paper_rows.SYMBOLS, strict=True):
        with column:
            _curve(f"{name}-{preset}-{kind}", result, kind, measure, dataset)
            _stored(joined, kind, measure, dataset, preset == FULL)


def _stored(joined: pd.DataFrame | None, kind: str, measure: str, dataset: str, judged: bool) -> None:
    """The authors' values of a curve beside ours."""
    points = None if joined is None else paper_rows.of_curve(joined, kind, measure, dataset)
    if points is not None and len(points):
        if said := paper_rows.rise(points, paper_rows.SYMBOLS[kind], measure):
            glossary.caption(said)
        with st.expander(f"Next to the authors' stored values, over the {paper_rows.SYMBOLS[kind]}"):
            paper_table.show(paper_rows.rows_of(points, measure, judged), [[] for _ in range(len(points))], [], judged)


def alone(name: str, preset: str, result: Published) -> None:
    """Our table, where the paper prints no numbers to set beside it and there is no curve."""
    if "curve" in result.table:
        return
    st.subheader("Our values only")
    glossary.caption(
        "The paper prints no numbers for these rows. ± 95% is the half width of a 95% t-interval over seeds.")
    shown = result.table.drop(columns="seed_means", errors="ignore")
    st.dataframe(shown, hide_index=True, width="stretch", column_config=glossary.columns(shown.columns),
                 alt=f"{EXPERIMENTS[name].title}: our numbers.")
    downloads.chart_extras(f"{name}-{preset}", result.table, command=result.manifest.get("command"))


def manifest(name: str, preset: str, result: Published) -> None:
    """What our numbers were made from and with."""
    collinearity.show(result.manifest, "paper:collinear")
    st.subheader("Provenance of our numbers")
    if result.here:
        glossary.caption("These were computed on this machine; they are not part of the published results.")
    manifest_view.show(result.manifest, f"{name}-{preset}")
    glossary.caption("Recompute them with")
    st.code(result.manifest.get("command") or studies.command(name, preset), language="bash", wrap_lines=True)


def _interval(rows: pd.DataFrame) -> str:
    counted = rows["n_seeds"].dropna()
    seeds = int(counted.max()) if len(counted) else 0
    return f"Our ± is a 95% t-interval over {seeds} seeds." if seeds > 1 else f"Ours is from one seed. {ONE_SEED}"


def _sentence(rows: pd.DataFrame, measure: str, judged: bool) -> None:
    counts = paper_rows.tally(rows)
    largest = rows.loc[rows["difference"].abs().idxmax()] if rows["difference"].notna().any() else None
    sentences = []
    if judged and counts.judged:
        sentences.append(f"**{counts.judged - counts.outside} of {counts.judged}** cells lie within the tolerance.")
    elif not judged:
        sentences.append("This problem is smaller than the paper's, so differences are expected and are not judged.")
    else:
        sentences.append(f"No tolerance was set for {measure.lower()} beforehand.")
    if largest is not None:
        difference = signed(largest["difference"], 3, "+")
        sentences.append(f"The largest difference is **{difference}** ({largest['label'].replace('|', ', ')}).")
    if counts.missing:
        sentences.append(f"{counts.missing} cells of the paper are not part of our run.")
    glossary.markdown(" ".join(sentences))


def _of_ours(result: Published, group: str, title: str, measure: str, dataset: str | None) -> None:
    rows = paper_rows.of_ours(result.table, group, measure)
    rows = rows if dataset is None else rows[rows["dataset"] == dataset]
    if rows.empty:
        return
    with st.expander(title):
        shown = rows.assign(parameter=[paper_rows.parameter(row) for row in rows.to_dict("records")])
        shown = shown[["dataset", "comparison", "parameter", "mean", "ci95", "n_seeds"]]
        st.dataframe(shown, hide_index=True, width="stretch", column_config=glossary.columns(shown.columns),
                     alt=f"{title}: {measure}")


def _values_alt(rows: pd.DataFrame, measure: str) -> str:
    cells = "; ".join(f"{row['label'].replace('|', ', ')}: {row['paper']:.3f} and {row['ours']:.3f}"
                      for row in rows.to_dict("records"))
    return f"{measure}, the paper's value and ours. {cells}."


def _differences_alt(rows: pd.DataFrame, measure: str) -> str:
    cells = "; ".join(f"{row['label'].replace('|', ', ')}: {row['difference']:+.3f}" for row in rows.to_dict("records"))
    return f"Ours minus the paper's {measure}. {cells}."


def _curve(stem: str, result: Published, kind: str, measure: str, dataset: str) -> None:
    title = paper_rows.curve_title(result.table, kind)
    means, seeds = paper_rows.curve(result.table, kind, measure, dataset)
    if means.empty:
        st.info(f"This run has no curve over the {paper_rows.SYMBOLS[kind]} on {datasets.title(dataset)}.")
        return
    order = list(means["series"].unique())
    glossary.markdown(f"**{title}**")
    ticks = sorted(means["x"].unique())
    ends = "; ".join(f"{name}: {curve_rows['mean'].iloc[0]:.3f} at {curve_rows['x'].iloc[0]:g} to "
                     f"{curve_rows['mean'].iloc[-1]:.3f} at "
                     f"{curve_rows['x'].iloc[-1]:g}" for name,
                     curve_rows in means.sort_values("x").groupby("series", sort=False))
    draw(curve_charts.agreement_curves, means, seeds, order, (paper_rows.SYMBOLS[kind], measure), ticks,
         key=f"paper:{stem}", alt=f"{title}, {measure} for {len(order)} behaviors. {ends}.")
    several = means["n_seeds"].max() > 1
    facts = (datasets.title(dataset), paper_rows.curve_size(result.table, kind),
            "Lines: means over seeds; bands: 95% intervals; small dots: seeds" if several else "One seed",
            "1 is full agreement")
    glossary.caption(" ".join(f"{curve_rows}." for curve_rows in facts if curve_rows))
    downloads.chart_extras(stem, means.drop(columns=["low", "high"]), command=result.manifest.get("command"),
                           charts=[f"paper:{stem}"])
