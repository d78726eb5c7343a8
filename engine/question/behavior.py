r"""What a behavior B(q; θ) is: a named readout with its gradient and its difference, as pure functions.

It is a function of what the model puts out for the query, f(q) ∈ R^C, and of the label y. Larger is better for every
built-in one, so that positive influence always means "helps". The behavior signal s_B = ∂B/∂f is analytic where it
exists (paper, Section 3, the paragraph before Eq. 6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from engine.basics import plugins
from engine.basics.fingerprint import fingerprint
from engine.question.worded import Worded

Readout = Callable[[Tensor, Tensor], Tensor]
Difference = Callable[[Tensor, Tensor, Tensor], Tensor]

Reads = Literal["classes", "tokens", "targets"]
"""What f(q) are: the logits of classes, what is read off the tokens of a record, or what is compared with targets."""

OWN_LOSS = "query_loss"
"""The behavior that is minus the loss, whatever the loss is."""


@dataclass(frozen=True)
class Behavior:
    """A named readout.

    value: (logits (..., C), labels (...)) -> (...)
    signal: the same arguments -> (..., C), ∂value/∂logits; None where no gradient exists.
    clause: how the behavior is spoken of inside an English question.
    difference: (change (..., C), logits, labels that broadcast against it) -> (...), value(logits + change) −
    value(logits) in closed form, so that a small change is not lost between two nearly equal values; or None.
    own: whether a user registered it in this process. reads: what f(q) has to be. steepest: what no |∂value/∂f_j|
    exceeds at any logits; None where that is not known. words: what a user wrote into it. quantity: what its *value*
    is called, where that is not its title. unit: of the value. minus: the familiar number of which the value is the
    negative. What carries a sign is named by `value_title`, from these; `title` names the question alone.
    """

    name: str
    title: str
    formula: str
    clause: str
    value: Readout
    signal: Readout | None
    difference: Difference | None = None
    own: bool = False
    reads: Reads = "classes"
    steepest: float | None = None
    words: Worded | None = None
    quantity: str = ""
    unit: str = ""
    minus: str = ""

    @property
    def value_title(self) -> str:
        """What a value of it is called, and of what it is the negative: `log-likelihood (minus the query loss)`."""
        return (self.quantity or self.title) + (f" (minus the {self.minus})" if self.minus else "")

    def fits(self, reads: Reads) -> bool:
        """Whether it is read off such outputs: off those compared with targets `OWN_LOSS` and a user's own are."""
        return self.reads == reads or reads == "targets" and self.reads == "classes" and (
            self.own or self.name == OWN_LOSS)

    @property
    def direction(self) -> str:
        """Which way its value is good, as a sentence."""
        if self.minus:
            return f"Larger is better: the {self.minus} falls where the {self.quantity or self.title} rises."
        return "An example supports it by raising it." if self.own else "Larger is better."

    @property
    def fingerprint(self) -> str:
        """What tells a user's own readout from others of its name, as its code, closure and globals are now."""
        return fingerprint(self.value) if self.own else ""

    @property
    def plugin(self) -> str:
        """The plugin in which a user's own readout is written, which a worker imports too; empty where it is none."""
        return plugins.holding(self.value) if self.own else ""

    @property
    def differentiable(self) -> bool:
        return self.signal is not None

    def changed(self, change: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
        """B(f + δ) − B(f) of changes δ (..., C) at logits f and labels that broadcast against them: (...)."""
        if self.difference is not None:
            return self.difference(change, logits, labels)
        return self.value(logits + change, labels.expand(change.shape[:-1])) - self.value(logits, labels)
