"""A part of a page that fails says so in a sentence, and the rest of the page stands."""

import logging

import pytest
from streamlit.testing.v1 import AppTest


def page():
    import streamlit as st

    from app.widgets.frame.guard import guarded
    from engine.basics.errors import InvalidInput

    with guarded("The first part"):
        st.text("begun")
        raise st.session_state["fault"]
    st.text("the rest")
    with guarded("The second part"):
        raise InvalidInput("There is no `x` [l](http://x.test)`; choose another.")
    with guarded("The third part"):
        st.stop()
    st.text("never")


@pytest.fixture
def at():
    at = AppTest.from_function(page)
    at.session_state["fault"] = KeyError("secret [l](http://x.test)")
    return at


def test_the_rest_of_the_page_stands(at, monkeypatch, caplog):
    monkeypatch.delenv("WHICHFLUENCE_DEBUG", raising=False)
    with caplog.at_level(logging.ERROR, "whichfluence.app"):
        at.run()
    assert not at.exception and [text.value for text in at.text] == ["begun", "the rest"]
    unforeseen, said = (error.value for error in at.error)
    assert unforeseen.startswith("The first part could not be shown (KeyError).") and "secret" not in unforeseen
    assert "\\[l\\]" in said and "secret" in caplog.text and "Traceback" in caplog.text


def test_where_it_failed_is_shown_when_asked_for(at, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_DEBUG", "1")
    assert len(at.run().exception) == 1
