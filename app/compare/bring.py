"""“Bring scores”: the panel of the Compare page for scores that another program computed on the same problem."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.compare import explanation_view, external_files, external_row, recipes
from app.widgets.choices import choice
from app.widgets.choices.selectors import pick, radio, text
from app.widgets.frame.guard import guarded
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import agreements as agreements_view
from app.widgets.results import downloads
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain, sentence
from engine.basics.errors import WhichfluenceError
from engine.desk import ProblemSource, commands, language_presets
from engine.desk.analyses import Explanation
from engine.desk.compared import Compared
from engine.desk.explained import explained
from engine.desk.external import (
    AXES,
    LISTED,
    MEANING,
    ORDERS,
    SIGNS,
    KeptTable,
    Preview,
    Table,
    agreement_with,
    axes_that_fit,
    claim_json,
    preview,
    read_as,
)
from engine.metrics.agreement import FURTHER, METRICS, Agreement
from engine.question.specification import Specification
from engine.scoring import codes
from engine.scoring.named import NAMED
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.scoring.verdict import Verdict

CORNER = 8
CLAIM, CALLED, AXIS, SIGN, AGAINST, ORDER = "claim", "called", "axes", "sign", "against", "stand"


@dataclass(frozen=True, eq=False)
class ExternalView:
    """Brought scores as the page shows them. agreement: with the exact answer to their claim; explained: why they
    disagree with `other`, called `against`, in short by the verdict; command: what recomputes it."""

    scores: Scores
    reference: Scores
    agreement: dict[str, Agreement]
    other: Scores
    against: str
    verdict: Verdict
    explained: Explanation
    command: str


def show(compared: Compared, names: Sequence[str], metric: str, row: DeltaGenerator) -> ExternalView | None:
    """Recipe, upload, claim, preview, comparison with the exact answer, and explanation against one of the list.

    row: where the row of the matrix is drawn, with `metric` in its cells. Returns what is on the page, None while there
    is nothing.
    """
    with st.expander("Bring scores of another program", icon=":material/upload_file:",
                     expanded=external_files.chosen() is not None or recipes.chosen() is not None), \
            glossary.folded(), guarded("This table of scores"):
        glossary.caption(
            "A table of scores for these queries and these training examples, as captum, TRAK, kronfluence, dattri, "
            "pyDVL, bergson (its score folder as a zip) or your own program wrote it. It is kept on this machine, "
            "under the digest of its content, until you delete it: a saved comparison or a link that names it reopens "
            "with it. More is in the [guide](guide?guide=other-libraries).")
        return _panel(compared, names, metric, row)
    return None


def _panel(compared: Compared, names: Sequence[str], metric: str, row: DeltaGenerator) -> ExternalView | None:
    problem = _problem(compared)
    glossary.markdown(
        f"The table needs **{len(problem.queries):,} queries** and **{len(problem.candidates):,} candidates**"
        + (f" (or all {problem.n:,} training examples)." if problem.n != len(problem.candidates) else
           ", named, or in the order of the candidates or of the training set.")
        + (f" They are those of seed {compared.sources[0].seed}, the first of {len(compared.sources)}."
           if len(compared.sources) > 1 else ""))
    recipes.show(problem, compared.sources[0].model, forgotten=(CLAIM, CALLED))
    external_files.uploader(problem, forgotten=(CLAIM, CALLED, AXIS, SIGN, ORDER))
    loaded = external_files.table()
    if loaded is None:
        return None
    table, stored = loaded
    claimed, name = _claim(compared, names, stored)
    reference = _exact(compared, claimed)
    if reference is None:
        return None
    seen = preview(problem, table, reference)
    _corner(table)
    axes, order, sign = read = _interpretation(problem, table, seen)
    automatic = seen.certain and read == (seen.likely.axes, seen.likely.order, seen.likely.sign)
    external = read_as(problem, table, claimed.specification, name, axes, sign, seen.decision(*read, automatic), order)
    _decided(external)
    with row:
        external_row.show(compared, external, names, metric)
    agreement = _agreement(reference, external)
    index = _against(names)
    other = compared.scores[0][index]
    judged = external_row.judged(compared, external, other)
    why = _explained(compared, external, other, judged)
    if why is None:
        return None
    command = recompute(compared.drawn_sources[0], claimed.specification, name, stored, table, read)
    downloads.chart_extras("brought", explanation_view.links_table(why), [other.scoring], command=command)
    return ExternalView(external, reference, agreement, other, names[index], judged, why, command)


def recompute(source: ProblemSource, claimed: Specification, name: str, stored: KeptTable, table: Table,
             read: tuple[str, str, int]) -> str:
    """The commands that read the file and explain it again, beside the downloaded specification. read: axes, order
    and sign."""
    axes, order, sign = read
    file, written = commands.problem_file(source)
    given = ["bring", "--scores", stored.file, "--data", file, "--spec", "claim.json", "--out", "brought.npz", "--name",
             name, *(["--key", stored.key] if stored.key else []),
             *(["--first-row", table.first_row.kind] if Path(stored.file).suffix.lower() == ".csv" else []),
             "--axes", axes, *(["--order", order] if order != LISTED else []), "--sign", SIGNS[sign]]
    return "\n".join([written, f"echo {shlex.quote(claim_json(claimed))} > claim.json",
                      f"python -m engine {shlex.join(given)}",
                      f"python -m engine explain --data {file} --specs brought-specs.json --scores brought.npz "
                      "--out brought.json"])


def _problem(compared: Compared):
    sampled = job_panel.ready(desk().drawn(compared.sources[0]))
    candidates = sampled.problem.candidates[:len(compared.scores[0][0].candidates)]
    return sampled.problem.with_candidates(candidates)


def _claim(compared: Compared, names: Sequence[str], stored: KeptTable) -> tuple[Scoring, str]:
    """(the exact answer to what they claim, what they are called)."""
    left, right = st.columns([3, 2], gap="large")
    claims, recipe = _claims(compared, names), recipes.chosen()
    if recipe:
        claims = {codes.encode(recipe.claim): f"as the script of {recipe.title}: {recipe.claim.title}"} | {
            code: title for code, title in claims.items() if code != codes.encode(recipe.claim)}
    for given in choice.texts(CLAIM):
        with suppress(WhichfluenceError):  # of a list that has changed since
            claimed = codes.decode(given)
            claims.setdefault(codes.encode(Scoring.of(claimed.behavior, claimed.intervention, claimed.process)),
                              claimed.title)
    code = pick(CLAIM, "They claim to answer", list(claims), next(iter(claims)), claims.get, area=left,
                help="The specifications of the list above, and those of the named methods. Add one to the list to "
                     "claim another.")
    stem = recipe.title if recipe else Path(stored.file).stem[:60] or "theirs"
    return codes.decode(code), text(CALLED, "Called", stem, area=right, max_chars=60).strip() or stem


def _claims(compared: Compared, names: Sequence[str]) -> dict[str, str]:
    """Code -> title of what can be claimed: the questions of the list, then those of named methods."""
    model = compared.sources[0].problem_class
    read = language_presets.OF_TOKENS if model.reads == "tokens" else {}
    named = [(method.title, method.implied(read.get(method.behavior))) for method in NAMED.values()
             if method.implies and (method.answers(model.kind) or method.name == "trak")]
    offered = [(f"as {name}", scoring) for name, scoring in zip(names, compared.scorings, strict=True)
               if scoring.route.implies]
    offered += [(f"as {title}: {scoring.specification.title}", scoring) for title, scoring in named]
    claims: dict[str, str] = {}
    for title, scoring in offered:
        exact = Scoring.of(scoring.behavior, scoring.intervention, scoring.process)
        claims.setdefault(codes.encode(exact), title)
    return claims


def _exact(compared: Compared, scoring: Scoring) -> Scores | None:
    """The exact answer to the claim; None while it is being waited for."""
    scores = job_panel.beside(desk().scores(compared.sources[0], [scoring], compared.candidates))
    return scores and scores[0]


def _corner(table: Table) -> None:
    r, c = table.values.shape
    glossary.caption(
        f"The table is {r:,} × {c:,}" + (f", array {plain(table.name[:60])}" if table.name else "") + "; its corner:")
    named = table.candidates is not None and len(table.candidates) == c
    columns = [f"z{row}" for row in table.candidates[:CORNER]] if named else list(map(str, range(min(c, CORNER))))
    st.dataframe(pd.DataFrame(table.values[:CORNER, :CORNER], columns=columns), width="stretch", height=180,
                 key="bring:corner")


def _interpretation(problem, table: Table, seen: Preview) -> tuple[str, str, int]:
    """Axes, order of the training examples and sign, set to what the data say, for the reader to change."""
    for reason in seen.reasons:
        glossary.markdown(f"- {sentence(reason)}")
    left, right = st.columns(2, gap="large")
    axes = radio(AXIS, "Axes", axes_that_fit(problem, table), seen.likely.axes, AXES.get, area=left)
    sign = radio(SIGN, "Sign", list(MEANING), seen.likely.sign if seen.certain else 1,
                 lambda value: f"{'+' if value > 0 else '−'}: {MEANING[value]}", area=right)
    if not seen.certain:
        st.warning("The data do not tell the sign, nor whether rows and columns are matched. Check the order of "
                   "queries and training examples first; then choose the sign by what the program's documentation "
                   "says.", icon=":material/help:")
    orders = seen.orders(axes) or [LISTED]
    order = radio(ORDER, "Order of training examples", orders, orders[0], ORDERS.get,
                  area=left) if len(orders) > 1 else (
        orders[0])
    return axes, order, sign


def _decided(external: Scores) -> None:
    """Who or what decided the sign, and how good the reference is."""
    decided = external.provenance["brought"]["sign_decided"]
    glossary.caption(f"Sign decided by {decided['by']}. Reference: {plain(decided['reference'])}, "
                     f"{decided['reference_quality']}.")


def _agreement(reference: Scores, external: Scores) -> dict[str, Agreement]:
    """Against the exact answer to what they claim."""
    st.markdown(f"**{plain(external.scoring.name)} against the exact answer to what they claim.** "
                f"{reference.scoring.question}")
    agreements = agreement_with(reference, external, (*METRICS, *FURTHER))
    for metrics in (METRICS, FURTHER):
        for column, (name, metric) in zip(st.columns(len(metrics)), metrics.items(), strict=True):
            agreements_view.number(column, metric, agreements[name], "")
    flagged = int((~external.converged).sum())
    if flagged:
        glossary.caption(f"{flagged} candidates have scores that are not finite, and are left out.")
    return agreements


def _against(names: Sequence[str]) -> int:
    """Which of the list they are explained against; in the address it counts from 1, as on the page."""
    return pick(AGAINST, "Explain why they disagree with", range(1, len(names) + 1), 1,
                lambda number: names[number - 1]) - 1


def _explained(compared: Compared, external: Scores, other: Scores, judged: Verdict) -> Explanation | None:
    """Why they disagree with one of the list."""
    glossary.caption(f"{judged.headline}. {judged.reason}")
    why = job_panel.beside(explained(desk(), compared.sources[:1], [(external, other)], compared.candidates))
    if why is not None:
        explanation_view.show(why, "bring:way")
    return why
