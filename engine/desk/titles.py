"""What a job or a page calls a problem."""

from __future__ import annotations

from engine import data
from engine.models.catalogue import model_title
from engine.problems import ProblemSource
from engine.problems.source import SOFTMAX


def problem_title(source: ProblemSource) -> str:
    """Data and, unless it is softmax regression, the model: `CIFAR-10, convolutional network`."""
    model = "" if source.model == SOFTMAX else f", {model_title(source.model)}"
    return f"{data.title(source.dataset)}{model}"
