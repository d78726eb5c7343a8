"""Where every table and figure of the paper stands: at which scale it is published, and what that decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from engine.experiments import EXPERIMENTS, FULL, Experiment, paper_numbers, publish, reproduction
from engine.experiments.conventions import AS_PAPER, TITLES, folder, of_folder
from engine.experiments.enough import PublishedEvidence
from engine.experiments.experiment import QUICK
from engine.experiments.statements.findings import evidence, too_small
from engine.experiments.statements.statement import Finding

BOTH, NEITHER = "both", "neither"


@dataclass(frozen=True)
class ScoreboardRow:
    """A table or figure of the paper. scale: the folder of the published result that decides most, with its preset,
    seeds and language model; empty where there is none. short: why that cannot show the effect, else empty. verdicts:
    how many statements about it have which verdict at that scale. elsewhere: the same of its other published scales.
    within: of the cells that have a tolerance, how many lie inside it, and how many there are; (0, 0) where nothing is
    judged. reproduced: at the paper's own scale, of the same cells by which conventions they lie inside: `BOTH`, one of
    `conventions.TITLES` alone, `NEITHER`; those by which nothing is published there stand in `not_run`.
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
    reproduced: dict[str, int] = field(default_factory=dict)
    not_run: tuple[str, ...] = ()


def of_the_paper() -> list[str]:
    """The names of its tables and figures."""
    return [name for name, experiment in EXPERIMENTS.items() if FULL in experiment.presets]


def entries(findings: Sequence[Finding], out_dir: Path | str | None = None, whose: str = AS_PAPER
            ) -> list[ScoreboardRow]:
    """One for each table and figure, in their order. findings: what is known of all statements by these conventions.

    Raises `StoreError` for results that do not match their manifest.
    """
    return [_entry(EXPERIMENTS[name], [finding for finding in findings if finding.statement.needs[0] == name],
                   most_decisive(EXPERIMENTS[name], out_dir, whose), out_dir) for name in of_the_paper()]


def _entry(experiment: Experiment, findings: Sequence[Finding], largest: tuple[str, PublishedEvidence | None, str],
           out_dir: Path | str | None) -> ScoreboardRow:
    head, _, shows = experiment.title.partition(": ")
    scale, given, short = largest
    inside = {whose: _inside(experiment, whose, out_dir) for whose in TITLES}
    reproduced, not_run = _reproduced(inside), tuple(whose for whose, cells in inside.items() if cells is None)
    if given is None:
        return ScoreboardRow(experiment.name, head, shows, reproduced=reproduced, not_run=not_run)
    preset = str(given.manifest["preset"])
    model = str(given.table["model"].iloc[0]) if "model" in given.table else ""
    verdicts = {scale: Counter[str]()}
    for finding in findings:
        verdicts.setdefault(finding.scale, Counter())[finding.verdict] += 1
    cells = inside[of_folder(scale)] if preset == FULL else None
    return ScoreboardRow(experiment.name, head, shows, scale, preset, len(given.manifest["seeds"]), model, short,
                         verdicts.pop(scale), verdicts, (sum(cells.values()), len(cells)) if cells else (0, 0),
                         reproduced, not_run)


def _inside(experiment: Experiment, whose: str, out_dir: Path | str | None) -> dict[tuple[str, ...], bool] | None:
    """Cell -> whether ours lies inside its tolerance, of the cells at the paper's own scale that have one; None where
    nothing is published there by these conventions."""
    known, cells = publish.published(experiment.name, folder(FULL, whose), out_dir), paper_numbers.cells(experiment)
    if known is None or cells is None:
        return None
    table = paper_numbers.in_paper_names(known[0], whose, cells)
    joined = publish.comparison_with_paper(table, cells, experiment.tolerance).dropna(subset="within")
    keys = [key for key in (*experiment.keys, "behavior") if key in joined]
    return dict(zip(joined[keys].itertuples(index=False, name=None), joined["within"].astype(bool), strict=True))


def _reproduced(inside: Mapping[str, Mapping[tuple[str, ...], bool] | None]) -> dict[str, int]:
    """How many cells lie inside by which conventions; empty where none is published at the paper's own scale."""
    run = {whose: cells for whose, cells in inside.items() if cells is not None}
    counts: Counter[str] = Counter()
    for cell in dict.fromkeys(cell for cells in run.values() for cell in cells):
        by = [whose for whose, cells in run.items() if cells.get(cell)]
        counts[BOTH if len(by) == len(TITLES) else by[0] if by else NEITHER] += 1
    return {name: counts[name] for name in (BOTH, *TITLES, NEITHER) if counts[name]}


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
    own, then one that can show the effect, of these one that is no quick check, then one with an interval over seeds,
    then one whose images are not averaged, then the one with most seeds; empty and None where there is none."""
    read: list[tuple[str, PublishedEvidence | None, str]] = []
    for scale in publish.scales(experiment.name, out_dir, whose):
        given = evidence(experiment.name, scale, out_dir)
        read.append((scale, given, "" if given is None else too_small(experiment.name, given)))
    return min(read, key=partial(_rank, experiment), default=("", None, ""))


def _rank(experiment: Experiment, read: tuple[str, PublishedEvidence | None, str]
          ) -> tuple[bool, bool, bool, bool, bool, int]:
    scale, given, short = read
    preset = next((experiment.presets[name] for name in experiment.presets if scale.startswith(name)), None)
    seeds = 0 if given is None else len(given.manifest["seeds"])
    return (preset is None or preset.name != FULL, given is None or bool(short),
            preset is None or preset.is_quick_check, seeds < 2, preset is None or preset.averages_images, -seeds)
