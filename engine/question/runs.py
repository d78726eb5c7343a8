"""Processes that train as a seed draws it: retraining, and the derivative of a training run."""

from __future__ import annotations

from typing import ClassVar, Literal, Self, TypeVar, cast

from engine.basics.errors import InvalidInput
from engine.basics.settings import FREE, GROWS, setting
from engine.basics.values import Count
from engine.question.process import Eta, ProcessValue


class Seeded(ProcessValue):
    """Training as a seed draws it: the expectation runs over `seeds` of them, the first one `first` after the seed that
    the problem was trained with. With one seed it is the answer of that run alone.
    """

    random: ClassVar = True
    unwritten: ClassVar = ("first",)
    seeds: Count = setting(1, "Number of training runs that the answer averages over.", "this program", GROWS,
                           ge=1, le=1_000)
    first: Count = setting(0, "Offset of the first seed from the model's own.", "this program", FREE, ge=0,
                           le=1_000_000)

    @property
    def one_model(self) -> bool:
        return self.seeds == 1

    def runs(self, own: int) -> range:
        """The seeds of its runs, for a problem that was trained with the seed `own`."""
        return range(own + self.first, own + self.first + self.seeds)

    def run(self, own: int) -> int:
        """The seed of its one run. Raises `InvalidInput` where it has several."""
        if self.seeds > 1:
            raise InvalidInput(f"This looks into one training run, but `{self.kind}` averages over "
                               f"{self.seeds}; give `seeds` 1, and `first` for another run.")
        return own + self.first

    def with_runs_of(self, other: Seeded) -> Self:
        """The same process of the other one's runs."""
        return self.model_copy(update={"seeds": other.seeds, "first": other.first})

    @property
    def _runs_label(self) -> str:
        """What a chip says of the runs."""
        parts = [f"{self.seeds} seeds"] if self.seeds > 1 else []
        if self.first:
            parts.append(f"from seed +{self.first}" if parts else f"seed +{self.first}")
        return "".join(f", {part}" for part in (" ".join(parts),) if part)

    @property
    def _runs(self) -> str:
        """Its words in the question."""
        if self.seeds == 1:
            return f", with another seed, {self.first} after the model's own" if self.first else ""
        start = f", from {self.first} after the model's own" if self.first else ""
        return f", on average over {self.seeds} seeds{start}"


class Retrain(Seeded):
    """Training from scratch under the intervention."""

    kind: Literal["retrain"] = "retrain"
    linear: ClassVar = True
    whole_objective: ClassVar = True
    optimum: ClassVar = True
    baseline: ClassVar = "factual"
    damping: ClassVar[float] = 0.0
    latex: ClassVar[str] = r"\mathrm{train}\left[{P}\right]\ \text{from scratch}"

    @property
    def title(self) -> str:
        return f"retrain{self._runs_label}"

    @property
    def clause(self) -> str:
        return f"and the model were then trained again from scratch{self._runs}"


class Replay(Seeded):
    """The derivative of the whole training run: how where it ends starts to move, through every one of its steps.

    Initial weights, batches, learning rates and masks of dropout stay those of a seed. A network repeats its own
    recipe. Softmax regression has none: it descends from zero in `steps` full-batch steps of size η, which a network
    does not read.
    """

    kind: Literal["replay"] = "replay"
    derivative: ClassVar = True
    double: ClassVar = True
    of_descent: ClassVar = ("eta", "steps")
    at_once: ClassVar = True
    damping: ClassVar[float] = 0.0
    eta: Eta = setting(1.0, "For softmax regression, which trains from zero: η.", "this program", FREE)
    steps: Count = setting(500, "For softmax regression: the number of steps.", "this program", GROWS, ge=1, le=10_000)
    factual_latex: ClassVar[str] = r"\theta_T"
    latex: ClassVar[str] = (r"\left.\tfrac{d}{d\alpha}\right|_{\alpha=0}\mathrm{train}\left[L_{\mathcal D}(\theta)"
                            r"+\alpha\,\ell(z_k;\theta)\right]")

    @property
    def title(self) -> str:
        return f"replay{self._runs_label}"

    @property
    def clause(self) -> str:
        return f"as the whole training run is repeated with the same initial weights and batches{self._runs}"


def other_runs(a: ProcessValue, b: ProcessValue) -> bool:
    """Whether two processes are the same of different runs: nothing but their seeds tells them apart."""
    return isinstance(a, Seeded) and isinstance(b, Seeded) and a != b and a.with_runs_of(b) == b


def run_and_mean(a: ProcessValue, b: ProcessValue) -> bool:
    """Whether one of them is the answer of a single run, and the other, of any such process, a mean over runs: two
    estimands, whatever else tells them apart."""
    return isinstance(a, Seeded) and isinstance(b, Seeded) and a.one_model != b.one_model


AnyProcess = TypeVar("AnyProcess", bound=ProcessValue)


def of_runs(process: AnyProcess, other: ProcessValue) -> AnyProcess:
    """The process of the other one's runs, where both have such."""
    if isinstance(process, Seeded) and isinstance(other, Seeded):
        return cast(AnyProcess, process.with_runs_of(other))
    return process
