"""What is published, and the tables of the guides that tell of it."""

import json
from pathlib import Path

import pandas as pd

from engine.estimators.named import RENAMED
from engine.experiments.conventions import of_folder
from engine.experiments.statements import STATEMENTS
from engine.experiments.statements.findings import findings
from engine.experiments.statements.statement import Finding

ROOT = Path(__file__).parents[2]
GUIDE, NOISY_LABELS, POISON, REPRODUCING = ((ROOT / "assets" / "guides" / f"{name}.md").read_text(encoding="utf-8")
                      for name in ("language-models", "noisy-labels", "poison", "reproducing"))


def published(name: str, preset: str = "desk", **options) -> pd.DataFrame:
    """The published table of an experiment."""
    return pd.read_csv(ROOT / "assets" / "results" / name / preset / "results.csv", **options).replace(RENAMED)


def manifest(name: str, preset: str = "desk") -> dict:
    """What a published table was made from."""
    return json.loads((ROOT / "assets" / "results" / name / preset / "manifest.json").read_text(encoding="utf-8"))


def concluded(scale: str) -> dict[str, Finding]:
    """What a scale says of every statement that it is published for, by the statement's name."""
    judged = findings(STATEMENTS.values(), whose=of_folder(scale))
    return {found.statement.name: found for found in judged if found.scale == scale}


def rows(after: str, columns: int, guide: str = GUIDE) -> list[list[str]]:
    """The cells of the table that follows a sentence."""
    table = guide.partition(after)[2].partition("\n\n|")[2].partition("\n\n")[0]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in f"|{table}".splitlines()]
    assert len(found) > 3 and {len(row) for row in found} == {columns}
    return found[2:]


def with_interval(row):
    return f"{row['mean']:.2f} ± {row['ci95']:.2f}"


def by_seed(table, *columns):
    """The values of a table by these columns, a column a seed."""
    return table.set_index(list(columns))["seed_means"].str.split(expand=True).astype(float).sort_index()
