"""The keys of the review desk. The browser queues every press and sends what was not yet acknowledged, again and again:
a press outlives a page that is drawn anew, and each is taken once, in order.

What the browser holds: {"desk": which desk it was typed at, "browser": its token, "pressed": [[number, key], …]}, with
numbers that rise. What it is told: the last number that was taken, so that it forgets those up to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import streamlit as st

from app.noisy_labels import review_acts, state
from app.widgets import job_panel
from engine.applications.decisions import FINE, UNSURE, WRONG
from engine.applications.noisy_labels.review import Review
from engine.applications.noisy_labels.source import NoisyData
from engine.runs.noisy_labels import Scored

VERDICT_KEYS = {"w": WRONG, "f": FINE, "u": UNSURE}
UNDO, BACK, ON = "z", "ArrowLeft", "ArrowRight"
NUMBERS = ("1", "2", "3", "4", "5", "6", "7", "8", "9", "0")
"""The keys of the first ten classes: the class is the right label, and the given one is fine where it is that."""
KEYS = (*VERDICT_KEYS, UNDO, BACK, ON, *NUMBERS)
NOT_KNOWN = -1
_QUEUE, _TAKEN = "desk-keys", "desk_keys_taken"
_SCRIPT = """
const TYPED = 'input, textarea, select, [contenteditable="true"], [role="dialog"], [role="combobox"]';
const MOVED = '[role="slider"], [role="radiogroup"], [role="listbox"], [role="grid"], [data-testid="stButtonGroup"]';
export default function({data, setStateValue, parentElement}) {
  const queue = window.wfDesk ??= {browser: Math.random().toString(36).slice(2), last: 0, pressed: []};
  if (queue.desk !== data.desk) Object.assign(queue, {desk: data.desk, pressed: []});
  if (data.browser === queue.browser) queue.pressed = queue.pressed.filter(([number]) => number > data.taken);
  const said = parentElement.querySelector('.wf-pressed');
  const tell = () => { said.textContent = queue.pressed.length
    ? `Recording ${queue.pressed.length} key${queue.pressed.length > 1 ? 's' : ''} …` : '' };
  const press = event => {
    const arrow = event.key.startsWith('Arrow'), at = event.target;
    const key = arrow ? event.key : event.key.toLowerCase();
    if (!data.keys.includes(key) || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (at.closest?.(TYPED) || (arrow && at.closest?.(MOVED)) || (event.repeat && !arrow)) return;
    event.preventDefault();
    queue.pressed.push([++queue.last, key]);
    tell();
    setStateValue('queue', {desk: queue.desk, browser: queue.browser, pressed: queue.pressed});
  };
  document.removeEventListener('keydown', queue.press);
  document.addEventListener('keydown', press);
  queue.press = press;
  tell();
  return () => { document.removeEventListener('keydown', queue.press); };
}
"""
_listen = st.components.v2.component("whichfluence_desk_keys", js=_SCRIPT, isolate_styles=False,
                                     html='<div class="wf-pressed" role="status"></div>')


@dataclass(frozen=True)
class Desk:
    """What the keys act on: the flagged rows in their order, and where decisions go."""

    drawn: NoisyData
    scored: Scored
    review: Review
    rows: tuple[int, ...]

    @property
    def name(self) -> str:
        """Which desk this is: that of a session and of its data."""
        return f"{self.review.session} {self.drawn.fingerprint}"


def taken(desk: Desk) -> None:
    """Do what was pressed since the last run of the page, and listen for more. Call it before decisions are read."""
    for number, key in _fresh(desk.name):
        st.session_state[_TAKEN] = {**st.session_state[_TAKEN], "taken": number}
        job_panel.act(act, desk, key)
    known = st.session_state.get(_TAKEN, {"browser": "", "taken": 0})
    with st.container(key="wf-desk-keys"):
        _listen(key=_QUEUE, data={"desk": desk.name, "keys": list(KEYS), **known}, on_queue_change=_nothing)


def act(desk: Desk, key: str) -> None:
    """Do what one key says about the example in focus."""
    decisions = desk.review.decisions()
    focus = state.focus(desk.rows, [row for row in desk.rows if row not in decisions])
    if key == UNDO:
        review_acts.undo(desk.review)
    elif focus is not None and key in VERDICT_KEYS:
        before, verdict = decisions.get(focus), VERDICT_KEYS[key]
        guessed = review_acts.right_label(desk.drawn, desk.scored, before, focus)
        chosen = st.session_state.get(f"right:{focus}", NOT_KNOWN if guessed is None else guessed)
        note = st.session_state.get(f"note:{focus}", before.note if before else "")
        review_acts.take(desk.review, focus, verdict, None if verdict != WRONG or chosen == NOT_KNOWN else chosen, note,
                         desk.rows)
    elif focus is not None and key in NUMBERS:
        label = NUMBERS.index(key)
        if label < desk.drawn.evidence.classes:
            fine = label == desk.drawn.evidence.y[focus]
            note = st.session_state.get(f"note:{focus}", decisions[focus].note if focus in decisions else "")
            review_acts.take(desk.review, focus, FINE if fine else WRONG, None if fine else label, note, desk.rows)
    elif focus is not None and key in (BACK, ON):
        step = 1 if key == ON else -1
        state.look_at(desk.rows[min(max(desk.rows.index(focus) + step, 0), len(desk.rows) - 1)])


def _fresh(desk: str) -> Iterator[tuple[int, str]]:
    """(number, key) of what this desk has not taken, in order; nothing for what is no such queue."""
    sent = st.session_state.get(_QUEUE, {}).get("queue") or {}
    if sent.get("desk") != desk:
        return
    if st.session_state.get(_TAKEN, {}).get("browser") != sent["browser"]:
        st.session_state[_TAKEN] = {"browser": sent["browser"], "taken": 0}
    for number, key in sent["pressed"]:
        if number > st.session_state[_TAKEN]["taken"] and key in KEYS:
            yield number, key


def _nothing() -> None:
    """The queue is read where the desk is drawn; Streamlit knows a state by its callback alone."""
