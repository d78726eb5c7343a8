"""Choosing a range of tokens of one query's response, on records whose tokens are their words."""

from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from engine.desk.datasets import Record
from engine.desk.language_queries import response_tokens
from engine.models.causal.catalogue import EMBEDDED_MODEL
from engine.models.causal.encoding import Encoder
from engine.models.causal.loading import load


def page():
    import re

    import streamlit as st

    from app.widgets.pickers import token_range_picker
    from engine.desk.datasets import Record
    from engine.desk.language_queries import ResponseToken
    from engine.question.worded import read

    records = [Record(prompt="Which?", response="It is <b>tin</b>, a metal."),
               Record(prompt="And?", response="A frog.")]

    def tokens(query):
        return [*(ResponseToken(match[0], *match.span()) for match in re.finditer(r"\S+", records[query].response)),
                ResponseToken("<end>", len(records[query].response), len(records[query].response))]

    st.session_state["spelling"] = token_range_picker.show("x", records, read(st.session_state["before"]), tokens)


def opened(before):
    at = AppTest.from_function(page, default_timeout=60)
    at.session_state["before"] = before
    at.run()
    assert not at.exception
    return at


def preview(at):
    return at.get("html")[-1].proto.body


@pytest.mark.parametrize("spelling", ["tokens@0:1-3", "tokens@1:2", "tokens@0:0-5"])
def test_what_it_was_comes_back(spelling):
    assert opened(spelling).session_state["spelling"] == spelling


@pytest.mark.parametrize("before", ["tokens@7:0", "tokens@0:90-99", "span:a metal"])
def test_what_is_not_there_gives_way_to_the_first_token(before):
    assert opened(before).session_state["spelling"] == "tokens@0:0"


def test_the_tokens_are_underlined_and_escaped():
    assert '<span class="asked" title="asked about">&lt;b&gt;tin&lt;/b&gt;, a</span> metal.' in preview(
        opened("tokens@0:2-3"))


def test_the_last_token_is_never_before_the_first():
    at = opened("tokens@0:0-1")
    at.selectbox(key="x:first:0").set_value(4).run()
    assert at.session_state["spelling"] == "tokens@0:4" and at.selectbox(key="x:last:0").options == [
        "4 · metal.", "5 · <end>"]
    at.selectbox(key="x:last:0").set_value(5).run()
    assert at.session_state["spelling"] == "tokens@0:4-5"
    at.selectbox(key="x:query").set_value(1).run()
    assert at.session_state["spelling"] == "tokens@1:0"


def test_tokens_cover_the_characters_of_the_response():
    record = Record(prompt="Which class is it?", response="The answer is a metal.")
    encoder = Encoder(load(EMBEDDED_MODEL)[1])
    tokens = response_tokens(SimpleNamespace(texts=SimpleNamespace(encoder=encoder)), record)
    assert [token.text for token in tokens] == encoder.words(encoder.encode(record))
    assert "".join(record.response[token.start:token.end] for token in tokens) == record.response.replace(" ", "")
    assert (tokens[-1].start, tokens[-1].end) == (len(record.response), len(record.response))
