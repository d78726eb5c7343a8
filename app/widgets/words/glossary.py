"""Words of the workbench explained where they stand: on hover, on focus, and to a screen reader.

On a page a word is marked where it stands first; `begin` starts a page. Text goes through `markdown`, `caption`, `html`
or `lead`; what cannot hold marks (headings, labels of widgets, columns of tables) takes its lines from `hint` and
`columns`. A marked word is a link to its entry in the guide `glossary`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from html import escape
from typing import Any

import streamlit as st

from engine.basics.values import capital
from engine.question.glossary import TERM_OF, TERMS, occurrences

SEEN, FOLDED = "_explained", "_folded"
COLUMNS = {
    "a": "The first of the two.", "b": "The second of the two.",
    "ci95": "Half-width of the 95% t-interval of the mean.",
    "eta": "The step size η.", "alpha": "The weight α.", "rho": "The fraction of corrupted labels.",
    "n_queries": "The number of queries in the mean.", "n_seeds": "The number of seeds in the mean.",
    "n_dropped": "Queries left out because one ranking is constant.",
    "kendall_tau": "τ: 1 for the same order, −1 for the reversed order, 0 for as many concordant as discordant pairs.",
}
"""Names of columns in files, which are short because programs read them."""
LABELS = {"ci95": "± 95%", "seed_means": "mean of each seed", "n_seeds": "seeds", "n_queries": "queries",
          "n_dropped": "queries left out", "eta": "η", "alpha": "α", "rho": "ρ", "kendall_tau": "Kendall τ",
          "l2": "λ", "topk": "top k"}
"""What stands above them on a page; others have spaces for underscores."""
_UNMARKED = re.compile(r"(`[^`]*`|\[[^\]]*\]\([^)]*\)|:[a-z]+/[a-z_]+:|\$[^$]+\$|<[^>]*>)")
"""Parts of a Markdown text in which no word is marked: code, links, icons, formulas."""
_OPERATED, _OPERATED_END = re.compile(r"<(a|button|summary)\b"), re.compile(r"</(a|button|summary)>")


def anchor(heading: str) -> str:
    """The anchor that code hosts give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def entry(line: str) -> str:
    """The address of a term's entry in the Glossary, by its line."""
    return f"guide?guide=glossary&heading={anchor(TERM_OF[line])}"


def begin() -> None:
    """A page starts: no word is explained on it yet."""
    st.session_state[SEEN], st.session_state[FOLDED] = {}, False


@contextmanager
def folded() -> Iterator[None]:
    """What is drawn in a closed expander or popover explains all its words, and what stands after it does, too."""
    st.session_state[FOLDED] = True
    try:
        yield
    finally:
        st.session_state[FOLDED] = False


def explained(text: str) -> str:
    """Escaped HTML of a text in which the first occurrence of each term shows its line."""
    return _marked(text, escape, lambda line: True)


def explained_html(html: str, wanted: Callable[[str], bool] = lambda line: True) -> str:
    """The same for HTML: only text between tags is searched, each term once; what is explained already stays."""
    pieces, seen, inside = re.split(r"(<[^>]*>)", html), set(), 0

    def first(line: str) -> bool:
        new = line not in seen and wanted(line)
        seen.add(line)
        return new

    for index, piece in enumerate(pieces):
        if index % 2:
            inside += bool(_OPERATED.match(piece)) - bool(_OPERATED_END.match(piece))
        else:
            pieces[index] = _marked(piece, str, first, linked=not inside)
    return "".join(pieces)


def _marked(text: str, write: Callable[[str], str], wanted: Callable[[str], bool], linked: bool = True) -> str:
    pieces, at = [], 0
    for start, end, line in occurrences(text):
        if wanted(line):
            pieces += [write(text[at:start]), _term(write(text[start:end]), line, linked)]
            at = end
    return "".join([*pieces, write(text[at:])])


def _term(word: str, line: str, linked: bool) -> str:
    """A link; a note inside what is operated itself, which may hold no link."""
    said = escape(line, quote=True)
    tag, own = "span", 'tabindex="0" role="note"'
    if linked:
        tag, own = "a", f'href="{escape(entry(line))}" target="_blank"'
    return f'<{tag} class="wf-term" {own} aria-label="{word}: {said}" data-line="{said}">{word}</{tag}>'


def _first(text: str) -> Callable[[str], bool]:
    """Whether a word stands in this text first on the page; a text that is drawn again keeps its words."""
    if st.session_state.get(FOLDED):
        return lambda line: True
    key = re.sub(r"[\d.,−±-]+", "", text)
    return lambda line: st.session_state.setdefault(SEEN, {}).setdefault(line, key) == key


def html(text: str, **options: Any) -> None:
    """HTML on the page, with its words explained."""
    st.html(explained_html(text, _first(text)), **options)


def lead(text: str, key: str | None = None) -> None:
    """The opening paragraph of a page. key: of a container that holds its place while its code still loads."""
    with st.container(key=key) if key else nullcontext():
        html(f'<p class="wf-lead">{text}</p>')


def markdown(text: str, where: Any = st, **options: Any) -> None:
    """Markdown on the page, or in the container `where`, with its words explained."""
    where.markdown(_in_markdown(text), unsafe_allow_html=True, **options)


def caption(text: str, where: Any = st, **options: Any) -> None:
    """Small Markdown, likewise."""
    where.caption(_in_markdown(text), unsafe_allow_html=True, **options)


def _in_markdown(text: str) -> str:
    first, seen = _first(text), set()

    def once(line: str) -> bool:
        new = line not in seen and first(line)
        seen.add(line)
        return new

    pieces = _UNMARKED.split(text)
    return "".join(piece.replace("<", "&lt;") if index % 2 else _marked(piece, _plain, once)
                   for index, piece in enumerate(pieces))


def _plain(text: str) -> str:
    """Markdown in which no HTML stands."""
    return text.replace("<", "&lt;")


def hint(label: str, help: str | None = None) -> str | None:
    """The help of a heading or a widget: its own, and the lines of the words in its label; None where both are none."""
    own = {line: label[start:end] for start, end, line in occurrences(label)}
    lines = [f"[{capital(word)}]({entry(line)}): {line}" for line, word in own.items()
             if line not in (help or "")]
    return "\n\n".join(filter(None, [help, *lines])) or None


def columns(names: Iterable[object], configured: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The column configuration of a table in which words, and names that programs read, explain themselves. A name that
    is no word has one above its column, and stands in the help as the file has it."""
    configuration: dict[str, Any] = dict(configured or {})
    for name in map(str, names):
        own = dict(configuration.get(name) or st.column_config.Column())
        label = own.get("label") or LABELS.get(name, name.replace("_", " "))
        lines = [own.get("help") or hint(label, COLUMNS.get(name)),
                 f"`{name}` in the file." if label != name and not own.get("label") else None]
        if any(lines) or label != name:
            configuration[name] = {**own, "label": label, "help": "\n\n".join(filter(None, lines)) or None}
    return configuration


def whole() -> None:
    """The whole glossary, in alphabetical order."""
    with st.expander("Glossary", icon=":material/menu_book:"):
        rows = "".join(f"<dt>{escape(term)}</dt><dd>{escape(line)}</dd>"
                       for term, line in sorted(TERMS.items(), key=lambda item: item[0].lower()))
        st.html(f'<dl class="wf-glossary">{rows}</dl>')
