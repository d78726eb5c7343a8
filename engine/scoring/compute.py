"""From scorings to scores: groups what shares a counterfactual, and reads every behavior off it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import torch

from engine.basics.errors import InvalidInput, MissingData
from engine.basics.options import Options
from engine.basics.provenance import device_name, versions
from engine.gradients.response import RESOLUTION
from engine.problems import Problem
from engine.question import direction
from engine.question.processes import Process, Trajectory
from engine.scoring.convergence import Convergence, added
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring


def compute(problem: Problem, scorings: Scoring | Sequence[Scoring], options: Options | None = None) -> list[Scores]:
    """The scores of every scoring on one problem, in the order given.

    Scorings that share process and estimator share their counterfactual models: four behaviors cost
    one re-optimisation. Memory stays within `options.budget` by working through the candidates in chunks.

    Raises `InvalidInput` where a scoring does not fit the problem, `Cancelled` through `options.check`.
    """
    options = options or Options()
    scorings = [scorings] if isinstance(scorings, Scoring) else list(scorings)
    for scoring in scorings:
        with _named(scoring, len(scorings)):
            check(problem, scoring)
    finished: dict[int, Scores] = {}
    groups = _groups(scorings)
    for number, members in enumerate(groups):
        with problem.exclusive:
            finished.update(_compute_group(problem, scorings, members, options.stage(number, len(groups))))
        options.progress((number + 1) / len(groups))
    return [finished[index] for index in range(len(scorings))]


@contextmanager
def _named(scoring: Scoring, count: int) -> Iterator[None]:
    """Of several scorings, says which one is refused."""
    try:
        yield
    except InvalidInput as error:
        raise error if count == 1 else InvalidInput(f"{scoring.title}: {error}") from None


def refusals(problem: Problem, scorings: Sequence[Scoring]) -> dict[int, str]:
    """Positions of the scorings that the problem cannot be asked, each with why."""
    why = {}
    for index, scoring in enumerate(scorings):
        try:
            check(problem, scoring)
        except (InvalidInput, MissingData) as error:
            why[index] = str(error)
    return why


def check(problem: Problem, scoring: Scoring) -> None:
    """Raises `InvalidInput` where the problem cannot be asked what a scoring asks; a baseline asks nothing."""
    scoring.route.check_problem(problem)
    if not scoring.route.implies:
        return
    scoring.route.route(problem, scoring.process.kind)
    scoring.intervention.check(problem.n)
    if not scoring.intervention.adds:
        problem.check_trained(problem.candidates, f"`{scoring.intervention.title}` asks")
    problem.check_behavior(scoring.readout)
    if scoring.process.at_checkpoints and problem.stored_checkpoints:
        problem.checkpoints_of(cast(Trajectory, scoring.process))
    if scoring.intervention.label_free:
        problem.check_raised(scoring.readout)


def _groups(scorings: Sequence[Scoring]) -> list[list[int]]:
    """Positions of scorings that share their counterfactual models, in order of first appearance."""
    groups: dict[tuple, list[int]] = {}
    for index, scoring in enumerate(scorings):
        groups.setdefault(scoring.counterfactual, []).append(index)
    return list(groups.values())


def _compute_group(problem: Problem, scorings: Sequence[Scoring], members: list[int],
                   options: Options) -> dict[int, Scores]:
    first = scorings[members[0]]
    interventions = list(dict.fromkeys(scorings[index].intervention for index in members))
    respond = first.route.route(problem, first.process.kind)
    wanted = "float64" if first.process.double else options.precision
    held, read = (problem.for_differences(wanted) if first.wide or wanted == "float64" else problem).asking(
        [scorings[index].readout for index in members])
    readouts = dict(zip(members, read, strict=True))
    size = _chunk(held, len(interventions), first.process, options.budget)
    chunks = [chunk for side in problem.sides for chunk in side.split(size)]
    columns: dict[int, list[tuple[torch.Tensor, ...]]] = {index: [] for index in members}
    spreads: dict[int, list[torch.Tensor]] = {}
    spent: dict[int, dict] = {}
    started = time.perf_counter()
    for number, chunk in enumerate(chunks):
        options.check()
        responses = respond(held, interventions, first.process, chunk, options.stage(number, len(chunks)))
        by_intervention = dict(zip(interventions, responses, strict=True))
        for index in members:
            response, readout = by_intervention[scorings[index].intervention], readouts[index]
            values = response.scores(readout, held.query_labels)
            error = response.errors(values, readout, held.query_labels)
            columns[index].append((values, response.reached(values), response.residual, error))
            spread = response.standard_error(readout, held.query_labels)
            if spread is not None:
                spreads.setdefault(index, []).append(spread)
            spent[index] = added(spent.get(index, {}), response.work)
        options.progress((number + 1) / len(chunks))
    seconds = time.perf_counter() - started
    return {index: _gather(problem, scorings[index], columns[index], spreads.get(index), spent[index], seconds,
                           held.precision) for index in members}


def _chunk(problem: Problem, interventions: int, process: Process, budget: int) -> int:
    """Candidates at a time, so that the query logits of all interventions, and where a linear system is solved for
    each the gradients and solutions, take a quarter of the budget."""
    one = 3 * 8 * len(problem.queries) * problem.classes * interventions * process.models
    if process.linear:
        one += 2 * problem.gradient_bytes
    if 12 * problem.x.numel() > budget:
        raise InvalidInput(
            f"The memory budget of {budget / 2**30:.1f} GiB is too small for the training data; raise it to at "
            f"least {16 * problem.x.numel() / 2**30 + 0.5:.1f} GiB."
        )
    return max(1, (budget // 4) // one)


def _question(problem: Problem, scoring: Scoring) -> str:
    """With how a model is trained anew, where the answer depends on it."""
    return f"{scoring.question} {problem.trained_by}".strip() if scoring.process.random else scoring.question


def _gather(problem: Problem, scoring: Scoring, columns: Sequence[tuple[torch.Tensor, ...]],
            spreads: Sequence[torch.Tensor] | None, spent: dict, seconds: float, precision: str) -> Scores:
    values, converged, residual, error = (torch.cat(column, dim=-1).cpu().numpy()
                                             for column in zip(*columns, strict=True))
    provenance = {
        "spec": scoring.canonical(), "digest": scoring.digest, "question": _question(problem, scoring),
        **({"answers_for": [departure.answers_for for departure in scoring.departures]} if scoring.departures else {}),
        "orientation": scoring.orientation,
        **({direction.QUANTITY: direction.raw(scoring)} if scoring.route.implies else {}),
        "exact": scoring.exact, "data": problem.fingerprint,
        "sizes": {"train": problem.n, "queries": len(problem.queries), "candidates": len(problem.candidates),
                  **({} if problem.outside is None else {"outside": len(problem.outside.y)}), **problem.sizes},
        **problem.facts, **scoring.route.facts,
        "convergence": Convergence.measured(scoring.exact, converged, residual, spent).written,
        "resolution": {"precision": precision, "relative_error": RESOLUTION},
        "device": device_name(str(problem.device)), "versions": versions(), "wall_seconds": round(seconds, 3),
    }
    scores = Scores(scoring, values, problem.candidates.cpu().numpy(), converged, residual, provenance,
                    standard_error=torch.cat(list(spreads), -1).cpu().numpy() if spreads else None, error=error)
    provenance["resolution"] |= scores.resolution
    if scores.noise is not None:
        provenance["noise_of_seeds"] = scores.noise
    return scores
