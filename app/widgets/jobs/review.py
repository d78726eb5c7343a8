"""What is decided at a review desk in the browser, taken into the store: each decision with the row that was on screen.

What the browser sends, again and again until it is answered:
    {"desk": fingerprint, "reviewer": token, "batch": token, "focus": row or null, "events": [event, …]}
An event is {"id", "row", "verdict", "label", "text", "note", "seen"} or {"id", "undo": id of the event to take back}.
`seen` is the event whose decision stood on the screen, empty for none. Each is recorded once, however often it arrives.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from app.widgets.words.plain_text import sentence
from engine.basics.errors import InvalidInput, StoreError, WhichfluenceError
from engine.basics.values import Value
from engine.desk.analyses import DecidedMeanwhile, Decision, Decisions

SCREEN = "review-desk"
"""The key of the component."""
_BATCH, _SHOWN, _TURN = "review_batch", "review_shown", "review_turn"


class Event(Value):
    """A decision, or with `undo` that one is taken back."""

    id: str
    row: int = -1
    verdict: str = ""
    label: int | None = None
    text: str | None = ""
    note: str | None = ""
    seen: str | None = ""
    undo: str | None = None


class ReviewBatch(Value):
    """What is on its way from the browser."""

    desk: str
    reviewer: str
    batch: str
    focus: int | None
    events: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Taken:
    """batch: what was taken last. answers: of each event, empty where it is recorded, `asked` with the decision that
    was made meanwhile, `refused` or `again` with a sentence."""

    batch: str = ""
    answers: Mapping[str, Mapping[str, Any]] | None = None


def token() -> str:
    """Who decides in this session of the browser: each takes back its own decisions alone."""
    return st.session_state.setdefault("desk_reviewer", secrets.token_hex(8))


def batch_of(fingerprint: str) -> ReviewBatch | None:
    """What the browser sent last for the data of that fingerprint; nothing for what is no such batch."""
    sent = st.session_state.get(SCREEN, {}).get("queue")
    try:
        batch = ReviewBatch.parse(sent) if sent else None
    except InvalidInput:
        return None
    return batch if batch is not None and batch.desk == fingerprint else None


def reviewer(batch: ReviewBatch | None) -> str:
    """Who decides: the browser's own token, which outlives a reload, else that of the session."""
    if batch is not None and batch.reviewer:
        st.session_state["desk_reviewer"] = batch.reviewer
    return token()


def taken(review: Decisions, batch: ReviewBatch | None, look_at: Callable[[int | None], None]) -> Taken:
    """Record what was sent. Call it before decisions are read. look_at: told once which row is on the screen."""
    if batch is None:
        return Taken()
    answers = {str(event.get("id", "")): _answer(review, event) for event in batch.events}
    if st.session_state.get(_BATCH) != batch.batch:
        st.session_state[_BATCH], st.session_state[_SHOWN] = batch.batch, batch.focus
        look_at(batch.focus)
    return Taken(batch.batch, answers)


def _answer(review: Decisions, sent: Mapping[str, Any]) -> dict[str, Any]:
    try:
        event = Event.parse(sent)
        if event.undo is not None:
            review.take_back(event.undo)
        else:
            review.decide(event.row, event.verdict, event.label, event.note or "", event.id, event.seen,
                          event.text or "")
    except DecidedMeanwhile as error:
        return {"asked": decided(error.decision)}
    except StoreError as error:
        return {"again": sentence(error)}
    except WhichfluenceError as error:
        return {"refused": sentence(error)}
    return {}


def decided(decision: Decision) -> dict[str, Any]:
    """A decision as the browser reads it."""
    return {"verdict": decision.verdict, "label": decision.label, "text": decision.text, "note": decision.note,
            "event": decision.event}


def put(row: int | None) -> None:
    """Put a row on the screen, whatever stands there."""
    st.session_state[_SHOWN] = row
    st.session_state[_TURN] = turn() + 1


def turn() -> int:
    """How often the page has put a row on the screen by itself."""
    return st.session_state.get(_TURN, 0)


def shown(focus: int | None) -> int | None:
    """The row that the page takes to be on the screen; `focus` where the browser has not said it."""
    return st.session_state.get(_SHOWN, focus)


def undo(review: Decisions, look_at: Callable[[int | None], None]) -> None:
    """Take back the last act of this session, and look at its row again."""
    decision = review.undo()
    if decision is not None:
        look_at(decision.row)


def acts(review: Decisions) -> list[dict[str, Any]]:
    """What this reviewer decided and has not taken back, oldest first, with what stood before about each row."""
    log = review.history()
    by_event: dict[str, dict[str, Any]] = {}
    for at in range(len(log) - 1, -1, -1):
        one = log[at]
        if one.session == review.session:
            act = by_event.setdefault(one.event, {"event": one.event, "rows": [], "before": {}})
            act["rows"].append(one.row)
            act["before"][str(one.row)] = _before(log[at + 1:], one.row)
    return list(by_event.values())


def _before(older: Sequence[Decision], row: int) -> dict[str, Any] | None:
    return next((decided(one) for one in older if one.row == row), None)
