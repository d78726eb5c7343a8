"""The options that say which subsets models are trained on, and how."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.analysis.options import AMONG, PROTOCOL

if TYPE_CHECKING:
    from engine.analysis.subset_bank import Draw


@dataclass(frozen=True)
class SubsetOptions:
    """How many models, on which random subsets, by which protocol."""

    subsets: Annotated[int, typer.Option(help="How many models to train, each on a random subset.", min=3,
                                         max=100_000)] = 100
    share: Annotated[float, typer.Option(help="The sampled fraction, for subsets of one size.")] = 0.5
    seed: Annotated[int, typer.Option(help="Seed of the subsets.", min=0)] = 0
    protocol: Annotated[str, typer.Option(help=PROTOCOL)] = "weights"
    among: Annotated[str, typer.Option(help=AMONG)] = "candidates"

    def draw(self, **more: Any) -> Draw:
        """The subsets. more: other fields of the draw. Raises `InvalidInput` for values that it cannot have."""
        from engine.analysis.subset_bank import Draw

        fields = asdict(self)
        return Draw.parse({"count": fields.pop("subsets"), **fields, **more})
