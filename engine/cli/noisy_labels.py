"""`noisy-labels`: every training label with its suspicion under every method and trusted behavior, as a CSV."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from engine import experiments  # noqa: F401 - registers the job kinds
from engine.cli.scoring import budget, check_output
from engine.detection import detection
from engine.errors import InvalidInput
from engine.files import atomic_write
from engine.jobs import Bar, run_job
from engine.noisy_labels import runs
from engine.noisy_labels.source import NoisySource
from engine.problems.problem import pick_device


def noisy_labels(source: str, out: Path, device: str, memory: float) -> None:
    """Write the scores; where it is known which labels are wrong, print how well each method finds them."""
    check_output(out, ".csv", inputs=())
    try:
        parsed = json.loads(source)
    except ValueError as error:
        raise InvalidInput(f"--source is not JSON ({error}); copy it from the page, quotes included.") from None
    chosen = NoisySource.parse(parsed)
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
