"""Training records under several behaviors side by side, and one record as text with what is known of it marked."""

from __future__ import annotations

import json
from collections.abc import Collection
from html import escape

import numpy as np
import pandas as pd

from engine.applications.language.detection import TOP
from engine.applications.language.estimators import LANGUAGE_ESTIMATORS
from engine.applications.language.rankings import behavior_title
from engine.runs.language import column

CORRUPTED = {"answer": "answer", "poison": "answer", "rationale": "explanation"}
"""Flag -> the span that was changed."""
STYLE = """<style>
.wf-record { border: 1px solid color-mix(in srgb, currentColor 14%, transparent); border-radius: 8px;
  padding: .8rem 1rem; line-height: 1.75; font-size: .96rem; overflow-wrap: anywhere; }
.wf-record h5 { margin: 0 0 .3rem; padding: 0; font-size: .8rem; opacity: .75; font-weight: 600; }
.wf-record p { margin: 0 0 .8rem; white-space: pre-wrap; }
.wf-record mark { color: inherit; border-radius: 3px; padding: 0 .1em; }
.wf-record mark.context { background: color-mix(in srgb, #0072B2 22%, transparent); }
.wf-record mark.trigger { background: color-mix(in srgb, #D55E00 26%, transparent); }
.wf-record .changed { text-decoration: underline wavy; text-decoration-thickness: 1.5px;
  text-underline-offset: 4px; }
.wf-key { font-size: .87rem; display: flex; flex-wrap: wrap; gap: .35rem 1.1rem; margin: .4rem 0; }
.wf-key span span { border-radius: 3px; padding: 0 .45em; margin-right: .35em; }
</style>"""


def ranks(records: pd.DataFrame, estimator: str, behaviors, layer: float) -> pd.DataFrame:
    """Rank of every record under each behavior, 1 supports most; an estimator that reads none has one column."""
    names = behaviors if LANGUAGE_ESTIMATORS[estimator].behavioral else ("none",)
    return pd.DataFrame({name: records[column(estimator, name, layer)].rank(ascending=False, method="first").astype(int)
                         for name in names})


def listed(records: pd.DataFrame, estimator: str, behavior: str, behaviors, harmful: bool,
           layer: float = 1.0) -> pd.DataFrame:
    """The records, what is sought first, with their text, score, flags and rank under every behavior."""
    reads = LANGUAGE_ESTIMATORS[estimator].behavioral
    score = records[column(estimator, behavior if reads else "none", layer)]
    placed = ranks(records, estimator, behaviors, layer)
    if harmful and LANGUAGE_ESTIMATORS[estimator].directed:
        placed = len(records) + 1 - placed
    own = behavior if reads else "none"
    others = {f"rank · {behavior_title(name).lower()}": placed[name] for name in placed if name != own}
    found = pd.DataFrame({"rank": placed[own], "record": records["record"], "score": score,
                          "known as": [", ".join(json.loads(flags)) for flags in records["flags"]], **others,
                          "prompt": records["prompt"], "response": records["response"]})
    return found.sort_values("rank").reset_index(drop=True)


def found_by(table: pd.DataFrame, first: str, second: str, behavior: str) -> pd.DataFrame:
    """Records in the top tenth under `first` and not under `second`."""
    limit = int(np.ceil(TOP * len(table)))

    def rank(name: str) -> pd.Series:
        return table["rank"] if name == behavior else table[f"rank · {behavior_title(name).lower()}"]

    return table[(rank(first) <= limit) & (rank(second) > limit)].sort_values("rank").reset_index(drop=True)


def record_html(row: pd.Series, tokens: pd.DataFrame | None) -> str:
    """Prompt with its markers, response with the changed span underlined and every token shaded by contribution."""
    marks = json.loads(row["marks"])
    return (f'<div class="wf-record"><h5>Prompt</h5><p>{_marked(row["prompt"], marks)}</p>'
            f'<h5>Response</h5><p style="margin:0">{_response(row["response"], changed(row), tokens)}</p></div>')


def changed(row: pd.Series) -> list[list[int]]:
    """The spans of the response that are known to be corrupted."""
    spans, flags = json.loads(row["spans"]), json.loads(row["flags"])
    return [spans[CORRUPTED[flag]] for flag in flags if flag in CORRUPTED and CORRUPTED[flag] in spans]


def key(shaded: bool, flagged: bool, marks: Collection[str]) -> str:
    """What the marks mean, those that occur."""
    parts = []
    if "context" in marks:
        parts.append(("background:color-mix(in srgb, #0072B2 22%, transparent)", "context marker"))
    if "trigger" in marks:
        parts.append(("background:color-mix(in srgb, #D55E00 26%, transparent)", "trigger"))
    if shaded:
        parts += [(_shade(0.8), "token supports the behavior"), (_shade(-0.8), "token opposes it")]
    if flagged:
        parts.append(("text-decoration:underline wavy", "what was changed"))
    return ('<div class="wf-key">' + "".join(f'<span><span style="{style}">ab</span>{escape(text)}</span>'
                                             for style, text in parts) + "</div>")


def _marked(text: str, marks: dict) -> str:
    found, at = [], 0
    for name, (start, end) in sorted(marks.items(), key=lambda item: item[1]):
        found += [escape(text[at:start]), f'<mark class="{escape(name)}" title="{escape(name)}">'
                  f"{escape(text[start:end])}</mark>"]
        at = end
    return "".join(found) + escape(text[at:])


def _response(text: str, changed: list, tokens: pd.DataFrame | None) -> str:
    """The response in pieces that share shade and underline."""
    shades = np.zeros(len(text))
    titles: list[str] = [""] * len(text)
    if tokens is not None and len(tokens):
        largest = max(float(tokens["contribution"].abs().max()), 1e-30)
        at = 0
        for piece, value in zip(tokens["text"], tokens["contribution"], strict=True):
            start = text.find(piece.strip(), at) if piece.strip() else -1
            if start < 0 or start > at + 3:
                continue  # an end-of-turn token, or a character in several tokens
            end = start + len(piece.strip())
            shades[start:end] = value / largest
            titles[start:end] = [f"{value:+.2e}"] * (end - start)
            at = end
    under = np.zeros(len(text), dtype=bool)
    for start, end in changed:
        under[start:end] = True
    found, start = [], 0
    for at in range(1, len(text) + 1):
        if at == len(text) or (shades[at], titles[at], under[at]) != (shades[start], titles[start], under[start]):
            style = _shade(shades[start]) if abs(shades[start]) > 0.03 else ""
            kind = ' class="changed"' if under[start] else ""
            title = f' title="contribution {titles[start]}"' if titles[start] else ""
            piece = escape(text[start:at])
            found.append(f'<span{kind} style="{style}"{title}>{piece}</span>' if kind or style or title else piece)
            start = at
    return "".join(found)


def _shade(share: float) -> str:
    hue = "#0072B2" if share > 0 else "#D55E00"
    strength = round(12 + 48 * min(1.0, abs(share)))
    return f"background:color-mix(in srgb, {hue} {strength}%, transparent);border-radius:3px"
