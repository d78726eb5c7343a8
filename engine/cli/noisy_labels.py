"""`noisy-labels` scores every training label, `what-if-labels` trains again with some of them changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.errors import InvalidInput, MissingData
from engine.basics.files import atomic_write
from engine.cli.setting import Machine


def noisy_labels(
    source: Annotated[str, typer.Option(help="Data, noise, model and seed as JSON, as the Noisy labels page gives "
                                             "them.", metavar="JSON")],
    out: Annotated[Path, typer.Option(help="The suspicion of every training label, by method and trusted behavior.",
                                      metavar="CSV")],
    machine: Machine = Machine(),
) -> None:
    """Train on labels as they are, and rank them by how likely they are wrong (resumable)."""
    import pandas as pd

    from engine.applications.noisy_labels.source import NoisySource
    from engine.cli.progress import run_shown
    from engine.cli.score_files import check_output
    from engine.cli.spec_files import parse_source
    from engine.metrics.detection import detection
    from engine.runs import noisy_labels as runs

    check_output(out, ".csv", inputs=())
    chosen = NoisySource.parse(parse_source(source))
    drawn = runs.draw_kept(chosen)
    scored = runs.load(run_shown("noisy labels", runs.KIND, runs.payload(chosen), machine))
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


def what_if_labels(
    source: Annotated[str, typer.Option(help="Data, noise, model and seed as JSON, as for noisy-labels.",
                                        metavar="JSON")],
    changes: Annotated[Path, typer.Option(help="A CSV with the columns row, of the training set, and label: the one to "
                                               "use, or nothing where the example is removed.", metavar="CSV")],
    out: Annotated[Path, typer.Option(help="Accuracy before and after to write.", metavar="CSV")],
    seeds: Annotated[int, typer.Option(help="Training seeds; each trains on the labels as they are and as changed.",
                                       min=1, max=100)] = 3,
    machine: Machine = Machine(),
) -> None:
    """Train again without some examples, or with other labels, and compare accuracies (resumable)."""
    from engine.applications.noisy_labels.source import NoisySource
    from engine.cli.progress import run_shown
    from engine.cli.score_files import check_output
    from engine.cli.spec_files import parse_source
    from engine.runs import noisy_retraining as retraining

    check_output(out, ".csv", inputs=(changes,))
    removed, relabelled = read_changes(changes)
    payload = retraining.what_if(NoisySource.parse(parse_source(source)), removed, relabelled, seeds)
    table = run_shown("what if", retraining.WHAT_IF, payload, machine).table("accuracy")
    atomic_write(out, table.to_csv(index=False, lineterminator="\n"))
    print(table.drop(columns="seed_means").to_string(index=False, float_format="{:.4f}".format))
    print(f"Written: {out}")


def read_changes(path: Path) -> tuple[list[int], dict[int, int]]:
    """(rows to remove, rows to relabel) of a CSV with the columns row and label."""
    import pandas as pd

    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
        pairs = list(zip(table["row"].astype(int), table["label"], strict=True))
        return [row for row, label in pairs if not label], {row: int(label) for row, label in pairs if label}
    except FileNotFoundError:
        raise MissingData(f"There is no file `{path}`; check the path.") from None
    except (ValueError, KeyError, OSError):
        raise InvalidInput(f"`{path}` is not a CSV with whole numbers in the columns `row` and `label`; download it "
                           "from the page, or leave `label` empty where an example is removed.") from None
