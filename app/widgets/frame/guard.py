"""A part of a page that fails without taking the rest of the page with it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

import streamlit as st

from app.widgets.words.plain_text import sentence
from engine.basics.errors import WhichfluenceError

DEBUG = "WHICHFLUENCE_DEBUG"
"""Set to anything, it shows where an unforeseen error comes from."""
_LOG = logging.getLogger("whichfluence.app")


@contextmanager
def guarded(what: str) -> Iterator[None]:
    """Shows an error of what is drawn inside as one sentence, and goes on after it.

    An error that says what to do is shown as it is. Any other is logged with its traceback where the server writes,
    and said without its text, which may quote a file or a link. Streamlit's own stops and reruns pass through.
    """
    try:
        yield
    except WhichfluenceError as error:
        st.error(sentence(error), icon=":material/error:")
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        _LOG.exception("%s failed", what)
        st.error(f"{what} could not be shown ({type(error).__name__}). The rest of the page is not affected; the "
                 "server's terminal shows the error.", icon=":material/error:")


def once(name: str, upload: Hashable, take: Callable[[], object]) -> None:
    """Do `take` once for an upload; what it refuses is shown as long as the file is there. name: of its notes in the
    session."""
    state, done, fault = st.session_state, f"{name}:done", f"{name}:fault"
    if state.get(done) != upload:
        state[done], state[fault] = upload, ""
        try:
            take()
        except WhichfluenceError as error:
            state[fault] = str(error)
    if state[fault]:
        st.error(sentence(state[fault]), icon=":material/error:")
