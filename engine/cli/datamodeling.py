"""`datamodel` and `self-influence`: two measures that look at models, not at another ranking."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from engine.analysis.datamodels import linear_datamodeling_score, retrain, subsets
from engine.analysis.self_influence import self_influence
from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.basics.options import Options
from engine.cli.bringing import read_scores
from engine.cli.scoring import Setting, budget, check_output
from engine.cli.specs import read_spec, read_specs
from engine.metrics.agreement import summarize
from engine.scoring.compute import compute


def datamodel(data: Path, specs: Path, scores: Sequence[Path], out: Path, count: int, share: float, seed: int,
              setting: Setting) -> None:
    """Write the linear datamodeling score of every specification and score file as CSV."""
    check_output(out, ".csv", inputs=(data, specs, *scores))
    named = read_specs(specs, least=1)
    problem, available = setting.problem(data), budget(setting.memory)
    kept = subsets(len(problem.candidates), count, share, seed)
    found = dict(zip(named, compute(problem, list(named.values()), Options(budget=available)), strict=True))
    for name, brought in read_scores(scores, problem).items():
        if name in found:
            raise InvalidInput(f"Both a specification and a score file are named `{name}`; give one another name.")
        found[name] = brought
    models = retrain(problem, kept, Options(budget=available, progress=_bar(f"{count} models on subsets")))
    rows = []
    for name, one in found.items():
        outcomes = models.outcomes(one.scoring.behavior)
        summary = summarize(linear_datamodeling_score(one, outcomes, kept), interval_over="queries")
        rows.append({"name": name, "behavior": one.scoring.behavior, "mean": summary.mean, "ci95": summary.ci95,
                     "n_queries": summary.n_queries, "n_dropped": summary.n_dropped, "subsets": count, "share": share})
    atomic_write(out, pd.DataFrame(rows).to_csv(index=False, lineterminator="\n"))


def self_influences(data: Path, spec: Path, out: Path, setting: Setting) -> None:
    """Write the self-influence of every candidate as CSV, largest first."""
    check_output(out, ".csv", inputs=(data, spec))
    scoring, problem = read_spec(spec), setting.problem(data)
    values = self_influence(problem, scoring, Options(budget=budget(setting.memory), progress=_bar("self-influence")))
    labels = problem.y[problem.candidates].cpu().numpy()
    table = pd.DataFrame({"candidate": problem.candidates.cpu().numpy(), "label": labels, "self_influence": values})
    if missing := int(table.self_influence.isna().sum()):
        print(f"{missing} candidates did not converge, and have no value.", file=sys.stderr)
    ordered = table.sort_values("self_influence", ascending=False, kind="stable")
    atomic_write(out, ordered.to_csv(index=False, lineterminator="\n"))


def _bar(title: str):
    """Progress on stderr where that is a terminal."""
    bar = tqdm(total=1.0, disable=None, bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}", desc=title)

    def progress(share: float) -> None:
        bar.n = min(share, 1.0)
        bar.refresh()
        if share >= 1:
            bar.close()

    return progress
