"""Explained words: their line on hover and for a screen reader, and nothing of the text is lost or let through."""

import re

import streamlit as st

from app.guide import data
from app.widgets.words.glossary import anchor, columns, explained, explained_html
from engine.question.glossary import TERMS


def plain(html):
    return re.sub(r"<[^>]*>", "", html)


def test_a_term_carries_its_line():
    html = explained("The behavior & the <b>behavior</b>")
    assert plain(html) == "The behavior &amp; the &lt;b&gt;behavior&lt;/b&gt;"
    assert html.count('<a class="wf-term"') == 1 and 'data-line="B: the number' in html
    assert 'href="guide?guide=glossary&amp;heading=behavior"' in html


def test_every_term_links_to_its_entry():
    slugs = {section.slug for section in data.read("glossary").sections}
    for term in TERMS:
        assert anchor(term) in slugs


def test_no_link_stands_inside_what_is_operated():
    html = explained_html('<button>A behavior</button> and a query <a href="x">a candidate</a>')
    assert html.count("<span class=\"wf-term\"") == 2 and html.count('<a class="wf-term"') == 1


def test_html_is_searched_between_its_tags_only():
    html = explained_html('<p title="behavior">Two queries, a behavior, a behavior</p>')
    assert html.startswith('<p title="behavior">') and html.count('class="wf-term"') == 2
    assert plain(html) == "Two queries, a behavior, a behavior"


def test_names_that_programs_read_have_words_above_their_columns():
    found = columns(["ci95", "own_layer", "mean", "link"], {"link": st.column_config.Column("Link")})
    assert [found[name]["label"] for name in ("ci95", "own_layer", "link")] == ["± 95%", "own layer", "Link"]
    assert "t-interval" in found["ci95"]["help"] and found["ci95"]["help"].endswith("`ci95` in the file.")
    assert "in the file" not in ((found.get("mean") or {}).get("help") or "")
