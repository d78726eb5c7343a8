"""One setting of an approximation turned: agreement with the exact answer, and time, at each of its values."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.charts import sweep as chart
from app.charts.draw import draw
from app.widgets.choices.selectors import pick, toggle
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from engine.basics.settings import declared
from engine.desk import ProblemSource, commands
from engine.desk.analyses import SettingSweepRequest
from engine.metrics.agreement import METRICS
from engine.scoring.scoring import Scoring

NAME, METHOD, SETTING, ALL = "sweep", "sweptmethod", "sweepof", "all settings"


def show(source: ProblemSource, metric: str, candidates: int | None, scorings: Sequence[Scoring]) -> None:
    """A switch, and below it the curve of one of these approximations, or the job that computes it; nothing where none
    of them has settings that are numbers."""
    by_title = {scoring.route.short_title: scoring for scoring in scorings if _numbers(scoring)}
    if not by_title or not toggle(NAME, f"Vary a setting of {' or '.join(by_title)}",
                                  help="Agreement with the exact answer of the same question, and time, at values from "
                                       "a tenth to ten times the default."):
        return
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    method = pick(METHOD, "Method", list(by_title), next(iter(by_title)), str, area=row, width=260)
    scoring = by_title[method]
    numbers = _numbers(scoring)
    setting = pick(SETTING, "Setting", [*numbers, *([ALL] if len(numbers) > 1 else [])], next(iter(numbers)),
                   lambda name: name.replace("_", " "), area=row, width=260)
    if len(by_title) > 1:
        chips.question(scoring)
    if setting == ALL:
        _multiples(source, metric, candidates, scoring)
        return
    request = SettingSweepRequest(scoring=scoring, vary=setting, candidates=candidates)
    answer = job_panel.beside(desk().ask(request.of(source)))
    if answer is None:
        return
    table, measure = request.table(answer), METRICS[metric]
    table = table[table["metric"] == metric].reset_index(drop=True)
    if table["mean"].isna().all():
        st.info("No query has a defined value here.", icon=":material/tune:")
        return
    title = setting.replace("_", " ")
    draw(chart.agreement, table, title, measure.title, numbers[setting], key=f"sweep:{setting}",
         alt=f"{measure.title} with the exact answer over {title}: from {table['mean'].iloc[0]:.3f} at "
             f"{table['value'].iloc[0]:g} to {table['mean'].iloc[-1]:.3f} at {table['value'].iloc[-1]:g}.")
    draw(chart.seconds, table, title, measure.title, key=f"sweep:{setting}:seconds",
         alt=f"Seconds over {title}: from {table['seconds'].iloc[0]:.2g} to {table['seconds'].iloc[-1]:.2g}.")
    chips.note(f"first seed · {int(table['n_queries'].iloc[0])} queries · ± is a 95% t interval over queries · dashed: "
               "the default · seconds on this machine, without the work common to all values")
    file = commands.of_problem("setting-sweep", source, "--vary", setting, "--out", "setting-sweep.csv",
                               scoring=scoring)
    glossary.caption("Each value is a separate scoring; choose it under *answered by* on Compare.")
    downloads.chart_extras("setting-sweep", table, [scoring], source, file, charts=[
        f"sweep:{setting}", f"sweep:{setting}:seconds"])


def _multiples(source: ProblemSource, metric: str, candidates: int | None, scoring: Scoring) -> None:
    """A panel for each setting, as soon as it is known."""
    panels, commanded = [], []
    for name, default in _numbers(scoring).items():
        request = SettingSweepRequest(scoring=scoring, vary=name, candidates=candidates)
        answer = job_panel.beside(desk().ask(request.of(source)))
        if answer is None:
            break
        table = request.table(answer)
        panels.append(table[table["metric"] == metric].assign(setting=name.replace("_", " "), default=default))
        commanded.append(commands.of_problem("setting-sweep", source, "--vary", name, "--out", f"{name}.csv",
                                             scoring=scoring))
    table = pd.concat(panels, ignore_index=True).dropna(subset="mean") if panels else pd.DataFrame()
    if table.empty:
        return
    measure = METRICS[metric]
    with st.container(key="wf-heatmap-wide"):
        draw(chart.multiples, table, measure.title, key="sweep:all", alt=(
            f"{measure.title} of {scoring.route.title} with the exact answer over {len(panels)} settings, each alone: "
            f"from {table['mean'].min():.3f} to {table['mean'].max():.3f}."))
    chips.note("one setting at a time, the others at their defaults · first seed · dashed: the default")
    downloads.chart_extras("settings", table, [scoring], source, "\n".join(commanded), charts=["sweep:all"])


def _numbers(scoring: Scoring) -> dict[str, float]:
    """The settings that are numbers, at their defaults."""
    settings = scoring.route.settings
    return {} if settings is None else {name: setting.default for name, setting in declared(settings).items()
                                        if setting.kind in (int, float)}
