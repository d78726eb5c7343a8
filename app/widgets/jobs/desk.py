"""The desk that all sessions of the server ask."""

import streamlit as st

from engine.desk import Desk


@st.cache_resource(show_spinner=False)
def desk() -> Desk:
    """One a server process; what it keeps in memory is bounded in bytes."""
    return Desk()
