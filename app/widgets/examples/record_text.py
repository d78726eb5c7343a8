"""A record of a language model as HTML: its prompt and its response, with what is known and what is queried marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from app.widgets.words import look
from engine.desk.datasets import Record
from engine.desk.language_queries import response_tokens
from engine.question.worded import Span, TokenRange
from engine.scoring.scoring import Scoring

Spans = Mapping[str, tuple[int, int]]
Ranges = Sequence[tuple[int, int]]
SHORT = 90
ABOUT = "asked about"

STYLE = look.style("record-text")


def html(record: Record, large: bool = False, words: Ranges = ()) -> str:
    """Prompt and response below each other; every text from the data is escaped. words: of the response, underlined."""
    size = " large" if large else ""
    return (f'<div class="wf-text{size}">{marked(record.prompt.strip(), record.marks)}'
            f'<span class="said">{marked(record.response, record.spans, words)}</span></div>')


def queried(record: Record, query: int, scorings: Iterable[Scoring], model: str) -> Ranges:
    """Where the words and tokens stand, in the response of a query, that some of the scorings ask about. model: whose
    tokens they are, by its name."""
    words = [scoring.readout.words for scoring in scorings]
    spans = {span for one in words if isinstance(one, Span) and one.query in (None, query)
             for span in one.matches(record.response)}
    for one in words:
        if isinstance(one, TokenRange) and one.query == query:
            tokens = response_tokens(model, record)[one.first:one.last + 1]
            spans |= {(tokens[0].start, tokens[-1].end)} if tokens else set()
    return sorted(spans)


def marked(text: str, spans: Spans, words: Ranges = ()) -> str:
    """A text with its spans marked, each named by its class; one that begins within another is left out. words: what
    is underlined beside, in the order of the text, within spans or across their ends."""
    pieces, at = [], 0
    for name, (start, end) in sorted(spans.items(), key=lambda item: item[1]):
        if start < at:
            continue
        pieces += [_underlined(text, at, start, words), f'<mark class="{escape(name)}" title="{escape(name)}">'
                  f"{_underlined(text, start, end, words)}</mark>"]
        at = end
    return "".join(pieces) + _underlined(text, at, len(text), words)


def _underlined(text: str, at: int, end: int, words: Ranges) -> str:
    """text[at:end], escaped, with the queried ranges of it."""
    pieces = []
    for first, last in words:
        first, last = max(first, at), min(last, end)
        if first < last:
            pieces += [escape(text[at:first]), f'<span class="asked" title="{ABOUT}">{escape(text[first:last])}</span>']
            at = last
    return "".join(pieces) + escape(text[at:end])


def key(names: list[str], words: bool = False) -> str:
    """What the marks mean, those that occur. words: whether some are queried."""
    marks = "".join(f'<mark class="{escape(name)}">{escape(name)}</mark>' for name in names)
    queried_key = f'<span class="asked">{ABOUT}</span>' if words else ""
    return f'<div class="wf-text wf-text-key">{marks}{queried_key}</div>'


def short(record: Record, length: int = SHORT) -> str:
    """A record's prompt in one line."""
    line = " ".join(record.prompt.split())
    return line if len(line) <= length else f"{line[:length - 1]}…"
