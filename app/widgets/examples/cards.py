"""Examples as cards: pure functions from values to HTML, with every text from the data escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

SHOWN_FEATURES = 5

STYLE = """
<style>
.wf-example { font-size: .8rem; line-height: 1.35; font-variant-numeric: tabular-nums; width: 100%; }
.wf-example .wf-picture, .wf-example .wf-features { margin-bottom: .3rem; }
.wf-example .name { font-weight: 600; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.wf-example .said { font-weight: 600; overflow-wrap: anywhere; }
.wf-example .faint { opacity: .75; }
.wf-example .ranks { font-size: .76rem; opacity: .9; }
.wf-example .ranks .own { font-weight: 700; text-decoration: underline; text-underline-offset: 2px; }
.wf-column { font-size: .9rem; font-weight: 600; line-height: 1.35; }
.wf-example .effect { display: inline-block; font-weight: 600; margin-right: .35rem; }
.wf-example .bar { height: 4px; border-radius: 2px; margin: .16rem 0; min-width: 2px; }
.wf-example .bar.helps { background: #0072B2; } .wf-example .bar.harms { background: #D55E00; }
.wf-example .bar.neither { background: #7F7F7F; }
.wf-example .once { display: inline-block; margin-top: .15rem; padding: 0 .35rem; border-radius: 4px; font-weight: 600;
  background: color-mix(in srgb, #CC79A7 30%, transparent); border: 1px solid #CC79A7; }
.wf-features { border-collapse: collapse; font-size: .74rem; }
.wf-features th { font-weight: 400; opacity: .75; text-align: left; padding: 0 .5rem 0 0; }
.wf-features td { text-align: right; padding: 0; }
.wf-chosen { display: flex; gap: 1rem; align-items: center; font-size: .95rem; line-height: 1.5; }
.wf-lines { font-size: .95rem; line-height: 1.6; } .wf-lines .faint { opacity: .75; }
.wf-detail { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
.wf-detail th, .wf-detail td { text-align: left; padding: .35rem .5rem .35rem 0; vertical-align: middle;
  border-bottom: 1px solid color-mix(in srgb, currentColor 14%, transparent); }
.wf-detail td.number, .wf-detail td.effect { text-align: right; white-space: nowrap; }
.wf-detail td.effect { text-align: left; }
.wf-detail th.number { text-align: right; }
[class*="st-key-pick-"] { position: relative; border-radius: 6px; padding: .4rem;
  border: 1px solid color-mix(in srgb, currentColor 13%, transparent); }
[class*="st-key-pick-"]:hover { border-color: #0072B2; }
[class*="st-key-pick-"]:focus-within { outline: 2px solid #0072B2; outline-offset: 1px; }
[class*="st-key-pick-"] [data-testid="stElementContainer"]:has([data-testid="stButton"]) {
  position: absolute; inset: 0; width: 100% !important; height: 100%; opacity: 0; }
[class*="st-key-pick-"] [data-testid="stElementContainer"]:has([data-testid="stButton"]) * {
  width: 100% !important; height: 100%; min-height: 0; cursor: pointer; }
[class*="st-key-pick-chosen-"] { border: 2px solid #0072B2; padding: calc(.4rem - 1px);
  background: color-mix(in srgb, #0072B2 12%, transparent); }
</style>
"""


def features(values: Sequence[float], description: str, shown: int = SHOWN_FEATURES) -> str:
    """The first feature values of an example that is not a picture, as a small table."""
    rows = "".join(f"<tr><th scope='row'>x{place}</th><td>{value:.3g}</td></tr>"
                   for place, value in enumerate(values[:shown]))
    more = f"<tr><td colspan='2'>… {len(values) - shown} more</td></tr>" if len(values) > shown else ""
    return f'<table class="wf-features" aria-label="{escape(description, quote=True)}">{rows}{more}</table>'


def effect(score: float, asked: bool = True) -> tuple[str, str]:
    """(class, words) of an oriented score: a mark, and whether the example helps or harms; that of a baseline says
    neither."""
    if not asked:
        return "neither", "baseline"
    if score > 0:
        return "helps", "▲ helps"
    return ("harms", "▼ harms") if score < 0 else ("neither", "● neither")


def number(score: float) -> str:
    """A score with its sign and three digits, with a true minus sign."""
    if math.isnan(score):
        return "no score"
    digits, _, exponent = f"{score:+.3g}".partition("e")
    return (f"{digits}e{int(exponent)}" if exponent else digits).replace("-", "−")


def rank(value: int) -> str:
    """A rank, or a dash where there is none."""
    return str(value) if value > 0 else "–"


def ranked(example: str, label: str, ranks: Sequence[int], own: int, score: float, largest: float,
           once: bool, asked: bool = True) -> str:
    """A ranked training example: `example` is its picture or table; `own` the column it stands in; asked: whether that
    is the answer to a question."""
    kind, words = effect(score, asked)
    width = 100.0 * min(1.0, abs(score) / largest) if largest > 0 else 0.0
    places = " · ".join(f'<span class="own">{rank(value)}</span>' if place == own else rank(value)
                        for place, value in enumerate(ranks))
    mark = '<div class="once">only here</div>' if once else ""
    name = f'<div class="name" title="{escape(label, quote=True)}">{escape(label)}</div>'
    return (f'<div class="wf-example">{example}{name}'
            f'<div class="ranks" title="rank in each column">{places}</div><div>{number(score)}</div>'
            f'<div class="bar {kind}" style="width:{width:.0f}%"></div><div class="effect">{words}</div>{mark}</div>')


def itself(example: str, place: int, label: str, value: float, largest: float, said: str, measured: str) -> str:
    """A training example with its influence on itself, and what the model says of it, with how sure it is."""
    width = 100.0 * min(1.0, abs(value) / largest) if largest > 0 else 0.0
    kind = effect(value)[0]
    wrong = f'<div class="faint">the model says {escape(said)}</div>' if said != label else ""
    return (f'<div class="wf-example">{example}<div class="name" title="{escape(label, quote=True)}">{place}. '
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
    return (f'<div class="wf-chosen">{example}<div><strong>Query {number}</strong><br>{escape(noun)} '
            f'<strong>{escape(label)}</strong><br>the model says <strong>{escape(predicted)}</strong>, {right}<br>'
            f'<span class="wf-num">{escape(measured)}</span></div></div>')


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """Names with their values, one a line."""
    lines = "".join(f"<div><span class='faint'>{escape(name)}</span> {escape(value)}</div>" for name, value in pairs)
    return f'<div class="wf-lines wf-num">{lines}</div>'


def detail_rows(rows: Sequence[tuple[str, bool, int, int, float]]) -> str:
    """A table: (chips as HTML, whether it asks something, rank, of how many, oriented score) of each specification."""
    body = "".join(f'<tr><td>{chips}</td><td class="number">{rank(place)} of {total:,}</td>'
                   f'<td class="number">{number(score)}</td><td class="effect">{effect(score, asked)[1]}</td></tr>'
                   for chips, asked, place, total, score in rows)
    return ('<table class="wf-detail"><thead><tr><th>specification</th><th class="number">rank</th>'
            f'<th class="number">score</th><th>effect</th></tr></thead><tbody>{body}</tbody></table>')
