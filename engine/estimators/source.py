r"""SOURCE: the derivative of a training whose curvature and gradients are averaged over segments (Bae et al. 2024).

The run is cut into L segments. With H_ℓ and ∇̄_ℓℓ(z_k) means over some of a segment's states, and τ_ℓ the sum of its
learning rates, divided by 1 − μ under momentum, a segment is followed as a gradient flow:

    S_ℓ = exp(−τ_ℓ H_ℓ),     F_ℓ = (I − S_ℓ) H_ℓ⁻¹,     dθ_T/dα = −Σ_ℓ (Π_{ℓ'>ℓ} S_ℓ') F_ℓ ∇̄_ℓℓ(z_k)

H_ℓ is a mean over all examples, with the weight decay of the training: which of them were in a batch, and when, is
averaged out. Where a long run has come to rest in one segment, F is the inverse Hessian. For a network H_ℓ is the
Gauss–Newton matrix in EK-FAC's eigenbasis of the segment; for softmax regression it is the Hessian itself, by its
eigendecomposition. `flow` may give way to the steps themselves, S = (I − η̄H)^K (`powers`).

Adam multiplies the gradient of every parameter by 1/(√v̂ + ε), and AdamW shrinks θ by λ besides. With D one over
the mean of √v̂ + ε over the states of a segment, held at what they are there, the flow is along D H + λ:

    A = D^½ H D^½ + λ,    S = D^½ e^{−τA} D^−½,    F = D^½ (I − e^{−τA}) A⁻¹ D^½

with τ the sum of the learning rates and functions of A read off Lanczos spaces. That an example also changes v̂, and
with it how far others move θ, is left out, and so is the lag of m̂ behind the gradients. The first is most of what goes
wrong where v̂ ≫ ε²: m̂/√v̂ does not change where all gradients grow alike, so that exact scores add up to zero over all
examples, and these do not (`engine.analysis.run_errors` has the error by cause).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.settings import GROWS, Settings, setting
from engine.basics.values import Count
from engine.curvature.ekfac import factors_over
from engine.curvature.hessian import Hessian
from engine.estimators.averaged import Averaged, Eigenbasis, Factored, Krylov, Read, scaled
from engine.estimators.cost import FORWARD_AND_BACKWARD, Cost, Passes, Work
from engine.estimators.estimator import Estimator
from engine.estimators.named import of_run
from engine.exact.replay import STEPS, cached_descent, cached_run, check_replayed, run_response, training_of
from engine.gradients.products import TrainingGradients
from engine.gradients.response import GradientTerm, Response
from engine.gradients.vectorised import along_signal, gradients_of
from engine.models import softmax
from engine.models.rules import Moment
from engine.models.steps import Steps
from engine.problems import ModuleProblem, Problem, SoftmaxProblem, by_form
from engine.question.interventions import Intervention
from engine.question.processes import Replay

SEGMENTS = 3
POINTS = 4
"""States of a segment over which curvature and gradients are averaged."""

Form = Callable[[float, int, Tensor], tuple[Tensor, Tensor]]
"""(τ, K steps, eigenvalues) -> those of S and of F."""


def flow(time: float, steps: int, values: Tensor) -> tuple[Tensor, Tensor]:
    """e^{−τλ} and (1 − e^{−τλ})/λ, which is τ at λ = 0."""
    there = values.abs() > torch.finfo(values.dtype).tiny ** 0.5
    safe = torch.where(there, values, 1.0)
    return (-time * values).exp(), torch.where(there, -(-time * safe).expm1() / safe, time)


def powers(time: float, steps: int, values: Tensor) -> tuple[Tensor, Tensor]:
    """(1 − ηλ)^K and η Σ_{j<K} (1 − ηλ)^j with η = τ/K."""
    eta = time / steps
    shrunk = (1 - eta * values) ** steps
    there = values.abs() * eta > 1e-9
    safe = torch.where(there, values, 1.0)
    return shrunk, torch.where(there, (1 - shrunk) / safe, time)


@dataclass(frozen=True)
class Segment:
    """time: τ. steps: K. decay: λ of the weight decay, on top of the curvature. along: u (r, P) -> (r, b), the mean
    of ⟨u, ∇ℓ(z_k)⟩ over the segment's states for all candidates. root: D^½ (P,), of which the curvature is D^½ H D^½;
    None where all parameters move alike."""

    time: float
    steps: int
    decay: float
    curvature: Averaged
    along: Callable[[Tensor], Tensor]
    root: Tensor | None = None

    @property
    def contracts(self) -> bool:
        """Whether steps of its mean size on its mean curvature come to rest: no eigenvalue above 2/η."""
        return self.time / self.steps * (self.curvature.largest + self.decay) <= 2

    def pulled(self, columns: Tensor, form: Form) -> tuple[Tensor, Tensor]:
        """(Sᵀ V, Fᵀ V) for V (P, r)."""
        def read(which: int) -> Read:
            return lambda values: form(self.time, self.steps, values + self.decay)[which]

        if self.root is None:
            earlier, here = self.curvature.applied(columns, [read(0), read(1)])
            return earlier, here
        across = self.root[:, None]
        earlier, here = self.curvature.applied(across * columns, [read(0), read(1)])
        return earlier / across, across * here


def unrolled_segments(segments: Sequence[Segment], slopes: Tensor, form: Form = flow) -> Tensor:
    """dB/dα (r, b) for ∇B(θ_T) (r, P), from the last segment to the first."""
    columns, terms = slopes.T, []
    for segment in reversed(segments):
        columns, pulled = segment.pulled(columns, form)
        terms.append(segment.along(pulled.T))
    return -torch.stack(terms).sum(0)


def cut(steps: int, segments: int, points: int) -> list[tuple[range, list[int]]]:
    """Equal stretches of steps 0, 1, …, and in each of them evenly spaced steps whose states stand for it."""
    ends = [steps * index // segments for index in range(segments + 1)]
    stretches = []
    for first, last in zip(ends, ends[1:], strict=False):
        count = min(points, last - first)
        if count:
            stretches.append((range(first, last), [first + (2 * index + 1) * (last - first) // (2 * count)
                                                   for index in range(count)]))
    return stretches


class SourceSettings(Settings):
    """Settings of SOURCE."""

    segments: Count = setting(
        SEGMENTS, "Segments of the training, each with one averaged curvature.", "Bae et al. 2024", GROWS, ge=1,
        le=1_000)
    points: Count = setting(
        POINTS, "States of a segment whose curvature and gradients are averaged.", "this program", GROWS, ge=1,
        le=1_000)

    @property
    def effort(self) -> float:
        return self.segments * self.points / (SEGMENTS * POINTS)


def through_segments(problem: Problem, interventions: Sequence[Intervention], process: Replay, candidates: Tensor,
                     options: Options, *, segments: int = SEGMENTS, points: int = POINTS) -> list[Response]:
    """One response an intervention. Raises as `replay` does."""
    response = source_response(problem, process, candidates, options, segments, points)
    return [response for _ in interventions]


def _of_module(problem: ModuleProblem, process: Replay, candidates: Tensor, options: Options, count: int = SEGMENTS,
               points: int = POINTS, form: Form = flow, exact: bool = False) -> Response:
    check_replayed(problem, candidates)
    seeds, training = process.runs(problem.seed), training_of(problem, problem.seed)
    terms = [_of_run(problem, seed, candidates, options.stage(index, len(seeds)), _Cut(count, points, exact), form)
             for index, seed in enumerate(seeds)]
    return run_response(terms, candidates, {STEPS: training.updates})


@dataclass(frozen=True)
class _Cut:
    """So many segments, and states a segment. exact: with the mean Hessian itself."""

    count: int
    points: int
    exact: bool


def _of_run(problem: ModuleProblem, seed: int, candidates: Tensor, options: Options, division: _Cut,
            form: Form) -> GradientTerm:
    network = cached_run(problem, seed, options)[1]
    segments = problem.memo("segments", lambda: _network_segments(problem, seed, candidates, options, division),
                            (seed, tuple(candidates.tolist()), division))

    def read(signal: Tensor) -> Tensor:
        slopes = gradients_of(network, problem.queries, signal.to(network.dtype), along_signal, check=options.check)
        return unrolled_segments(segments, slopes, form)

    return GradientTerm(network.predict(problem.queries), read, len(candidates))


def _network_segments(problem: ModuleProblem, seed: int, candidates: Tensor, options: Options,
                      division: _Cut) -> list[Segment]:
    run, _ = cached_run(problem, seed, options)
    stretches = cut(len(run.steps), division.count, division.points)
    wanted = {index for _, indices in stretches for index in indices}
    states = {index: (moment[0], _scale(run.steps, moment, index))
              for index, moment in run.points.backwards(options.check) if index in wanted}
    segments = []
    for number, (stretch, indices) in enumerate(stretches):
        within = options.stage(number, len(stretches))
        here = [problem.with_network(run.steps.trained(states[index][0])) for index in indices]
        flows = [run.steps.rule.flow(run.steps.all[index].rate) for index in stretch]
        curvature = (Krylov(_mean_product(here, within)) if division.exact
                     else Factored(here[0], factors_over(here, within)))  # of all trained parameters
        roots = [states[index][1] for index in indices]
        segments.append(_segment(flows, curvature, roots, _mean_along(here, candidates, within)))
    return segments


def _scale(steps: Steps, moment: Moment, index: int) -> Tensor | None:
    """D of the step that is taken from a moment."""
    theta, *state = moment
    step = steps.all[index]
    return None if steps.rule.linear else steps.rule.scale(theta, tuple(state), steps.gradient(theta, step), step.count)


def _segment(flows: Sequence[tuple[float, float, bool]], curvature: Krylov | Factored, scales: Sequence[Tensor | None],
             along: Callable[[Tensor], Tensor]) -> Segment:
    time, (_, decay, inside) = sum(own for own, *_ in flows), flows[0]
    known = [scale for scale in scales if scale is not None]
    if not known:
        return Segment(time, len(flows), decay, curvature, along)
    root = torch.stack(known).reciprocal().mean(0).rsqrt()
    return Segment(time, len(flows), 0.0 if inside else decay,
                   scaled(curvature.product, root, decay if inside else 0.0), along, root)


def _mean_product(problems: Sequence[ModuleProblem], options: Options) -> Callable[[Tensor], Tensor]:
    maps = [Hessian(problem, options=options) for problem in problems]
    return lambda vectors: torch.stack([own.of_losses(vectors) for own in maps]).mean(0)


def _mean_along(problems: Sequence[ModuleProblem], candidates: Tensor, options: Options) -> Callable[[Tensor], Tensor]:
    gradients = [TrainingGradients(problem, candidates, budget=options.budget // 4, check=options.check)
                 for problem in problems]

    def along(directions: Tensor) -> Tensor:
        return torch.stack([own.along(directions) for own in gradients]).mean(0)

    return along


def _of_softmax(problem: SoftmaxProblem, process: Replay, candidates: Tensor, options: Options, count: int = SEGMENTS,
                points: int = POINTS, form: Form = flow, exact: bool = False) -> Response:
    """Its eigenbasis is exact anyway."""
    run = cached_descent(problem, process, options)
    segments = descent_segments(problem, process, candidates, options, count, points)

    def read(signal: Tensor) -> Tensor:
        slopes = (problem.queries[:, :, None] * signal[:, None]).flatten(1)
        return unrolled_segments(segments, slopes, form)

    term = GradientTerm(problem.outputs(problem.queries, run.end.flatten()), read, len(candidates))
    return run_response([term], candidates, {STEPS: process.steps})


source_response = by_form(_of_softmax, _of_module)
"""With so many segments, and states a segment. exact: with the mean Hessian itself. Raises as SOURCE does."""


def descent_segments(problem: SoftmaxProblem, process: Replay, candidates: Tensor, options: Options,
                     count: int = SEGMENTS, points: int = POINTS) -> list[Segment]:
    """The segments of a descent, kept on the problem. Raises `InvalidInput` where the Hessian is too large to hold."""
    return problem.memo("segments", lambda: _descent_segments(problem, process, candidates, options, count, points),
                        (process.eta, process.steps, problem.outside_content, *candidates.tolist(), count, points))


def _descent_segments(problem: SoftmaxProblem, process: Replay, candidates: Tensor, options: Options, count: int,
                      points: int) -> list[Segment]:
    if not problem.has_dense_hessian:
        raise InvalidInput(f"The eigenbasis of the Hessian needs a matrix of {problem.parameters:,} parameters; use "
                           f"fewer features (at most {softmax.DENSE_LIMIT:,} parameters), or `dvemb`.")
    run = cached_descent(problem, process, options)
    stretches = cut(process.steps, count, points)
    wanted = {index for _, indices in stretches for index in indices}
    states = {index: weights for index, weights in run.points.backwards(options.check) if index in wanted}
    segments = []
    for number, (stretch, indices) in enumerate(stretches):
        options.check()
        read = [run.read(states[index]) for index in indices]
        hessian = torch.stack([softmax.hessian(p, problem.x, problem.penalty) for p, _ in read]).mean(0)
        signals = torch.stack([run.signals_of(candidates, states[index], signal)
                               for index, (_, signal) in zip(indices, read, strict=True)]).mean(0)
        x = problem.units(candidates).x

        def along(directions: Tensor, x: Tensor = x, signals: Tensor = signals) -> Tensor:
            shaped = directions.view(len(directions), problem.dimension, problem.classes)
            return torch.einsum("rdc,bd,bc->rb", shaped, x, signals)

        segments.append(Segment(process.eta * len(stretch), len(stretch), 0.0, Eigenbasis.of(hessian), along))
        options.progress((number + 1) / len(stretches))
    return segments


FACTORS = 25
"""Gradients' work an example for EK-FAC's factors, with ten classes."""


def passes(work: Work) -> Passes:
    """A training, and at the states of the segments factors of all n examples with a column each."""
    states = work.process.seeds * SEGMENTS * POINTS if isinstance(work.process, Replay) else 0
    return Passes(FORWARD_AND_BACKWARD * (work.batch * work.steps + states * work.n * (FACTORS + work.columns)),
                  2 * work.steps + states * work.n / 64)


SOURCE = Estimator(
    "source", "SOURCE", False,
    "The training followed through a few segments, each with one averaged curvature and averaged gradients, as a "
    "gradient flow.",
    "Bae et al. 2024", routes={"replay": through_segments}, needs=("gradients", "training"),
    unfit_interventions=("infinitesimal_during",), settings=SourceSettings,
    named=(of_run("source", "SOURCE", "Bae et al. 2024"),),
    cost=Cost(passes, eigenbases=SEGMENTS),
)
