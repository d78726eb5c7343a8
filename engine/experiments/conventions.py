"""By which reading of the paper a study computes: what its text says, or what its authors' code does.

A study that computes by both reads `settings.get(KEY)`. The key is absent for the paper's words, so that a payload of
theirs has the digest that it had before there was a choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.basics.errors import InvalidInput
from engine.basics.registry import Registry, unknown
from engine.data.tasks.wording import AUTHORS, as_authors

KEY = "conventions"
AS_PAPER, AS_AUTHORS = "paper", AUTHORS
TITLES: Mapping[str, str] = {AS_PAPER: "the paper's words", AS_AUTHORS: "the authors' code"}
"""name -> what a sentence calls it."""
SUFFIX = f"-{AS_AUTHORS}"

_LANGUAGE = ("the answer logit is a log-probability; TracIn reads 33%, 66% and 100% of the steps, each weighted by "
             "the learning rate of that step; LESS divides by Adam's second moments at the end; TRAK has no 1 − p and "
             "a ridge of at least 0.01; adapters have dropout")
_LABELS = ("models are trained in float32 on standardised channels; each seed samples its own trusted and training "
           "set with one mask; NTK is the cosine of loss gradients, RepSim the cosine with the centroid of "
           "unit-length representations; LiSSA takes its scale from power iterations")
CHANGES: Registry[str] = Registry("study with the authors' conventions", {
        "controlled_fashion_mnist": (
            "biases are not penalised; the T rows and the curve over η are computed over all pairs at once; the curve "
            "over α uses a plain inverse of the Hessian, which the unpenalised biases make singular"),
        "controlled_cifar10": (
            "the B rows use a model trained for a fifth more epochs; searches start from the model refined by 100 "
            "iterations of L-BFGS, undamped, and their drift is not removed; the inverse Hessian is solved for each "
            "query with at most 10 iterations of CG"),
        "noisy_labels": _LABELS, "noisy_label_removal": f"{_LABELS}; every retraining has seed 0",
        "response_corruption": (
            f"{_LANGUAGE}; RepSim's sign is not flipped when it detects harm; single signals enter on both sides"),
        "conditional_backdoor": _LANGUAGE, "backdoor_removal": _LANGUAGE,
        "language_model_quality": "adapters have dropout"})
"""The kind of a study's job -> what it computes otherwise as the authors' code does. A study that is not here computes
by the paper's words alone."""


def of(settings: Mapping[str, Any]) -> str:
    """The name of the conventions that a study's settings were made with."""
    return str(settings.get(KEY, AS_PAPER))


def settings(own: Mapping[str, Any], conventions: str) -> dict[str, Any]:
    """The settings with these conventions, which is the key alone."""
    rest = {key: value for key, value in own.items() if key != KEY}
    return rest if conventions == AS_PAPER else {**rest, KEY: conventions}


def check_name(conventions: str) -> None:
    """Raises `InvalidInput` for conventions that do not exist."""
    if conventions not in TITLES:
        raise InvalidInput(unknown("reading of the paper", conventions, TITLES))


def check(name: str, study: str, conventions: str) -> None:
    """Raises `InvalidInput` for conventions that do not exist, or by which the study of experiment `name` does not
    compute."""
    check_name(conventions)
    if conventions != AS_PAPER and study not in CHANGES:
        raise InvalidInput(f"`{name}` is computed by {TITLES[AS_PAPER]} only; omit the other reading.")


def folder(scale: str, conventions: str) -> str:
    """Where results of a scale are published: those of the authors' code beside the others, as SCALE-authors."""
    return scale if conventions == AS_PAPER else f"{scale}{SUFFIX}"


def of_folder(scale: str) -> str:
    """The conventions of what a folder of published results holds."""
    return AS_AUTHORS if scale.endswith(SUFFIX) else AS_PAPER


__all__ = ["AS_AUTHORS", "AS_PAPER", "CHANGES", "KEY", "SUFFIX", "TITLES", "as_authors", "check", "check_name",
           "folder", "of", "of_folder", "settings"]
