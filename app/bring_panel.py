"""“Bring scores”: the panel of the Compare page for scores that another program computed on the same problem."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app import comparisons, downloads, explanation_panel, explanation_view, job_panel, workbench
from app.comparisons import Compared
from app.workbench import Waiting
from engine.agreement import FURTHER, METRICS
from engine.brought import AXES, MEANING, Preview, agreement_with, axes_that_fit, bring, preview
from engine.errors import WhichfluenceError
from engine.named import NAMED
from engine.score_tables import MOST_BYTES, READERS, Table, read_table
from engine.scores import Scores
from engine.scoring import Scoring
from engine.verdict import verdict

KINDS = [suffix.removeprefix(".") for suffix in READERS]
CORNER = 8


def show(found: Compared, names: Sequence[str]) -> None:
    """Upload, claim, preview, comparison with the exact answer, and explanation against one of the list."""
    with st.expander("Bring scores of another program", icon=":material/upload_file:"):
        st.caption("A table of scores for these queries and these training examples, as captum, kronfluence, TRAK, "
                   "dattri, pyDVL or your own program wrote it. It stays in this session; the command line's `bring` "
                   "keeps it. README.md has recipes.")
        try:
            _panel(found, names)
        except WhichfluenceError as error:
            st.error(str(error), icon=":material/error:")


def _panel(found: Compared, names: Sequence[str]) -> None:
    problem = _problem(found)
    st.markdown(f"The table needs **{len(problem.queries):,} queries** and **{len(problem.candidates):,} candidates**"
                + (f" (or all {problem.n:,} training examples)." if problem.n != len(problem.candidates) else "."))
    left, right = st.columns([3, 2], gap="large")
    file = left.file_uploader("File with scores", type=KINDS, key="bring:file",
                              help=f"{', '.join(KINDS)}, up to {MOST_BYTES // 1_000_000} MB; never unpickled.")
    name = right.text_input("Called", value="theirs", key="bring:name", max_chars=60)
    key = right.text_input("Array in the file", key="bring:key", help="Only where the file holds several tables.")
    claims = _claims(found, names)
    claimed = right.selectbox("They claim to answer", list(claims), key="bring:claim",
                              help="The specifications of the list above, and those of the named methods. Add one to "
                                   "the list to claim another.")
    if file is None:
        return
    table = read_table(file, file.name, key.strip())
    reference = _exact(found, claims[claimed])
    if reference is None:
        return
    seen = preview(problem, table, reference.oriented)
    _corner(table)
    axes, sign = _reading(problem, table, seen)
    brought = bring(problem, table, claims[claimed].specification, name, axes, sign)
    _agreement(reference, brought)
    _explained(found, names, brought)


def _problem(found: Compared):
    drawn = workbench.drawn(found.sources[0])
    if isinstance(drawn, Waiting):
        job_panel.wait(drawn)
    candidates = drawn.problem.candidates[:len(found.scores[0][0].candidates)]
    return drawn.problem.with_candidates(candidates)


def _claims(found: Compared, names: Sequence[str]) -> dict[str, Scoring]:
    """What can be claimed: the questions of the list, then those of named methods, each as its exact scoring."""
    kind = found.sources[0].kind
    offered = {f"as {name}": scoring for name, scoring in zip(names, found.scorings, strict=True)}
    offered |= {f"as {method.title}: {method.implied().specification.title}": method.implied()
                for method in NAMED.values() if method.answers(kind) or method.name == "trak"}
    return {title: Scoring.of(scoring.behavior, scoring.intervention, scoring.process)
            for title, scoring in offered.items()}


def _exact(found: Compared, scoring: Scoring) -> Scores | None:
    """The exact answer to the claim; None while it is being waited for."""
    scores = workbench.scores(found.sources[0], [scoring], found.candidates)
    if isinstance(scores, Waiting):
        job_panel.watch(scores)
        return None
    return scores[0]


def _corner(table: Table) -> None:
    r, c = table.values.shape
    st.caption(f"The table is {r:,} × {c:,}" + (f", array `{table.name}`" if table.name else "") + "; its corner:")
    st.dataframe(pd.DataFrame(table.values[:CORNER, :CORNER]).rename(columns=str), width="stretch", height=180)


def _reading(problem, table: Table, seen: Preview) -> tuple[str, int]:
    """Axes and sign, set to what the data say, for the reader to change."""
    for reason in seen.reasons:
        st.markdown(f"- {reason}")
    fits = axes_that_fit(problem, table)
    left, right = st.columns(2, gap="large")
    axes = left.radio("Axes", fits, index=fits.index(seen.likely.axes), format_func=AXES.get,
                      key=f"bring:axes:{table.values.shape}")
    sign = right.radio("Sign", list(MEANING), index=0 if seen.likely.sign == 1 or not seen.certain else 1,
                       format_func=lambda value: f"{'+' if value > 0 else '−'}: {MEANING[value]}",
                       key=f"bring:sign:{seen.likely.axes}:{seen.likely.sign}:{seen.certain}")
    if not seen.certain:
        st.warning("The data do not tell the sign; choose it by what the program's documentation says.",
                   icon=":material/help:")
    return axes, sign


def _agreement(reference: Scores, brought: Scores) -> None:
    """Against the exact answer to what they claim."""
    st.markdown(f"**{brought.scoring.name} against the exact answer to what they claim.** {reference.scoring.question}")
    agreements = agreement_with(reference, brought, (*METRICS, *FURTHER))
    for column, (name, agreement) in zip(st.columns(len(agreements)), agreements.items(), strict=True):
        metric = METRICS[name] if name in METRICS else FURTHER[name]
        column.metric(metric.title, comparisons.signed(agreement.mean), f"± {agreement.ci95:.3f}", delta_color="off",
                      delta_arrow="off", help=metric.definition)
    flagged = int((~brought.converged).sum())
    if flagged:
        st.caption(f"{flagged} candidates have scores that are not finite, and are left out.")


def _explained(found: Compared, names: Sequence[str], brought: Scores) -> None:
    """Why they disagree with one of the list."""
    place = st.selectbox("Explain why they disagree with", range(len(names)), key="bring:against",
                         format_func=lambda at: names[at])
    other = found.scores[0][place]
    chosen = verdict(brought.scoring, other.scoring)
    st.caption(f"{chosen.headline}. {chosen.reason}")
    explained = explanation_panel.between(found.sources[:1], [(brought, other)], found.candidates)
    if isinstance(explained, Waiting):
        job_panel.watch(explained)
        return
    table = explanation_view.show(explained, "bring:way")
    downloads.chart_extras("brought", table)
