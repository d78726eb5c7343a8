"""One setting of the chosen solver turned: agreement with the exact answer, and time, at each of its values."""

from __future__ import annotations

import streamlit as st

from app.approximation.state import Chosen
from app.charts import sweep as chart
from app.charts.draw import draw
from app.widgets.choices.selectors import pick, toggle
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from engine.desk import commands
from engine.desk.analyses import request as analysis
from engine.metrics.agreement import METRICS
from engine.scoring.scoring import Scoring

NAME, SETTING = "sweep", "sweepof"


def show(chosen: Chosen, scoring: Scoring) -> None:
    """A switch, and below it the curve, or the job that computes it; nothing for an approximation without settings."""
    numbers = {} if scoring.route.settings is None else {
        name: value for name, value in scoring.route.settings().model_dump().items() if not isinstance(value, str)}
    if not numbers:
        return
    if not toggle(NAME, f"Turn a setting of {scoring.route.short_title}",
                  help="Agreement with the exact answer, and time, at values from a tenth to ten times the default."):
        return
    setting = pick(SETTING, "Setting", list(numbers), next(iter(numbers)), lambda name: name.replace("_", " "),
                   width=260)
    request = analysis("setting-sweep", scoring=scoring, vary=setting, candidates=chosen.candidates)
    source = chosen.sources[0]
    answer = job_panel.beside(desk().ask(request.of(source)))
    if answer is None:
        return
    table, metric = request.table(answer), METRICS[chosen.metric]
    table = table[table["metric"] == chosen.metric].reset_index(drop=True)
    if table["mean"].isna().all():
        st.info("No query has a defined value here.", icon=":material/tune:")
        return
    title = setting.replace("_", " ")
    draw(chart.agreement, table, title, metric.title, numbers[setting], key=f"sweep:{setting}",
         alt=f"{metric.title} with the exact answer over {title}: from {table['mean'].iloc[0]:.3f} at "
             f"{table['value'].iloc[0]:g} to {table['mean'].iloc[-1]:.3f} at {table['value'].iloc[-1]:g}.")
    draw(chart.seconds, table, title, metric.title, key=f"sweep:{setting}:seconds",
         alt=f"Seconds over {title}: from {table['seconds'].iloc[0]:.2g} to {table['seconds'].iloc[-1]:.2g}.")
    chips.note(f"first draw · {int(table['n_queries'].iloc[0])} queries · ± is a 95% t interval over queries · dashed: "
               "the default · seconds on this machine, without what all values share")
    file = commands.of_problem("setting-sweep", source, "--vary", setting, "--out", "setting-sweep.csv",
                               scoring=scoring)
    glossary.caption("Each value is a specification of its own: *answered by* on Compare takes it, and two stand side "
                     "by side there.")
    downloads.chart_extras("setting-sweep", table, [scoring], command=file)
