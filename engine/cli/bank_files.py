"""bank.npz and the manifest beside it: models on subsets, which `subsets` writes and other commands read."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import torch

from engine.analysis.datamodels import Retrained
from engine.analysis.subset_bank import Bank, Draw
from engine.basics.errors import InvalidInput
from engine.cli.score_files import read_vouched
from engine.problems import Problem
from engine.question.behaviors import BEHAVIORS


def read_bank(path: Path, problem: Problem) -> Bank:
    """The models of a bank, checked: the file against its manifest, the subsets against the draw, and the problem.

    Raises `InvalidInput` for what does not fit.
    """
    record, content = read_vouched(path, "bank", problem, f"The models in `{path}` belong to a different problem from "
                                   "--data; give the problem that they were trained for",
                                   "train the models again with `subsets`")
    draw = Draw.parse(record.get("draw"))
    inside, logits, candidates = _arrays(path, content)
    if not np.array_equal(inside, draw.members(problem)[:, problem.candidates.cpu().numpy()]) or logits.shape != (
            len(inside), len(problem.queries), logits.shape[2]):
        raise InvalidInput(f"The subsets in `{path}` do not match their seed and settings; train the models again "
                           "with `subsets`.")
    _, read = problem.asking([BEHAVIORS[name] for name in record.get("behaviors") or []])
    return Bank(draw, Retrained(inside, torch.as_tensor(logits, device=problem.device), problem.query_labels,
                                candidates, tuple(read)))


def _arrays(path: Path, content: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            inside, logits, candidates = (arrays[name] for name in ("kept", "logits", "candidates"))
    except (KeyError, ValueError, OSError, EOFError):
        raise InvalidInput(f"`{path}` is not a bank as `subsets` writes it; train the models again.") from None
    if inside.dtype != bool or logits.ndim != 3 or logits.dtype.kind != "f":
        raise InvalidInput(f"`{path}` is not a bank as `subsets` writes it; train the models again.")
    return inside, logits, candidates
