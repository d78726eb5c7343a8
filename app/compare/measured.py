"""What stands beside the methods of a longer list: τ with the exact answer to the same question, and what each took."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite

import streamlit as st

from app.compare import spot_check
from app.compare.rows import FEW, MeasuredRow
from app.widgets.jobs import guesses, job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results.agreements import plus_minus
from app.widgets.words import glossary
from app.widgets.words.times import spell
from engine.basics.values import signed
from engine.desk import Waiting
from engine.desk.analyses import NotMeasured, SpotCheck
from engine.desk.compared import Compared
from engine.desk.spot_check import at_hand, spot_checked
from engine.scoring.scores import Scores

SECONDS = 0.5
"""What the exact answers of a list may take together while the page is drawn."""
Checked = Sequence[SpotCheck | NotMeasured | Waiting]


def known(compared: Compared) -> Checked:
    """Of every scoring of a longer list, what is known without waiting; nothing of a short one, which has no column for
    it."""
    return at_hand(desk(), compared, SECONDS) if len(compared.scorings) > FEW else ()


def rows(compared: Compared, checked: Checked) -> list[MeasuredRow] | None:
    """What stands in the rows."""
    return [_measured(scores, one) for scores, one in zip(compared.scores[0], checked, strict=True)] or None \
        if checked else None


def below(compared: Compared, checked: Checked) -> None:
    """Under the matrix: what the columns say, and a button for what is not measured, or the runs that measure it."""
    if not checked:
        return
    open_ = [one for one in checked if isinstance(one, NotMeasured) and isfinite(one.seconds)]
    glossary.caption("*τ with exact*: Kendall τ with the exact answer to the method's own question, over all "
                     "candidates if that answer is in the list, otherwise over a sample. *cost*: the time to compute "
                     "the scores. Both are for the first seed.")
    requested = st.session_state.get(spot_check.REQUESTED, ())
    for one in open_:
        if one.scoring.digest in requested:
            answer = spot_checked(desk(), compared, compared.scorings.index(one.scoring), inf)
            if isinstance(answer, Waiting):
                job_panel.watch(answer)
    rest = [one for one in open_ if one.scoring.digest not in requested]
    if rest:
        st.button(f"Measure the {len(rest)} others" if len(rest) > 1 else "Measure the other one",
                  key="compare:measure", icon=":material/fact_check:", on_click=spot_check.request,
                  args=([one.scoring.digest for one in rest],),
                  help="Computes their exact answers for some candidates: "
                       f"{guesses.between(sum(one.seconds for one in rest))} on two CPU cores.")


def _measured(scores: Scores, checked: SpotCheck | NotMeasured | Waiting) -> MeasuredRow:
    return MeasuredRow(*_agreement(scores, checked), _took(scores))


def _agreement(scores: Scores, checked: SpotCheck | NotMeasured | Waiting) -> tuple[str, str]:
    if scores.scoring.exact:
        return "exact", "This is the exact answer to its own question"
    if isinstance(checked, SpotCheck):
        return signed(checked.tau.mean, 2), f"τ {plus_minus(checked.tau.mean, checked.ci95)}. {checked.basis}"
    if isinstance(checked, Waiting):
        return "not measured", "The exact answer is being computed"
    return "not measured", checked.sentence


def _took(scores: Scores) -> str:
    seconds = scores.provenance["wall_seconds"] if scores.scoring.route.computes else 0.0
    return "–" if not seconds else spell(seconds) if seconds >= 10 else f"{seconds:.1g} s"
