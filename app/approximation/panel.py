"""The parts of the approximation-error page: its controls, the growing curves, the scatter and the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from app import workbench
from app.approximation import data as error_curves
from app.approximation.data import Curves, Point
from app.charts.curves import agreement_curves, exact_scatter
from app.widgets import chips, choice, downloads, glossary, job_panel, pickers, published
from app.widgets.selectors import pick, segments
from app.workbench import Waiting
from engine.analysis import error_curves as engine_curves
from engine.analysis.error_curves import ALPHAS, ETAS, PerQuery
from engine.basics.values import short
from engine.experiments import EXPERIMENTS
from engine.metrics.agreement import METRICS, summarize
from engine.problems import ModuleProblem, ProblemSource, SoftmaxProblem
from engine.question.behaviors import BEHAVIORS
from engine.scoring.scoring import Scoring

PANELS = {"eta": "Longer steps (η)", "alpha": "Heavier weights (α)"}
SHORTS = {metric.short: name for name, metric in METRICS.items()}
DRAWS = (1, 2, 3, 5)
ALPHA_STEPS = tuple(float(f"{10 ** (place / 8 - 5):.2g}") for place in range(33))
CURVES, SCATTER = 380, 330  # pixels, kept while a chart is still being drawn
ETA_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


ALIKE = ("**Query loss**, **soft margin** and **probability** are increasing functions of one another at a query: they "
         "rank alike, exactly and to first order, so their curves lie on one another.")
ETA_NOTES = {
    SoftmaxProblem.kind: "The **query logit** is linear in the parameters, so its first-order answer stays exact "
                         "however long the step (only a sign next to zero can be lost to rounding). " + ALIKE,
    ModuleProblem.kind: "In a network even the **query logit** bends with the parameters, so every first-order answer "
                        "worsens with the step. " + ALIKE,
}
ALPHA_NOTES = {
    SoftmaxProblem.kind: "For a tiny weight the optimum moves along its tangent, and an exact solve agrees. As α grows "
                         "the optimum bends away, and the inverse Hessian answers for a smaller move than was made. A "
                         "solver below **Cholesky** adds an error of its own: its linear systems are not solved to the "
                         "end.",
    ModuleProblem.kind: "A network that stochastic gradient descent has trained is at no optimum. Here it is "
                        "re-optimised nearby, with damping 0.01, with and without the weight α, and the difference is "
                        "compared with the inverse Hessian's answer. A limited number of iterations blurs the smallest "
                        "weights; the bend of the loss, the largest.",
}
"""What to see in the curves, for each kind of problem."""


@dataclass(frozen=True)
class Chosen:
    """Everything chosen on the page. value: η or α; candidates: None for all of them."""

    panel: str
    sources: tuple[ProblemSource, ...]
    metric: str
    behavior: str
    value: float
    query: int
    candidates: int | None
    solver: str
    published: bool

    @property
    def symbol(self) -> str:
        return "η" if self.panel == "eta" else "α"

    @property
    def scored(self) -> tuple[ProblemSource, ...]:
        """The draws with exactly the candidates that are scored."""
        return tuple(source.model_copy(update={"n_candidates": self.candidates}) for source in self.sources)


def panel_choice() -> str:
    return segments("panel", "What grows", list(PANELS), "eta", PANELS.get, label_visibility="collapsed")


def controls(panel: str) -> Chosen:
    """The row of choices, each of them in the address."""
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    metric = segments("metric", "Agreement", list(SHORTS), "kendall", lambda name: METRICS[SHORTS[name]].title, row,
                      help=" ".join(f"**{metric.title}**: {metric.definition}" for metric in METRICS.values()))
    behavior = pick("behavior", "Behavior", list(engine_curves.differentiable()), "query_loss",
                    lambda name: BEHAVIORS[name].title, area=row, width=180,
                    help=glossary.hint("Behavior", "Only behaviors with a gradient have a tangent."))
    solvers = engine_curves.solvers(pickers.kind())
    solver = next(iter(solvers))
    if panel == "alpha":
        solver = pick("solver", "Solver in the scatter", list(solvers), solver, lambda name: solvers[name].title,
                      area=row, width=200,
                      help="How (H + damping)⁻¹ is applied. Cholesky solves exactly; the others approximate it.")
    draws = pick("draws", "Draws", DRAWS, _default_draws(), str, area=row, width=90,
                 help="Each draw (seed) takes other queries and candidates, and another training set where that is "
                      "smaller than the dataset. Bands are 95% t-intervals over draws.")
    figure = _published(pickers.kind())
    shown = figure is not None and _toggle(row, figure)
    sources = tuple(pickers.source(offset) for offset in range(draws))
    value = _slider(panel) if error_curves.live(sources[0]) else _grid_slider(panel)
    limit = sources[0].n_candidates or sources[0].n_train or pickers.optima_candidates()
    candidates = min(pickers.optima_candidates(), limit) if panel == "alpha" else (
        None if error_curves.live(sources[0]) else limit)
    return Chosen(panel, sources, SHORTS[metric], behavior, value, _query(sources[0]), candidates, solver, shown)


def _default_draws() -> int:
    return 3 if choice.one("data", "digits", str) == "digits" and pickers.kind() == SoftmaxProblem.kind else 1


FIGURES = {SoftmaxProblem.kind: "figure-4", ModuleProblem.kind: "figure-a2"}
"""The published curves of each kind of problem."""


def _published(kind: str) -> tuple[str, str] | None:
    """(figure, preset) of the largest published run."""
    return next(((FIGURES[kind], preset) for preset in ("paper", "small")
                 if published.results(FIGURES[kind], preset) is not None), None)


def _toggle(row, figure: tuple[str, str]) -> bool:
    name, preset = figure
    key = choice.bound("published", True, lambda text: choice.from_options((1, 0))(text) == 1)
    shown = row.toggle("Published paper-scale run" if preset == "paper" else "Published run, small scale", key=key,
                       help=f"{EXPERIMENTS[name].presets[preset].title}, as published with this program: hollow "
                            "diamonds.")
    choice.keep("published", int(shown))
    return shown


def _slider(panel: str) -> float:
    if panel == "eta":
        key = choice.bound("eta", 0.1, choice.within(0.01, 1.0, float))
        value = st.slider("Step size η", 0.01, 1.0, step=0.01, key=key,
                          help=glossary.hint(
                              "Step size", "Moves the dashed line; the exact scores at this η are computed now."))
    else:
        key = choice.bound("alpha", 1e-3, _nearest_alpha)
        value = st.select_slider("Weight α", ALPHA_STEPS, key=key, format_func=short,
                                 help="Moves the dashed line; every candidate is re-optimised now at this α.")
    choice.keep(panel, short(value))
    return value


def _grid_slider(panel: str) -> float:
    """The points of the curves: between them a network would have to be computed anew."""
    points, start = (ETAS, 0.1) if panel == "eta" else (ALPHAS, 1e-3)
    key = choice.bound(panel, start, lambda text: min(
        points, key=lambda point: abs(choice.within(points[0], points[-1], float)(text) - point)))
    label = "Step size η" if panel == "eta" else "Weight α"
    value = st.select_slider(label, points, key=key, format_func=short,
                             help=glossary.hint(label, "Moves the dashed line from one computed point of the curves "
                                                       "to another."))
    choice.keep(panel, short(value))
    return value


def _nearest_alpha(text: str) -> float:
    wanted = choice.within(ALPHA_STEPS[0], ALPHA_STEPS[-1], float)(text)
    return min(ALPHA_STEPS, key=lambda alpha: abs(alpha - wanted) / alpha)


def _query(source: ProblemSource) -> int:
    """The query of the scatter; its box stands beside the scatter, where it is read."""
    return choice.one("query", 0, choice.within(0, (source.n_queries or 1) - 1))


def eta_curves(chosen: Chosen, agreements: Mapping[str, PerQuery]) -> None:
    """The curves over η, drawn as they grow."""
    def draw() -> None:
        curves = error_curves.eta_curves(chosen.sources, candidates=chosen.candidates)
        if curves.complete and growing:
            st.rerun()
        _curves(chosen, curves, [BEHAVIORS[name].title for name in engine_curves.differentiable()],
                error_curves.markers(error_curves.titled(agreements), chosen.metric, chosen.value), ETA_TICKS,
                [scoring for eta in ETAS for scoring in engine_curves.step_pair(chosen.behavior, eta)])
        _progress(curves, "points" if error_curves.live(chosen.sources[0]) else "draws")

    growing = not error_curves.eta_curves(chosen.sources, 0.0, chosen.candidates).complete
    st.fragment(draw, run_every=0.2 if growing else None)()


def alpha_curves(chosen: Chosen, points: Mapping[str, Point]) -> None:
    """The curves over α: one job a draw, so that each appears when it is done."""
    curves = error_curves.alpha_curves(chosen.sources, chosen.candidates, chosen.behavior)
    agreements = {title: point.agreement for title, point in error_curves.by_title(points).items()}
    kind = chosen.sources[0].kind
    solvers = engine_curves.solvers(kind)
    scorings = [scoring for alpha in ALPHAS for scoring in (
        engine_curves.upweighted(chosen.behavior, alpha, kind),
        *(engine_curves.solver_scoring(chosen.behavior, solver, alpha, kind) for solver in solvers))]
    _curves(chosen, curves, [solver.title for solver in solvers.values()],
            error_curves.markers(agreements, chosen.metric, chosen.value), ALPHAS, scorings)
    if curves.waiting:
        glossary.caption(f"{curves.done} of {curves.total} draws are ready; the next one is being computed. "
                         "The chosen point is live already.")
        job_panel.watch(curves.waiting[0])


def _curves(chosen: Chosen, curves: Curves, order: list[str], markers, ticks, scorings: list[Scoring]) -> None:
    metric = METRICS[chosen.metric]
    means = curves.means[curves.means["metric"] == chosen.metric]
    seeds = curves.seeds[curves.seeds["metric"] == chosen.metric]
    name = {"eta": "step size η (log scale)", "alpha": "weight α (log scale)"}[chosen.panel]
    chart = agreement_curves(means, seeds, order, x_title=name, y_title=metric.title, ticks=ticks, markers=markers,
                             published=_overlay(chosen), height=CURVES)
    st.altair_chart(chart, height=CURVES, key=f"curves:{chosen.panel}", alt=_spoken(chosen, means, name))
    candidates = chosen.candidates or chosen.sources[0].n_train
    chance = metric.chance(candidates, 0.05)
    glossary.caption(
        f"{metric.title} between approximate and exact scores: 1 is full agreement, unrelated scores give "
        f"{chance:.2f}. Lines: means over draws; bands: 95% over draws; small dots: single draws; large dots on "
        f"the dashed line: the chosen {chosen.symbol}, first draw.")
    downloads.chart_extras(f"approximation-{chosen.panel}", means.drop(columns=["low", "high"]), scorings,
                           chosen.scored)


def _overlay(chosen: Chosen) -> pd.DataFrame | None:
    kind = chosen.sources[0].kind
    figure = _published(kind) if chosen.published else None
    if figure is None:
        return None
    return error_curves.published_curves(published.results(*figure), chosen.panel, chosen.metric,
                                         None if chosen.panel == "eta" else chosen.behavior,
                                         next(iter(engine_curves.solvers(kind))))


def _spoken(chosen: Chosen, means: pd.DataFrame, name: str) -> str:
    """The text alternative: where each curve starts and ends."""
    ends = []
    for series, rows in means.sort_values("x").groupby("series", sort=False):
        first, last = rows.iloc[0], rows.iloc[-1]
        ends.append(f"{series}: {first['mean']:.3f} at {first['x']:g}, {last['mean']:.3f} at {last['x']:g}")
    return (f"{METRICS[chosen.metric].title} between approximate and exact scores against {name}. "
            + ("; ".join(ends) + "." if ends else "No point has been computed yet."))


def _progress(curves: Curves, noun: str) -> None:
    if curves.complete:
        return
    text = "Training the model of another draw" if curves.waiting else f"{curves.done} of {curves.total} {noun}"
    st.progress(curves.done / curves.total, text=f"{text}; the chosen point is live already")


def scatter(point: Point, chosen: Chosen) -> None:
    """Approximate against exact scores for one query."""
    last = len(point.exact.values) - 1
    key = choice.bound("query", 0, choice.within(0, last))
    query = st.number_input("Query", 0, last, key=key, help=glossary.hint(
        "Query", "Which query the scatter shows; the Examples page shows its picture and the same choice there."))
    choice.keep("query", query)
    frame = error_curves.scatter_frame(point, query)
    switched = int((frame["sign"] != "same sign").sum())
    st.altair_chart(exact_scatter(frame, SCATTER), height=SCATTER, key=f"scatter:{chosen.panel}", alt=(
        f"Approximate against exact scores of {len(frame)} training examples for query {query} at "
        f"{chosen.symbol} = {short(chosen.value)}; {switched} of them switch sign."))
    glossary.caption(f"One dot a training example, query {query}{_label(chosen, query)}. On the dashed line the "
                     f"approximation is exact; {switched} of {len(frame):,} switch sign. Score: change of the "
                     f"{BEHAVIORS[chosen.behavior].title}; positive supports it.")


def _label(chosen: Chosen, query: int) -> str:
    drawn = workbench.drawn(chosen.sources[0])
    if isinstance(drawn, Waiting):
        return ""
    return f" (label {drawn.dataset.class_names[drawn.sample.y_query[query]]})"


def scatter_table(point: Point) -> pd.DataFrame:
    return error_curves.scatter_frame(point, choice.one("query", 0, int))


def metrics(point: Point) -> None:
    """The three agreements at the chosen point, each with its interval."""
    for column, (name, values) in zip(st.columns(len(point.agreement)), point.agreement.items(), strict=True):
        found = summarize([values], interval_over="queries")
        column.metric(METRICS[name].title, f"{found.mean:.4f}", help=METRICS[name].definition)
        column.html(f'<div class="wf-note wf-num">± {found.ci95:.4f}, 95% over {found.n_queries} queries</div>')


def provenance(point: Point) -> None:
    """One line on sizes and exactness."""
    facts = point.exact.provenance
    sizes, convergence = facts["sizes"], facts["convergence"]
    network = "selection" in facts
    if point.exact.scoring.process.kind == "one_step":
        how = f"{'every step taken' if network else 'closed form'}, {facts['wall_seconds']:.2f} s"
    else:
        how = (f"{'L-BFGS' if network else 'Newton'}, {convergence['converged']} of "
               f"{convergence['of']} converged, largest final gradient norm {convergence['largest_residual']:.1e}")
    chips.note(f"{sizes['train']:,} training examples · {sizes['candidates']:,} candidates · {sizes['queries']:,} "
               f"queries · one draw · exact scores: {how}")


def numbers_table(agreements: Mapping[str, PerQuery], noun: str, chosen: Chosen) -> None:
    """Every series at the chosen point."""
    table = error_curves.numbers(agreements, noun)
    st.dataframe(table, hide_index=True, width="stretch", key=f"numbers:{chosen.panel}",
                 column_config=glossary.columns(table.columns, {
                     name: st.column_config.NumberColumn(format="%.4f") for name in table.columns
                     if name.startswith("±") or name in {m.title for m in METRICS.values()}}))


def residual_table(points: Mapping[str, Point]) -> None:
    """What each solver left unsolved."""
    glossary.markdown("**How well the linear systems were solved**")
    glossary.caption(
        "Relative residual ‖(H + damping·I)x − b‖ / ‖b‖ of each candidate's solve; 0 is solved, 1 is as far "
        "off as answering zero. LiSSA and other fixed-length methods have no tolerance of their own to meet.")
    table = error_curves.residuals(error_curves.by_title(points))
    formats = {name: st.column_config.NumberColumn(format="%.1e") for name in ("median residual", "largest residual")}
    st.dataframe(table, hide_index=True, width="stretch", column_config=glossary.columns(table.columns, formats),
                 key="residuals")
