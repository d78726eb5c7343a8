"""What the approximation-error page shows: the growing curves, the scatter and the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from app.approximation import data as tables
from app.approximation import sliding
from app.approximation.state import CurveChoice, published_run
from app.charts.curves import agreement_curves, exact_scatter
from app.charts.draw import draw
from app.widgets.choices import choice
from app.widgets.choices.selectors import number
from app.widgets.examples import looks, record_text
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from app.widgets.words.plain_text import plain
from engine.basics.values import short, signed
from engine.desk import error_curves, published
from engine.desk.analyses import ALPHAS, ETAS, PerQuery, curve_questions
from engine.desk.error_curves import CurvePoint, ErrorCurves, live
from engine.metrics.agreement import METRICS, summarize
from engine.question import direction
from engine.question.behaviors import BEHAVIORS
from engine.scoring.scoring import Scoring

CURVES, SCATTER = 380, 330  # pixels, kept while a chart is still being drawn
ETA_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
ALIKE = ("**Query loss** (its log-likelihood, minus the loss), **soft margin** and **probability** are increasing "
         "functions of one another at a query: their rankings are equal, exactly and to first order, so their curves "
         "coincide.")
LINEAR = ("The **query logit** is linear in the parameters, so its first-order answer equals the exact one for "
          "every step size (up to rounding of scores near zero).")
BENT = ("In a network even the **query logit** is nonlinear in the parameters, so every first-order answer becomes "
        "less accurate as the step grows.")
TOKENS = ("A language model is nonlinear in its parameters, so every first-order answer becomes less accurate as the "
          "step grows. The **answer logit** and the **answer margin** are read at one token; the **response loss** is "
          "minus the mean log-likelihood of all tokens of a response, the **explanation loss** that of the "
          "explanation's tokens.")
BENT_TOKENS = ("A language model is nonlinear in its parameters, so the first-order answer becomes less accurate as "
               "the step grows.")
WORDED = {"span": " This **span** is a mean over the tokens of the marked words.",
          "contrast": " This **contrast** is a difference between two sums over all tokens of a response."}
"""Kind of a behavior with words of the reader's -> what else to see in its curve."""
OPTIMUM = ("For a tiny weight the optimum moves linearly, and an exact solve agrees. As α grows, the path of optima "
           "bends, and the inverse Hessian extrapolates its first derivative. Solvers other than **Cholesky** add an "
           "error of their own: they solve the linear system approximately.")
NO_OPTIMUM = ("A network trained by stochastic gradient descent is not at an optimum. The exact side takes 20 L-BFGS "
              "iterations from it, with damping 0.01, with and without the weight α; their difference is compared "
              "with the inverse Hessian's answer. The two differ because the iterations stop before an optimum and "
              "because the loss is not quadratic.")


def note(chosen: CurveChoice) -> None:
    """What to see in the curves."""
    model = chosen.sources[0].problem_class
    if chosen.panel == "eta":
        glossary.caption(_tokens(chosen) if model.reads == "tokens" else f"{LINEAR if model.linear else BENT} {ALIKE}")
    else:
        glossary.caption(OPTIMUM if model.convex else NO_OPTIMUM)


def _tokens(chosen: CurveChoice) -> str:
    words = BEHAVIORS[chosen.behavior].words
    return f"{BENT_TOKENS}{WORDED.get(words.kind, '')}" if words else TOKENS


def complete(chosen: CurveChoice) -> bool:
    """Whether all of the curves are there; nothing is computed."""
    if chosen.panel == "eta":
        return error_curves.eta_curves(desk(), chosen.sources, 0.0, chosen.candidates, chosen.behavior).complete
    return error_curves.alpha_curves(desk(), chosen.sources, chosen.candidates, chosen.behavior).complete


def eta_curves(chosen: CurveChoice, agreements: Mapping[str, PerQuery]) -> None:
    """The curves over η, drawn as they grow."""
    def grow() -> None:
        curves = error_curves.eta_curves(desk(), chosen.sources, candidates=chosen.candidates, behavior=chosen.behavior)
        if curves.complete and growing:
            st.rerun()
        behaviors = curve_questions.series(chosen.behavior, chosen.sources[0].kind)
        _curves(chosen, curves, [BEHAVIORS[name].title for name in behaviors],
                tables.markers(tables.titled(agreements), chosen.metric, chosen.value), ETA_TICKS,
                [scoring for eta in ETAS for scoring in curve_questions.step_pair(chosen.behavior, eta)])
        _progress(curves, "points" if live(chosen.sources[0]) else "draws")

    growing = not complete(chosen)
    if growing:
        st.fragment(grow, run_every=0.2)()
    else:
        grow()  # so that its slider runs the whole page


def alpha_curves(chosen: CurveChoice, points: Mapping[str, CurvePoint]) -> None:
    """The curves over α: one job a draw, so that each appears when it is done."""
    curves = error_curves.alpha_curves(desk(), chosen.sources, chosen.candidates, chosen.behavior)
    agreements = {title: point.agreement for title, point in tables.by_title(points).items()}
    kind = chosen.sources[0].kind
    solvers = curve_questions.solvers(kind)
    grid = curve_questions.alphas(kind)
    scorings = [scoring for alpha in grid for scoring in (
        curve_questions.upweighted(chosen.behavior, alpha, kind),
        *(curve_questions.solver_scoring(chosen.behavior, solver, alpha, kind) for solver in solvers))]
    _curves(chosen, curves, [solver.title for solver in solvers.values()],
            tables.markers(agreements, chosen.metric, chosen.value), ALPHAS, scorings)
    if curves.waiting:
        glossary.caption(f"{curves.done} of {curves.total} seeds are ready; the next one is being computed. The chosen "
                         "point is already shown.")
        job_panel.watch(curves.waiting[0])


def _curves(chosen: CurveChoice, curves: ErrorCurves, order: list[str], markers: pd.DataFrame, ticks: Sequence[float],
            scorings: list[Scoring]) -> None:
    metric = METRICS[chosen.metric]
    means = curves.means[curves.means["metric"] == chosen.metric]
    seeds = curves.seeds[curves.seeds["metric"] == chosen.metric]
    name = {"eta": "step size η (log scale)", "alpha": "weight α (log scale)"}[chosen.panel]
    said = _spoken(chosen, means, name)
    if curves.complete:
        how = sliding.show(chosen, means, seeds, order, (name, metric.title), ticks, _overlay(chosen), CURVES, said)
    else:
        chart = agreement_curves(means, seeds, order, (name, metric.title), ticks, _overlay(chosen), height=CURVES,
                                 markers=markers)
        st.altair_chart(chart, height=CURVES, key=f"curves:{chosen.panel}", alt=said)
        how = f"Large dots on the dashed line: the chosen {chosen.symbol}, first seed."
    candidates = chosen.candidates or chosen.sources[0].n_train or 0
    chance = metric.chance(candidates, 0.05)
    glossary.caption(
        f"{metric.title} between approximate and exact scores: 1 is full agreement, scores in random "
        f"order reach {chance:.2f} on average. Lines: means over seeds; bands: 95% intervals over seeds; small dots: "
        f"single seeds. {how}")
    downloads.chart_extras(f"approximation-{chosen.panel}", means.drop(columns=["low", "high"]), scorings,
                           chosen.scored, charts=[sliding.key(chosen)])


def _overlay(chosen: CurveChoice) -> pd.DataFrame | None:
    model, dataset = chosen.sources[0].problem_class, chosen.sources[0].dataset
    figure = published_run(model, dataset) if chosen.published else None
    frame = published.results(*figure) if figure else None
    if frame is None:
        return None
    return tables.published_curves(frame[frame["dataset"] == dataset], chosen.panel, chosen.metric,
                                         None if chosen.panel == "eta" else chosen.behavior,
                                         next(iter(curve_questions.solvers(model.kind))))


def _spoken(chosen: CurveChoice, means: pd.DataFrame, name: str) -> str:
    """The text alternative: where each curve starts and ends."""
    ends = []
    for series, rows in means.sort_values("x").groupby("series", sort=False):
        first, last = rows.iloc[0], rows.iloc[-1]
        ends.append(f"{series}: {first['mean']:.3f} at {first['x']:g}, {last['mean']:.3f} at {last['x']:g}")
    return (f"{METRICS[chosen.metric].title} between approximate and exact scores against {name}. "
            + ("; ".join(ends) + "." if ends else "No point has been computed yet."))


def _progress(curves: ErrorCurves, noun: str) -> None:
    if curves.complete:
        return
    text = "Training the model with another seed" if curves.waiting else f"{curves.done} of {curves.total} {noun}"
    st.progress(curves.done / curves.total, text=f"{text}; the chosen point is already shown")


def scatter(point: CurvePoint, chosen: CurveChoice) -> None:
    """Approximate against exact scores for one query."""
    last = len(point.exact.values) - 1
    query = number("query", "Query", 0, 0, last, help=glossary.hint(
        "Query", "The query in the scatter plot; Examples uses the same choice."))
    frame = tables.scatter_frame(point, query)
    switched = int((frame["sign"] != "same sign").sum())
    dataset, sample = desk().sample(chosen.sources[0])
    seen = looks.added(frame, dataset, sample.train_index[frame.candidate.to_numpy(dtype=int)])
    draw(exact_scatter, seen, SCATTER, key=f"scatter:{chosen.panel}", alt=(
        f"Approximate against exact scores of {len(frame)} training examples for query {query} at "
        f"{chosen.symbol} = {short(chosen.value)}; {switched} of them switch sign."))
    downloads.described([f"scatter:{chosen.panel}"], [point.exact.scoring], chosen.sources[0])
    glossary.caption(f"Each dot is a training example; query {query}{_label(chosen, query)}. On the dashed line the "
                     f"approximation is exact; {switched} of {len(frame):,} switch sign. "
                     + plain(direction.scores_are(point.exact.scoring)))


def _label(chosen: CurveChoice, query: int) -> str:
    dataset, sample = desk().sample(chosen.sources[0])
    record = dataset.record("test", int(sample.query_index[query]))
    said = f"label {dataset.class_names[sample.y_query[query]]}" if record is None else f"“{record_text.short(record)}”"
    return f" ({plain(said)})"


def scatter_table(point: CurvePoint) -> pd.DataFrame:
    return tables.scatter_frame(point, choice.one("query", 0, int))


def metrics(point: CurvePoint) -> None:
    """The three agreements at the chosen point, each with its interval."""
    for column, (name, values) in zip(st.columns(len(point.agreement)), point.agreement.items(), strict=True):
        summary = summarize([values], interval_over="queries")
        column.metric(METRICS[name].title, signed(summary.mean), help=METRICS[name].definition)
        column.html(f'<div class="wf-note wf-num">± {summary.ci95:.3f}, 95% over {summary.n_queries} queries</div>')


def provenance(point: CurvePoint) -> None:
    """One line on sizes and exactness."""
    facts = point.exact.provenance
    sizes = facts["sizes"]
    network = "selection" in facts
    if point.exact.scoring.process.kind == "one_step":
        how = f"{'every step taken' if network else 'closed form'}, {facts['wall_seconds']:.2f} s"
    else:
        how = point.exact.convergence.summary
    chips.note(f"{sizes['train']:,} training examples · {sizes['candidates']:,} candidates · {sizes['queries']:,} "
               f"queries · one seed · exact scores: {how}")


def numbers_table(agreements: Mapping[str, PerQuery], noun: str, chosen: CurveChoice) -> None:
    """Every series at the chosen point."""
    table = tables.numbers(agreements, noun)
    st.dataframe(table, hide_index=True, width="stretch", key=f"numbers:{chosen.panel}",
                 column_config=glossary.columns(table.columns, {
                     name: st.column_config.NumberColumn(format="%.4f") for name in table.columns
                     if name.startswith("±") or name in {m.title for m in METRICS.values()}}))


def residual_table(points: Mapping[str, CurvePoint]) -> None:
    """What each solver left unsolved, and beside it how well it ranks, which the residual does not say."""
    glossary.markdown("**Residual of the linear solves, and agreement of the rankings**")
    glossary.caption(
        "Relative residual ‖(H + damping·I)x − b‖ / ‖b‖ of each candidate's solve; 0 means solved. A residual "
        "measures the solve, not the ranking; Kendall's τ and top-5% overlap with the exact answer at the chosen α "
        "measure the ranking (± 95% over queries). LiSSA and other fixed-length methods have no tolerance.")
    table = tables.residuals(tables.by_title(points))
    formats = {name: st.column_config.NumberColumn(format="%.1e") for name in ("median residual", "largest residual")}
    formats |= {name: st.column_config.NumberColumn(format="%.3f") for name in table.columns
                if name.startswith("±") or name in {METRICS[metric].title for metric in tables.RANKED}}
    st.dataframe(table, hide_index=True, width="stretch", column_config=glossary.columns(table.columns, formats),
                 key="residuals")
