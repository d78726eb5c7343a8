"""Which verified examples speak against a label, asked for by the desk in the background."""

from __future__ import annotations

from html import escape

import numpy as np

from app.widgets.examples import cards
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from engine.desk.noisy_labels import LabelReasonsRequest, NoisyData, Reasons
from engine.desk.waiting import Waiting


def known(sample: NoisyData) -> Reasons | Waiting:
    """The reasons, or what to wait for: they are asked for behind everything that a person starts."""
    request = LabelReasonsRequest(source=sample.source)
    answer = desk().known(request)
    if isinstance(answer, Reasons | Waiting):
        return answer
    return desk().jobs.wait(request.name, request.payload, request.job_title)


def wait(answer: Reasons | Waiting) -> None:
    """How far they are, below a desk that goes on without them."""
    if isinstance(answer, Waiting):
        job_panel.watch(answer)


def sentence(reasons: Reasons, row: int) -> str:
    """How many speak against it, in words."""
    if reasons.of:
        return (f"{reasons.folds[row]} of the {reasons.of} held-out folds contradict the given label, and "
                f"{reasons.against[row]:.0%} of their examples.")
    return f"{reasons.against[row]:.0%} of the verified examples contradict the given label."


def html(sample: NoisyData, reasons: Reasons, row: int, picture: list[str]) -> str:
    """The examples that speak most against it. picture: of each, as HTML."""
    names = sample.dataset.class_names
    shown = "".join(
        f"<figure>{one}<figcaption>{escape(names[int(sample.evidence.trusted_y[query])])}<br>"
        f"{cards.number(float(score))}</figcaption></figure>"
        for one, query, score in zip(picture, reasons.queries[row], reasons.scores[row], strict=True) if score < 0)
    title = "Held-out examples that most contradict it" if reasons.of else (
        "Verified examples that most contradict it")
    note = ("Below each: its label, and the first-order change of its log-likelihood after a step of size 1 on this "
            "example.")
    return (f'<div><h6>{title}</h6><div class="wf-near">{shown}</div>'
            f'<div class="wf-known">{sentence(reasons, row)} {note}</div></div>')


def examples(sample: NoisyData, reasons: Reasons, row: int) -> np.ndarray:
    """The rows, in the dataset's split of the verified examples, of those that speak most against it."""
    return sample.trusted_rows[reasons.queries[row]]
