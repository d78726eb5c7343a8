"""The parts of the Noisy labels page that measure: the question, precision and recall, the table, the agreement."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from html import escape

import pandas as pd
import streamlit as st

from app.charts import heatmap
from app.charts.draw import draw
from app.charts.precision_recall import precision_recall
from app.noisy_labels import data as noisy_runs
from app.noisy_labels import view as noisy_view
from app.widgets import choice, downloads, glossary, job_panel, labels
from app.widgets.times import spell
from engine import data
from engine.applications.noisy_labels.pairs import METHODS, NONE, Pair
from engine.applications.noisy_labels.source import NoisyData, NoisySource
from engine.desk import Waiting
from engine.metrics.detection import SHARES, precision_title
from engine.runs.noisy_labels import Scored

PAIR, SHARE, METRIC = "by", "k", "metric"
DEFAULT = Pair("TracIn", "Target logit")
DESK_SHARES = (*SHARES, 0.2)
AXES = "BPT"
NARROW = ("<style>.wf-narrow .wf-table th, .wf-narrow .wf-table td { padding: .42rem .4rem; }"
          ".wf-narrow .wf-table th:first-child { min-width: 7.5rem; } .wf-narrow .wf-table { font-size: .88rem; }"
          "</style>")
WHY_NOT = ("Nobody says which labels of these data are wrong, so precision, recall and the table cannot be measured. "
           "Rankings, their agreement, the review desk and retraining work all the same. To measure detection, make "
           "some labels wrong in the sidebar, or bring flags: an array `flags` in the npz, or a file "
           "`wrong_labels.txt` in the folder.")


def command(source: NoisySource, name: str = "noisy-labels", out: str = "suspicion.csv") -> str:
    """The command line that recomputes the scores, or what `name` computes."""
    return (f"python -m engine {name} --source "
            f"{shlex.quote(source.model_dump_json(exclude_defaults=True))} --out {out}")


def ask(source: NoisySource, drawn: NoisyData) -> None:
    """Before the scores are there: what would be done and how long it takes, or how far it is."""
    job = noisy_runs.scoring_job(source)
    if job is not None and job.state != "done":
        job_panel.wait(Waiting(job.title, job=job.id))
    with st.container(border=True):
        wrong = "" if drawn.flags is None else f", {int(drawn.flags.noisy.sum()):,} of them made wrong"
        if source.noise == 0:
            wrong = ", as they came"
        glossary.markdown(f"**Search {len(drawn.evidence.y):,} labels of {data.title(source.dataset)}**{wrong}.")
        glossary.caption(
            f"{labels.model_heading(source.model)}: it is trained on the labels as they are, for "
            f"{source.recipe.epochs} epochs; every method then ranks them against "
            f"{len(drawn.evidence.trusted_y):,} trusted examples. About {spell(noisy_runs.seconds(source))} on "
            "two processor cores; you can close the browser meanwhile.")
        st.button("Find suspicious labels", type="primary", key="find", icon=":material/search:",
                  on_click=job_panel.act, args=(noisy_runs.start_scoring, source))
    st.code(command(source), language="bash", wrap_lines=True)


def skipped(drawn: NoisyData) -> None:
    """Pictures that could not be read: how many, and which."""
    names = drawn.dataset.skipped
    if not names:
        return
    with st.expander(f"{len(names):,} unreadable picture{'s' if len(names) > 1 else ''} left out",
                     icon=":material/broken_image:"):
        st.dataframe(pd.DataFrame({"file": names}), hide_index=True)


def pair_picker(pairs: Sequence[Pair]) -> Pair:
    """Method and trusted behavior, and the question that they ask."""
    by_title = {pair.title: pair for pair in pairs}
    default = DEFAULT.title if DEFAULT.title in by_title else next(iter(by_title))
    key = choice.bound(PAIR, default, choice.from_options(list(by_title)))
    left, right = st.columns([1, 2], gap="large", vertical_alignment="center")
    with left:
        title = st.selectbox("Method and trusted behavior", list(by_title), key=key,
                             help=glossary.hint("behavior", "A method ranks the labels. Where it reads a behavior of "
                                                "the trusted examples, the behavior is part of the question: another "
                                                "one gives another ranking."))
    choice.keep(PAIR, title)
    with right:
        glossary.html(question(by_title[title]))
    return by_title[title]


def question(pair: Pair) -> str:
    """The question that a pair asks, with its three axes as chips where it estimates an influence."""
    method = next(method for method in METHODS.values() if method.title == pair.method)
    axes = [text.replace("trusted behavior", pair.behavior.lower()) if letter == "B" else text
            for letter, text in zip(AXES, method.axes, strict=False)]
    chips = "".join(f'<span class="wf-chip {letter}"><b>{letter}</b>{escape(text)}</span>'
                    for letter, text in zip(AXES, axes, strict=False))
    asked = method.question if pair.behavior == NONE else method.question.replace(
        "trusted behavior", f"trusted examples’ {pair.behavior.removeprefix('Trusted ').lower()}")
    if pair.behavior == "Trusted loss":
        asked = asked.replace("lower the trusted examples’ loss", "raise the trusted examples’ loss")
    return f'<div class="wf-question">{escape(asked)}</div><div class="wf-chips">{chips}</div>'


def share_picker(key_name: str = SHARE) -> float:
    """How much of the ranking counts as flagged."""
    titles = {precision_title(share).removeprefix("P@"): share for share in DESK_SHARES}
    key = choice.bound(key_name, "5%", choice.from_options(list(titles)))
    title = st.segmented_control("Most suspicious", list(titles), key=key, required=True,
                                 help="The share of all labels, from the top of the ranking, that counts as flagged.")
    choice.keep(key_name, title)
    return titles[title]


def detection(source: NoisySource, drawn: NoisyData, scored: Scored, pair: Pair) -> None:
    """Precision, recall and the table of all pairs; without flags, why they are missing."""
    if drawn.flags is None or not drawn.flags.noisy.any():
        st.info(WHY_NOT, icon=":material/help:")
    else:
        _measured(source, drawn, scored, pair)
    _agreement(source, scored, pair)


def _measured(source: NoisySource, drawn: NoisyData, scored: Scored, pair: Pair) -> None:
    noisy = drawn.flags.noisy
    table = noisy_view.detections(scored.suspicion, noisy)
    own = table[(table["method"] == pair.method) & (table["behavior"] == pair.behavior)].iloc[0]
    columns = st.columns(len(noisy_view.MEASURES))
    for column, metric in zip(columns, noisy_view.MEASURES, strict=True):
        column.metric(metric, f"{own[metric]:.3f}", help=_meaning(metric, noisy.mean()))
    glossary.caption(
        f"{pair.title} · {int(noisy.sum()):,} of {len(noisy):,} labels are wrong, so a shuffled order has AUPRC "
        f"and P@k near {noisy.mean():.2f} and AUROC near 0.50 · training seed {source.seed}, one run: intervals "
        "over seeds are in the tables of the Paper page.")
    left, right = st.columns([1, 1.15], gap="medium")
    with left:
        st.subheader("Precision and recall", help=glossary.hint("Precision and recall"))
        order = noisy_view.related(pair, list(scored.suspicion))
        frame = noisy_view.curves(scored.suspicion, noisy, order)
        draw(precision_recall, frame, [one.title for one in order], float(noisy.mean()), key="pr",
             alt=f"Precision over recall of {len(order)} rankings; {pair.title} has AUPRC {own['AUPRC']:.3f}.")
        glossary.caption("Dashed grey: a shuffled order.")
        downloads.chart_extras("precision-recall", frame, command=command(source))
    with right:
        st.subheader("Methods and trusted behaviors", help=glossary.hint("behaviors"))
        metric = _metric()
        st.html(NARROW)
        glossary.html(table_html(table, metric, pair))
        glossary.caption(
            "◆ the best trusted behavior of a method · ★ the best of all · underlined: the chosen one. A method "
            "without a behavior stands in the first column.")
        downloads.chart_extras("detection", table, command=command(source))


def _metric() -> str:
    names = list(noisy_view.MEASURES)
    key = choice.bound(METRIC, names[0], choice.from_options(names))
    metric = st.segmented_control("Measure", names, key=key, required=True, label_visibility="collapsed")
    choice.keep(METRIC, metric)
    return metric


def _meaning(metric: str, rate: float) -> str:
    if metric == "AUPRC":
        return f"Area under precision over recall (average precision). A shuffled order has {rate:.2f}; 1 is perfect."
    if metric == "AUROC":
        return "The chance that a wrong label ranks above a right one. A shuffled order has 0.50; 1 is perfect."
    return f"The share of wrong labels among the most suspicious {metric.removeprefix('P@')}."


def table_html(table: pd.DataFrame, metric: str, chosen: Pair) -> str:
    """Method × trusted behavior, one metric a cell."""
    best, top = noisy_view.preferred(table, metric), table[metric].max()
    values = {Pair(row["method"], row["behavior"]): row[metric] for _, row in table.iterrows()}
    head = "".join(f"<th scope=col>{escape('no behavior' if name == NONE else name)}</th>"
                   for name in noisy_view.COLUMNS)

    def cell(pair: Pair) -> str:
        if pair not in values:
            return '<td><span class="wf-quiet">–</span></td>'
        value = values[pair]
        text = "no value" if value != value else f"{value:.3f}"
        marks = ("◆" if pair in best else "") + ("★" if value == top else "")
        text = f"<u>{text}</u>" if pair == chosen else text
        said = f' title="{"preferred behavior of this method" if pair in best else ""}"' if marks else ""
        return f"<td{said}>{f'<b>{text} {marks}</b>' if marks else text}</td>"

    rows = "".join(f'<tr><th scope="row">{escape(method)}</th>'
                   f'{"".join(cell(Pair(method, behavior)) for behavior in noisy_view.COLUMNS)}</tr>'
                   for method in dict.fromkeys(table["method"]))
    return ('<div class="wf-scroll wf-narrow" tabindex="0" role="region" '
            f'aria-label="{escape(metric)} by method and behavior">'
            f'<table class="wf-table"><thead><tr><th scope=col>{escape(metric)}</th>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div>")


def _clicked(names: Sequence[str]) -> None:
    """The row of a clicked cell becomes the chosen ranking."""
    points = st.session_state["agreement"]["selection"].get(heatmap.SELECTION, [])
    if points and 0 <= int(points[0]["row"]) < len(names):
        choice.keep(PAIR, names[int(points[0]["row"])])
        st.session_state.pop(choice.widget(PAIR), None)


def _agreement(source: NoisySource, scored: Scored, pair: Pair) -> None:
    st.subheader("Do they agree?")
    tau = noisy_view.agreement(scored.suspicion)
    names = [other.title for other in scored.suspicion]
    own = names.index(pair.title)
    with st.container(key="wf-heatmap-wide"):
        draw(heatmap.heatmap, noisy_view.cells(scored.suspicion, tau, (own, own)), "kendall_tau", 0.0, key="agreement",
             on_select=lambda: _clicked(names), selection_mode=[heatmap.SELECTION],
             alt=f"Kendall tau between {len(names)} rankings of the labels.")
    glossary.caption(
        "Kendall τ between two rankings of the same labels: 1 where they order alike, 0 where they have nothing "
        "in common. Outlined: the chosen ranking; click a row to choose another.")
    table = pd.DataFrame([{"first": names[i], "second": names[j], "kendall_tau": tau[i, j]}
                          for i in range(len(names)) for j in range(i + 1, len(names))])
    downloads.chart_extras("ranking-agreement", table, command=command(source))
