"""`export-problem`: the problem that a page drew, as the npz that `influence` and `compare` read."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np

from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.problems import ProblemSource
from engine.problems.source import SOFTMAX


def export_problem(source: str, out: Path) -> None:
    """Draw the problem of a source, given as JSON, and write its arrays; nothing is trained."""
    try:
        parsed = json.loads(source)
    except ValueError as error:
        raise InvalidInput(f"--source is not JSON ({error}); copy it from the page, quotes included.") from None
    drawn = ProblemSource.parse(parsed)
    if drawn.model != SOFTMAX:
        raise InvalidInput("An npz does not hold how a network is trained; save the source as problem.json, and give "
                           "that to `influence` or `compare` as --data.")
    problem = drawn.build().problem
    features = slice(None, -1) if problem.intercept else slice(None)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x_train=problem.x[:, features].numpy(), y_train=problem.y.numpy(),
                        x_query=problem.queries[:, features].numpy(), y_query=problem.query_labels.numpy(),
                        candidates=problem.candidates.numpy())
    atomic_write(out, buffer.getvalue())
