"""Who a session is, where several people share one server: each has a home of their own, which no other session sees.

Off by default: one person, one home. WHICHFLUENCE_SIGN_IN=1 lets in only who signed in by OpenID Connect, which
Streamlit carries out (`[auth]` in its secrets.toml; it needs Authlib). Whom the provider knows may enter; whom it lets
through is the provider's affair.
"""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app.widgets.words.plain_text import sentence
from engine.basics.errors import InvalidInput
from engine.basics.folders import Asker, user_home

VARIABLE = "WHICHFLUENCE_SIGN_IN"
SAID = "is_logged_in"


def required() -> bool:
    """Whether only who signed in may enter."""
    return os.environ.get(VARIABLE, "").strip().lower() not in ("", "0", "no", "false", "off")


def identity() -> str | None:
    """What tells this session's user from all others: who vouches for them (`iss`) and their name there (`sub`), which
    no provider gives out twice. None where nobody signed in.

    Raises `InvalidInput` where the provider does not say them.
    """
    if not st.user.get(SAID):
        return None
    issuer, subject = st.user.get("iss"), st.user.get("sub")
    if not issuer or not subject:
        raise InvalidInput("The sign-in does not identify you (`iss` and `sub` are missing); inform the administrator "
                           "of this server.")
    return f"{issuer}\n{subject}"


def home() -> Path | None:
    """The home of the session whose script runs in this thread; None outside of one, and where signing in is off.

    Raises `InvalidInput` for a session that did not sign in: there is no folder that it might use instead.
    """
    if not required() or get_script_run_ctx(suppress_warning=True) is None:
        return None
    who = identity()
    if who is None:
        raise InvalidInput("You are signed out; reload the page.")
    return user_home(who)


def enter() -> None:
    """Lets this session in, or shows what is needed for it and ends the run of the script."""
    Asker.identified_by(home)
    if not required():
        return
    if SAID not in st.user:
        st.error(f"This server requires sign-in ({VARIABLE}), but secrets.toml has no [auth] section. See the guide "
                 "Several people on one server.", icon=":material/lock:")
        _stop()
    try:
        who = identity()
    except InvalidInput as error:
        st.error(sentence(error), icon=":material/lock:")
        _stop()
    if who is None:
        _ask()
        _stop()
    with st.sidebar:
        st.caption(sentence(f"Signed in as {st.user.get('email') or st.user.get('name') or 'you'}"))
        st.button("Sign out", on_click=st.logout, icon=":material/logout:", key="account:out")


def _stop() -> None:
    """End the run before there is a page that names itself in the browser's title."""
    st.set_page_config(page_title="Whichfluence")
    st.stop()


def _ask() -> None:
    st.title("Whichfluence")
    st.markdown("Which training examples influenced this prediction? It depends on which influence you mean.\n\n"
                "This server is shared. Sign in; your uploads, saved views and decisions are private.")
    st.button("Sign in", on_click=st.login, type="primary", icon=":material/login:", key="account:in")
