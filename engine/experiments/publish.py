"""Published results: one table of the paper as we compute it, small files with their provenance.

    OUT/NAME/PRESET/results.csv     the experiment's table, numbers with six significant digits
    OUT/NAME/PRESET/manifest.json   what it was made from and with, and the command that recomputes it

What was computed as the authors' code does stands beside them in PRESET-authors.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shlex
from collections.abc import Callable, Mapping
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from engine.basics.errors import InvalidInput, StoreError
from engine.basics.files import disk_errors, write_together
from engine.basics.strict_json import parse_object
from engine.estimators.named import RENAMED
from engine.experiments import conventions, more_seeds
from engine.metrics.intervals import t_quantile, welch_half_width
from engine.store.results import Result

if TYPE_CHECKING:
    from engine.experiments import Experiment

ASSETS = Path(__file__).parents[2] / "assets"
RESULTS, PAPER = ASSETS / "results", ASSETS / "paper"
FOLDER = "WHICHFLUENCE_RESULTS"
TABLE, MANIFEST = "results.csv", "manifest.json"
VALUES = ("mean", "spread")
PAPER_SEEDS = 3
"""Training seeds behind every cell of the paper; its ± is the standard deviation over them."""
NUMBERS, COUNTS = (*VALUES, "ci95"), ("n_seeds", "n_queries", "n_train", "n_candidates", "n_dropped")
OF_THE_STORE = ("files", "seal", "format", "digest", "kind")


def publish(experiment: Experiment, result: Result, preset: str, out_dir: Path | str | None = None, *,
            add: bool = False) -> Path:
    """Write results.csv and manifest.json of one experiment, both or neither; returns their folder.

    Default folder: assets/results of this checkout. add: put its seeds together with those that stand there.
    Raises `StoreError` where it cannot be written, `InvalidInput` where its seeds cannot be added.
    """
    scale = scale_folder(experiment, result.manifest["payload"], preset)
    folder = Path(RESULTS if out_dir is None else out_dir) / experiment.name / scale
    table = experiment.view({name: result.table(name) for name in result.tables})
    record = manifest(experiment, result, preset)
    if add:
        fresh = read_table(BytesIO(_csv(table)))
        table, record = more_seeds.together(_standing(experiment, scale, out_dir), (fresh, record))
        record["command"] = _command(experiment, record["payload"], preset)
    content = _csv(table)
    record["files"] = {TABLE: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}}
    with disk_errors(f"`{folder}`"):
        folder.mkdir(parents=True, exist_ok=True)
    write_together({folder / TABLE: content,
                    folder / MANIFEST: json.dumps(record, indent=1, ensure_ascii=False) + "\n"})
    return folder


def check_addable(experiment: Experiment, payload: Mapping[str, Any], preset: str, out_dir: Path | str) -> None:
    """Raises `InvalidInput` where the seeds of a payload cannot be added to what is published, before they run."""
    _, standing = _standing(experiment, scale_folder(experiment, payload, preset), out_dir)
    more_seeds.check(standing, payload)


def _standing(experiment: Experiment, scale: str, out_dir: Path | str | None) -> tuple[pd.DataFrame, dict]:
    """What is published already."""
    standing = published(experiment.name, scale, out_dir)
    if standing is None:
        raise InvalidInput(f"`{experiment.name}` is not published at the scale `{scale}` yet; publish without adding.")
    return standing


def _csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode()


def scale_folder(experiment: Experiment, payload: Mapping[str, Any], preset: str) -> str:
    """The preset's name, with that of the language model if it is not the preset's own, and of the conventions if they
    are not the paper's words."""
    model = _other_model(experiment, payload, preset)
    scale = f"{preset}-{re.sub('[^a-z0-9.]+', '-', Path(model).name.lower()).strip('-')}" if model else preset
    return conventions.folder(scale, conventions.of(payload["settings"]))


def _other_model(experiment: Experiment, payload: Mapping[str, Any], preset: str) -> str:
    ran = payload["settings"].get("model", "")
    return "" if ran == experiment.presets[preset].settings.get("model", "") else str(ran)


def manifest(experiment: Experiment, result: Result, preset: str) -> dict:
    """Where a published table comes from: the study's manifest, its digest, and the recomputing command."""
    study = result.manifest
    return {
        "experiment": experiment.name, "title": experiment.title, "note": experiment.note, "preset": preset,
        "scale": experiment.presets[preset].title, "conventions": conventions.of(study["payload"]["settings"]),
        "command": _command(experiment, study["payload"], preset),
        "study": study["kind"], "study_digest": result.digest,
        **{key: value for key, value in study.items() if key not in OF_THE_STORE},
    }


def _command(experiment: Experiment, payload: Mapping[str, Any], preset: str) -> str:
    """The command that recomputes the seeds of a payload at once."""
    seeds = payload["seeds"]
    command = ["reproduce", experiment.name, "--preset", preset]
    if len(seeds) != experiment.presets[preset].seeds:
        command += ["--seeds", str(len(seeds))]
    if seeds[0]:
        command += ["--first-seed", str(seeds[0])]
    if model := _other_model(experiment, payload, preset):
        command += ["--model", Path(model).name if Path(model).is_absolute() else model]
    if (whose := conventions.of(payload["settings"])) != conventions.AS_PAPER:
        command += ["--as", whose]
    return f"python -m engine {shlex.join(command)}"


def published(name: str, preset: str, out_dir: Path | str | None = None) -> tuple[pd.DataFrame, dict] | None:
    """A published table (text columns without NaN) with methods by their present names, and its manifest; None if
    there is none.

    Raises `StoreError` if the table is not the one that its manifest vouches for.
    """
    folder = Path(RESULTS if out_dir is None else out_dir) / name / preset
    try:
        record = json.loads((folder / MANIFEST).read_bytes())
        content = (folder / TABLE).read_bytes()
        genuine = record["files"][TABLE]["sha256"] == hashlib.sha256(content).hexdigest()
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        genuine = False
    if not genuine:
        raise StoreError(f"The published results {name}/{preset} do not match their manifest; "
                         f"reproduce `{name}` again with the preset `{preset}`.")
    return _renamed(content).copy(), record


@lru_cache(maxsize=128)
def _renamed(content: bytes) -> pd.DataFrame:
    return read_table(BytesIO(content)).replace(RENAMED)


def folder() -> Path:
    """Where published results are read from: `WHICHFLUENCE_RESULTS`, else assets/results."""
    named = os.environ.get(FOLDER, "").strip()
    return Path(named) if named else RESULTS


def stored_manifest(name: str, scale: str, out_dir: Path | str) -> dict[str, Any]:
    """The manifest of a published result, alone. Raises `StoreError` where it cannot be read."""
    try:
        return parse_object((Path(out_dir) / name / scale / MANIFEST).read_bytes(), "The manifest")
    except (OSError, InvalidInput):
        raise StoreError(f"The manifest of the published results {name}/{scale} cannot be read; reproduce `{name}` "
                         "again.") from None


def scales(name: str, out_dir: Path | str | None = None, whose: str | None = conventions.AS_PAPER) -> list[str]:
    """The scales at which an experiment is published by some conventions (None: by any), as its folders are called."""
    root = Path(RESULTS if out_dir is None else out_dir) / name
    names = sorted(path.parent.name for path in root.glob(f"*/{TABLE}"))
    return [scale for scale in names if whose is None or conventions.of_folder(scale) == whose]


def read_table(path: Path | str | BytesIO) -> pd.DataFrame:
    """A CSV of ours or of the paper: `NUMBERS` (NaN where empty) and `COUNTS` as such, all other columns as text."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    numbers = {column: pd.to_numeric(table[column].where(table[column] != "", None)).astype(float)
               for column in NUMBERS if column in table}
    counts = {column: table[column].astype(int) for column in COUNTS if column in table}
    return table.assign(**numbers, **counts)


def comparison_with_paper(results: pd.DataFrame, paper: pd.DataFrame,
                          tolerance: Callable[[Mapping[str, str]], float], model: str = "") -> pd.DataFrame:
    """The paper's cells, in its order, with ours beside them; `tolerance` is the experiment's own.

    paper: a table of the paper, or the `cells` of `engine.experiments.paper_numbers`. model: which language model's
    cells, where the paper has several (default: the one that ran).

    Joined on the columns that both have (its mean and spread aside). Columns: these keys, `dataset` where ours
    has it, `paper`, `spread`, `origin` where `paper` has it, `ours`, `ci95`, `n_seeds`, `difference` (ours − paper),
    `difference_ci95` (its half width by Welch, the paper's spread being the deviation over `PAPER_SEEDS` seeds),
    `tolerance`, and `within`: True, False, or <NA> where we set no tolerance or have no value.
    """
    if "model" in paper and "model" in results:
        paper, results = _of_one_model(paper, results, model)
    theirs = [column for column in ("spread", "origin", "pooled") if column in paper]
    keys = [column for column in paper.columns if column in results.columns and column not in (*VALUES, *theirs)]
    paper = paper.rename(columns={"mean": "paper"}).astype(dict.fromkeys(keys, str))
    ours = results.rename(columns={"mean": "ours"})
    ours = ours.assign(**{key: ours[key].fillna("").astype(str) for key in keys})
    wanted = ("dataset", "width", "ours", "ci95", "n_seeds", "n_train", "n_candidates")
    extra = [column for column in wanted if column in ours.columns]
    joined = paper[[*keys, "paper", *theirs]].merge(ours[[*keys, *extra]], on=keys, how="left", sort=False)
    joined["difference"] = joined["ours"] - joined["paper"]
    joined["difference_ci95"] = [_half_width(row) for row in joined.to_dict("records")]
    joined["tolerance"] = [tolerance(row) for row in joined.to_dict("records")]
    judged = joined["difference"].notna() & joined["tolerance"].notna()
    within = (joined["difference"].abs() <= joined["tolerance"] + 1e-9).astype("boolean")
    joined["within"] = within.where(judged)
    first = [column for column in (*keys, "dataset") if column in joined.columns]
    return joined[[*first, *(column for column in joined.columns if column not in first)]]


def _half_width(row: Mapping[str, Any]) -> float:
    """Of ours − the paper's: NaN where either has one seed or no spread."""
    if not row.get("n_seeds", 0) > 1:
        return math.nan
    ours = int(row["n_seeds"])
    return welch_half_width((row["ci95"] / t_quantile(ours) * math.sqrt(ours), ours), (row["spread"], PAPER_SEEDS))


def _of_one_model(paper: pd.DataFrame, results: pd.DataFrame, model: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The paper's rows for the model that ran, or those of its first model beside one that it does not have."""
    ran = results["model"].iloc[0] if len(results) else model
    known = ran in set(paper["model"])
    paper = paper[paper["model"] == (ran if known else paper["model"].iloc[0])]
    return paper, results if known else results.drop(columns="model")
