"""Who decides at a desk in this session of the browser: each takes back its own decisions alone."""

from __future__ import annotations

import secrets

import streamlit as st


def token() -> str:
    """The same as long as the session lasts."""
    return st.session_state.setdefault("desk_reviewer", secrets.token_hex(8))
