r"""`replay`: the derivative of the whole training run by an example's weight, dB(q; θ_T(α))/dα at α = 0.

θ_T(α) is where the training ends on L_D + α ℓ(z_k) with everything else as it was: initial weights, batches, rates and
masks of dropout of a seed. Denominators are those of the training as it was, so that it is what `remove` with the mean
over n and `upweight` do to first order. A network repeats its own recipe, in the precision of the problem; softmax
regression has none, and descends from zero with full batches, as `Replay` says.

There are two exact routes, whose costs are a column a candidate and a column a query; the cheaper one is taken, and
the work of the response says which.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput, Undifferentiable
from engine.basics.options import Options
from engine.exact.differentiated_descent import DifferentiatedDescent
from engine.exact.differentiated_run import DifferentiatedRun
from engine.exact.step_curvature import HESSIAN, StepCurvature
from engine.gradients.directional import derivatives_of, logits_alone
from engine.gradients.response import Average, GradientTerm, LogitTerm, Response, Term, signal_of
from engine.gradients.vectorised import along_signal, gradients_of
from engine.models.network import Network
from engine.models.training import Training
from engine.problems import ModuleProblem, Problem, SoftmaxProblem, by_form
from engine.question.behavior import Behavior
from engine.question.interventions import Intervention
from engine.question.processes import Replay

TANGENT, ADJOINT, STEPS = "tangent_columns", "adjoint_columns", "training_steps"
"""In the work of a response: columns that went forwards or backwards through a training, and its steps."""
POWER_STEPS = 50
STEEPNESS = "steepness_at_start"
"""In the work of a descent from zero: η times the largest eigenvalue of the Hessian there; above 2 it is unstable."""


def replay(problem: Problem, interventions: Sequence[Intervention], process: Replay, candidates: Tensor,
           options: Options) -> list[Response]:
    """One response an intervention, the weight of z_k in all of the training or in a part of it, for training examples
    `candidates` (b,).

    Raises `InvalidInput` where it is not known how the model was trained, or where the training has no such part,
    `Undifferentiable` where it diverges, cannot be differentiated, or has a derivative too large for a number.
    """
    return replayed(problem, interventions, process, candidates, options, HESSIAN)


def _of_module(problem: ModuleProblem, interventions: Sequence[Intervention], process: Replay, candidates: Tensor,
               options: Options, curvature: StepCurvature) -> list[Response]:
    """The mean over the seeds of the process, each at the end of its own run."""
    check_replayed(problem, candidates)
    seeds, training = process.runs(problem.seed), training_of(problem, problem.seed)
    responses = []
    for index, intervention in enumerate(interventions):
        during, within = weighed(intervention, training.updates, training.per_epoch), options.stage(
            index, len(interventions))
        terms = [_term(problem, seed, candidates, within.stage(number, len(seeds)), during, curvature)
                 for number, seed in enumerate(seeds)]
        responses.append(run_response(terms, candidates, _work(problem, candidates, training.updates)))
    return responses


def weighed(intervention: Intervention, steps: int, per_epoch: int) -> Tensor:
    """Which steps of a training see an intervention, (T,). Raises `InvalidInput` where none does."""
    during = torch.tensor([intervention.weighs(step, per_epoch) for step in range(1, steps + 1)])
    if not during.any():
        raise InvalidInput(f"The training has {-(-steps // per_epoch):,} epochs with {steps:,} steps in all, but "
                           f"`{intervention.title}` names a later one; name one of these.")
    return during


def _forwards(problem: Problem, candidates: Tensor) -> bool:
    """Whether a column a candidate is not dearer than a column a query; of one that is in no step it is all there is.
    """
    return len(candidates) <= len(problem.queries) or problem.adds(candidates)


def check_replayed(problem: ModuleProblem, candidates: Tensor) -> None:
    """Raises `InvalidInput` for a candidate that is in none of a network's batches."""
    problem.check_trained(candidates, "The derivative with respect to the weight of an example in each batch is")


def _work(problem: Problem, candidates: Tensor, steps: int) -> dict[str, float]:
    columns = {TANGENT: len(candidates)} if _forwards(problem, candidates) else {ADJOINT: len(problem.queries)}
    return {**columns, STEPS: steps}


def run_response(terms: Sequence[Term], candidates: Tensor, work: dict[str, float]) -> Response:
    """The mean of the parts of equally likely runs."""
    return Response((Average(tuple(terms)),), torch.ones(len(candidates), dtype=torch.bool, device=candidates.device),
                    torch.zeros(len(candidates), dtype=torch.float64, device=candidates.device), work)


def _term(problem: ModuleProblem, seed: int, candidates: Tensor, options: Options, during: Tensor,
          curvature: StepCurvature) -> Term:
    """Of one run, by the cheaper route."""
    run, network = cached_run(problem, seed, options)
    logits = network.predict(problem.queries)
    if _forwards(problem, candidates):
        moved = _finite(run.tangent(candidates, options, during, curvature))
        targets = torch.zeros(len(problem.queries), device=problem.device)
        change = derivatives_of(network, problem.queries, targets, logits_alone, moved, check=options.check)
        return LogitTerm(change.transpose(0, 1), logits, linear=True)

    def backwards(signal: Tensor) -> Tensor:
        def build() -> Tensor:
            slopes = gradients_of(network, problem.queries, signal.to(network.dtype), along_signal, check=options.check)
            return _finite(run.adjoint(slopes, options, during[:, None], curvature)[:, 0])

        # all n examples' are kept for further candidates
        key = seed, curvature.name, during.numpy().tobytes(), signal.cpu().numpy().tobytes()
        return problem.memo("replayed backwards", build, key)[:, candidates]

    return GradientTerm(logits, backwards, len(candidates))


def run_of(problem: ModuleProblem, seed: int, options: Options, weights: Tensor | None = None, backwards: bool = False
           ) -> DifferentiatedRun:
    """The training of a problem with a seed, differentiable by the weights (n,) of its examples, there (default: 1).
    backwards: whether an adjoint follows at once."""
    return DifferentiatedRun(training_of(problem, seed, weights), options, backwards)


def training_of(problem: ModuleProblem, seed: int, weights: Tensor | None = None) -> Training:
    """The training of a problem with a seed, as it is repeated. Raises `InvalidInput` where nobody knows how it was
    trained."""
    recipe, build = problem.training()
    return Training(build, problem.x, problem.y, recipe, seed, weights, "n", problem.loss, problem.network.dtype,
                    exact=True)


def cached_run(problem: ModuleProblem, seed: int, options: Options) -> tuple[DifferentiatedRun, Network]:
    """The run of a seed with the network at its end, kept on the problem: the latest of them. Raises as `replay` does.
    """
    def build() -> tuple[DifferentiatedRun, Network]:
        run = run_of(problem, seed, options)
        if not run.end.isfinite().all():
            raise Undifferentiable("Training without any intervention diverged; choose a smaller learning rate.")
        network = run.steps.trained(run.end)
        run.steps.training.recipe.verify(network.module, run.steps.training, options.check)
        return run, network

    return problem.memo("replayed", build, seed)


def _all_of_module(problem: ModuleProblem, process: Replay, behavior: Behavior, weights: Tensor,
                   options: Options) -> Tensor:
    run = run_of(problem, process.run(problem.seed), options, weights, backwards=True)
    network = run.steps.trained(run.end)
    signal = signal_of(behavior, network.predict(problem.queries), problem.query_labels)
    slope = gradients_of(network, problem.queries, signal, along_signal, check=options.check).mean(0, keepdim=True)
    return run.adjoint(slope, options)[0]


def _finite(values: Tensor) -> Tensor:
    if not values.isfinite().all():
        raise Undifferentiable("The derivative of this training run overflows: its steps amplify "
                               "small changes. Choose a smaller learning rate, or the process `local_response`.")
    return values


def cached_descent(problem: SoftmaxProblem, process: Replay, options: Options) -> DifferentiatedDescent:
    """The descent of a process, kept on the problem: the latest of them. Raises `Undifferentiable` where it diverges.
    """
    run = problem.memo("replayed", lambda: DifferentiatedDescent(problem, process.eta, process.steps, options),
                       (process.eta, process.steps, problem.outside_content))
    if not run.end.isfinite().all():
        raise Undifferentiable("Descent from zero diverged; choose a smaller η.")
    return run


def _of_softmax(problem: SoftmaxProblem, interventions: Sequence[Intervention], process: Replay, candidates: Tensor,
                options: Options, curvature: StepCurvature) -> list[Response]:
    run = cached_descent(problem, process, options)
    work = {**_work(problem, candidates, process.steps), STEEPNESS: process.eta * steepest(problem)}
    terms = [_descended(problem, run, candidates, options.stage(index, len(interventions)),
                        weighed(intervention, process.steps, 1), curvature)
             for index, intervention in enumerate(interventions)]
    return [run_response([term], candidates, work) for term in terms]


def steepest(problem: SoftmaxProblem) -> float:
    """The largest eigenvalue of ∇²L_D at W = 0, where softmax is flat: that of XᵀX/n over C, and at least λ more where
    all parameters have it. By power iteration, which ends below it."""
    def build() -> float:
        along = torch.ones_like(problem.x[0])
        for _ in range(POWER_STEPS):
            image = problem.x.T @ (problem.x @ along) / problem.n
            along = image / image.norm().clamp_min(torch.finfo(image.dtype).tiny)
        return (along @ (problem.x.T @ (problem.x @ along))).item() / (problem.n * problem.classes) + (
            problem.penalty.min().item())

    return problem.memo("steepest at zero", build)


def _descended(problem: SoftmaxProblem, run: DifferentiatedDescent, candidates: Tensor, options: Options,
               during: Tensor, curvature: StepCurvature) -> Term:
    logits = problem.outputs(problem.queries, run.end.flatten())
    if _forwards(problem, candidates):
        return LogitTerm(run.tangent(candidates, options, during, curvature), logits, linear=True)
    return GradientTerm(logits, lambda signal: run.adjoint(signal, options, during[:, None], curvature)[:, 0][
        :, candidates], len(candidates))


def _all_of_softmax(problem: SoftmaxProblem, process: Replay, behavior: Behavior, weights: Tensor,
                    options: Options) -> Tensor:
    run = DifferentiatedDescent(problem, process.eta, process.steps, options, weights)
    signal = signal_of(behavior, problem.outputs(problem.queries, run.end.flatten()), problem.query_labels)
    return run.pulled((problem.queries.T @ signal / len(signal))[:, :, None], options)[0]


replayed = by_form(_of_softmax, _of_module)
"""`replay` with another matrix in place of every step's Hessian. Raises as it does."""
by_all_weights = by_form(_all_of_softmax, _all_of_module)
"""dB̄/dα (n,) of the mean behavior of the queries by the weight of every example, of the one run of the process with
weights (n,); not finite where that run diverges. The behavior is one with a gradient. Raises `InvalidInput` for a
process of several runs."""
