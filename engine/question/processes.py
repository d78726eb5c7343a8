r"""Processes T: how the intervened training yields the counterfactual parameters. Pure values.

Each process has a clause for the English question and its LaTeX for θ_k^cf, and says of itself what others need to
know of it: whether it is a derivative, a linear system, an optimum, an expectation over seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import (
    Field,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_serializer,
)

from engine.basics.errors import InvalidInput
from engine.basics.fractions import Fractions, fractions_of
from engine.basics.registry import unknown
from engine.basics.settings import FREE, GROWS, setting
from engine.basics.values import Count, Number, short
from engine.question.interventions import INTERVENTIONS
from engine.question.process import Eta, ProcessValue
from engine.question.runs import Replay, Retrain


class OneStep(ProcessValue):
    """One gradient step of size η on the intervened example's own loss, from θ_D."""

    kind: Literal["one_step"] = "one_step"
    steps: ClassVar[int] = 1
    eta: Eta = setting(..., "η, the size of a step.", "none", FREE)
    plain_title: ClassVar[str] = "one step"
    plain_clause: ClassVar[str] = "in one small gradient step from the trained model"

    @property
    def updates(self) -> int:
        return self.steps

    @property
    def title(self) -> str:
        return f"one step η={short(self.eta)}"

    @property
    def clause(self) -> str:
        return f"in one gradient step of size η = {short(self.eta)} from the trained model"

    @property
    def latex(self) -> str:
        return rf"\theta_{{\mathcal D}}-\eta\,\nabla_\theta\left[{{P}}\right],\ \eta={short(self.eta)}"


class Unrolled(ProcessValue):
    """`steps` gradient steps, each of size η, each on z_k alone, from θ_D."""

    kind: Literal["unrolled"] = "unrolled"
    eta: Eta = setting(..., "η, the size of a step.", "none", FREE)
    steps: Count = setting(..., "How many steps.", "none; the paper takes 5", GROWS, ge=1, le=10_000)

    @property
    def updates(self) -> int:
        return self.steps

    @property
    def title(self) -> str:
        return f"{self.steps} steps η={short(self.eta)}"

    @property
    def clause(self) -> str:
        return f"in {self.steps} successive gradient steps of size η = {short(self.eta)} from the trained model"

    @property
    def latex(self) -> str:
        return (rf"\theta^{{({self.steps})}},\ \theta^{{(t+1)}}=\theta^{{(t)}}-\eta\,\nabla_\theta\left[{{P}}\right],"
                rf"\ \theta^{{(0)}}=\theta_{{\mathcal D}},\ \eta={short(self.eta)}")


class Trajectory(ProcessValue):
    """Training by gradient descent from zero; z_k gets one extra step of size η at every checkpoint.

    The factual run takes `checkpoints` × `every` full-batch steps of size η on L_D. The estimand is
    Σ_t [B(q; θ_t − η ∇ℓ(z_k; θ_t)) − B(q; θ_t)], the learning-rate-weighted sum over checkpoints
    whose first-order form is TracIn (Pruthi et al., 2020, Section 3).

    A model that was trained by its own recipe is visited at the checkpoints that its training stored, where η counts in
    proportion to a weight of each: by default the one that the recipe states (of a fine-tuning the sum of the learning
    rates since the checkpoint before), or with `weights` "step" the learning rate of that step alone. fractions: of the
    training's steps T, visiting ⌈f·T⌉ for each f in place of the last `checkpoints`.
    """

    kind: Literal["trajectory"] = "trajectory"
    steps: ClassVar[int] = 1
    at_checkpoints: ClassVar = True
    unwritten: ClassVar = ("fractions", "weights")
    eta: Eta = setting(..., "η, the size of a step.", "none", FREE)
    checkpoints: Count = setting(5, "Number of checkpoints at which z_k gets an extra step.", "this program", GROWS,
                                 ge=1, le=1_000)
    every: Count = setting(20, "For softmax regression: training steps between two checkpoints.", "this program",
                           GROWS, ge=1, le=10_000)
    fractions: Fractions = setting(
        "", "Fractions of the training whose checkpoints are visited, such as 0.33,0.66,1, in place of the last ones.",
        "none", GROWS)
    weights: Literal["recipe", "step"] = setting(
        "recipe", "What η is proportional to at a checkpoint: the weight that the recipe states, or that step's "
        "learning rate.", "this program", FREE)
    plain_title: ClassVar[str] = "trajectory"
    plain_clause: ClassVar[str] = "in one extra step at each checkpoint of its training, the effects added up"

    @property
    def models(self) -> int:
        return len(fractions_of(self.fractions)) or self.checkpoints

    @property
    def one_model(self) -> bool:
        return self.models == 1

    @property
    def updates(self) -> int:
        return self.models * self.steps

    @property
    def title(self) -> str:
        rate = ", rate of the step" if self.weights == "step" else ""
        at = f" at {self.fractions.replace(',', ', ')}" if self.fractions else ""
        return f"trajectory{at} {self.checkpoints}×{self.every} η={short(self.eta)}{rate}"

    @property
    def clause(self) -> str:
        rate = " in proportion to the learning rate of the step" if self.weights == "step" else ""
        where = (f"after fractions {self.fractions.replace(',', ', ')} of training" if self.fractions else
                 f"at each of {self.checkpoints} checkpoints of training, {self.every} steps apart")
        return f"in one extra step of size η = {short(self.eta)}{rate} {where}, the effects added up"

    @property
    def latex(self) -> str:
        last = self.every * self.checkpoints
        visited = (rf"t/T={self.fractions}" if self.fractions else
                   rf"t={self.every},{2 * self.every},\dots,{last}")
        rate = r"\eta_t" if self.weights == "step" else r"\eta"
        return (rf"\theta_t-{rate}\,\nabla_\theta\left[{{P}}\right]\ \text{{summed over }}{visited},"
                rf"\ \eta={short(self.eta)}")


class LocalResponse(ProcessValue):
    """The linear response −(H + damping·I)^{-1} ∇ℓ(z_k; θ_D) of the optimum (paper, Eq. 8)."""

    kind: Literal["local_response"] = "local_response"
    derivative: ClassVar = True
    linear: ClassVar = True
    damping: Number = setting(0.0, "What is added to the diagonal of the Hessian.", "none", FREE, ge=0,
                              le=1e6)

    @property
    def title(self) -> str:
        return f"local response, damping {short(self.damping)}" if self.damping else "local response"

    @property
    def clause(self) -> str:
        damped = f", damped by {short(self.damping)}," if self.damping else ""
        return f"as the optimum{damped} starts to move"

    @property
    def latex(self) -> str:
        damping = rf"+{short(self.damping)}\,I" if self.damping else ""
        return rf"-\left(H_{{\mathcal D}}{damping}\right)^{{-1}}\nabla_\theta\,\ell(z_k;\theta_{{\mathcal D}})"


class _Search(ProcessValue):
    """What starts at θ_D and lowers the intervened objective.

    Its `baseline` is what the counterfactual is compared with: the factual model θ_D (the paper), or the model that
    the same search finds without any intervention. Its `damping` δ keeps it local: the objective gains
    (δ/2)‖θ − θ_D‖², whose linear response is that of the damped inverse Hessian.

    stated: parameters that are written down even where they have their default.
    """

    linear: ClassVar = True
    whole_objective: ClassVar = True
    double: ClassVar = True
    stated: ClassVar[tuple[str, ...]] = ()
    baseline: Literal["factual", "reoptimized"] = setting(
        "factual", "What the counterfactual is compared with: θ_D, or the end of the same search without intervention.",
        "the paper", "one more search where it is `reoptimized`")
    damping: Number = setting(0.0, "δ of the term (δ/2)‖θ − θ_D‖² that holds the search near θ_D.", "none", FREE,
                              ge=0, le=1e6)

    @model_serializer(mode="wrap")
    def _written(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Zero damping is not written, so that digests are those of the time before there was any."""
        written = {key: value for key, value in serialize(self).items() if key != "damping" or value}
        return {**written, **{name: getattr(self, name) for name in self.stated}}

    @property
    def _remarks(self) -> list[str]:
        return [*(["drift removed"] if self.baseline != "factual" else []),
                *([f"damping {short(self.damping)}"] if self.damping else [])]

    @property
    def _near(self) -> str:
        return f", held near it by a damping of {short(self.damping)}" if self.damping else ""

    @property
    def _damped(self) -> str:
        return rf"+\tfrac{{{short(self.damping)}}}{{2}}\|\theta-\theta_{{\mathcal D}}\|^2" if self.damping else ""


class Reoptimize(_Search):
    """From θ_D to the optimum of the intervened objective.

    The baseline `reoptimized` is the optimum without any intervention.
    """

    kind: Literal["reoptimize"] = "reoptimize"
    optimum: ClassVar = True

    @property
    def factual_latex(self) -> str:
        return r"\theta_{\mathcal D}" if self.baseline == "factual" else r"\theta_{\mathcal D}^{\mathrm{reopt}}"

    @property
    def title(self) -> str:
        return f"re-optimise ({', '.join(self._remarks)})" if self._remarks else "re-optimise"

    @property
    def clause(self) -> str:
        against = "" if self.baseline == "factual" else ", compared with re-optimising without the change"
        return f"and the model were then re-optimised from where it stands{self._near}{against}"

    @property
    def latex(self) -> str:
        return rf"\arg\min_{{\theta}}\left[{{P}}{self._damped}\right]\ \text{{from }}\theta_{{\mathcal D}}"


class LocalSearch(_Search):
    """`iterations` of L-BFGS on the intervened objective from θ_D, wherever they end: the paper's local
    re-optimisation of a network (Appendix A-1). Where they end is in general no optimum.

    The baseline `reoptimized` is where as many iterations end without any intervention.
    """

    kind: Literal["local_search"] = "local_search"
    stated: ClassVar = ("iterations",)
    iterations: Count = setting(20, "Iterations of L-BFGS.", "the paper", GROWS, ge=1, le=10_000)

    @property
    def factual_latex(self) -> str:
        searched = rf"\theta_{{\mathcal D}}^{{({self.iterations})}}"
        return r"\theta_{\mathcal D}" if self.baseline == "factual" else searched

    @property
    def _count(self) -> str:
        return f"{self.iterations} L-BFGS iteration{'s' if self.iterations > 1 else ''}"

    @property
    def title(self) -> str:
        return f"{self._count} ({', '.join(self._remarks)})" if self._remarks else self._count

    @property
    def clause(self) -> str:
        against = "" if self.baseline == "factual" else ", compared with as many without the change"
        return f"and the model were then moved by {self._count} from where it stands{self._near}{against}"

    @property
    def latex(self) -> str:
        return (rf"\mathrm{{LBFGS}}_{{{self.iterations}}}\left[{{P}}{self._damped}\right]"
                r"\ \text{from }\theta_{\mathcal D}")


def _or_registered(data: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """The built-in processes by their union, others by their class."""
    kind = data.get("kind") if isinstance(data, Mapping) else vars(data).get("kind") if hasattr(
        data, "__dict__") else None
    own = PROCESSES[kind] if isinstance(kind, str) and kind in PROCESSES else None
    if own is None or own in BUILT_IN:
        return validate(data)
    return data if isinstance(data, own) else own.parse(data)


Process = Annotated[OneStep | Unrolled | Trajectory | LocalResponse | Reoptimize | LocalSearch | Retrain | Replay,
                    Field(discriminator="kind"), WrapValidator(_or_registered), SerializeAsAny()]
BUILT_IN = (OneStep, Unrolled, Trajectory, LocalResponse, Reoptimize, LocalSearch, Retrain, Replay)
PROCESSES: dict[str, type[Process]] = {
    cls.model_fields["kind"].default: cls for cls in BUILT_IN}


def register_process(process: type[ProcessValue], interventions: Sequence[str]) -> None:
    """Let specifications name a further process, by its `kind`, with these interventions, which it can carry out.

    What computes it is a route of an estimator, such as `ESTIMATORS["exact"].routes[kind]`. A module that is imported
    again replaces its own. Raises `InvalidInput` for the name of a built-in process, and an unknown intervention.
    """
    kind = process.model_fields["kind"].default
    if PROCESSES.get(kind) in BUILT_IN:
        raise InvalidInput(f"A process named `{kind}` is already registered; choose another name.")
    for name in interventions:
        if name not in INTERVENTIONS:
            raise InvalidInput(unknown("intervention", name, INTERVENTIONS))
        INTERVENTIONS[name].fits = tuple(dict.fromkeys((*INTERVENTIONS[name].fits, kind)))
    PROCESSES[kind] = cast(type[Process], process)
