r"""How well an answer was computed: the one rule by which manifests, tables, notes and verdicts speak of convergence.

- An *exact* answer converged for the candidates whose computation met its tolerance.
- An *approximate* answer never "converged". It shows its residual, and where the relative residual
  ‖(H + δI)x − g‖ / ‖g‖ of its linear system is above 1 it is worse than answering nothing: zero scores, x = 0, have 1.
  That a solver's iterations reached their own tolerance is a fact about the solver.
- A gradient norm is no relative residual, so that nothing is read off its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.basics.values import short
from engine.curvature.solution import RELATIVE
from engine.exact.local_search import SEARCHED
from engine.exact.replay import ADJOINT, STEPS, TANGENT

ADDITIVE = ("single_passes", "double_passes", "flops", TANGENT)
COUNTS = ("converged", "kept", "of", "measured", "largest_residual", "worse_than_nothing")
NOTHING = 1.0
"""The relative residual of zero scores."""


@dataclass(frozen=True)
class Convergence:
    """Of an answer for `of` candidates.

    kept: candidates that met the tolerance; of an approximation without one, those whose solution is finite. known:
    candidates whose residual was measured. largest: residual; worse: of the measured candidates, those with a relative
    residual above that of zero scores. facts: of the solver.
    """

    exact: bool
    of: int
    kept: int
    known: int
    largest: float
    worse: int
    facts: Mapping[str, float]

    @classmethod
    def measured(cls, exact: bool, converged: np.ndarray, residual: np.ndarray,
                 facts: Mapping[str, float]) -> Convergence:
        """From converged (k,) and residual (k,), NaN where it was not measured."""
        known = residual[~np.isnan(residual)]
        worse = int((known > NOTHING).sum()) if facts.get(RELATIVE) else 0
        return cls(exact, len(converged), int(converged.sum()), len(known), float(known.max(initial=0.0)), worse,
                   dict(facts))

    @classmethod
    def read(cls, exact: bool, told: Mapping[str, Any]) -> Convergence:
        """What `written` wrote into a manifest."""
        kept = told["kept"] if "kept" in told else told["converged"]
        return cls(exact, told["of"], kept, told.get("measured", told["of"]), told["largest_residual"],
                   told.get("worse_than_nothing", 0), cls.facts_of(told))

    @staticmethod
    def facts_of(told: Mapping[str, Any]) -> dict[str, float]:
        """What a manifest tells of the solver alone."""
        return {key: value for key, value in told.items() if key not in COUNTS}

    @classmethod
    def joined(cls, parts: Sequence[Convergence]) -> Convergence:
        """One of several slices, or seeds, of the same answer."""
        facts: dict[str, float] = {}
        for part in parts:
            facts = added(facts, part.facts)
        return cls(parts[0].exact, sum(part.of for part in parts), sum(part.kept for part in parts),
                   sum(part.known for part in parts), max(part.largest for part in parts),
                   sum(part.worse for part in parts), facts)

    @property
    def written(self) -> dict[str, Any]:
        """For a manifest: only an exact answer that ends at something has a number `converged`."""
        worse = {"worse_than_nothing": self.worse} if self.relative else {}
        count = "converged" if self.exact and not self.searched else "kept"
        some = {"measured": self.known} if self.sampled else {}
        return {count: self.kept, "of": self.of, **some, "largest_residual": self.largest, **worse, **self.facts}

    @property
    def relative(self) -> bool:
        """Whether the residual is that of a linear system, relative to its right-hand side."""
        return bool(self.facts.get(RELATIVE))

    @property
    def sampled(self) -> bool:
        """Whether the relative residual was measured for some of the candidates only."""
        return self.relative and self.known < self.of

    @property
    def searched(self) -> bool:
        """Whether the answer is some iterations, wherever they end, so that there is nothing to converge to."""
        return SEARCHED in self.facts

    @property
    def route(self) -> str:
        """How a training run was differentiated, and by how many columns; empty for any other answer."""
        ways = [f"{way} in {self.facts[key]:,.0f} columns, one a {unit}" for key, way, unit in (
            (TANGENT, "forwards (tangent)", "candidate"), (ADJOINT, "backwards (adjoint)", "query"))
            if key in self.facts]
        return f"{self.facts[STEPS]:,.0f} steps of training differentiated {' and '.join(ways)}" if ways else ""

    @property
    def indefinite(self) -> bool:
        """Whether the damped Hessian was found to have negative eigenvalues."""
        return bool(self.facts.get("negative_curvature"))

    @property
    def measure(self) -> str:
        """What the residual is; empty where nothing was left to solve."""
        if not self.relative:
            return "gradient norm" if self.largest else ""
        return "relative residual" + (" against the Gauss–Newton matrix" if self.facts.get("residual_of_gauss_newton")
                                      else "")

    @property
    def missed(self) -> str:
        """What is said of a candidate that is not among those `kept`."""
        if self.exact:
            return "did not converge"
        solver = "tolerance" in self.facts
        return "did not reach the solver's tolerance" if solver else "have scores that are not finite"

    @property
    def summary(self) -> str:
        """One clause: how many converged and how far, or what an approximation leaves unsolved."""
        where = f", measured for {self.known:,} of {self.of:,}" if self.sampled else ""
        left = f"{self.measure} at most {self.largest:.1e}{where}" if self.measure else ""
        goal = f"tolerance {short(self.facts['tolerance'])}" if "tolerance" in self.facts else ""
        if self.searched:
            return f"{self.facts[SEARCHED]:,.0f} iterations for every candidate; {left} where they end"
        if self.route:
            return self.route
        if self.exact:
            if not left and self.kept == self.of:
                return "computed directly, nothing to converge"
            told = ", ".join(part for part in (left, goal) if part)
            return f"{self.kept:,} of {self.of:,} converged" + (f" ({told})" if told else "")
        if not left:
            return "no system was solved, so there is no residual"
        reached = f"{self.kept:,} of {self.of:,} reached the solver's {goal}" if goal else ""
        worse = f"worse than answering nothing for {self.worse:,} of {self._candidates}" if self.worse else ""
        return "; ".join(part for part in (left, reached, worse) if part)

    @property
    def _candidates(self) -> str:
        """Those that a residual speaks of."""
        if self.sampled:
            return f"the {self.known:,} candidates whose residual was measured"
        return f"{self.of:,} candidates"

    def remarks(self, title: str) -> tuple[str, ...]:
        """What a reader must know before using the answer of the estimator `title`: a sentence each."""
        found = []
        if self.worse and not self.exact:
            found.append(f"{_opened(title)} is worse than answering nothing for {self.worse:,} of "
                         f"{self._candidates}: its {self.measure} is above 1, which zero scores have (largest "
                         f"{_number(self.largest)}).")
        if self.indefinite:
            found.append("The Hessian plus damping has negative eigenvalues, so θ_D is no minimum of that objective: "
                         f"the answer {'is' if self.exact else 'approximates'} the solution of the linear system, not "
                         "how an optimum moves.")
        return tuple(found)


def added(sums: Mapping[str, float], work: Mapping[str, float]) -> dict[str, float]:
    """Counts added up over chunks; settings and iteration counts at their largest."""
    return {**sums, **{key: sums.get(key, 0) + value if key in ADDITIVE else max(sums.get(key, value), value)
                       for key, value in work.items()}}


def _opened(title: str) -> str:
    return f"{title[0].upper()}{title[1:]}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if 100 <= value < 1e6 else f"{value:.2g}"
