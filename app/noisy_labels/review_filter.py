"""Which of the flagged examples are shown at the desk: by file, class, confusion, and how many methods agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from app.noisy_labels.state import FILTERS
from app.widgets.choices import choice
from app.widgets.choices.selectors import pick, text
from app.widgets.words import glossary
from engine.desk.noisy_labels import NoisyData, Scored, consensus

ANY = -1
FILE, GIVEN, SAID, LEAST = FILTERS
OWN, ORDER = "pgiven", "ordered"
"""Names of two more choices, which mean the same for any data."""
AT_MOST = (1.0, 0.5, 0.2, 0.05, 0.01)
ORDERS = {"rank": "by rank", "kind": "same confusion together"}


@dataclass(frozen=True)
class Filter:
    """file: a part of the path. given, said: numbers of classes, `ANY` for all. least: of how many methods, at least,
    an example is in the most suspicious fraction. own: the largest p(given label). order: of `ORDERS`."""

    file: str = ""
    given: int = ANY
    said: int = ANY
    least: int = 0
    own: float = 1.0
    order: str = "rank"

    @property
    def heading(self) -> str:
        """How many filters are on, for a heading."""
        count = sum((bool(self.file), self.given != ANY, self.said != ANY, self.least > 0, self.own < 1))
        return f"Filters ({count} on)" if count else "Filters"

    def passing(self, rows: Sequence[int], sample: NoisyData, scored: Scored, fraction: float) -> list[int]:
        """The rows that pass, in their order, or those of one confusion together, that of the first row first."""
        files, at, y = sample.dataset.files, sample.rows, sample.evidence.y
        votes = consensus.votes(scored.suspicion, scored.by_heart, fraction) if self.least else None
        passing = [row for row in rows
                   if (not self.file or (files and self.file.lower() in files[at[row]].lower()))
                   and self.given in (ANY, y[row]) and self.said in (ANY, scored.predicted[row])
                   and scored.own[row] <= self.own and (votes is None or votes[row] >= self.least)]
        if self.order == "rank":
            return passing
        kinds = list(dict.fromkeys((y[row], scored.predicted[row]) for row in passing))
        return sorted(passing, key=lambda row: kinds.index((y[row], scored.predicted[row])))


def show(sample: NoisyData, scored: Scored) -> Filter:
    """The filters, folded away; what they say stands in the address."""
    classes = [ANY, *range(sample.evidence.classes)]
    names = sample.dataset.class_names
    voters = len(consensus.voting(scored.suspicion, scored.by_heart))
    with st.expander(_heading(), icon=":material/filter_alt:", key="desk:filters"):
        columns = st.columns(4)
        file = text(FILE, "File name has", "", area=columns[0]) if sample.dataset.files else ""
        given, said = (
            pick(name, label, classes, ANY, lambda index: "any" if index == ANY else names[index], kind=int, area=area)
            for name, label, area in ((GIVEN, "Given label", columns[1]), (SAID, "The model says", columns[2])))
        least = pick(LEAST, "Flagged by at least", list(range(voters + 1)), 0,
                     lambda count: f"{count} of {voters} methods" if count else "(no filter)", kind=int,
                     area=columns[3], help="How many of the consensus methods "
                                           "flag the example at the same fraction.")
        own = pick(OWN, "p(given label) at most", list(AT_MOST), 1.0,
                   lambda most: "(no filter)" if most == 1 else f"{most:g}", kind=float, area=columns[0],
                   help="At most this probability of the given label under the model.")
        order = pick(ORDER, "Order", list(ORDERS), "rank", ORDERS.get, area=columns[1],
                     help="Groups examples with the same given and predicted labels.")
        glossary.caption("A given and a predicted label make one confusion. The box *but not flagged by*, "
                         "above, compares two specifications.")
    return Filter(file.strip(), given, said, least, own, order)


def _heading() -> str:
    """How many filters are on, before they are drawn."""
    return Filter(choice.one(FILE, "", str).strip(), choice.one(GIVEN, ANY, int), choice.one(SAID, ANY, int),
                  choice.one(LEAST, 0, int), choice.one(OWN, 1.0, float)).heading
