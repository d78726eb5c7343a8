"""A record of a language model as HTML: its prompt and its response, with the parts that are known marked."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from engine.data.records import Record

Spans = Mapping[str, tuple[int, int]]
SHORT = 90

STYLE = """<style>
.wf-text { font-size: .8rem; line-height: 1.45; overflow-wrap: anywhere; white-space: pre-wrap; margin-bottom: .3rem; }
.wf-text.large { font-size: .95rem; line-height: 1.6; }
.wf-text .said { display: block; margin-top: .25rem; padding-left: .5rem;
  border-left: 2px solid color-mix(in srgb, currentColor 35%, transparent); }
.wf-text mark { color: inherit; border-radius: 3px; padding: 0 .1em; }
.wf-text mark.answer { background: color-mix(in srgb, #009E73 30%, transparent); font-weight: 600; }
.wf-text mark.explanation { background: color-mix(in srgb, #E69F00 20%, transparent); }
.wf-text mark.context { background: color-mix(in srgb, #0072B2 22%, transparent); }
.wf-text mark.trigger { background: color-mix(in srgb, #D55E00 26%, transparent); }
.wf-chosen:has(.wf-text) { flex-wrap: wrap; }
.wf-text-key { font-size: .8rem; } .wf-text-key mark { margin-right: .8em; }
</style>"""


def html(record: Record, large: bool = False) -> str:
    """Prompt and response below each other; every text from the data is escaped."""
    size = " large" if large else ""
    return (f'<div class="wf-text{size}">{marked(record.prompt.strip(), record.marks)}'
            f'<span class="said">{marked(record.response, record.spans)}</span></div>')


def marked(text: str, spans: Spans) -> str:
    """A text with its spans marked, each named by its class; one that begins within another is left out."""
    found, at = [], 0
    for name, (start, end) in sorted(spans.items(), key=lambda item: item[1]):
        if start < at:
            continue
        found += [escape(text[at:start]), f'<mark class="{escape(name)}" title="{escape(name)}">'
                  f"{escape(text[start:end])}</mark>"]
        at = end
    return "".join(found) + escape(text[at:])


def key(names: list[str]) -> str:
    """What the marks mean, those that occur."""
    marks = "".join(f'<mark class="{escape(name)}">{escape(name)}</mark>' for name in names)
    return f'<div class="wf-text wf-text-key">{marks}</div>'


def short(record: Record, length: int = SHORT) -> str:
    """A record's prompt in one line."""
    line = " ".join(record.prompt.split())
    return line if len(line) <= length else f"{line[:length - 1]}…"
