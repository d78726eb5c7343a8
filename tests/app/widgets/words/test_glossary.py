"""Explained words: their line on hover and for a screen reader, and nothing of the text is lost or let through."""

import re

import streamlit as st

from app.widgets.words.glossary import columns, explained, explained_html


def plain(html):
    return re.sub(r"<[^>]*>", "", html)


def test_a_term_carries_its_line():
    html = explained("The behavior & the <b>behavior</b>")
    assert plain(html) == "The behavior &amp; the &lt;b&gt;behavior&lt;/b&gt;"
    assert html.count('class="wf-term"') == 1 and 'tabindex="0"' in html and 'data-line="B: the number' in html


def test_html_is_searched_between_its_tags_only():
    html = explained_html('<p title="behavior">Two queries, a behavior, a behavior</p>')
    assert html.startswith('<p title="behavior">') and html.count('class="wf-term"') == 2
    assert plain(html) == "Two queries, a behavior, a behavior"


def test_names_that_programs_read_have_words_above_their_columns():
    found = columns(["ci95", "own_layer", "mean", "link"], {"link": st.column_config.Column("Link")})
    assert [found[name]["label"] for name in ("ci95", "own_layer", "link")] == ["± 95%", "own layer", "Link"]
    assert "t-interval" in found["ci95"]["help"] and found["ci95"]["help"].endswith("`ci95` in the file.")
    assert "in the file" not in ((found.get("mean") or {}).get("help") or "")
