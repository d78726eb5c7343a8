"""Cosines of behaviors beside a table: a row a pair, a warning where two are not separated, nothing without them."""

import re

from streamlit.testing.v1 import AppTest


def page():
    import streamlit as st

    from app.widgets.results import collinearity

    collinearity.show(st.session_state["manifest"], "x")


def shown(**pairs):
    """The page of one seed with a cosine a checkpoint for each pair, by the other behavior of the pair."""
    at = AppTest.from_function(page, default_timeout=60)
    rows = [{"behaviors": ["Response loss", other.replace("_", " ")], "cosine": list(cosine)}
            for other, cosine in pairs.items()]
    at.session_state["manifest"] = {"runs": [{"behavior_cosines": rows}]} if rows else {"runs": [{"seed": 0}]}
    at.run()
    assert not at.exception
    return at


def captions(at):
    """Without the links to the glossary."""
    return re.sub(r"<[^>]*>", "", " ".join(element.value for element in at.caption))


def test_a_row_a_pair_and_a_warning_for_the_collinear_one():
    at = shown(Answer_logit=(0.96, 0.99), Explanation_loss=(0.99, 0.3))
    table = at.dataframe[0].value
    assert list(table["Behaviors"]) == ["Response loss, answer logit", "Response loss, explanation loss"]
    assert list(table["End"]) == [0.99, 0.3] and list(table["Least"]) == [0.96, 0.3]
    assert "Not separated here: response loss and answer logit" in captions(at)
    assert "and explanation loss" not in captions(at)


def test_no_warning_without_a_collinear_pair_and_nothing_without_cosines():
    assert "Not separated" not in captions(shown(Answer_logit=(0.5, 0.99)))
    at = shown()
    assert not at.dataframe and not at.caption and not at.expander
