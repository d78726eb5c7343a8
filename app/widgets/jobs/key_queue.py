"""The keys of a desk. The browser queues every press and sends what was not yet acknowledged, again and again: a press
outlives a page that is drawn anew, and each is taken once, in order.

What the browser holds: {"desk": which desk it was typed at, "browser": its token, "pressed": [[number, key], …]}, with
numbers that rise. What it is sent: the last number that was taken, so that it forgets those up to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import streamlit as st
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from app.widgets.jobs import job_panel
from app.widgets.words import look

_QUEUE, _TAKEN = "desk-keys", "desk_keys_taken"
_SCRIPT = look.text("key-queue.js")
_listen = st.components.v2.component("whichfluence_desk_keys", js=_SCRIPT, isolate_styles=False,
                                     html='<div class="wf-pressed" role="status"></div>')


def taken(desk: str, keys: Sequence[str], act: Callable[[str], None]) -> None:
    """Do what was pressed since the last run of the page, and listen for more: lower-case letters, or names of keys as
    browsers give them. Call it before what the keys change is read. desk: that of a session and of its data."""
    for number, key in _fresh(desk, keys):
        _uninterrupted(_take, number, key, act)
    known = st.session_state.get(_TAKEN, {"browser": "", "taken": 0})
    with st.container(key="wf-desk-keys"):
        _listen(key=_QUEUE, data={"desk": desk, "keys": list(keys), **known}, on_queue_change=_nothing)


def _take(number: int, key: str, act: Callable[[str], None]) -> None:
    st.session_state[_TAKEN] = {**st.session_state[_TAKEN], "taken": number}
    job_panel.act(act, key)


def _uninterrupted(action: Callable[..., None], *arguments: object) -> None:
    """Do it on a thread of its own. A key pressed meanwhile interrupts the page's thread wherever that touches the
    session, and a key that was taken and not yet acted on would be lost. Not for callbacks: they hold the session."""
    with ThreadPoolExecutor(1, initializer=add_script_run_ctx, initargs=(None, get_script_run_ctx())) as own:
        own.submit(action, *arguments).result()


def _fresh(desk: str, keys: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(number, key) of what this desk has not taken, in order; nothing for what is no such queue."""
    sent = st.session_state.get(_QUEUE, {}).get("queue") or {}
    if sent.get("desk") != desk:
        return
    if st.session_state.get(_TAKEN, {}).get("browser") != sent["browser"]:
        st.session_state[_TAKEN] = {"browser": sent["browser"], "taken": 0}
    for number, key in sent["pressed"]:
        if number > st.session_state[_TAKEN]["taken"] and key in keys:
            yield number, key


def _nothing() -> None:
    """The queue is read where the desk is drawn; Streamlit knows a state by its callback alone."""
