"""The search in the guides: sections ranked by the words of a query, as a newcomer types them."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from app.guide.data import Guide, Section

AROUND = 70
"""Letters shown on either side of what was searched for."""
STOP = (
    "a about all an and any are as at be between by can do does for from get has have how i if in into is it make me "
    "my of on one or our should so that the their them this to use using versus vs want was we what when where which "
    "why will with work you your")
"""Words that are left out of a query which has others."""
LIKE = ("mislabelled noisy wrong", "image picture photo", "cuda gpu", "poison backdoor", "huggingface transformers hub",
        "user people visitor", "classroom class lesson", "duplicate near", "explain why", "rank order", "ram memory",
        "disagree differ mismatch", "finetune fine", "delete remove", "install requirements", "bug fault fail error",
        "upload import", "login sign", "time hours", "deploy server service", "api program interface")
"""Words that stand for one another in a search, at half the weight."""
K1, B = 1.2, 0.75
HEADING, TITLE = 6.0, 1.0
"""Occurrences in the text that one in the heading, or in the guide's title, counts as."""
SAME_HEADING, IN_HEADING, A_NAME, IN_TEXT = 3.0, 1.2, 1.0, 0.4
"""Added to the score, as fractions of Σ idf, where the query is the heading, where its words follow one another there,
where it is a name such as `wrong_labels` that the text has, and where its words follow one another in the text."""
LEAST = 0.45
"""The fraction of Σ idf that a section must match, over the words that occur anywhere."""


@dataclass(frozen=True)
class Match:
    """A section that matches a query, and the text around the first of its words."""

    guide: Guide
    section: Section
    excerpt: str


def search(guides: list[Guide], query: str) -> list[Match]:
    """Sections by their score, the largest first: BM25F over stems.

    Σ_w idf(w) · tf / (K1 + tf) with tf = n_text(w) / (1 − B + B·length/mean) + HEADING·n_heading(w) + TITLE·n_title(w).
    Source: Robertson and Zaragoza 2009.
    """
    words = stems(query)
    wanted = tuple(dict.fromkeys(word for word in words if word not in _STOPS)) or tuple(dict.fromkeys(words))
    sections = [(guide, section, section.words) for guide in guides for section in guide.sections]
    mean = sum(len(stems(text)) for _, _, text in sections) / max(1, len(sections)) or 1.0
    tf = [[_tf(word, text, section.heading, guide.title, mean) for word in wanted] for guide, section, text in sections]
    in_sections = [sum(count > 0 for count in column) for column in zip(*tf, strict=True)]
    idf = [math.log(1 + len(sections) / (0.5 + n)) if n else 0.0 for n in in_sections]
    scored = []
    for (guide, section, text), own in zip(sections, tf, strict=True):
        if sum(weight for weight, count in zip(idf, own, strict=True) if count) >= LEAST * sum(idf) > 0:
            score = sum(weight * count / (K1 + count) for weight, count in zip(idf, own, strict=True))
            scored.append((score + sum(idf) * _as_written(query, section.heading, text), guide, section, text))
    scored.sort(key=lambda one: -one[0])
    return [Match(guide, section, _excerpt(text, (*query.casefold().split(), *wanted)))
            for _, guide, section, text in scored]


def _tf(word: str, text: str, heading: str, title: str, mean: float) -> float:
    return (_count(text, word) / (1 - B + B * len(stems(text)) / mean)
            + HEADING * _count(heading, word) + TITLE * _count(title, word))


@lru_cache(maxsize=4_096)
def stems(text: str) -> tuple[str, ...]:
    """The words of a text in one spelling (British and American) and without endings."""
    return tuple(_stem(word) for word in re.findall(r"[^\W_]+", text.casefold()))


def _stem(word: str) -> str:
    if len(word) < 4:
        return word
    word = word.replace("our", "or").replace("z", "s").replace("ll", "l")
    for ending, rest in (("ies", "y"), ("ing", ""), ("ation", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending) + rest
    return word


_LIKE = {word: set(group) - {word} for group in map(stems, LIKE) for word in group}
_STOPS = frozenset(stems(STOP))


@lru_cache(maxsize=4_096)
def _index(text: str) -> tuple[Counter[str], str]:
    """How often each stem occurs, and all of them in their order between blanks."""
    return Counter(stems(text)), f" {' '.join(stems(text))} "


def _count(text: str, word: str) -> float:
    """How often a word occurs; where it does not, a longer word that begins with it, or one of `LIKE`, counts."""
    counts, line = _index(text)
    if word in counts:
        return counts[word]
    if len(word) > 3 and f" {word}" in line:
        return sum(n for one, n in counts.items() if one.startswith(word))
    return 0.5 * sum(counts[one] for one in _LIKE.get(word, ()))


def _as_written(query: str, heading: str, text: str) -> float:
    words, name = stems(query), query.strip().casefold()
    if words == stems(heading):
        return SAME_HEADING
    if re.search(r"\w[_.-]\w", name) and name in text.casefold():
        return A_NAME
    in_heading, in_text = (len(words) > 1 and f" {' '.join(words)} " in _index(one)[1] for one in (heading, text))
    return IN_HEADING if in_heading else IN_TEXT * in_text


def _excerpt(text: str, sought: tuple[str, ...]) -> str:
    folded = text.casefold()
    at = max(0, min((start for word in sought if (start := folded.find(word)) >= 0), default=0))
    start, end = max(0, at - AROUND), at + 2 * AROUND
    start = text.rfind(" ", 0, start) + 1 if start else 0
    end = len(text) if end >= len(text) else max(text.rfind(" ", 0, end), at)
    return ("… " if start else "") + text[start:end].strip() + (" …" if end < len(text) else "")
