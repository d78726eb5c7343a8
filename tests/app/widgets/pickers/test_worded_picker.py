"""Choosing a span by marking words of a response, and a contrast by a choice or a text, on the embedded world."""

import pytest
from streamlit.testing.v1 import AppTest

from engine.scoring import codes

PLAIN = "response_loss/add_occurrence/one_step;eta=0.1"


def page():
    import streamlit as st

    from app.widgets.pickers import pickers
    from engine.scoring import codes

    found = pickers.scoring_picker("x", codes.decode(st.session_state["default"]))
    st.session_state["found"] = None if found is None else codes.encode(found)


def opened(default=PLAIN, behavior=None):
    at = AppTest.from_function(page, default_timeout=60)
    at.session_state["default"] = default
    for name, value in {"data": "world_corruption", "queries": "6", "train": "40"}.items():
        at.query_params[name] = value
    at.run()
    if behavior:
        at.selectbox(key="x:B").set_value(behavior).run()
    assert not at.exception
    return at


def found(at):
    code = at.session_state["found"]
    return code and codes.decode(code).behavior


@pytest.mark.parametrize("kind", ["log_odds", "base_kl"])
def test_a_behavior_of_whole_responses_needs_nothing_else(kind):
    at = opened(behavior=kind)
    assert found(at) == kind and "the response" in " ".join(caption.value for caption in at.caption)


def words(at, query):
    (marks,) = at.get("button_group")
    assert marks.key == f"x:span:marks:{query}"
    return marks.options


@pytest.mark.parametrize("behavior", ["span:The answer is", "span@2:of five", "contrast", "contrast@1",
                                      "contrast:I do not know.", "contrast@4:a/b 50%"])
def test_the_default_comes_back_as_it_was(behavior):
    assert found(opened(codes.encode(codes.decode(PLAIN).model_copy(update={"behavior": behavior})))) == behavior


def test_what_is_between_the_first_and_last_word_is_marked():
    at = opened(behavior="span")
    assert found(at) is None and "Mark words of the response" in at.caption[-1].value
    shown = list(words(at, 0))
    first = shown.index("The")
    at.get("button_group")[0].set_value([first, first + 2]).run()
    assert at.text_input(key="x:span:words").value == "The answer is"
    assert at.session_state["x:span:marks:0"] == [first, first + 1, first + 2]
    assert found(at) == "span:The answer is"
    at.selectbox(key="x:span:query").set_value(1).run()
    at.radio(key="x:span:alone").set_value("In this query alone").run()
    assert found(at) == "span@1:The answer is"


def test_words_that_not_every_response_holds_are_said():
    at = opened(behavior="span")
    at.text_input(key="x:span:words").set_value("mammal").run()
    assert found(at) is None and "of 6 responses" in at.error[0].value
    at.text_input(key="x:span:words").set_value("nowhere").run()
    at.radio(key="x:span:alone").set_value("In this query alone").run()
    assert found(at) is None and "not in the response of query 0" in at.error[0].value


def test_a_contrast_with_a_choice_or_a_text():
    at = opened(behavior="contrast")
    assert found(at) == "contrast"
    assert [option.split(" (")[0] for option in at.selectbox(key="x:contrast:choice:0").options] == [
        "its first other choice"]
    at.radio(key="x:contrast:other").set_value("Custom").run()
    assert found(at) is None
    at.text_area(key="x:contrast:written").set_value("The answer is no.").run()
    assert found(at) == "contrast:The answer is no."


def test_pictures_have_no_words():
    at = opened()
    assert "contrast of responses" in at.selectbox(key="x:B").options
    at.query_params["data"] = "digits"
    at.session_state["default"] = "query_loss/add_occurrence/one_step;eta=0.1"
    at.run()
    assert "contrast of responses" not in at.selectbox(key="x:B").options
