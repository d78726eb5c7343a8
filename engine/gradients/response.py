"""What an intervention under a process does to the query logits, before any behavior is read off."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, cast

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.question.behavior import Behavior

RESOLUTION = 1e-6
"""The relative error, by rounding, above which a score is below resolution."""
LAST_DIGITS = 8.0
"""Of a change that was computed as such: how many units of rounding it may be off."""


class Term(Protocol):
    """What a response adds up: any behavior can be read off it."""

    @property
    def count(self) -> int:
        """b, the number of candidates."""

    def scores(self, behavior: Behavior, labels: Tensor) -> Tensor:
        """(m, b), for the queries' labels (m,)."""

    def errors(self, behavior: Behavior, labels: Tensor, enough: Tensor | None = None) -> Tensor:
        """(m, b): by how much rounding may have moved the scores at most; NaN where no bound is stated. Where a coarser
        bound is not above `enough` (m, b), it may stand."""


@dataclass(frozen=True)
class LogitTerm:
    """What becomes of the query logits: their change, from which behaviors are read off.

    change (m, b, C): δf, of candidates b; finite, or to first order where `linear`. baseline (m, C): the logits before.
    noise (m, b): how far rounding may have moved δf, in every class, beside its own last digits; where there is none, a
    finite δf has its last digits alone, and of one to first order no bound is stated.
    """

    change: Tensor
    baseline: Tensor
    linear: bool = False
    noise: Tensor | None = None

    @property
    def count(self) -> int:
        """b, the number of candidates."""
        return self.change.shape[1]

    def scores(self, behavior: Behavior, labels: Tensor) -> Tensor:
        """(m, b): B(f + δf) − B(f), or s_Bᵀ δf where linear."""
        if not self.linear:
            return behavior.changed(self.change, self.baseline[:, None], labels[:, None])
        return torch.einsum("mbc,mc->mb", self.change, signal_of(behavior, self.baseline, labels))

    @cached_property
    def length(self) -> Tensor:
        """Σ_j |δf_j|, (m, b)."""
        return torch.linalg.vector_norm(self.change, ord=1, dim=-1)

    def errors(self, behavior: Behavior, labels: Tensor, enough: Tensor | None = None) -> Tensor:
        """(m, b): |s_B|ᵀ(noise + ε(1 + 2|f|)|δf|), s_B the larger of before and after, and ε|B| where B has no closed
        difference; with `enough`, the same with the largest |s_B| there is where that suffices.

        A behavior without a gradient jumps: ∞ where rounding may decide on which side it is, else 0. NaN where no bound
        is stated.
        """
        if self.linear:
            return self._of_derivative(signal_of(behavior, self.baseline, labels).abs())
        if enough is None or behavior.steepest is None or behavior.difference is None:
            return self._errors(behavior, labels)
        bound = behavior.steepest * self._digits * self.length
        if self.noise is not None:
            bound += behavior.steepest * self.change.shape[-1] * self.noise
        queries, candidates = (bound > enough).nonzero(as_tuple=True)
        if len(queries):
            noise = None if self.noise is None else self.noise[queries, candidates, None]
            some = LogitTerm(self.change[queries, candidates, None], self.baseline[queries], noise=noise)
            bound[queries, candidates] = some._errors(behavior, labels[queries])[:, 0]
        return bound

    def _errors(self, behavior: Behavior, labels: Tensor) -> Tensor:
        digits = self._digits
        moved, repeated = self.baseline[:, None] + self.change, labels[:, None].expand(self.change.shape[:2])
        if behavior.signal is None:
            off = _unit(self.change) * moved.abs().amax(-1) + (0.0 if self.noise is None else self.noise)
            before = _jumps(behavior, self.baseline, labels, off.amax(1))
            return _jumps(behavior, moved, repeated, off) + before[:, None]
        pull = torch.maximum(behavior.signal(moved, repeated).abs(),
                             behavior.signal(self.baseline, labels).abs()[:, None])
        bound = digits * torch.einsum("mbc,mbc->mb", pull, self.change.abs())
        if self.noise is not None:
            bound += pull.sum(-1) * self.noise
        if behavior.difference is None:
            bound += _unit(self.change) * behavior.value(moved, repeated).abs()
        return bound

    @property
    def _digits(self) -> Tensor:
        """ε(1 + 2|f|), (m, 1): of a slope s_B, which rounding the logits f moves too."""
        return _unit(self.change) * (1.0 + 2.0 * self.baseline.abs().amax(1, keepdim=True))

    def _of_derivative(self, pull: Tensor) -> Tensor:
        """|s_B|ᵀ(noise + ε(1 + 2|f|)|δf|) of s_B (m, C)."""
        if self.noise is None:
            return self.change.new_full(self.change.shape[:2], torch.nan)
        return self._digits * torch.einsum("mbc,mc->mb", self.change.abs(), pull) + pull.sum(-1)[:, None] * self.noise


def _unit(change: Tensor) -> float:
    return LAST_DIGITS * torch.finfo(change.dtype).eps


def _jumps(behavior: Behavior, logits: Tensor, labels: Tensor, off: Tensor) -> Tensor:
    """∞ where the behavior is another one when the label's own logit is `off` (...) higher or lower, else 0: (...)."""
    aside = off[..., None] * torch.nn.functional.one_hot(labels, logits.shape[-1])
    here = behavior.value(logits, labels)
    apart = torch.stack([behavior.value(logits + sign * aside, labels) != here for sign in (-1.0, 1.0)]).any(0)
    return torch.where(apart, torch.inf, 0.0).to(logits)


@dataclass(frozen=True)
class GradientTerm:
    """A first-order change of the behavior along one parameter direction v_k a candidate.

    baseline (m, C): the query logits at which the behavior is differentiated. products: s_B (m, C) ->
    (m, b), the inner products ⟨J_qᵀ s_B(q), v_k⟩; no behavior is known before it is called, so that all
    behaviors share the v_k. count: b. rounding: s_B -> (m, b), a bound on the error of these; None: none is stated.
    """

    baseline: Tensor
    products: Callable[[Tensor], Tensor]
    count: int
    rounding: Callable[[Tensor], Tensor] | None = None

    def scores(self, behavior: Behavior, labels: Tensor) -> Tensor:
        """(m, b): ∇_θ B(q)ᵀ v_k."""
        return self.products(signal_of(behavior, self.baseline, labels))

    def errors(self, behavior: Behavior, labels: Tensor, enough: Tensor | None = None) -> Tensor:
        """(m, b): what `rounding` says; NaN where it says nothing."""
        if self.rounding is None:
            return self.baseline.new_full((len(self.baseline), self.count), torch.nan)
        return self.rounding(signal_of(behavior, self.baseline, labels))


@dataclass(frozen=True)
class Given:
    """Scores (m, b) that no behavior enters: those of a baseline, for which no error bound is stated."""

    values: Tensor

    @property
    def count(self) -> int:
        return self.values.shape[1]

    def scores(self, behavior: Behavior, labels: Tensor) -> Tensor:
        return self.values

    def errors(self, behavior: Behavior, labels: Tensor, enough: Tensor | None = None) -> Tensor:
        return torch.full_like(self.values, torch.nan)


@dataclass(frozen=True)
class Average:
    """The mean over the terms of equally likely seeds: the estimand's expectation."""

    terms: tuple[Term, ...]
    latest: dict[str, object] = field(default_factory=dict, compare=False, repr=False)
    """The scores that were read last: of a derivative they cost a pass through the training."""

    @property
    def count(self) -> int:
        """b, the number of candidates."""
        return self.terms[0].count

    def _each(self, behavior: Behavior, labels: Tensor) -> Tensor:
        """(s, m, b): of every seed."""
        latest = self.latest.get("behavior"), self.latest.get("labels")
        if latest[0] is not behavior or latest[1] is not labels:
            scores = torch.stack([term.scores(behavior, labels) for term in self.terms])
            self.latest.update(behavior=behavior, labels=labels, scores=scores)
        return cast(Tensor, self.latest["scores"])

    def scores(self, behavior: Behavior, labels: Tensor) -> Tensor:
        """(m, b): the mean of the seeds' scores."""
        return total(self._each(behavior, labels)) / len(self.terms)

    def errors(self, behavior: Behavior, labels: Tensor, enough: Tensor | None = None) -> Tensor:
        """(m, b): the mean of the seeds' errors."""
        return total(term.errors(behavior, labels, enough) for term in self.terms) / len(self.terms)

    def standard_error(self, behavior: Behavior, labels: Tensor) -> Tensor:
        """(m, b): of that mean, from the sample's standard deviation over s ≥ 2 seeds; divided by √s."""
        return self._each(behavior, labels).std(0) / len(self.terms) ** 0.5


def signal_of(behavior: Behavior, logits: Tensor, labels: Tensor) -> Tensor:
    """s_B (m, C). Raises `InvalidInput` for a behavior without a gradient."""
    if behavior.signal is None:
        raise InvalidInput(
            f"The behavior `{behavior.name}` has no gradient, so only `exact` with a finite process can score it."
        )
    return behavior.signal(logits, labels)


@dataclass(frozen=True)
class Response:
    """The terms to be added up, and for each candidate whether its solve converged, with its residual.

    residual (b,): the final gradient norm of a re-optimisation, or the relative residual of a linear
    solve; 0 for closed forms. work: what was counted on the way (passes, rounds, iterations).
    """

    terms: tuple[Term, ...]
    converged: Tensor
    residual: Tensor
    work: dict[str, float] = field(default_factory=dict)

    @classmethod
    def closed_form(cls, *terms: Term) -> Response:
        """Without a solve that could fail."""
        return cls(terms, torch.ones(terms[0].count, dtype=torch.bool), torch.zeros(terms[0].count).double())

    @classmethod
    def over_runs(cls, *terms: LogitTerm, **work: float) -> Response:
        """The mean over equally likely runs; a candidate of which one diverged has not converged."""
        converged = torch.stack([term.change.isfinite().all(-1).all(0) for term in terms]).all(0)
        return cls((Average(terms),), converged, torch.zeros(len(converged)).double(), work)

    def scores(self, behavior: Behavior, labels: Tensor) -> Tensor:
        return total(term.scores(behavior, labels) for term in self.terms)

    def standard_error(self, behavior: Behavior, labels: Tensor) -> Tensor | None:
        """(m, b) of a mean over several seeds; None of anything else."""
        means = [term for term in self.terms if isinstance(term, Average) and len(term.terms) > 1]
        return means[0].standard_error(behavior, labels) if len(means) == len(self.terms) == 1 else None

    def errors(self, scores: Tensor, behavior: Behavior, labels: Tensor) -> Tensor:
        """(m, b): how far rounding may have moved `scores` at most; NaN where no bound is stated."""
        enough = RESOLUTION * scores.abs() / len(self.terms)
        return total(term.errors(behavior, labels, enough) for term in self.terms)

    def reached(self, scores: Tensor) -> Tensor:
        """(b,): whether a candidate's solve converged and all its `scores` (m, b) are finite."""
        return self.converged.to(scores.device) & scores.isfinite().all(0)


def total(terms: Iterable[Tensor]) -> Tensor:
    """The sum of tensors of one shape."""
    return sum(terms, start=torch.zeros(()))
