r"""The specification S = (B, P, T): a frozen value with a digest, an English question and its LaTeX.

Eq. 1 of the paper: I_S(q, k) = E[B(q; θ_k^cf) − B(q; θ_D)], θ_k^cf ~ T(D, θ_D, P_k).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

from pydantic import field_validator, model_validator

from engine.basics import plugins
from engine.basics.errors import InvalidInput
from engine.basics.values import Value, canonical_json
from engine.question.behavior import Behavior
from engine.question.behaviors import BEHAVIORS
from engine.question.departure import Departure
from engine.question.interventions import INTERVENTIONS, Intervention
from engine.question.processes import PROCESSES, Process

Axis = Literal["B", "P", "T"]
OWN = "behavior_fingerprint"
"""The key under which plain data tell which of a user's own behaviors is meant."""
AXES: tuple[Axis, ...] = ("B", "P", "T")
AXIS_NAMES = {"B": "behavior", "P": "intervention", "T": "training process"}


class Specification(Value):
    """The triple (behavior, intervention, process). Two specifications are equal if their digests are.

    Build it with `of` or `parse`, which raise `InvalidInput` for an unknown behavior, a parameter out of
    range, or an intervention that does not fit the process.

    >>> Specification.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}).orientation
    1
    """

    behavior: str
    intervention: Intervention
    process: Process

    @classmethod
    def of(cls, behavior: str, intervention: Intervention | Mapping[str, Any],
           process: Process | Mapping[str, Any]) -> Specification:
        """Build from a behavior name and two values or dictionaries."""
        return cls.parse({"behavior": behavior, "intervention": intervention, "process": process})

    @field_validator("behavior")
    @classmethod
    def _known_behavior(cls, name: str) -> str:
        return BEHAVIORS[name].name

    @model_validator(mode="after")
    def _fit(self) -> Specification:
        intervention, process = self.intervention, self.process
        if process.kind not in intervention.fits:
            raise InvalidInput(misfit(intervention.kind, process.kind))
        if process.derivative and not BEHAVIORS[self.behavior].differentiable:
            raise InvalidInput(f"The behavior `{self.behavior}` has no gradient, so its derivative under "
                               "`local_response` does not exist; choose `upweight` with `reoptimize`, or a "
                               "differentiable behavior.")
        return self

    @property
    def orientation(self) -> int:
        """+1, or −1 for `remove` and for a negative α: orientation × score is positive where z_k supports B,
        under `relabel` where the other label does."""
        return self.intervention.orientation

    @property
    def readout(self) -> Behavior:
        return BEHAVIORS[self.behavior]

    @property
    def departures(self) -> tuple[Departure, ...]:
        """Where an estimator's own question is another one: none of a specification without an estimator."""
        return ()

    def departures_on(self, axis: Axis) -> tuple[Departure, ...]:
        """The departures on one axis."""
        return tuple(departure for departure in self.departures if departure.axis == axis)

    def _on(self, axis: Axis) -> Behavior | Intervention | Process:
        return {"B": self.readout, "P": self.intervention, "T": self.process}[axis]

    def axis(self, axis: Axis) -> str:
        """The chip of one axis: its short title, with the departures from it."""
        return ", ".join((self._on(axis).title, *(departure.title for departure in self.departures_on(axis))))

    def plain_axis(self, axis: Axis) -> str:
        """The chip of one axis without the sizes of its steps, which say nothing of a ranking."""
        own = self.process.plain_title if axis == "T" else self._on(axis).title
        return ", ".join((own, *(departure.title for departure in self.departures_on(axis))))

    def plain_clause(self, axis: Axis) -> str:
        """The words of one axis in `plain_question`."""
        own = self.process.plain_clause if axis == "T" else self._on(axis).clause
        return ", ".join((own, *(departure.clause for departure in self.departures_on(axis))))

    def clause(self, axis: Axis) -> str:
        """The words of one axis in the question, with the departures from it."""
        return ", ".join((self._on(axis).clause, *(departure.clause for departure in self.departures_on(axis))))

    def differing_axes(self, other: Specification) -> tuple[Axis, ...]:
        """The axes on which two specifications differ, departures included, in the order B, P, T."""
        pairs = ((self.behavior, other.behavior), (self.intervention, other.intervention),
                 (self.process, other.process))
        return tuple(axis for axis, (a, b) in zip(AXES, pairs, strict=True)
                     if a != b or self.departures_on(axis) != other.departures_on(axis))

    @property
    def title(self) -> str:
        return " · ".join(self.axis(axis) for axis in AXES)

    @property
    def question(self) -> str:
        """The counterfactual question in one English sentence."""
        return self._sentence(self.clause("B"), self.clause("T"))

    def plain_question(self, behavior: str = "") -> str:
        """The question without the sizes of its steps, which say nothing of a ranking; behavior: other words for it."""
        return self._sentence(behavior or self.clause("B"), self.plain_clause("T"))

    def _sentence(self, behavior: str, process: str) -> str:
        intervention = self.clause("P")
        if self.process.derivative:
            return f"If {intervention}, at what rate would {behavior} change, {process}?"
        comma = "," if process.startswith("and ") else ""
        return f"If {intervention}{comma} {process}, by how much would {behavior} change?"

    @property
    def latex(self) -> str:
        """The estimand as LaTeX: B and its counterfactual parameters under P and T."""
        behavior = self.readout.formula
        theta = self.process.latex.replace("{P}", self.intervention.latex)
        theta += rf"\ {self.intervention.when}" if self.intervention.when else ""
        theta += "".join(rf"\ \text{{({departure.title})}}" for departure in self.departures)
        if self.process.derivative:
            return (rf"I_{{\mathcal S}}(q,k)=\nabla_\theta B(q;{self.process.factual_latex})^\top"
                    r"\frac{d\theta_k}{d\alpha},"
                    rf"\quad B={behavior},\quad \frac{{d\theta_k}}{{d\alpha}}={theta}")
        return (rf"I_{{\mathcal S}}(q,k)=B(q;\theta_k^{{\mathrm{{cf}}}})-B(q;{self.process.factual_latex}),"
                rf"\quad B={behavior},\quad \theta_k^{{\mathrm{{cf}}}}={theta}")

    def canonical(self) -> dict:
        """Plain data that determines the estimand; a user's own behavior adds its source's fingerprint."""
        data = self.model_dump(mode="json")
        if self.readout.fingerprint:
            data[OWN] = self.readout.fingerprint
        return data

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """What `canonical` wrote down. Raises `InvalidInput` as `parse` does, and for a user's own behavior that is
        not registered in this process, or is another function there."""
        plain, name = {key: value for key, value in data.items() if key != OWN}, str(data.get("behavior"))
        here = BEHAVIORS[name].fingerprint if name in BEHAVIORS else ""
        if data.get(OWN, "") != here:
            raise InvalidInput(f"The requested behavior `{name[:60]}` is "
                               f"{'another function' if here else 'not registered'} in this process; register the "
                               f"function that was meant: name its module in {plugins.VARIABLE}, restart dashboard "
                               "and worker, and repeat the request.")
        return cls.parse(plain)

    @property
    def canonical_json(self) -> str:
        return canonical_json(self.canonical())

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, 64 hexadecimal digits."""
        return hashlib.sha256(self.canonical_json.encode()).hexdigest()


def fitting(intervention_kind: str) -> tuple[str, ...]:
    """The kinds of process that can carry out an intervention."""
    return INTERVENTIONS[intervention_kind].fits


def misfit(intervention_kind: str, process_kind: str) -> str:
    """Why an intervention and a process do not go together, and what would."""
    intervention = INTERVENTIONS[intervention_kind]
    takers = [kind for kind, cls in INTERVENTIONS.items() if process_kind in cls.fits]
    return (f"`{intervention_kind}` does not fit `{process_kind}`: {intervention.why}; with `{intervention_kind}` use "
            f"{_either(intervention.fits)}, or with `{process_kind}` use {_either(takers)}.")


def _either(kinds: Iterable[str]) -> str:
    return " or ".join(f"`{kind}`" for kind in kinds)


assert set(sum((cls.fits for cls in INTERVENTIONS.values()), ())) == set(PROCESSES)
