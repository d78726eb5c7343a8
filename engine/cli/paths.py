"""`path-integral`: both sides of Eq. 7 for one training example, as a check of the re-optimising process."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.cli.scoring import Setting, check_output
from engine.exact.path_integral import path_integral
from engine.question.behaviors import BEHAVIORS


def write_path_integral(data: Path, behavior: str, alpha: float, example: int, nodes: int, out: Path,
                        setting: Setting) -> None:
    """Write a row a query: the integral of the rate over the path, the difference of its ends, and the first rate."""
    check_output(out, ".csv", inputs=(data,))
    if not 0 < alpha < float("inf"):
        raise InvalidInput(f"--alpha is {alpha}; give a positive weight, such as 0.1.")
    readout = BEHAVIORS[behavior]
    if not readout.differentiable:
        raise InvalidInput(f"The behavior `{behavior}` has no gradient, so it has no rate along a path; use another.")
    found = path_integral(setting.problem(data), example, alpha, readout, nodes=nodes)
    table = pd.DataFrame({"query": range(len(found.integral)), "integral": found.integral.cpu(),
                          "difference": found.difference.cpu(), "first_rate": found.first.cpu(),
                          "last_rate": found.last.cpu()})
    atomic_write(out, table.to_csv(index=False, lineterminator="\n"))
    print(f"largest gap between integral and difference {found.gap:.1e}, largest gradient norm on the path "
          f"{found.gradient_norm:.1e}", file=sys.stderr)
