"""`noisy-labels` scores every training label, `what-if-labels` trains again with some of them changed."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from engine import experiments  # noqa: F401 - registers the job kinds
from engine.applications.noisy_labels.source import NoisySource
from engine.basics.errors import InvalidInput, MissingData
from engine.basics.files import atomic_write
from engine.cli.scoring import budget, check_output
from engine.jobs import Bar, run_job
from engine.metrics.detection import detection
from engine.problems.problem import pick_device
from engine.runs import noisy_labels as runs
from engine.runs import noisy_retraining as retraining


def noisy_labels(source: str, out: Path, device: str, memory: float) -> None:
    """Write the scores; where it is known which labels are wrong, print how well each method finds them."""
    check_output(out, ".csv", inputs=())
    chosen = _source(source)
    drawn = runs.draw_kept(chosen)
    options = {"device": str(pick_device(device)), "budget": budget(memory)}
    with Bar("noisy labels") as bar:
        scored = runs.load(run_job(runs.KIND, runs.payload(chosen), options=options, watch=bar))
    names = drawn.dataset.class_names
    table = pd.DataFrame({"dataset_row": drawn.rows, "label": [names[label] for label in drawn.evidence.y],
                          "predicted": [names[label] for label in scored.predicted],
                          **{pair.title: values for pair, values in scored.suspicion.items()}})
    atomic_write(out, table.to_csv(index=False, lineterminator="\n"))
    if drawn.flags is not None and drawn.flags.noisy.any():
        rows = [{"method": pair.title, **detection(drawn.flags.noisy, values)}
                for pair, values in scored.suspicion.items()]
        print(pd.DataFrame(rows).to_string(index=False, float_format="{:.3f}".format))
    print(f"Written: {out}")


def what_if_labels(source: str, changes: Path, out: Path, seeds: int, device: str, memory: float) -> None:
    """Write the accuracy before, after and its change, means with 95% t-intervals over training seeds."""
    check_output(out, ".csv", inputs=(changes,))
    removed, relabelled = read_changes(changes)
    options = {"device": str(pick_device(device)), "budget": budget(memory)}
    with Bar("what if") as bar:
        result = run_job(retraining.WHAT_IF, retraining.what_if(_source(source), removed, relabelled, seeds),
                         options=options, watch=bar)
    table = result.table("accuracy")
    atomic_write(out, table.to_csv(index=False, lineterminator="\n"))
    print(table.drop(columns="seed_means").to_string(index=False, float_format="{:.4f}".format))
    print(f"Written: {out}")


def read_changes(path: Path) -> tuple[list[int], dict[int, int]]:
    """(rows to remove, rows to relabel) of a CSV with the columns row and label."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
        pairs = list(zip(table["row"].astype(int), table["label"], strict=True))
        return [row for row, label in pairs if not label], {row: int(label) for row, label in pairs if label}
    except FileNotFoundError:
        raise MissingData(f"There is no file `{path}`; check the path.") from None
    except (ValueError, KeyError, OSError):
        raise InvalidInput(f"`{path}` is not a CSV with whole numbers in the columns `row` and `label`; download it "
                           "from the page, or leave `label` empty where an example is removed.") from None


def _source(text: str) -> NoisySource:
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"--source is not JSON ({error}); copy it from the page, quotes included.") from None
    return NoisySource.parse(parsed)
