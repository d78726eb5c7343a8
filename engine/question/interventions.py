r"""Interventions P_k: what is done to training example z_k. Pure values; nothing is computed here.

Each intervention names the processes that can carry it out (`fits`), its clause in the English
question, its LaTeX, and its orientation: +1, or −1 where z_k gets less weight (`remove`, and `upweight` with α < 0), so
that a positive effect of the intervention means that z_k itself is harmful. Scores of different interventions are
compared after it.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from engine.basics.errors import InvalidInput
from engine.basics.settings import FREE, setting
from engine.basics.values import Count, Number, Value, short
from engine.question.change import Change

STEPS = ("one_step", "unrolled", "trajectory")
DERIVATIVE = r"\left.\tfrac{d}{d\alpha}\right|_{\alpha=0}L_{\mathcal D}(\theta)+\alpha\,\ell(z_k;\theta)"
INSTEAD = ("score new candidates with `add_occurrence` and steps, with `upweight` and `reoptimize`, or with "
           "`infinitesimal` and `local_response`")
"""What can be asked about an example outside the training set."""
OBJECTIVES = ("reoptimize", "local_search", "retrain")


def _not_zero(alpha: float) -> float:
    if alpha == 0:
        raise InvalidInput("The weight α of `upweight` is 0, which changes nothing; give another, or use "
                           "`infinitesimal` for the derivative there.")
    return alpha


class _Intervention(Value):
    """label_free: whether what is done to z_k does not depend on its label."""

    kind: str
    fits: ClassVar[tuple[str, ...]]
    label_free: ClassVar[bool] = False
    why: ClassVar[str]

    @property
    def orientation(self) -> int:
        """The sign of what it does to z_k's weight: +1, or −1 where it takes some away."""
        return 1

    @property
    def adds(self) -> bool:
        """Whether it can be done to an example that is not in the training set, which it then adds."""
        return True

    @property
    def refuses_new(self) -> str:
        """Why it cannot, as a sentence; empty where it can."""
        return "" if self.adds else (f"`{self.title}` asks about training examples, and the candidates are new ones; "
                                     f"{INSTEAD}.")

    @property
    def title(self) -> str:
        return self.kind.replace("_", " ")

    @property
    def subject(self) -> str:
        """Of whom an oriented score says whether it supports the behavior."""
        return "an example"

    def check(self, n: int) -> None:
        """Raises `InvalidInput` where it makes no sense among n training examples."""

    @property
    def when(self) -> str:
        """As LaTeX, during which part of a training; empty where it is all of it."""
        return ""

    def weighs(self, step: int, per_epoch: int) -> bool:
        """Whether step number 1, 2, … of a training of so many steps an epoch sees what it does to z_k."""
        return True

    def change(self, n: int) -> Change:
        """What it does to the objective of n training examples. Raises `InvalidInput` where it leaves that alone, and
        as `check` does."""
        raise InvalidInput(f"`{self.kind}` is an update and does not change the objective of the training; use "
                           "`upweight` with a process that ends at an optimum.")


class Remove(_Intervention):
    """Leave z_k out. `normalization` says whether the mean then runs over n−1 examples or stays over n."""

    kind: Literal["remove"] = "remove"
    normalization: Literal["n-1", "n"] = setting(
        "n-1", "The number of examples that the mean runs over once z_k is left out.", "the paper", FREE)
    fits: ClassVar = OBJECTIVES
    why: ClassVar = "removal changes the objective, which a step on z_k alone does not use"
    adds: ClassVar[bool] = False

    @property
    def orientation(self) -> int:
        return -1

    @property
    def title(self) -> str:
        return "remove" if self.normalization == "n-1" else "remove (mean over n)"

    @property
    def clause(self) -> str:
        mean = "averaged over the other n−1 examples" if self.normalization == "n-1" else "still divided by n"
        return f"this training example were left out (the loss {mean})"

    @property
    def latex(self) -> str:
        scale = r"\tfrac{1}{n-1}" if self.normalization == "n-1" else r"\tfrac{1}{n}"
        return rf"{scale}\sum_{{i\neq k}}\ell(z_i;\theta)"

    def change(self, n: int) -> Change:
        if self.normalization == "n":
            return Change(own=-1.0 / n, weight=0.0)
        return Change(n / (n - 1), -1.0 / (n - 1), weight=0.0, normalization="n-1")


class Upweight(_Intervention):
    """The objective L_D(θ) + α ℓ(z_k; θ), α > −1/n and not 0. One more occurrence in n examples is α = 1/n.

    z_k counts 1 + nα times, which is more than never: a negative weight has no optimum in general, and at −1/n the
    example is removed.
    """

    kind: Literal["upweight"] = "upweight"
    alpha: Annotated[Number, AfterValidator(_not_zero)] = setting(
        ..., "α: what is added to z_k's weight 1/n in the objective, above −1/n and not 0.", "none", FREE, gt=-1)
    fits: ClassVar = OBJECTIVES
    why: ClassVar = "a weight in the objective takes effect at the new optimum"

    @property
    def orientation(self) -> int:
        return 1 if self.alpha > 0 else -1

    @property
    def adds(self) -> bool:
        return self.alpha > 0

    @property
    def title(self) -> str:
        return f"upweight α={short(self.alpha)}"

    @property
    def clause(self) -> str:
        if self.alpha < 0:
            return ("this training example's loss were subtracted from the objective with weight "
                    f"−α = {short(-self.alpha)}")
        return f"this training example's loss were added to the objective with weight α = {short(self.alpha)}"

    @property
    def latex(self) -> str:
        return rf"L_{{\mathcal D}}(\theta)+\alpha\,\ell(z_k;\theta),\ \alpha={short(self.alpha)}"

    def check(self, n: int) -> None:
        if 1.0 + n * self.alpha <= 0.0:
            raise InvalidInput(f"With the weight α = {short(self.alpha)} one of {n:,} training examples would have "
                               f"a negative weight; give an α above −1/n = {short(-1.0 / n)}, or use `remove` with the "
                               "mean over n.")

    def change(self, n: int) -> Change:
        self.check(n)
        return Change(own=self.alpha, weight=1.0 + n * self.alpha, size=self.alpha)


class Infinitesimal(_Intervention):
    """The derivative with respect to the upweighting scale at α = 0; scores are dB/dα."""

    kind: Literal["infinitesimal"] = "infinitesimal"
    fits: ClassVar = ("local_response", "replay")
    why: ClassVar = "a derivative at α = 0 is a linear response, not a finite move"

    clause: ClassVar[str] = "this training example's weight in the objective were increased by an infinitesimal amount"

    latex: ClassVar[str] = DERIVATIVE

    def change(self, n: int) -> Change:
        return Change(own=1.0)


class InfinitesimalDuring(_Intervention):
    """The derivative with respect to the weight of z_k in one epoch, or one step, of the training alone: `at` of them,
    from 1. Over all epochs, and over all steps, it adds up to `infinitesimal`. Under full batches a step is an epoch.
    """

    kind: Literal["infinitesimal_during"] = "infinitesimal_during"
    unit: Literal["epoch", "step"] = setting("epoch", "What `at` counts.", "this program", FREE)
    at: Count = setting(1, "Which epoch or step of the training, from 1.", "this program", FREE, ge=1, le=10_000_000)
    fits: ClassVar = ("replay",)
    why: ClassVar = "the effect of a weight at one moment of a training depends on the whole run"

    @property
    def title(self) -> str:
        return f"infinitesimal in {self.unit} {self.at}"

    @property
    def clause(self) -> str:
        return (f"this training example's weight in the objective were increased by an infinitesimal amount in "
                f"{self.unit} {self.at} of the training alone")

    @property
    def latex(self) -> str:
        return rf"{DERIVATIVE}\ {self.when}"

    @property
    def when(self) -> str:
        return rf"\text{{in {self.unit} }}{self.at}"

    def weighs(self, step: int, per_epoch: int) -> bool:
        return self.at == (step if self.unit == "step" else (step - 1) // per_epoch + 1)


class AddOccurrence(_Intervention):
    """One more occurrence of z_k in the update objective (paper, the paragraph before Eq. 5)."""

    kind: Literal["add_occurrence"] = "add_occurrence"
    fits: ClassVar = STEPS
    why: ClassVar = "one more occurrence is an update on z_k's own loss"

    clause: ClassVar[str] = "the model were trained on this example once more"

    latex: ClassVar[str] = r"\ell(z_k;\theta)"


class Auxiliary(_Intervention):
    """The label-free loss −f_w(x_k) of the similarity construction (paper, Eq. 3 and 4).

    f_w is the linear readout that the query reads: the logit of the query's own class, on x_k.
    """

    kind: Literal["auxiliary"] = "auxiliary"
    fits: ClassVar = ("one_step",)
    label_free: ClassVar = True
    why: ClassVar = "the similarity construction is one step on a linear readout"

    clause: ClassVar[str] = "the query's readout were pushed up once on this example's input, whatever its label"

    latex: ClassVar[str] = r"-f_w(x_k)"


class Relabel(_Intervention):
    """z_k keeps its input and weight but carries `label` instead of its own."""

    kind: Literal["relabel"] = "relabel"
    label: Count = setting(..., "The class that z_k carries in place of its own, as a number from 0.", "none", FREE,
                           ge=0)
    fits: ClassVar = OBJECTIVES
    why: ClassVar = "a changed label changes the objective and takes effect at the new optimum"

    adds: ClassVar[bool] = False

    @property
    def title(self) -> str:
        return f"relabel as {self.label}"

    @property
    def subject(self) -> str:
        return f"an example with the label {self.label} in place of its own"

    @property
    def clause(self) -> str:
        return f"this training example carried the label {self.label} instead of its own"

    @property
    def latex(self) -> str:
        return (rf"L_{{\mathcal D}}(\theta)+\tfrac1n\left[\ell((x_k,{self.label});\theta)"
                r"-\ell((x_k,y_k);\theta)\right]")

    def change(self, n: int) -> Change:
        return Change(own=-1.0 / n, further=((1.0 / n, self.label),), label=self.label)


Intervention = Annotated[
    Remove | Upweight | Infinitesimal | InfinitesimalDuring | AddOccurrence | Auxiliary | Relabel,
    Field(discriminator="kind")]
INTERVENTIONS: dict[str, type[Intervention]] = {
    cls.model_fields["kind"].default: cls
    for cls in (Remove, Upweight, Infinitesimal, InfinitesimalDuring, AddOccurrence, Auxiliary, Relabel)}
