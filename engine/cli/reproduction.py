"""`reproduce`: run a study to its end from wherever it stands, publish its table, compare it with the paper's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from engine.basics.errors import InvalidInput
from engine.basics.registry import unknown
from engine.cli.scoring import budget
from engine.experiments import EXPERIMENTS, publish
from engine.jobs import Bar, run_job
from engine.problems.problem import pick_device

PAPER = "paper"


def reproduce(name: str, preset: str, seeds: int | None, out: Path | None, device: str, memory: float,
              model: str | None = None) -> None:
    """Run, publish and print; a run that was interrupted goes on from its last finished chunk."""
    experiment = EXPERIMENTS[name]
    if preset not in experiment.presets:
        raise InvalidInput(unknown(f"preset of `{name}`", preset, experiment.presets))
    folder = publish.RESULTS if out is None else out
    _check_writable(folder)
    options = {"device": str(pick_device(device)), "budget": budget(memory)}
    with Bar(f"{name}, {preset}") as bar:
        result = run_job(experiment.study, experiment.payload(preset, seeds, model), options=options, watch=bar)
    target = publish.publish(experiment, result, preset, folder)
    print(report(publish.read_table(target / publish.TABLE), experiment, preset))
    print(truncation(result.manifest), end="")
    print(f"\nWritten: {target / publish.TABLE}, {target / publish.MANIFEST}")


def truncation(manifest: Mapping[str, Any]) -> str:
    """A line on records of a language study that were longer than the context; empty where none was."""
    facts = [run.get("facts", {}) for run in manifest.get("runs", ())]
    cut = [told["truncated"] for told in facts if told.get("truncated")]
    return (f"\nUp to {max(cut):,} training records were longer than the context and lost the start of their prompt.\n"
            if cut else "")


def report(results: pd.DataFrame, experiment, preset: str) -> str:
    """The experiment's table beside the paper's, or alone where the paper gives no numbers."""
    paper = publish.PAPER / experiment.paper_table if experiment.paper_table else None
    head = f"{experiment.title} · {experiment.presets[preset].title}"
    if paper is None or not paper.is_file():
        return f"{head}\n{len(results)} rows; there are no numbers of the paper to compare with."
    joined = publish.comparison_with_paper(results, paper, experiment.tolerance)
    told = [_tally(joined, preset), experiment.beside(results["model"].iloc[0]) if "model" in results else ""]
    return f"{head}\n\n{_beside(joined, experiment.keys, judge=preset == PAPER)}\n\n{' '.join(filter(None, told))}"


def _beside(joined: pd.DataFrame, keys: Sequence[str], judge: bool) -> str:
    """Paper, ours and difference, a line each; cells outside their tolerance are marked if `judge`."""
    shown = joined[[key for key in (*keys, "dataset") if key in joined and joined[key].nunique() > 1]].copy()
    halves = joined["ci95"].map(" ± {:.3f}".format, na_action="ignore").fillna("")
    shown["paper"] = joined["paper"].map("{:.3f}".format)
    shown["ours"] = joined["ours"].map("{:.3f}".format) + halves
    shown["difference"] = joined["difference"].map("{:+.3f}".format)
    if judge:
        shown[""] = ["outside" if within is False else "" for within in joined["within"].astype(object)]
    return shown.fillna("").to_string(index=False)


def _tally(joined: pd.DataFrame, preset: str) -> str:
    if preset != PAPER:
        return f"± is a 95% t-interval over seeds. The paper's numbers are at its own scale: --preset {PAPER}."
    judged, within = joined["within"].count(), joined["within"].sum()
    return f"± is a 95% t-interval over seeds. {within} of {judged} cells with a tolerance lie within it."


def _check_writable(folder: Path) -> None:
    """Refuse before the run what could not be written after it."""
    standing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not standing.is_dir() or not os.access(standing, os.W_OK):
        raise InvalidInput(f"Results cannot be written to `{folder}`; name another folder with --out.")
