"""Words of the workbench explained where they stand: on hover, on focus, and to a screen reader."""

from __future__ import annotations

import re
from html import escape

import streamlit as st

from engine.glossary import TERMS, occurrences


def explained(text: str) -> str:
    """Escaped HTML of a text in which the first occurrence of each term shows its line."""
    pieces, at = [], 0
    for start, end, line in occurrences(text):
        pieces += [escape(text[at:start]), _term(text[start:end], line)]
        at = end
    return "".join([*pieces, escape(text[at:])])


def explained_html(html: str) -> str:
    """The same for HTML: only text between tags is searched, each term once; what is explained already stays."""
    parts, seen = re.split(r"(<[^>]*>)", html), set()
    for place in range(0, len(parts), 2):
        pieces, at = [], 0
        for start, end, line in occurrences(parts[place]):
            if line not in seen:
                seen.add(line)
                pieces += [parts[place][at:start], _term(parts[place][start:end], line, escaped=True)]
                at = end
        parts[place] = "".join([*pieces, parts[place][at:]])
    return "".join(parts)


def _term(word: str, line: str, escaped: bool = False) -> str:
    said = escape(line, quote=True)
    return (f'<span class="wf-term" tabindex="0" role="note" aria-label="{word if escaped else escape(word)}: {said}" '
            f'data-line="{said}">{word if escaped else escape(word)}</span>')


def lead(html: str) -> None:
    """The opening paragraph of a page, with its words explained."""
    st.html(f'<p class="wf-lead">{explained_html(html)}</p>')


def whole() -> None:
    """The whole glossary, in alphabetical order."""
    with st.expander("Glossary", icon=":material/menu_book:"):
        rows = "".join(f"<dt>{escape(term)}</dt><dd>{escape(line)}</dd>"
                       for term, line in sorted(TERMS.items(), key=lambda item: item[0].lower()))
        st.html(f'<dl class="wf-glossary">{rows}</dl>')
