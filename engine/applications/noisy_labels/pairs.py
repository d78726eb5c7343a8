"""The names of what is compared: trusted behaviors, methods, and pairs of both, as the paper's tables say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from engine.basics.registry import Registry

BEHAVIOR_TITLES = {"query_loss": "Trusted loss", "query_logit": "Target logit", "hard_margin": "Hard margin"}
"""Behaviors of `engine.question.behaviors`, read at trusted examples."""
NONE = "none"


class Pair(NamedTuple):
    """A method and the trusted behavior it reads, by title; `none` where a method reads no behavior."""

    method: str
    behavior: str = NONE

    @property
    def title(self) -> str:
        """One line for people."""
        return self.method if self.behavior == NONE else f"{self.method} · {self.behavior.lower()}"


@dataclass(frozen=True)
class Method:
    """A way to rank training examples by how suspicious their label is.

    reads: whether it reads a trusted behavior. question: what it asks, in one sentence. axes: the behavior,
    intervention and process of the specification that it implies, empty where it implies none.
    """

    title: str
    reads: bool
    question: str
    axes: tuple[str, str, str] | tuple[()] = ()

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return tuple(Pair(self.title, title) for title in BEHAVIOR_TITLES.values()) if self.reads else (
            Pair(self.title),)


METHODS: Registry[Method] = Registry("method")
for _name, _method in {
    "random": Method("Random", False, "A shuffled order: what chance finds."),
    "repsim": Method("RepSim", False, "How far is the representation from the centre of its label's trusted examples?",
                     ("the label's readout", "auxiliary loss on the example", "one step of the readout")),
    "ntk": Method("NTK", False, "How little would raising this example's logit raise that of its label's trusted "
                  "examples, in the last layer?", ("the label's logit", "auxiliary loss on the example", "one step")),
    "gradsim": Method("GradSim", True, "How much would one more step on this example lower the trusted behavior?",
                      ("trusted behavior", "one more occurrence", "one step")),
    "tracin": Method("TracIn", True, "How much did steps on this example lower the trusted behavior during training?",
                     ("trusted behavior", "one more occurrence", "trajectory of checkpoints")),
    "lissa": Method("LiSSA", True, "How much would more weight on this example lower the trusted behavior, once the "
                    "model has settled again?", ("trusted behavior", "infinitesimal upweighting", "local response")),
    "confident": Method("Confident learning", False, "Does a model that never saw this example doubt its label? "
                        "(cleanlab; no influence is estimated)"),
}.items():
    METHODS.add(_name, _method)

SPACES = {"logit": "logit", "repr": "repr."}
SIGNALS = {"train": "train", "behavior": "behavior", "both": "both"}


def augmented(signal: str, space: str, influence: bool = False) -> str:
    """`RepSim + train (logit)`, as Table A-16 writes it; `influence`: with the sign of Eq. 6."""
    return f"RepSim + {SIGNALS[signal]} ({SPACES[space]})" + (", sign of Eq. 6" if influence else "")


MAIN = ("random", "repsim", "ntk", "gradsim", "tracin", "lissa", "confident")


def pairs_of(methods: tuple[str, ...] = MAIN) -> tuple[Pair, ...]:
    """Every pair of the named methods, in order."""
    return tuple(pair for name in methods for pair in METHODS[name].pairs)
