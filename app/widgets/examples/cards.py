"""Examples as cards: pure functions from values to HTML, with every text from the data escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from app.widgets.words import look
from engine.basics.values import figures
from engine.desk.datasets import NO_ANSWER

STYLE = look.style("cards")


def effect(score: float, directed: bool = True) -> tuple[str, str]:
    """(class, words) of an oriented score: a mark, and whether the example helps or harms; that of a baseline says
    neither."""
    if not directed:
        return "neither", "baseline"
    if score > 0:
        return "helps", "▲ helps"
    return ("harms", "▼ harms") if score < 0 else ("neither", "● neither")


def number(score: float) -> str:
    """A score with its sign and three digits, with a true minus sign."""
    if math.isnan(score):
        return "no score"
    return figures(score, sign="+")


def rank(value: int) -> str:
    """A rank, or a dash where there is none."""
    return str(value) if value > 0 else "–"


def ranked(example: str, label: str, ranks: Sequence[int], own: int, score: float, largest: float,
           once: bool, directed: bool = True, mark: str = "") -> str:
    """A ranked candidate: `example` is its picture or table; `own` the column it stands in; directed: whether that is
    the answer to a question; mark: what sets it apart from training examples, if anything."""
    kind, words = effect(score, directed)
    width = 100.0 * min(1.0, abs(score) / largest) if largest > 0 else 0.0
    listed = " · ".join(f'<span class="own">{rank(value)}</span>' if index == own else rank(value)
                        for index, value in enumerate(ranks))
    marks = "".join(f'<div class="once" title="{escape(word, quote=True)}">{escape(word)}</div>'
                    for word in (mark, "only here" * once) if word)
    name = f'<div class="name" title="{escape(label, quote=True)}">{escape(label)}</div>'
    return (f'<div class="wf-example">{example}{name}'
            f'<div class="ranks" title="rank in each column">{listed}</div><div>{number(score)}</div>'
            f'<div class="bar {kind}" style="width:{width:.0f}%"></div><div class="effect">{words}</div>{marks}</div>')


def itself(example: str, position: int, label: str, value: float, largest: float, said: str, measured: str) -> str:
    """A training example with its influence on itself, and what the model says of it, with how sure it is."""
    width = 100.0 * min(1.0, abs(value) / largest) if largest > 0 else 0.0
    kind = effect(value)[0]
    wrong = f'<div class="faint">predicted {escape(said)}</div>' if said != label else ""
    return (f'<div class="wf-example">{example}<div class="name" title="{escape(label, quote=True)}">{position}. '
            f'{escape(label)}</div><div>{number(value)}</div>'
            f'<div class="bar {kind}" style="width:{width:.0f}%"></div><div class="faint">{escape(measured)}</div>'
            f"{wrong}</div>")


def query(example: str, label: str, predicted: str) -> str:
    """A query in the gallery: its label, and what the model says where that is something else."""
    said = f'<div class="said">→ {escape(predicted)} ✗</div>' if predicted != label else ""
    named = f'<div class="name" title="{escape(label)}">{escape(label)}</div>'
    return f'<div class="wf-example">{example}{named}{said}</div>'


def chosen_query(example: str, number: int, label: str, predicted: str, measured: str, noun: str = "label") -> str:
    """The chosen query, larger, with label and prediction in words, and how sure the model is. noun: what the label is
    called."""
    right = "correctly" if label == predicted else "wrongly"
    said = f"predicted <strong>{escape(predicted)}</strong>, {right}<br>" if label != NO_ANSWER else ""
    return (f'<div class="wf-chosen">{example}<div><strong>Query {number}</strong><br>{escape(noun)} '
            f'<strong>{escape(label)}</strong><br>{said}<span class="wf-num">{escape(measured)}</span></div></div>')


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """Names with their values, one a line."""
    lines = "".join(f"<div><span class='faint'>{escape(name)}</span> {escape(value)}</div>" for name, value in pairs)
    return f'<div class="wf-lines wf-num">{lines}</div>'


def detail_rows(rows: Sequence[tuple[str, bool, int, int, float]]) -> str:
    """A table: (chips as HTML, whether it asks something, rank, of how many, oriented score) of each specification."""
    body = "".join(f'<tr><td>{chips}</td><td class="number">{rank(position)} of {total:,}</td>'
                   f'<td class="number">{number(score)}</td><td class="effect">{effect(score, directed)[1]}</td></tr>'
                   for chips, directed, position, total, score in rows)
    return ('<table class="wf-detail"><thead><tr><th>specification</th><th class="number">rank</th>'
            f'<th class="number">score</th><th>effect</th></tr></thead><tbody>{body}</tbody></table>')
