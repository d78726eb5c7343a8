"""The options that commands share, each declared once: the problem and how it is trained, files, device and memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

from engine.basics import options
from engine.basics.errors import InvalidInput
from engine.cli.program import chosen, option_words
from engine.cli.reading import ReadingOptions

PRECISIONS = get_args(options.Precision)
MOST_MEMORY = 1_000_000
"""GiB; more than any machine has."""
SOFTMAX, ALL = "softmax", "all"  # as `engine.problems` names them, which is too slow to import for --help

DATA = typer.Option(help="The problem: an npz with x_train, y_train, x_query, y_query and optional candidates; a JSON "
                         "that names dataset, sizes, model and seed; or a folder or zip of images, a table, or "
                         "records as JSONL. `explain` takes several, the seeds to average over.", metavar="PATH")
Data = Annotated[Path, DATA]
Spec = Annotated[Path, typer.Option(help="The specification and its estimator, as a JSON object.", metavar="JSON")]
ScoreFiles = Annotated[list[Path] | None, typer.Option(help="Scores written by `bring` or `influence` for this "
                                                            "problem; repeatable.", metavar="NPZ")]
NewCandidates = Annotated[Path | None, typer.Option(
    help="Examples outside the training data to score instead of training examples: a folder or zip of "
         "images by class, a table, an npz with x and y, or records as JSONL, in the format of the training data.",
    metavar="PATH")]
Device = Annotated[str, typer.Option(help="Device: auto, cpu or cuda.")]
Memory = Annotated[float, typer.Option(help="Memory limit in GiB.", metavar="GIB")]
L2 = Annotated[float | None, typer.Option("--l2", help="λ of the penalty (λ/2)‖W‖² (default: 1e-4, or the weight_decay "
                                                       "of --recipe; a recorded training has its own).")]
USUAL_L2 = 1e-4
Intercept = Annotated[bool, typer.Option("--intercept", help="Add an intercept, which is not regularised.")]
Model = Annotated[str, typer.Option(help="softmax, a network that `list` shows, a classification model of "
                                         "torchvision, FILE.py:FUNCTION or MODULE:FUNCTION of your own, or, for "
                                         "records, a language model: a folder, a name under WHICHFLUENCE_MODELS or on "
                                         "the hub.")]
Checkpoint = Annotated[Path | None, typer.Option(help="The network's trained weights: safetensors, or a state dict, "
                                                      "loaded without running code (default: train it).",
                                                 metavar="FILE")]
Shape = Annotated[str, typer.Option(help="The shape of one input to the network, such as 3,32,32 (default: flat).",
                                    metavar="C,H,W")]
Parameters = Annotated[str, typer.Option(help="The network's differentiated parameters: all, last_block, last_layer, "
                                              "layers and a list of names with `*`, as in layers:blocks.3.*,head, or "
                                              "a regular expression on their names.")]
Precision = Annotated[str, typer.Option(help="Precision of differences between two models: auto (float64), float64 or "
                                             "float32; scores below its resolution are flagged.")]
Trajectory = Annotated[list[Path] | None, typer.Option(help="Weights of an earlier checkpoint, for the process "
                                                            "`trajectory`; repeat in order. Or the folder of a "
                                                            "recorded training.",
                                                       metavar="PATH")]
OwnLoss = Annotated[str, typer.Option(help="A loss of your own, FILE.py:FUNCTION of (outputs, targets), one number per "
                                           "example, where y are targets: any numbers of an npz, or the columns of a "
                                           "table that --label names.", metavar="FILE.py:FUNCTION")]
RecipeFile = Annotated[Path | None, typer.Option(help="A file with the training recipe of the model, also with "
                                                      "--checkpoint; `retrain` repeats it.",
                                                 metavar="JSON")]


def parse_shape(text: str) -> tuple[int, ...]:
    """(3, 32, 32) of `3,32,32`; () of an empty text. Raises `InvalidInput`."""
    try:
        return tuple(int(size) for size in text.split(",")) if text else ()
    except ValueError:
        raise InvalidInput(f"--shape is `{text}`; write channels, height and width, as in 3,32,32.") from None


def budget(memory: float) -> int:
    """GiB as bytes. Raises `InvalidInput` for what is not a size."""
    if not 0 < memory <= MOST_MEMORY:
        raise InvalidInput(f"--memory is {memory}; give a positive number of GiB, such as 4, of at most "
                           f"{MOST_MEMORY:,}.")
    return int(memory * 2**30)


@dataclass(frozen=True)
class Machine:
    """Where to compute a study, and in how many GiB of memory."""

    device: Device = "auto"
    memory: Memory = 4.0

    def options(self) -> dict[str, str | int]:
        """Those of a job. Raises `InvalidInput` for a device that is not here and a memory that is not a size."""
        from engine.problems.problem import pick_device  # which is too slow to import for --help

        return {"device": str(pick_device(self.device)), "budget": budget(self.memory)}


@dataclass(frozen=True)
class FitOptions:
    """How a model is fitted to an npz: where, with which penalty, and whether softmax regression has an intercept."""

    device: Device = "auto"
    l2: L2 = None
    intercept: Intercept = False

    def penalty(self, usual: float = USUAL_L2) -> float:
        """λ, or what it is where nobody says it."""
        return usual if self.l2 is None else self.l2


@dataclass(frozen=True)
class NetworkOptions:
    """The options that make a problem one of a network.

    model: a name that `list` shows, any classification model of torchvision, or FILE.py:FUNCTION or MODULE:FUNCTION, a
    function of your own of (shape, classes), or of nothing, -> torch module. checkpoint: its trained weights; without
    one it is trained by the recipe. shape: of one input, as `3,32,32`; flat where left out. trajectory: the weights
    at earlier points of its training, in order, for the process `trajectory`. recipe: how it is trained, by default
    as the paper's; of a checkpoint nothing is known without one, and it cannot be trained anew. loss: of your own, in
    the same form as model, where examples have targets.
    """

    model: Model = SOFTMAX
    checkpoint: Checkpoint = None
    shape: Shape = ""
    parameters: Parameters = ALL
    trajectory: Trajectory = None
    recipe: RecipeFile = None
    loss: OwnLoss = ""


@dataclass(frozen=True)
class ProblemOptions:
    """How the problem in a file becomes a trained model, in how many GiB of memory and in which precision it is scored.
    """

    fit: FitOptions = FitOptions()
    memory: Memory = 4.0
    network: NetworkOptions = NetworkOptions()
    precision: Precision = "auto"
    reading: ReadingOptions = ReadingOptions()

    @property
    def budget(self) -> int:
        """The memory in bytes. Raises `InvalidInput` for what is not a size."""
        return budget(self.memory)

    def options(self, progress: Callable[[float], None] = lambda done: None) -> options.Options:
        """How to compute. Raises `InvalidInput` for a memory that is not a size, and an unknown precision."""
        if self.precision not in PRECISIONS:
            raise InvalidInput(f"--precision is `{self.precision}`; give {', '.join(PRECISIONS[:-1])} or "
                               f"{PRECISIONS[-1]}.")
        return options.Options(budget=self.budget, precision=cast(options.Precision, self.precision), progress=progress)

    @property
    def arguments(self) -> list[str]:
        """As on the command line; of an absolute path the file's name only."""
        given = chosen(self, always=("device", "memory"))
        last: dict[str, Any] = {name: given.pop(name) for name in ("memory", "precision") if name in given}
        return option_words({**given, **last})
