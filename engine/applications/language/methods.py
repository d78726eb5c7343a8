"""The names of what ranks training records: methods, and pairs of a method and a behavior, as in the paper's tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.basics.registry import Registry
from engine.estimators.held import HeldForm
from engine.scoring.named import NAMED
from engine.scoring.scoring import Scoring

NONE = "none"
"""Stands for the behavior where a method reads none."""
ANSWER = "answer_logit"
"""Stands in a specification for the behavior where none is chosen, or where a method reads none."""
READOUT = "a readout of the prompt's representation"
"""What a similarity reads, which no behavior names."""


@dataclass(frozen=True)
class Method:
    """A way to rank training records.

    label: its name in the paper's tables. named: the method of `engine.scoring.named` that it is; `alone`: what a
    baseline asks, which implies no specification. directed: whether its sign says if a record helps or harms; one that
    is not directed is ranked as it is.
    """

    name: str
    label: str
    note: str
    source: str
    named: str
    directed: bool = True
    alone: str = ""

    @property
    def reads(self) -> bool:
        """Whether it reads the behavior."""
        return NAMED[self.named].reads

    def scoring(self, behavior: str = NONE) -> Scoring | None:
        """The specification that it implies with a behavior, with its estimator; None where it implies none."""
        if not NAMED[self.named].implies:
            return None
        return NAMED[self.named].implied(behavior if self.reads and behavior != NONE else ANSWER)

    @property
    def form(self) -> HeldForm:
        """How it scores from gradients that are held."""
        scoring = NAMED[self.named].implied(ANSWER)
        return scoring.route.held_form(scoring.specification)

    def asks(self, behavior: str = NONE) -> str:
        """What it asks about a behavior, in a sentence: the question of its specification, where it implies one."""
        scoring = self.scoring(behavior)
        return self.alone if scoring is None else scoring.plain_question("" if self.reads else READOUT)


METHODS: Registry[Method] = Registry("method")
for _method in (
    Method("gradient_norm", "Grad. norm", "Length of a record's training gradient.", "", "gradient_norm",
           directed=False, alone="Which training records pull hardest on the model, whatever they teach it?"),
    Method("repsim", "RepSim", "Cosine of the prompts' representations.", "Hanawa et al. 2021", "repsim_cosine"),
    Method("random", "Random", "Chance.", "", "random", directed=False,
           alone="Which training records does chance pick?"),
    Method("gradsim", "GradSim", "Inner product of gradients at the end of training.", "Charpiat et al. 2019",
           "gradsim"),
    Method("tracin", "TracIn", "GradSim summed over checkpoints, weighted by learning rates.", "Pruthi et al. 2020",
           "tracin"),
    Method("trak", "TRAK", "Leave-one-out of a logistic regression on projected gradients.", "Park et al. 2023",
           "trak"),
    Method("less", "LESS", "Cosine of query gradients and Adam's updates, over checkpoints.", "Xia et al. 2024",
           "less"),
):
    METHODS.add(_method.name, _method)
REPSIM = METHODS["repsim"]
"""The one that reads a layer."""


def pairs(behaviors: Sequence[str]) -> Iterator[tuple[Method, str]]:
    """Every method with every behavior that it reads; those that read none have the behavior `none`."""
    for method in METHODS.values():
        for behavior in behaviors if method.reads else (NONE,):
            yield method, behavior
