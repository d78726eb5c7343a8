"""What the Guide page shows: the matches of a search, or the chosen guide."""

from __future__ import annotations

import streamlit as st
from PIL import Image

from app.guide import state
from app.guide.data import FOLDER, GUIDES, Block, Code, Guide, Picture, linked
from app.guide.search import Match
from app.widgets.frame import top
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain

_PICTURED = "wf-pictured-"
MOST = 20
"""Matches that are shown."""


def matches(matched: list[Match], words: str) -> None:
    """The matching sections, each to be opened."""
    if not matched:
        st.info(f"No section matches “{plain(words)}”. Try a single word, or a part of it.",
                icon=":material/search_off:")
        return
    more = f"; the first {MOST} are shown" if len(matched) > MOST else ""
    st.caption(f"{len(matched)} section{'s' if len(matched) > 1 else ''} for “{plain(words)}”{more}.")
    for index, one in enumerate(matched[:MOST]):
        with st.container(gap=None):
            st.button(_label(one), key=f"guide:found:{index}", type="tertiary", icon=":material/article:",
                      on_click=state.go, args=(one.guide.name, one.section.slug))
            glossary.caption(plain(one.excerpt))


def _label(match: Match) -> str:
    title = match.guide.title
    return f"**{title}**" if not match.section.slug else f"{title}: **{match.section.heading}**"


def text(guide: Guide, slug: str) -> None:
    """A guide, or one of its sections, in a place of its own: the text of another one never stands beside it."""
    top.begin(f"guide {guide.name} {slug}")
    with st.container(key=f"guide-{guide.name}-{slug}"):
        _text(guide, slug)


def _text(guide: Guide, slug: str) -> None:
    st.header(guide.title, anchor=False, help=glossary.hint(guide.title))
    for section in guide.sections:
        if slug not in (state.WHOLE, section.slug):
            continue
        if section.slug:
            st.subheader(section.heading, anchor=section.slug, help=glossary.hint(section.heading))
        for block in section.blocks:
            _block(block)


def onward(guide: Guide, guides: dict[str, Guide], slug: str) -> None:
    """Ways to go on from what was read."""
    with st.container(horizontal=True):
        if slug != state.WHOLE:
            st.button("Read the whole guide", icon=":material/menu_book:", on_click=state.go, args=(guide.name,))
        later = GUIDES[GUIDES.index(guide.name) + 1:]
        if later:
            st.button(f"Next: {guides[later[0]].title}", icon=":material/arrow_forward:", on_click=state.go,
                      args=(later[0],))
        if guide.name != "glossary":
            st.button("Glossary", icon=":material/dictionary:", on_click=state.go, args=("glossary",))


def _block(block: Block) -> None:
    if isinstance(block, Code):
        st.code(block.code, language=block.language, wrap_lines=True)
    elif isinstance(block, Picture):
        _picture(block)
    else:
        glossary.markdown(linked(block.markdown))


def _picture(picture: Picture) -> None:
    """The picture, in a place of its shape: what stands below it waits where it will stay."""
    file = FOLDER / picture.file
    with Image.open(file) as opened:
        width, height = opened.size
    st.html(f"<style>.st-key-{_PICTURED}{file.stem} {{ aspect-ratio: {width} / {height}; }}</style>")
    with st.container(key=f"{_PICTURED}{file.stem}"):
        st.image(file, alt=picture.alt, width="stretch")
