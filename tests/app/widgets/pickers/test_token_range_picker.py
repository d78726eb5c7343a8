"""Choosing a range of tokens of one query's response, by the embedded model's tokenizer."""

import pytest
from streamlit.testing.v1 import AppTest

from engine.basics.errors import InvalidInput
from engine.desk.datasets import Record
from engine.desk.language_queries import response_tokens
from engine.models.causal.catalogue import EMBEDDED_MODEL
from engine.models.causal.encoding import Encoder
from engine.models.causal.loading import load


def page():
    import streamlit as st

    from app.widgets.pickers import token_range_picker
    from engine.desk.datasets import Record
    from engine.models.causal.catalogue import EMBEDDED_MODEL
    from engine.question.worded import read

    records = [Record(prompt="Which?", response="A wolf is <b> a mammal."), Record(prompt="And?", response="A gull.")]
    st.session_state["spelling"] = token_range_picker.show("x", records, read(st.session_state["before"]),
                                                           EMBEDDED_MODEL)


def opened(before):
    at = AppTest.from_function(page, default_timeout=60)
    at.session_state["before"] = before
    at.run()
    assert not at.exception
    return at


@pytest.mark.parametrize("spelling", ["tokens@0:1-3", "tokens@1:2", "tokens@0:0-4"])
def test_what_it_was_comes_back(spelling):
    assert opened(spelling).session_state["spelling"] == spelling


@pytest.mark.parametrize("before", ["tokens@7:0", "tokens@0:90-99", "span:a mammal"])
def test_what_is_not_there_gives_way_to_the_first_token(before):
    assert opened(before).session_state["spelling"] == "tokens@0:0"


def test_the_tokens_are_underlined_and_escaped():
    preview = opened("tokens@0:1-3").get("html")[-1].proto.body
    assert 'title="asked about">wolf is &lt;</span>b&gt; a mammal.' in preview


def test_the_last_token_is_never_before_the_first():
    at = opened("tokens@0:0-1")
    at.selectbox(key="x:first:0").set_value(4).run()
    assert at.session_state["spelling"] == "tokens@0:4" and at.selectbox(key="x:last:0").options[0].startswith("4 · ")
    at.selectbox(key="x:last:0").set_value(6).run()
    assert at.session_state["spelling"] == "tokens@0:4-6"
    at.selectbox(key="x:query").set_value(1).run()
    assert at.session_state["spelling"] == "tokens@1:0"


def test_tokens_are_those_that_the_model_reads_and_cover_the_response():
    record = Record(prompt="Which class is it?", response="The answer is a metal.")
    encoder, tokens = Encoder(load(EMBEDDED_MODEL)[1]), response_tokens(EMBEDDED_MODEL, record)
    assert [token.text for token in tokens] == encoder.words(encoder.encode(record))
    assert "".join(record.response[token.start:token.end] for token in tokens) == record.response.replace(" ", "")
    assert (tokens[-1].start, tokens[-1].end) == (len(record.response), len(record.response))


def test_a_model_that_is_not_here_is_refused():
    with pytest.raises(InvalidInput, match="is not on this machine yet"):
        response_tokens("nobody/nothing", Record(prompt="a", response="b"))
