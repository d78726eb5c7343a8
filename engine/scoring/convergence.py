r"""How well an answer was computed: the one rule by which manifests, tables, notes and verdicts speak of convergence.

- An *exact* answer converged for the candidates whose computation met its tolerance.
- An *approximate* answer never "converged". It shows the relative residual ‖(H + δI)x − g‖ / ‖g‖ of its linear system,
  which says whether that system is solved and nothing of the ranking: K-FAC at 2.4 had τ 0.34 with leave-one-out where
  LiSSA at 0.45 had 0.04. The ranking is measured against the exact answer of the same question
  (`engine.analysis.spot_check`). That a solver's iterations reached their own tolerance is a fact about the solver.
- A gradient norm is no relative residual, so that nothing is read off its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.basics.values import capital, short
from engine.curvature import cg
from engine.curvature.solution import RELATIVE
from engine.exact.local_search import SEARCHED
from engine.exact.replay import ADJOINT, STEPS, TANGENT

ADDITIVE = ("single_passes", "double_passes", "flops", TANGENT)
COUNTS = ("converged", "kept", "of", "measured", "largest_residual", "worse_than_nothing")
"""What a manifest counts; the last one stands in earlier manifests only, and is not read."""
SOLVED = cg.TOLERANCE
"""The relative residual at which conjugate gradients stop here unless told otherwise: above it they would go on, so
that a solve without a tolerance of its own is said not to have converged."""


@dataclass(frozen=True)
class Convergence:
    """Of an answer for `of` candidates.

    reached: candidates that met the tolerance; of an approximation without one, those whose solution is finite. known:
    candidates whose residual was measured. largest: residual. facts: of the solver.
    """

    exact: bool
    of: int
    reached: int
    known: int
    largest: float
    facts: Mapping[str, float]

    @classmethod
    def measured(cls, exact: bool, converged: np.ndarray, residual: np.ndarray,
                 facts: Mapping[str, float]) -> Convergence:
        """From converged (k,) and residual (k,), NaN where it was not measured."""
        known = residual[~np.isnan(residual)]
        return cls(exact, len(converged), int(converged.sum()), len(known), float(known.max(initial=0.0)), dict(facts))

    @classmethod
    def read(cls, exact: bool, said: Mapping[str, Any]) -> Convergence:
        """What `written` wrote into a manifest, or an earlier version of it."""
        reached = said["kept"] if "kept" in said else said["converged"]
        return cls(exact, said["of"], reached, said.get("measured", said["of"]), said["largest_residual"],
                   cls.facts_of(said))

    @staticmethod
    def facts_of(manifest: Mapping[str, Any]) -> dict[str, float]:
        """What a manifest tells of the solver alone."""
        return {key: value for key, value in manifest.items() if key not in COUNTS}

    @classmethod
    def joined(cls, several: Sequence[Convergence]) -> Convergence:
        """One of several slices, or seeds, of the same answer."""
        facts: dict[str, float] = {}
        for one in several:
            facts = added(facts, one.facts)
        return cls(several[0].exact, sum(one.of for one in several), sum(one.reached for one in several),
                   sum(one.known for one in several), max(one.largest for one in several), facts)

    @property
    def written(self) -> dict[str, Any]:
        """For a manifest: only an exact answer that ends at something has a number `converged`."""
        count = "converged" if self.exact and not self.searched else "kept"
        some = {"measured": self.known} if self.sampled else {}
        return {count: self.reached, "of": self.of, **some, "largest_residual": self.largest, **self.facts}

    @property
    def relative(self) -> bool:
        """Whether the residual is that of a linear system, relative to its right-hand side."""
        return self.is_relative(self.facts)

    @staticmethod
    def is_relative(written: Mapping[str, Any]) -> bool:
        """Whether what a manifest says is of a linear system."""
        return bool(written.get(RELATIVE))

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
        ways = [f"{way} in {self.facts[key]:,.0f} columns, one per {unit}" for key, way, unit in (
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
    def unsolved(self) -> bool:
        """Whether the linear system of some candidate is not solved: its relative residual is above the tolerance, or,
        of a method without one, above `SOLVED`."""
        return self.relative and not self.largest <= self.facts.get("tolerance", SOLVED)

    @property
    def missed(self) -> str:
        """What is said of a candidate that is not among those `reached`."""
        if self.exact:
            return "did not converge"
        solver = "tolerance" in self.facts
        return "did not reach the solver's tolerance" if solver else "have scores that are not finite"

    @property
    def summary(self) -> str:
        """One clause: how many converged and how far, or what an approximation leaves unsolved."""
        where = f", measured for {self.known:,} of {self.of:,}" if self.sampled else ""
        left = f"{self.measure} at most {self.largest:.1e}{where}" if self.measure and self.known else ""
        goal = f"tolerance {short(self.facts['tolerance'])}" if "tolerance" in self.facts else ""
        if self.searched:
            return f"{self.facts[SEARCHED]:,.0f} iterations for every candidate; {left} where they end"
        if self.route:
            return self.route
        if self.exact:
            if not left and self.reached == self.of:
                return "computed directly, nothing to converge"
            details = ", ".join(clause for clause in (left, goal) if clause)
            return f"{self.reached:,} of {self.of:,} converged" + (f" ({details})" if details else "")
        if not left:
            return f"{self.measure} not measured" if self.measure else "no system was solved, so there is no residual"
        reached = f"{self.reached:,} of {self.of:,} reached the solver's {goal}" if goal else ""
        fault = self._not_solved if self.unsolved and not goal else ""
        return "; ".join(clause for clause in (left, reached, fault) if clause)

    @property
    def _not_solved(self) -> str:
        """That the residual is that of no solution: of iterations, or of a matrix that stands for another one."""
        return ("the solve has not converged" if "iterations" in self.facts else
                "it does not solve the linear system, whose matrix it approximates")

    def remarks(self, title: str) -> tuple[str, ...]:
        """What a reader must know before using the answer of the estimator `title`: a sentence each."""
        said = []
        if self.unsolved and not self.exact:
            where = f" (measured for {self.known:,} of {self.of:,} candidates)" if self.sampled else ""
            said.append(f"{capital(title)}, {self.measure} up to {_number(self.largest)}{where}: {self._not_solved}. "
                        "This does not measure its ranking.")
        if self.indefinite:
            said.append("The Hessian plus damping has negative eigenvalues, so θ_D is not a minimum of that objective: "
                        f"the answer {'is' if self.exact else 'approximates'} the solution of the linear system, not "
                        "how an optimum moves.")
        return tuple(said)


def added(sums: Mapping[str, float], work: Mapping[str, float]) -> dict[str, float]:
    """Counts added up over chunks; settings and iteration counts at their largest."""
    return {**sums, **{key: sums.get(key, 0) + value if key in ADDITIVE else max(sums.get(key, value), value)
                       for key, value in work.items()}}


def _number(value: float) -> str:
    return f"{value:,.0f}" if 100 <= value < 1e6 else f"{value:.2g}"
