"""One example of the review desk as the browser draws it: what it looks like, why it is suspected, and its ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from app.noisy_labels import review_reasons
from app.widgets.examples import cards, pictures, table_rows
from engine.desk.analyses import FINE, UNSURE, WRONG, Decision
from engine.desk.datasets import Cell, Usual
from engine.desk.noisy_labels import NoisyData, Pair, Reasons, Scored, rankings

MARKS = {WRONG: "✗ wrong", FINE: "✓ fine", UNSURE: "? unsure"}
SIMILAR = "a similar example"


def drawn(sample: NoisyData, scored: Scored, ranks: Mapping[Pair, np.ndarray], pair: Pair, row: int,
          usual: Usual | None = None, reasons: Reasons | None = None) -> dict[str, Any]:
    """A row: its name, what it looks like and its reasons as HTML, its given label, and another that is suggested.
    usual: the searched rows as a table, where they are no pictures. reasons: who speaks against it, where that is
    known."""
    suggested = suggestion(sample, scored, row)
    table = "" if usual is None else _values(usual.cells(usual.frame.iloc[row], int(sample.evidence.y[row])))
    return {"called": called(sample, row), "looks": _looks(sample, scored, row, table),
            "given": int(sample.evidence.y[row]),
            "reasons": _alike(sample, scored, row, reasons) + ranks_html(ranks, pair, row, len(sample.evidence.y)),
            "suggested": None if suggested is None else {"label": suggested[0], "why": suggested[1]}}


def called(sample: NoisyData, row: int) -> str:
    """Which example it is: its row, with its file or else its row in the dataset."""
    files, at = sample.dataset.files, int(sample.rows[row])
    number = f"training example {row:,}"
    return f"{files[at]} · {number}" if files else f"{number} (row {at:,} of the dataset)"


def suggestion(sample: NoisyData, scored: Scored, row: int) -> tuple[int, str] | None:
    """Another label with what speaks for it, in words; None where nothing does."""
    given, predicted = int(sample.evidence.y[row]), int(scored.predicted[row])
    nearest = [int(sample.evidence.trusted_y[at]) for at in scored.nearest[row]]
    label = rankings.guess(given, predicted, nearest)
    if label is None:
        return None
    if label == predicted:
        return label, f"The model gives it a probability of {scored.probability[row]:.2f}."
    return label, (f"{nearest.count(label)} of the {len(nearest)} nearest examples have it; "
                   "the model predicts the given label.")


def _looks(sample: NoisyData, scored: Scored, row: int, table: str) -> str:
    """The picture, or the values of a table, with what is said of it."""
    names, given, said = sample.dataset.class_names, int(sample.evidence.y[row]), int(scored.predicted[row])
    shown = table or picture(sample, "train", int(sample.rows[row]), 132, f"training example {row}")
    lines = cards.facts([("given label", names[given]),
                         ("predicted", f"{names[said]}, with probability {scored.probability[row]:.2f}"),
                         ("p(given label)", f"{scored.own[row]:.2f}")])
    return f'<div class="wf-desk"><div>{shown}</div><div>{lines}</div></div>'


def _values(cells: Sequence[Cell]) -> str:
    """The values of a row, the unusual ones first and marked with how far they are out."""
    lines = "".join(
        f'<tr class="{"unusual" if cell.unusual else ""}"><th scope="row">{escape(cell.column)}</th>'
        f"<td>{escape(cell.value)}</td><td>{table_rows.out(cell)}</td></tr>" for cell in cells)
    z = '<th title="robust z-score among rows with the same given label">z</th>'
    return (f'<div class="wf-values"><table><thead><tr><th>column</th><th>value</th>{z}</tr></thead>'
            f"<tbody>{lines}</tbody></table></div>")


def _alike(sample: NoisyData, scored: Scored, row: int, reasons: Reasons | None) -> str:
    """The examples that look most alike to the model: trusted ones, or others in doubt where none is trusted."""
    names, in_turn = sample.dataset.class_names, sample.source.in_turn
    near = "".join(
        f"<figure>{picture(sample, sample.trusted_split, int(sample.trusted_rows[at]), 60, SIMILAR)}"
        f"<figcaption>{escape(names[int(sample.evidence.trusted_y[at])])}</figcaption></figure>"
        for at in scored.nearest[row])
    title = ("Most similar according to a model that was not trained on it; their labels are unverified "
             "too") if in_turn else (
        "Nearest trusted examples")
    beside = "" if reasons is None else review_reasons.html(sample, reasons, row, [
        picture(sample, sample.trusted_split, int(at), 60, "an example that opposes the label")
        for at in review_reasons.examples(sample, reasons, row)])
    return f'<div class="wf-desk"><div><h6>{title}</h6><div class="wf-near">{near}</div></div>{beside}</div>'


def picture(sample: NoisyData, split: str, index: int, side: int, alt: str) -> str:
    """A picture; of a table the first cells of the row."""
    dataset = sample.dataset
    if dataset.image_shape is not None:
        return pictures.as_it_came(dataset, split, index, side, alt)
    return table_rows.html(dataset, split, index, alt)


def ranks_html(all_ranks: Mapping[Pair, np.ndarray], chosen: Pair, row: int, n: int) -> str:
    """The rank under every specification, the chosen one in bold."""
    lines = "".join(f'<div class="{"own" if pair == chosen else ""}"><span>{escape(pair.title)}</span>'
                    f"<span>{int(ranks[row]):,}</span></div>" for pair, ranks in all_ranks.items())
    return (f'<div class="wf-desk"><div style="flex:1"><h6>Rank under each specification, of {n:,}</h6>'
            f'<div class="wf-ranks">{lines}</div></div></div>')


def mark(decision: Decision | None) -> str:
    """What was decided about an example, in a word; empty where nothing was."""
    if decision is None:
        return ""
    return f'· <span class="wf-mark-{decision.verdict}">{MARKS[decision.verdict]}</span>'
