"""Where every table and figure of the paper stands: at which scale it is published, and what that decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pandas as pd

from engine.experiments import EXPERIMENTS, FULL, Experiment, publish, reproduction
from engine.experiments.conventions import AS_PAPER, TITLES
from engine.experiments.enough import PublishedEvidence
from engine.experiments.experiment import QUICK
from engine.experiments.statements.findings import evidence, too_small
from engine.experiments.statements.statement import Finding


@dataclass(frozen=True)
class ScoreboardRow:
    """A table or figure of the paper. scale: the folder of the published result that decides most, with its preset,
    seeds and language model; empty where there is none. short: why that cannot show the effect, else empty. verdicts:
    how many statements about it have which verdict at that scale. elsewhere: the same of its other published scales.
    within: of the cells that have a tolerance, how many lie inside it, and how many there are; (0, 0) where nothing is
    judged.
    """

    name: str
    head: str
    shows: str
    scale: str = ""
    preset: str = ""
    seeds: int = 0
    model: str = ""
    short: str = ""
    verdicts: Counter[str] = field(default_factory=Counter)
    elsewhere: dict[str, Counter[str]] = field(default_factory=dict)
    within: tuple[int, int] = (0, 0)


def of_the_paper() -> list[str]:
    """The names of its tables and figures."""
    return [name for name, experiment in EXPERIMENTS.items() if FULL in experiment.presets]


def entries(findings: Sequence[Finding], out_dir: Path | str | None = None, whose: str = AS_PAPER
            ) -> list[ScoreboardRow]:
    """One for each table and figure, in their order. findings: what is known of all statements by these conventions.

    Raises `StoreError` for results that do not match their manifest.
    """
    return [_entry(EXPERIMENTS[name], [finding for finding in findings if finding.statement.needs[0] == name],
                   most_decisive(EXPERIMENTS[name], out_dir, whose)) for name in of_the_paper()]


def _entry(experiment: Experiment, findings: Sequence[Finding], largest: tuple[str, PublishedEvidence | None, str]
           ) -> ScoreboardRow:
    head, _, shows = experiment.title.partition(": ")
    scale, given, short = largest
    if given is None:
        return ScoreboardRow(experiment.name, head, shows)
    preset = str(given.manifest["preset"])
    model = str(given.table["model"].iloc[0]) if "model" in given.table else ""
    verdicts = {scale: Counter[str]()}
    for finding in findings:
        verdicts.setdefault(finding.scale, Counter())[finding.verdict] += 1
    return ScoreboardRow(experiment.name, head, shows, scale, preset, len(given.manifest["seeds"]), model, short,
                 verdicts.pop(scale), verdicts, _within(experiment, given.table, model) if preset == FULL else (0, 0))


def _within(experiment: Experiment, table: pd.DataFrame, model: str) -> tuple[int, int]:
    if not experiment.paper_table:
        return 0, 0
    joined = publish.comparison_with_paper(table, publish.PAPER / experiment.paper_table, experiment.tolerance, model)
    judged = joined["within"].dropna()
    return int(judged.sum()), len(judged)


def lacking(name: str, whose: str, out_dir: Path | str | None = None) -> str:
    """A sentence where an experiment has no results by these conventions, with the command that computes them at the
    scale which decides most by the paper's words."""
    if whose not in reproduction.offered(name):
        return f"`{name}` is computed by {TITLES[AS_PAPER]} only."
    _, given, _ = most_decisive(EXPERIMENTS[name], out_dir)
    preset = str(given.manifest["preset"]) if given else QUICK
    return (f"No results by {TITLES[whose]} are published yet; "
            f"`{reproduction.command(name, preset, conventions=whose)}` computes them.")


def most_decisive(experiment: Experiment, out_dir: Path | str | None, whose: str = AS_PAPER
                  ) -> tuple[str, PublishedEvidence | None, str]:
    """(scale, what is published there, why that cannot show the effect) of the scale that decides most: the paper's
    own, then one that can show the effect, of these one that is no quick check, then the one with most seeds; empty
    and None where there is none."""
    read: list[tuple[str, PublishedEvidence | None, str]] = []
    for scale in publish.scales(experiment.name, out_dir, whose):
        given = evidence(experiment.name, scale, out_dir)
        read.append((scale, given, "" if given is None else too_small(experiment.name, given)))
    return min(read, key=partial(_rank, experiment), default=("", None, ""))


def _rank(experiment: Experiment, read: tuple[str, PublishedEvidence | None, str]) -> tuple[bool, bool, bool, int]:
    scale, given, short = read
    preset = next((experiment.presets[name] for name in experiment.presets if scale.startswith(name)), None)
    return (preset is None or preset.name != FULL, given is None or bool(short),
            preset is None or preset.is_quick_check, 0 if given is None else -len(given.manifest["seeds"]))
