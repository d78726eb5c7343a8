"""The question that a method and a trusted behavior ask, as chips and as one English sentence."""

from __future__ import annotations

from html import escape

from engine.applications.noisy_labels.pairs import METHODS, NONE, Pair

AXES = "BPT"


def question(pair: Pair) -> str:
    """The question that a pair asks, with its three axes as chips where it estimates an influence."""
    method = next(method for method in METHODS.values() if method.title == pair.method)
    axes = [text.replace("trusted behavior", pair.behavior.lower()) if letter == "B" else text
            for letter, text in zip(AXES, method.axes, strict=False)]
    chips = "".join(f'<span class="wf-chip {letter}"><b>{letter}</b>{escape(text)}</span>'
                    for letter, text in zip(AXES, axes, strict=False))
    asked = method.question if pair.behavior == NONE else method.question.replace(
        "trusted behavior", f"trusted examples’ {pair.behavior.removeprefix('Trusted ').lower()}")
    if pair.behavior == "Trusted loss":
        asked = asked.replace("lower the trusted examples’ loss", "raise the trusted examples’ loss")
    return f'<div class="wf-question">{escape(asked)}</div><div class="wf-chips">{chips}</div>'
