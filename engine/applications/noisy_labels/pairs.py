"""The names of what is compared: trusted behaviors, methods, and pairs of both, as the paper's tables say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from engine.applications.noisy_labels.detectors.methods import DETECTORS, HELD_OUT, REFITTED, TRAINING, Detector
from engine.applications.noisy_labels.evidence import Evidence
from engine.basics.registry import Registry
from engine.question import direction
from engine.question.behaviors import BEHAVIORS
from engine.scoring.aggregate import Aggregate, Mean, OwnClass
from engine.scoring.named import NAMED, NamedMethod
from engine.scoring.scoring import Scoring

BEHAVIOR_TITLES = {"query_loss": "Trusted loss", "query_logit": "Target logit", "hard_margin": "Hard margin"}
"""Behaviors of `engine.question.behaviors`, read at trusted examples."""
NONE = "none"


@dataclass(frozen=True)
class Over:
    """Over which trusted examples a score is put together, and how. title: over what, in a few words. sentence: when a
    label is suspicious. aggregate: of the evidence at hand."""

    title: str
    sentence: str
    aggregate: Callable[[Evidence], Aggregate]


MEAN = Over("the mean over all trusted examples",
            "A label is suspicious if the answer, averaged over the trusted examples, is low.", lambda _: Mean())
OF_ITS_LABEL = Over("the trusted examples of its own class",
                    "A label is suspicious if the answer for the mean of the trusted examples of its own class is low.",
                    lambda evidence: OwnClass(evidence.trusted_y, evidence.y))


class Pair(NamedTuple):
    """A method and the trusted behavior it reads, by title; `none` where a method reads no behavior."""

    method: str
    behavior: str = NONE

    @property
    def title(self) -> str:
        """One line for people."""
        return self.method if self.behavior == NONE else f"{self.method} · {self.behavior.lower()}"


@dataclass(frozen=True)
class LabelMethod:
    """A way to rank training examples by how suspicious their label is.

    named: the method of `engine.scoring.named` whose specification it implies; None where it implies none. instead:
    what it does then. detector: how it ranks without influence; None where it does not.
    """

    title: str
    named: NamedMethod | None = None
    instead: str = ""
    detector: Detector | None = None

    @property
    def reads(self) -> bool:
        """Whether it reads a trusted behavior."""
        return self.named is not None and self.named.reads

    @property
    def over(self) -> Over | None:
        """How the scores of the trusted examples are put together; None where it implies no specification."""
        return None if self.named is None else OF_ITS_LABEL if self.named.of_own_class else MEAN

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return tuple(Pair(self.title, title) for title in BEHAVIOR_TITLES.values()) if self.reads else (
            Pair(self.title),)

    def scoring(self, behavior: str = NONE) -> Scoring | None:
        """The specification that it implies with a trusted behavior, given by its title; None where there is none."""
        names = {title: name for name, title in BEHAVIOR_TITLES.items()}
        return self.named.implied(names.get(behavior)) if self.named else None

    def asks(self, behavior: str = NONE) -> str:
        """What it asks, in a sentence or two: the question of its specification, and how the scores of the trusted
        examples become one suspicion."""
        scoring = self.scoring(behavior)
        return f"{scoring.plain_question()} {self.over.sentence}" if scoring and self.over else self.instead


METHODS: Registry[LabelMethod] = Registry("method", {
    "random": LabelMethod("Random", instead="A random order."),
    **{name: LabelMethod(NAMED[named].label, NAMED[named]) for name, named in {
        "repsim": "repsim_cosine", "ntk": "ntk_last_layer", "gradsim": "gradsim", "tracin": "tracin",
        "lissa": "influence_function_lissa"}.items()},
    "repsim_unit": LabelMethod("RepSim (unit centroid)", NAMED["repsim_cosine"]),
    "ntk_loss_gradients": LabelMethod(NAMED["ntk_loss_gradients"].label, NAMED["ntk_loss_gradients"]),
    "lissa_power": LabelMethod("LiSSA (power steps)", replace(NAMED["influence_function_lissa"],
                                                              estimator="lissa;scale=power")),
    **{name: LabelMethod(detector.title, instead=detector.sentence, detector=detector)
       for name, detector in DETECTORS.items()}})

CONSENSUS_METHOD = LabelMethod("Consensus", instead="The mean rank over the methods, each with a trusted behavior "
                                                    "that suits the training. It implies no specification.")
CONSENSUS = Pair(CONSENSUS_METHOD.title)
"""Made of the other rankings, and no run of its own."""

SPACES = {"logit": "logit", "repr": "repr."}
SIGNALS = {"train": "train", "behavior": "behavior", "both": "both"}


def augmented(signal: str, space: str, influence: bool = False) -> str:
    """`RepSim + train (logit)`, as Table A-16 writes it; `influence`: with the sign of Eq. 6."""
    return f"RepSim + {SIGNALS[signal]} ({SPACES[space]})" + (", sign of Eq. 6" if influence else "")


MAIN = ("random", "repsim", "ntk", "gradsim", "tracin", "lissa", "confident")
"""Those of the paper's tables, and confident learning."""


def reading(group: str) -> tuple[str, ...]:
    """The names of the methods without influence that read the same."""
    return tuple(name for name, method in METHODS.items() if method.detector and method.detector.reads == group)


SEARCHED = (*MAIN[:-1], *reading(HELD_OUT), *reading(TRAINING))
"""Those of a search."""


def usual(quick: bool) -> tuple[str, ...]:
    """The methods of a search by default. quick: whether its model is fitted in seconds, so that methods that fit it
    anew take part."""
    return tuple(sorted((*SEARCHED, *reading(REFITTED)) if quick else SEARCHED))


def pairs_of(methods: tuple[str, ...] = MAIN) -> tuple[Pair, ...]:
    """Every pair of the named methods, in order."""
    return tuple(pair for name in methods for pair in METHODS[name].pairs)


def suspicion(pair: Pair) -> str:
    """What the scores of a pair say of a label, in words."""
    names = {title: name for name, title in BEHAVIOR_TITLES.items()}
    return direction.suspicion(BEHAVIORS[names[pair.behavior]] if pair.behavior in names else None)


def label_method(pair: Pair) -> LabelMethod | None:
    """The registered method of a pair; None for one that only a table has, such as RepSim with signals."""
    return next((method for method in (*METHODS.values(), CONSENSUS_METHOD) if method.title == pair.method), None)
