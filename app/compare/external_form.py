"""What a table of external scores claims, what it is called, and how it is read: said by the data where they tell it,
asked once where they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from app.widgets.choices import inputs
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.pickers import pickers
from app.widgets.words import chips, glossary, labels
from app.widgets.words.plain_text import sentence
from engine.desk import Problem, ProblemSource, Waiting, external, language_presets
from engine.desk.external import (
    AXES,
    LISTED,
    MEANING,
    ORDERS,
    ExternalScores,
    Guess,
    Interpretation,
    Table,
    TablePreview,
)
from engine.scoring import codes
from engine.scoring.named import NAMED
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

TITLES = {"plus": "+", "minus": "−", "unsigned": "no sign"}


@dataclass(frozen=True, eq=False)
class ImportForm:
    """What a form is about. key: of its widgets; table: read on `problem`, which is drawn from `source` with
    `candidates` of them ranked; name, claim, sign: to begin with, None or empty where the reader is asked; because:
    what says the claim; facts: what is stored with the scores; decided, tau: of the sign to begin with, as
    `ExternalSettings` has them, empty where nobody has decided yet."""

    key: str
    table: Table
    problem: Problem
    source: ProblemSource
    candidates: int | None
    name: str
    claim: Scoring | None
    because: str = ""
    sign: str = ""
    facts: Mapping[str, str] | None = None
    decided: str = ""
    tau: float | None = None

    @classmethod
    def of(cls, key: str, table: Table, problem: Problem, source: ProblemSource, candidates: int | None, name: str,
           guessed: Guess | None, facts: Mapping[str, str]) -> ImportForm:
        """Of a table that waits."""
        return cls(key, table, problem, source, candidates, name, guessed.claim if guessed else None,
                   guessed.because if guessed else "", facts=facts)


def form(draft: ImportForm, listed: Sequence[Scoring]) -> tuple[ExternalScores, Scoring] | None:
    """The widgets; (the scores, their scoring) once all is said. listed: the specifications of the page, which may be
    claimed."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        claim = _claim(draft, listed)
    name = inputs.text_input("Called", key=_begun(f"{draft.key}:name", draft.name), area=right,
                             max_chars=external.LONGEST_NAME).strip() or draft.name
    if claim is None:
        glossary.caption("The file does not state which question these scores answer; choose it.")
        return None
    if draft.because and claim == draft.claim:
        glossary.caption(sentence(f"{draft.because} Change it above if they answer another question."))
    glossary.html(f"{chips.html(claim)}")
    seen = preview(draft, claim)
    chosen = _interpretation(draft, seen, draft.sign if claim == draft.claim else "")
    if chosen is None:
        return None
    held = external.matched(draft.problem, draft.table, chosen.axes, chosen.order, {**(draft.facts or {}),
                                                                                    **seen.facts(chosen)})
    decided, tau = seen.decided(chosen), None if chosen.agreement != chosen.agreement else chosen.agreement
    if decided == "user" and draft.decided and (claim, chosen.sign) == (draft.claim, draft.sign):
        decided, tau = draft.decided, draft.tau  # nobody was asked anew
    return held, external.scoring_of(held, claim, name, chosen.sign, decided, tau)


def edited(scoring: Scoring, listed: Sequence[Scoring], source: ProblemSource) -> Scoring | None:
    """The same scores under another claim, name or sign; None while something is open, or where they are not here."""
    held = external.facts(scoring)
    if held is None:
        st.info("These scores are not on this machine; import their file again.")
        return None
    problem = job_panel.ready(desk().sampled(source)).problem.with_candidates(held.candidates)
    known = scoring.route.facts["brought"]
    by = known["sign_decided"]
    imported = form(ImportForm(
        f"edit:{scoring.digest}", Table(held.values, candidates=held.candidates), problem, source, len(held.candidates),
        scoring.route.title, scoring.exact_answer, sign=known["sign"], facts=held.facts,
        decided="user" if by["by"] == "the user" else "data", tau=by["agreement_with_reference"]), listed)
    return imported and imported[1]


def _claim(draft: ImportForm, listed: Sequence[Scoring]) -> Scoring | None:
    claims = _claims(listed)
    if draft.claim is not None:
        code = codes.encode(draft.claim)
        claims = {code: claims.get(code, f"as the file says: {draft.claim.title}"), **claims}
    key, chosen = f"{draft.key}:claim", f"{draft.key}:claimed"
    _begun(key, st.session_state.get(chosen) or (codes.encode(draft.claim) if draft.claim else None))
    code = st.session_state[key]
    if code is not None and code not in claims:  # of the list as it was: what is claimed stays
        claims[code] = f"as chosen: {codes.decode(code).title}"
    code = inputs.selectbox("Claimed specification", list(claims), key=key, format_func=claims.get,
                            placeholder="Choose the question",
                            help="The specifications of the list above and those of the named methods. To claim "
                                 "another, add it to the list first.")
    st.session_state[chosen] = code
    return codes.decode(code) if code else None


def _begun(key: str, value: str | None) -> str:
    """The key of a widget, which begins with a value."""
    st.session_state.setdefault(key, value)
    return key


def _claims(listed: Sequence[Scoring]) -> dict[str, str]:
    """Code -> title of what can be claimed: the questions of the list, then those of named methods."""
    model = pickers.problem_class()
    read = language_presets.OF_TOKENS if model.reads == "tokens" else {}
    named = [(method.title, method.implied(read.get(method.behavior))) for method in NAMED.values()
             if method.implies and (method.answers(model.kind) or method.name == "trak")]
    offered = [(f"as {name}", scoring) for name, scoring in zip(labels.numbered(labels.short(listed)), listed,
                                                                strict=True) if scoring.route.implies]
    offered += [(f"as {title}: {scoring.specification.title}", scoring) for title, scoring in named]
    claims: dict[str, str] = {}
    for title, scoring in offered:
        claims.setdefault(codes.encode(scoring.exact_answer), title)
    return claims


def preview(draft: ImportForm, claim: Scoring) -> TablePreview:
    """How the table is likely to be read, held against what answers the claim here."""
    wanted = st.session_state.get(f"{draft.key}:wanted")
    held = external.reference(desk(), draft.source, claim.specification, draft.candidates,
                              codes.decode(wanted) if wanted else None)
    if held.why:
        st.info(sentence(held.why), icon=":material/info:")
    scores = held.scores
    if isinstance(scores, Waiting):
        job_panel.watch(scores)
    seen = external.preview(draft.problem, draft.table, scores if isinstance(scores, Scores) else None)
    if held.longer is not None and not isinstance(scores, Waiting) and not seen.certain:
        st.button(f"Determine the sign from {held.longer.route.title} of the same question", key=f"{draft.key}:longer",
                  on_click=_want, args=(draft.key, held.longer), icon=":material/play_arrow:",
                  help="This runs as a job. You can also set the sign yourself, below.")
    return seen


def _want(key: str, scoring: Scoring) -> None:
    st.session_state[f"{key}:wanted"] = codes.encode(scoring)


def _interpretation(draft: ImportForm, seen: TablePreview, known: str) -> Interpretation | None:
    """Axes, order of the training examples and sign, as the data say; what they do not tell is asked. known: the sign
    that was decided for this claim before, empty without one."""
    for reason in seen.reasons:
        glossary.markdown(f"- {sentence(reason)}")
    left, right = st.columns(2, gap="large")
    fitting = list(dict.fromkeys(one.axes for one in seen.interpretations))
    axes = fitting[0]
    if len(fitting) > 1:
        axes = inputs.radio("Axes", fitting, key=_begun(f"{draft.key}:axes", axes if seen.axes_certain else None),
                            format_func=AXES.get, area=left)
    orders = seen.orders(axes) if axes else []
    order = orders[0] if orders else LISTED
    if len(orders) > 1:
        order = inputs.radio("Order of training examples", orders, format_func=ORDERS.get, area=left,
                             key=_begun(f"{draft.key}:order", order if seen.certain else None))
    begin = known or (seen.likely.sign if seen.certain else None)
    sign = inputs.radio("Sign", list(MEANING), key=_begun(f"{draft.key}:sign:{begin or ''}", begin), area=right,
                        format_func=lambda name: f"{TITLES[name]}: {MEANING[name]}")
    if not axes or not order or not sign:
        glossary.caption("Choose the settings that the data do not determine; they are stored with the scores.")
        return None
    return seen.under(axes, order, sign)
