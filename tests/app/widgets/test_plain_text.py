"""A reader's own text comes through Markdown as it was written."""

import re
from html import unescape
from types import SimpleNamespace

import pytest

from app.widgets import glossary
from app.widgets.plain_text import plain

WRITTEN = ["**bold** _it_ `code`", "[link](http://x.test)", "<b>html</b> &lt; & <script>", "# no heading",
           "$x^2$ :red[a]", "a-b.c+d!|~~e~~", "\\*"]


def through_the_glossary(text):
    kept = []
    glossary.markdown(text, SimpleNamespace(markdown=lambda written, **_: kept.append(written)))
    return kept[0]


@pytest.mark.parametrize("text", WRITTEN)
@pytest.mark.parametrize("write", [str, through_the_glossary])
def test_nothing_in_it_is_formatted(text, write):
    """CommonMark: a backslash before punctuation stands for the sign itself, an entity for its letter."""
    written = write(plain(text))
    assert not set(re.sub(r"\\[!-/:-@\[-`{-~]|&[a-z]+;", "", written)) & set(r"\`*_{}[]()#+-.!|<>~:$&")
    assert unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", written)) == text
