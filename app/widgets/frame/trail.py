"""Where things were looked at, so that the library opens them there again."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import streamlit as st

from app.widgets.choices import choice
from engine.basics.errors import WhichfluenceError
from engine.desk import shelves
from engine.desk.shelves import SHELVES

LISTS = ("library", "runs", "guide")
"""Pages that list things; what they name is looked at elsewhere."""
_LOG = logging.getLogger("whichfluence.app")
_PAGE, _DONE = "_page", "_trail"


def begin(page: str) -> None:
    """Which page is drawn now."""
    st.session_state[_PAGE] = page or "home"


def waits(job: str) -> None:
    """The page waits for a job: there it is opened once it is done."""
    _keep([job])


def remember() -> None:
    """The page is drawn: there is opened what its address names."""
    parameters = choice.parameters()
    _keep(key for shelf in SHELVES.values() for key in shelf.named_in(parameters) if shelf.has(key))


def _keep(keys: Iterable[str]) -> None:
    """A fault of the disk is logged: the page is drawn, and nothing that the reader asked for is lost."""
    page = st.session_state.get(_PAGE, "")
    if not page or page in LISTS:
        return
    address, done = shelves.address(choice.parameters()), st.session_state.setdefault(_DONE, {})
    for key in keys:
        if done.get(key) == (page, address):
            continue
        done[key] = page, address
        try:
            shelves.seen(key, page, address)
        except WhichfluenceError as error:
            _LOG.warning("the view was not kept: %s", error)
