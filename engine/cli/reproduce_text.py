"""What `reproduce` prints: a study's table beside the paper's, and what was cut short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from engine.experiments import Experiment, collinear, paper_numbers, publish

PAPER = "paper"


def truncation(manifest: Mapping[str, Any]) -> str:
    """A line on records of a language study that were longer than the context; empty where none was."""
    facts = [run.get("facts", {}) for run in manifest.get("runs", ())]
    cut = [own["truncated"] for own in facts if own.get("truncated")]
    return (f"\nUp to {max(cut):,} training records were longer than the context and cut at the start of the prompt.\n"
            if cut else "")


def collinearity(manifest: Mapping[str, Any]) -> str:
    """Lines on how alike the behaviors of a language study are; empty where it says nothing of them."""
    cosines = collinear.table(manifest)
    if cosines.empty:
        return ""
    rows = cosines.round(3).to_string(index=False)
    return ("\nCosine of the behaviors' mean query gradients, at the end, and the minimum over all checkpoints (if it "
            f"is {collinear.NEAR_ONE} or more at every checkpoint, a difference is inconclusive):\n{rows}\n")


def report(results: pd.DataFrame, experiment: Experiment, preset: str, whose: str) -> str:
    """The experiment's table beside the paper's, or alone where the paper gives no numbers. whose: its conventions."""
    paper = paper_numbers.cells(experiment)
    head = f"{experiment.title} · {experiment.presets[preset].title}"
    if paper is None:
        return f"{head}\n{len(results)} rows; the paper has no numbers for them."
    joined = publish.comparison_with_paper(paper_numbers.in_paper_names(results, whose, paper), paper,
                                           experiment.tolerance)
    notes = [_tally(joined, preset), experiment.beside(results["model"].iloc[0]) if "model" in results else ""]
    return f"{head}\n\n{_beside(joined, experiment.keys, judge=preset == PAPER)}\n\n{' '.join(filter(None, notes))}"


def _beside(joined: pd.DataFrame, keys: Sequence[str], judge: bool) -> str:
    """Paper, ours and difference, a line each, empty where we have nothing; cells outside their tolerance are marked if
    `judge`."""
    shown = joined[[key for key in (*keys, "dataset") if key in joined and joined[key].nunique() > 1]].copy()
    halves = joined["ci95"].map(" ± {:.3f}".format, na_action="ignore").fillna("")
    shown["paper"] = joined["paper"].map("{:.3f}".format)
    shown["ours"] = joined["ours"].map("{:.3f}".format, na_action="ignore") + halves
    shown["difference"] = joined["difference"].map("{:+.3f}".format, na_action="ignore")
    if judge:
        shown[""] = ["outside" if within is False else "" for within in joined["within"].astype(object)]
    return shown.fillna("").to_string(index=False)


def _tally(joined: pd.DataFrame, preset: str) -> str:
    if preset != PAPER:
        return f"± is a 95% t-interval over seeds. The paper's numbers are at its own scale: --preset {PAPER}."
    judged, within = joined["within"].count(), joined["within"].sum()
    return f"± is a 95% t-interval over seeds. {within} of {judged} cells with a tolerance lie within it."
