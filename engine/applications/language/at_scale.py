r"""What attribution in a language model costs with N records: operations, bytes, memory, hours and money.

Computed, not measured, for a model of P frozen and p adapter weights, records of S tokens, C checkpoints, a projection
onto k numbers under two draws, Q queries with B behaviors, and a device that does so many operations a second:

    training           E N S (4P + 6p)               forward 2P, backward along activations 2P; adapters 2p and 4p
    gradients          C N (S (4P + 6p) + 18 p)      a training pass; Adam's update, its length, two sketches of each
    queries            C Q S (2P + B (2P + 4p))      one forward pass, and backward for each behavior
    scoring            2 Q B N k a checkpoint        a matrix product of what is kept
    a product          S (8P + 12p) a record         with the Gauss–Newton matrix or the Hessian; half as much again
                                                    for the first; DataInf takes one, for its residual
    whole gradients    N (S (4P + 6p) + 2 Q B p)     what a solution is multiplied with, made again and not kept

LiSSA and conjugate gradients take so many products for a query and behavior as they do at most by default.

Memory of a device at its peak: 2P bytes of weights in bfloat16, for each of the tokens of a batch 34 bytes a layer and
unit of width (Korthikanti et al. 2023, without attention), with P/(12 width²) layers, and besides

    training           16p      adapters, gradients and Adam's two moments in float32
    gradients          4p a record of a batch
    scoring            the projected queries; of TRAK two matrices (k, k) in float64
    DataInf, LiSSA, conjugate gradients    4 Q B p for each of 1, 2, 4 vectors a query and behavior

Attention over S tokens is left out: it adds 4 S d a token and layer to 2P, a few percent at these lengths. The tests
hold the passes to PyTorch's own count, and the bytes to a cache. The opening of a cache is left out too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from engine.applications.language.attribution import LAYERS
from engine.basics.errors import InvalidInput
from engine.curvature import cg, lissa

DRAWS = 2
"""Draws of the projection that are kept."""
NUMBER = 4
"""Bytes of a float32."""
ACTIVATION, WEIGHT, TRAINED = 34, 2, 16
"""Bytes of a token's activations a layer and unit of width, of a frozen weight, and of a trained one with its state."""
EIGEN = 10
"""Operations of a symmetric eigendecomposition, in k³."""


@dataclass(frozen=True)
class StudyScale:
    """A study. parameters, adapters: frozen and trained weights; width: of a representation, of which the layers of
    `LAYERS` are kept; rate: operations a second of a device; batch: records of a pass; price: of an hour of
    a device."""

    records: float = 1e6
    parameters: float = 8.2e9
    adapters: float = 43.6e6
    tokens: float = 200
    width: float = 4096
    projection: float = 4096
    checkpoints: float = 4
    queries: float = 100
    behaviors: float = 4
    epochs: float = 1
    rate: float = 2e13
    devices: float = 1
    batch: float = 8
    price: float = 0

    def __post_init__(self) -> None:
        """Raises `InvalidInput` for what is not positive."""
        for name, value in vars(self).items():
            if not 0 < value < float("inf") and (name, value) != ("price", 0):
                raise InvalidInput(f"`{name}` is {value:g}; give a positive number.")

    @property
    def backward(self) -> float:
        """Operations of forward and backward pass of a token."""
        return backward(self.parameters, self.adapters)

    @property
    def held(self) -> float:
        """Bytes of the weights and of the activations of a batch."""
        layered = self.parameters / (12 * self.width)
        return WEIGHT * self.parameters + self.batch * self.tokens * ACTIVATION * layered

    @property
    def rankings(self) -> float:
        """Rankings of the records: one a query and behavior."""
        return self.queries * self.behaviors


def backward(parameters: float, adapters: float) -> float:
    """Operations of forward and backward pass of a token: 4P + 6p."""
    return 4 * parameters + 6 * adapters


@dataclass(frozen=True)
class StudyCost:
    """A part of a study. memory: bytes of a device at the peak. written: bytes on disk, read: bytes that are read from
    there."""

    what: str
    operations: float
    memory: float
    written: float = 0.0
    read: float = 0.0


def costs(scale: StudyScale) -> Iterator[StudyCost]:
    """The parts of a study: what all methods share, then each method by what it adds."""
    n, k, count, passes = scale.records, scale.projection, scale.rankings, scale.held
    gradients = passes + scale.batch * NUMBER * scale.adapters
    yield StudyCost("training", scale.epochs * n * scale.tokens * scale.backward, passes + TRAINED * scale.adapters)
    yield StudyCost("gradients of records",
                    scale.checkpoints * n * (scale.tokens * scale.backward + 18 * scale.adapters), gradients,
                    scale.checkpoints * n * NUMBER * (2 * DRAWS * k + 2))
    yield StudyCost("gradients of queries", scale.checkpoints * scale.queries * scale.tokens * (
        2 * scale.parameters + scale.behaviors * (2 * scale.parameters + 4 * scale.adapters)), gradients,
        scale.checkpoints * count * DRAWS * k * NUMBER)
    yield StudyCost("representations", n * scale.tokens * 2 * scale.parameters, passes,
                    n * scale.width * NUMBER * len(LAYERS))
    yield from _of_stored(scale, n * k * NUMBER)
    gradient = scale.tokens * scale.backward
    whole = n * (gradient + 2 * count * scale.adapters)
    vectors = count * NUMBER * scale.adapters
    yield StudyCost("DataInf", 4 * n * gradient + whole, gradients + vectors)
    yield StudyCost("LiSSA", count * lissa.ITERATIONS * lissa.BATCH_SIZE * 2 * gradient + whole,
                    gradients + 2 * vectors)
    yield StudyCost("conjugate gradients", count * cg.ITERATIONS * n * 2 * gradient + whole, gradients + 4 * vectors)
    yield StudyCost("retraining without each record", n * scale.epochs * n * gradient,
                    passes + TRAINED * scale.adapters)


def _of_stored(scale: StudyScale, stored: float) -> Iterator[StudyCost]:
    """The methods that read what was stored, block by block. stored: bytes of projected gradients at a checkpoint."""
    n, k, count = scale.records, scale.projection, scale.rankings
    projected = count * k * NUMBER
    yield StudyCost("Grad. norm", n, 0.0, read=n * NUMBER)
    yield StudyCost("RepSim", 2 * scale.queries * n * scale.width, scale.queries * scale.width * NUMBER,
                    read=n * scale.width * NUMBER)
    yield StudyCost("GradSim", 2 * count * n * k, projected, read=stored)
    yield StudyCost("TracIn", scale.checkpoints * 2 * count * n * k, projected, read=scale.checkpoints * stored)
    yield StudyCost("LESS", scale.checkpoints * (2 * count + 3) * n * k, projected, read=scale.checkpoints * stored)
    yield StudyCost("TRAK", 2 * n * k ** 2 + EIGEN * k ** 3 + 2 * count * (k ** 2 + n * k),
                    projected + 2 * 2 * NUMBER * k ** 2, read=2 * stored)


def table(scale: StudyScale) -> pd.DataFrame:
    """part, operations, kept_bytes, read_bytes, memory_bytes, device_hours, hours, money: hours on all devices at
    `rate` each."""
    rows = [(cost.what, cost.operations, cost.written, cost.read, cost.memory, cost.operations / scale.rate / 3600)
            for cost in costs(scale)]
    frame = pd.DataFrame(rows, columns=["part", "operations", "kept_bytes", "read_bytes", "memory_bytes",
                                        "device_hours"])
    return frame.assign(hours=frame.device_hours / scale.devices, money=frame.device_hours * scale.price)
