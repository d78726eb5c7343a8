r"""Models trained on drawn subsets of the candidates, kept once for all who ask for them.

A draw says which subsets; problem, behaviors with words and draw have one digest. Models are kept by tens under it in
the store, so that a draw that was interrupted goes on, and a larger one of the same kind begins with the smaller one's.
Linear datamodeling scores, datamodels, Banzhaf and Shapley values are read off the same models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field

from engine.analysis.datamodels import Retrained, retrain, subsets
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import Count, Number, Seed, Value
from engine.problems import Problem
from engine.question.behavior import Behavior
from engine.store.results import Result, Store, digest_of

SHELF, KIND = "subsets", "subset-bank"
TOGETHER = 10
"""Models that are kept in one folder."""
NUMERICS = 1
MOST = 100_000


class Draw(Value):
    """Which subsets of k candidates; the first J of a larger draw are the draw of J.

    kind: `share`, subsets of round(share·k) candidates (linear datamodeling scores); `halves`, every candidate is in
    with probability ½ (Banzhaf values); `shapley`, all candidates and none of them, then pairs of a subset and its
    complement, whose size s is drawn with probability ∝ 1/(s(k − s)) (Shapley values, Lundberg and Lee 2017). share is
    read by the first alone.
    """

    kind: Literal["share", "halves", "shapley"] = "share"
    count: Annotated[Count, Field(ge=3, le=MOST)] = 100
    share: Annotated[Number, Field(gt=0, lt=1)] = 0.5
    seed: Seed = 0

    def kept(self, k: int) -> np.ndarray:
        """(count, k) bool. Raises `InvalidInput` for sizes that say nothing."""
        if self.kind == "share":
            return subsets(k, self.count, self.share, self.seed)
        if k < 2:
            raise InvalidInput("Subsets of one candidate say nothing about it beside others; take at least 2.")
        rng = np.random.default_rng([self.seed, k])
        return _halves(rng, self.count, k) if self.kind == "halves" else _paired(rng, self.count, k)

    @property
    def identity(self) -> dict[str, Any]:
        """What its subsets are drawn by, however many."""
        return {"kind": self.kind, "seed": self.seed, **({"share": self.share} if self.kind == "share" else {})}


def _halves(rng: np.random.Generator, count: int, k: int) -> np.ndarray:
    return rng.random((count, k)) < 0.5


def _paired(rng: np.random.Generator, count: int, k: int) -> np.ndarray:
    sizes = np.arange(1, k)
    weights = 1.0 / (sizes * (k - sizes))
    found = [np.ones(k, bool), np.zeros(k, bool)]
    while len(found) < count:
        own = np.isin(np.arange(k), rng.choice(k, rng.choice(sizes, p=weights / weights.sum()), replace=False))
        found += [own, ~own]
    return np.stack(found[:count])


def bank(problem: Problem, draw: Draw, store: Store, options: Options | None = None,
         behaviors: Sequence[Behavior] = ()) -> Retrained:
    """The models of a draw: those that are kept, and the others trained and kept.

    Raises as `engine.analysis.datamodels.retrain` does, and `StoreError` where the store cannot be written.
    """
    options, kept = options or Options(), draw.kept(len(problem.candidates))
    starts = range(0, len(kept), TOGETHER)
    parts = [part(problem, draw, place, store, options.share(place, len(starts)), behaviors)
             for place in range(len(starts))]
    return Retrained(kept, torch.cat([one.logits for one in parts]), parts[0].labels, parts[0].candidates,
                     parts[0].read)


def part(problem: Problem, draw: Draw, place: int, store: Store, options: Options,
         behaviors: Sequence[Behavior] = ()) -> Retrained:
    """Models 10·place, 10·place + 1, … of a draw: kept ones, or trained and kept."""
    rows = draw.kept(len(problem.candidates))[place * TOGETHER:(place + 1) * TOGETHER]
    identity = {"kind": KIND, "data": problem.fingerprint, "payload": {
        "draw": draw.identity, "first": place * TOGETHER, "models": len(rows), "numerics": NUMERICS,
        "behaviors": [one.name for one in behaviors]}}
    digest, shelf = digest_of(identity), Store(store.root, SHELF)
    _, read = problem.asking(list(behaviors))
    if shelf.has(digest):
        options.progress(1.0)
        return _of(shelf.read(digest), problem, read)
    found = retrain(problem, rows, options, behaviors)
    shelf.write(digest, identity, arrays={"kept": rows, "logits": found.logits.double().cpu().numpy()})
    return found


def _of(result: Result, problem: Problem, read: Sequence[Behavior]) -> Retrained:
    arrays = result.arrays()
    logits = torch.as_tensor(arrays["logits"], device=problem.device)
    return Retrained(arrays["kept"], logits, problem.query_labels, problem.candidates.cpu().numpy(), tuple(read))
