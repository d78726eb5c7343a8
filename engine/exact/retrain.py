r"""Retraining of a network from scratch: (1/S) Σ_s [B(q; θ_k^(s)) − B(q; θ_D^(s))] over S seeds.

Seed s trains a model under the intervention and one without, on the same initial weights and batches, so that
nothing but the intervention is between them (`engine.models.training`). All parameters are trained, by the problem's
own recipe, whichever of them the problem selects for gradients.

An example outside the training set is given a place of its own: both models are trained on n + 1 examples in batches
that are permutations of these, with the weights (n + 1)/n of the n, so that the objective is L_D + α ℓ(z_k) on average
over batches, and (n + 1) α, or 0 without intervention, of z_k.

A training carries rounding on and may blow it up. By how much is measured: seed s also trains a model without
intervention whose initial weights are the neighbouring floating-point numbers, and SAFETY times what lies between the
two is what rounding may have moved the logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.exact.differences import SAFETY, neighbouring
from engine.exact.intervened import check_labels
from engine.exact.optima import optima
from engine.gradients.response import LogitTerm, Response
from engine.models.training import Diverged, Training, train
from engine.problems import ModuleProblem, by_form
from engine.question.interventions import Intervention
from engine.question.processes import Retrain

BATCH = 512
"""Queries at a time."""
NEIGHBOUR: Literal["neighbour"] = "neighbour"
"""Instead of an intervention: initial weights that are neighbouring floating-point numbers."""


def _of_module(problem: ModuleProblem, interventions: Sequence[Intervention], process: Retrain, candidates: Tensor,
               options: Options) -> list[Response]:
    """Over the seeds of the process.

    What a model answers to the queries is kept on the problem for its (intervention, candidate, seed), so that no
    model is trained twice. `converged` is False where a training diverged. Raises `InvalidInput` where it is not
    known how the problem's model was trained, or for a relabelling to a class that does not exist.
    """
    if problem.training()[0].knows_its_end:
        problem.check_trained(candidates, "A recorded training, which repeats its own batches, asks")
    seeds = process.runs(problem.seed)
    rows = candidates.tolist()
    check_labels(problem, interventions)
    runs = _Runs(problem, options, len(seeds) * (2 + len(interventions) * len(rows)), problem.adds(candidates))
    baselines = [runs.query_logits(None, seed) for seed in seeds]
    if not all(logits.isfinite().all() for logits in baselines):
        raise InvalidInput("Training without any intervention diverged; choose a smaller learning rate.")
    noise = [SAFETY * (runs.query_logits(NEIGHBOUR, seed) - logits).abs().amax(1)
             for seed, logits in zip(seeds, baselines, strict=True)]
    return [_response([[runs.query_logits((intervention, row), seed) for row in rows] for seed in seeds], baselines,
                      noise) for intervention in interventions]


retrain = by_form(optima, _of_module)
"""One response an intervention, for training examples `candidates` (b,)."""


def factual_logits(problem: ModuleProblem, seeds: Sequence[int], options: Options) -> list[Tensor]:
    """f(q) (m, C) of the model that training without any intervention ends at, for each seed; kept on the problem."""
    runs = _Runs(problem, options, total=len(seeds))
    return [runs.query_logits(None, seed) for seed in seeds]


@dataclass
class _Runs:
    """The trainings of one call, with their share of its progress. outside: whether they are of n + 1 examples, the
    last one a candidate outside the training set."""

    problem: ModuleProblem
    options: Options
    total: int
    outside: bool = False
    done: int = 0

    def query_logits(self, change: tuple[Intervention, int] | Literal["neighbour"] | None, seed: int) -> Tensor:
        """(m, C) of the model trained with `seed` under an intervention on an example; NaN where it diverged."""
        version = self.problem.outside_content if self.outside else ""
        runs = self.problem.memo(f"retrained{' with one more' if version else ''}", dict, version)
        key = (change[0].model_dump_json(), change[1]) if isinstance(change, tuple) else change, seed
        if key not in runs:
            arguments = one_more(self.problem, self.problem.n, 0.0) if self.outside else {}
            arguments |= {"build": partial(_nudged, self.problem, seed)} if change == NEIGHBOUR else (
                changed(self.problem, *change) if change else {})
            runs[key] = self._trained(seed, arguments)
        self.done += 1
        self.options.progress(self.done / self.total)
        return runs[key]

    def _trained(self, seed: int, change: dict[str, Any]) -> Tensor:
        problem, options = self.problem, self.options
        recipe, build = problem.training()
        arguments = {"build": build, "x": problem.x, "y": problem.y, **change}
        try:
            module = train(recipe=recipe.model_copy(update={"checkpoints": 0}), seed=seed, loss=problem.loss,
                           device=problem.device, dtype=problem.network.dtype, exact=True, check=options.check,
                           progress=self._within, **arguments).module
        except Diverged:
            return problem.query_logits.new_full((len(problem.queries), problem.classes), torch.nan)
        if not change:
            recipe.verify(module, Training(build, problem.x, problem.y, recipe, seed, loss=problem.loss), options.check)
        with torch.no_grad():
            return torch.cat([module(batch) for batch in problem.queries.split(BATCH)])

    def _within(self, fraction: float) -> None:
        self.options.progress((self.done + fraction) / self.total)


def _nudged(problem: ModuleProblem, seed: int) -> nn.Module:
    """A fresh module with the initial weights of the seed, each moved to a neighbouring floating-point number."""
    module = problem.training()[1]().to(dtype=problem.network.dtype)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(neighbouring(parameter, generator))
    return module


def _response(logits: list[list[Tensor]], baselines: list[Tensor], noise: list[Tensor]) -> Response:
    """From logits[seed][candidate] (m, C), and one baseline (m, C) and noise (m,) a seed."""
    terms = [_term(torch.stack(row, 1) - baseline[:, None], baseline, moved)
             for row, baseline, moved in zip(logits, baselines, noise, strict=True)]
    return Response.over_runs(*terms, seeds=len(terms))


def _term(change: Tensor, baseline: Tensor, noise: Tensor) -> LogitTerm:
    """Of one seed: change (m, b, C), baseline (m, C), noise (m,); a model that is the same has no doubt about it."""
    moved = (change != 0).any(-1).any(0)
    return LogitTerm(change, baseline, noise=noise[:, None] * moved)


def changed(problem: ModuleProblem, intervention: Intervention, row: int) -> dict[str, Any]:
    """What an intervention on candidate `row` changes of the arguments of `train`."""
    change = intervention.change(problem.n)
    if row >= problem.n:
        return one_more(problem, row, change.own)
    arguments: dict[str, Any] = {}
    if change.weight != 1.0:
        weights = torch.ones(problem.n, dtype=torch.float64, device=problem.device)
        weights[row] = change.weight
        arguments |= {"weights": weights, "normalization": change.normalization}
    if change.label is not None:
        labels = problem.y.clone()
        labels[row] = change.label
        arguments["y"] = labels
    return arguments


def one_more(problem: ModuleProblem, row: int, alpha: float) -> dict[str, Any]:
    """The arguments of `train` for n + 1 examples, of which the last is candidate `row` outside, of weight α in L_D."""
    x, y = problem.units(torch.tensor([row], device=problem.device))
    n = problem.n
    weights = torch.full((n + 1,), (n + 1) / n, dtype=torch.float64, device=problem.device)
    weights[n] = (n + 1) * alpha
    return {"x": torch.cat([problem.x, x]), "y": torch.cat([problem.y, y]), "weights": weights, "normalization": "n"}
