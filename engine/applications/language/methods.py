"""The names of what ranks training records: methods, and pairs of a method and a behavior, as in the paper's tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.basics.registry import Registry
from engine.estimators.held import HeldForm
from engine.scoring.named import NAMED, NamedMethod
from engine.scoring.scoring import Scoring

NONE = "none"
"""Stands for the behavior where a method reads none."""
ANSWER = "answer_logit"
"""Stands in a specification for the behavior where none is chosen, or where a method reads none."""
READOUT = "a readout of the prompt's representation"
"""What a similarity reads, which no behavior names."""


@dataclass(frozen=True)
class Method:
    """A way to rank training records: a method of `engine.scoring.named`, under the name that addresses and payloads
    have of it."""

    name: str
    named: NamedMethod

    @property
    def label(self) -> str:
        """Its name in the paper's tables."""
        return self.named.label

    @property
    def reads(self) -> bool:
        """Whether it reads the behavior."""
        return self.named.reads

    @property
    def directed(self) -> bool:
        """Whether its sign says if a record helps or harms; one that is not directed is ranked as it is."""
        return self.named.implies

    def scoring(self, behavior: str = NONE) -> Scoring | None:
        """The specification that it implies with a behavior, with its estimator; None where it implies none."""
        if not self.directed:
            return None
        return self.named.implied(behavior if self.reads and behavior != NONE else ANSWER)

    @property
    def form(self) -> HeldForm:
        """How it scores from gradients that are held."""
        scoring = self.named.implied(ANSWER)
        return scoring.route.held_form(scoring.specification)

    def asks(self, behavior: str = NONE) -> str:
        """What it asks about a behavior, in a sentence: the question of its specification, where it implies one."""
        scoring = self.scoring(behavior)
        return self.named.asks if scoring is None else scoring.plain_question("" if self.reads else READOUT)


METHODS: Registry[Method] = Registry("method")
for _name, _named in {"gradient_norm": "gradient_norm", "repsim": "repsim_cosine", "random": "random",
                      "gradsim": "gradsim", "tracin": "tracin", "trak": "trak", "less": "less"}.items():
    METHODS.add(_name, Method(_name, NAMED[_named]))
REPSIM = METHODS["repsim"]
"""The one that reads a layer."""


def pairs(behaviors: Sequence[str]) -> Iterator[tuple[Method, str]]:
    """Every method with every behavior that it reads; those that read none have the behavior `none`."""
    for method in METHODS.values():
        for behavior in behaviors if method.reads else (NONE,):
            yield method, behavior
