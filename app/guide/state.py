"""What the reader of the guides chose: a guide, one of its headings, a search. All of it is in the address."""

from __future__ import annotations

from app.guide.data import GUIDES, Guide
from app.widgets.choices import choice, inputs
from app.widgets.choices.selectors import pick

GUIDE, HEADING, FIND, WHOLE = "guide", "heading", "find", "all"
LONGEST = 100


def searched() -> str:
    """The words to search for; empty while somebody reads."""
    key = choice.bound(FIND, "", lambda given: given[:LONGEST])
    words = inputs.text_input("Search the guides", key=key, max_chars=LONGEST, icon=":material/search:", width=520,
                              placeholder="A word or two, such as npz or checkpoint")
    choice.keep(FIND, words or [])
    return words.strip()


def guide(guides: dict[str, Guide]) -> Guide:
    """The guide to read; another one is opened at its beginning."""
    before = choice.texts(GUIDE)
    name = pick(GUIDE, "Guide", GUIDES, GUIDES[0], lambda name: guides[name].title, width=440)
    if before not in ([], [name]):
        choice.put(HEADING, WHOLE)
    return guides[name]


def heading(opened: Guide) -> str:
    """The slug of the section to read, or `WHOLE`."""
    titles = {WHOLE: "Whole guide", **{section.slug: section.heading for section in opened.sections[1:]}}
    return pick(HEADING, "Section", list(titles), WHOLE, titles.__getitem__, width=440)


def go(name: str, slug: str = WHOLE) -> None:
    """Open a section, and end the search."""
    choice.put(GUIDE, name)
    choice.put(HEADING, slug or WHOLE)
    choice.put(FIND, [])
