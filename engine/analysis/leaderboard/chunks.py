"""What the chunks of a leaderboard measure: each leaves arrays by name, of which the board is made.

    scores|METHOD           (m, k) oriented, NaN where a score has no position      seconds|METHOD, memory|METHOD  (1,)
    exact|CODE, other|CODE  the exact answer to a question, of the run at hand (where it is no method's scores) and of
                            another training seed
    patch                   (m, k): what a step on each candidate does to each query (`engine.analysis.scorecard`)
    members|i, outcomes|i|LATER   models on subsets of the fraction i, of the training seed LATER
    removed|METHOD          (fractions, q): the drop of the behavior without the top of each query's own ranking
    without groups          (fractions, groups, q): the same without random groups
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from engine.analysis.leaderboard.questions import questions, scorings, visited
from engine.analysis.scorecard.benchmark import Case, Sizes
from engine.analysis.scorecard.retrained import removed, seeds_of
from engine.analysis.scorecard.tail_patch import patched
from engine.analysis.subset_bank import Draw, bank
from engine.basics.errors import InvalidInput, Undifferentiable
from engine.basics.options import Options
from engine.basics.spent import measured
from engine.metrics.agreement import top_size
from engine.problems import Problem
from engine.problems.candidates import Shared
from engine.problems.memory import Entries, ProblemMemory
from engine.problems.variants import trained_on
from engine.scoring import codes, cost
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from engine.store.results import Store

Arrays = dict[str, np.ndarray]
GROUPS = 10
"""Random groups that are removed beside the tops."""
SIZE = "size"
"""Where every chunk says n, k and how many checkpoints a trajectory visits, (3,)."""
WHY = "why|"
"""Begins the name under which a chunk says why it has measured nothing, as bytes of a sentence."""


@dataclass(frozen=True)
class Task:
    """What a leaderboard measures, of one problem. most_seconds: the estimated time above which a scoring is left out.
    """

    problem: Problem
    methods: Sequence[str]
    behavior: str
    damping: float
    sizes: Sizes
    most_seconds: float
    store: Store

    @property
    def scorings(self) -> dict[str, Scoring]:
        return scorings(type(self.problem), self.methods, self.behavior, self.damping, visited(self.problem))

    @property
    def questions(self) -> list[Scoring]:
        return questions(type(self.problem), self.scorings)

    @property
    def case(self) -> Case:
        return Case(self.problem, self.methods, self.behavior, self.sizes, self.store)


def method(task: Task, name: str, options: Options) -> Arrays:
    """Scores of one method with what they take, and what is lost without the top of its rankings. What was computed of
    the model for other methods is not shared."""
    scoring, alone = task.scorings[name], _alone(task.problem)
    with measured() as spent:
        values = _trusted(alone, scoring, task.most_seconds, options.between(0, 0.5))
    if isinstance(values, str):
        return {WHY + name: _text(values)}
    return {f"scores|{name}": values, f"seconds|{name}": np.array([spent.seconds]),
            f"memory|{name}": np.array([spent.memory]), f"removed|{name}": _without_top(task, values, options)}


def exact(task: Task, index: int, options: Options) -> Arrays:
    """The exact answer to question `index`, of the run at hand, where no method of the board is that very answer, and,
    where the seed matters, of another run."""
    scoring = task.questions[index]
    arrays: Arrays = {}
    problems = {} if scoring in task.scorings.values() else {"exact": task.problem}
    if not task.problem.convex and not task.problem.replays_batches:
        problems["other"] = trained_on(task.problem, task.problem.examples, options.between(0, 0.05), 1)
    for step, (name, problem) in enumerate(problems.items()):
        values = _trusted(problem, scoring, task.most_seconds, options.between(0.05, 1).stage(step, len(problems)))
        key = f"{name}|{codes.encode(scoring)}"
        arrays |= {WHY + key: _text(values)} if isinstance(values, str) else {key: values}
    return arrays


def models(task: Task, index: int, later: int, options: Options) -> Arrays:
    """Models on subsets of the fraction `index`, of one training seed; those that the store has are not trained."""
    sizes = task.sizes
    draw = Draw(count=sizes.models, share=sizes.fractions[index], seed=sizes.seed, among=sizes.among,
                protocol=sizes.protocol, later=later)
    own = bank(task.problem, draw, task.store, options)
    return {f"members|{index}": own.members, f"outcomes|{index}|{later}": own.outcomes(task.behavior)}


def beside(task: Task, options: Options) -> Arrays:
    """What every method is held against: steps on single candidates, and random groups removed."""
    rng, k = np.random.default_rng([task.sizes.seed, 7]), len(task.problem.candidates)
    groups = [rng.choice(k, top_size(k, fraction), replace=False)
              for fraction in task.sizes.removed for _ in range(GROUPS)]
    lost = _lost(task, groups, options.stage(1, 2))
    return {"patch": patched(task.problem, _of_steps(options.stage(0, 2))),
            "without groups": lost.T.reshape(len(task.sizes.removed), GROUPS, -1)}


def chunks(methods: Sequence[str], questions: int, sizes: Sizes, convex: bool) -> list[str]:
    """Names of all chunks: models on subsets first, which take longest."""
    seeds = 1 if convex else 2
    return [*(f"models/{index}/{later}" for index in range(len(sizes.fractions)) for later in range(seeds)), "beside",
            *(f"exact/{index}" for index in range(questions)), *(f"method/{name}" for name in methods)]


def measure(task: Task, chunk: str, options: Options) -> Arrays:
    """The arrays of one chunk."""
    kind, *rest = chunk.split("/")
    if kind == "models" and int(rest[1]) >= min(2, seeds_of(task.problem, task.sizes)):
        return {}
    return MEASURES[kind](task, *rest, options)


def described(problem: Problem) -> Arrays:
    """What a board needs to know of the problem."""
    return {SIZE: np.array([problem.n, len(problem.candidates), visited(problem)])}


def _trusted(problem: Problem, scoring: Scoring, most_seconds: float, options: Options) -> np.ndarray | str:
    """Oriented scores (m, k), NaN where one has no position; or why there are none."""
    seconds = cost.guess([scoring], problem, len(problem.candidates)) + cost.preparation([scoring], problem)[1]
    if seconds > most_seconds:
        return f"It would take about {seconds / 3600:.1f} hours."
    try:
        retrained = scoring.route.implies and scoring.process.kind == "retrain"
        return compute(problem, scoring, options if retrained else _of_steps(options))[0].trusted
    except (InvalidInput, Undifferentiable) as error:
        return str(error)


def _without_top(task: Task, values: np.ndarray, options: Options) -> np.ndarray:
    """(fractions, q): the drop of a query's behavior without the top of its own ranking (m, k); NaN without one."""
    queries, k = min(task.sizes.queries, len(values)), values.shape[1]
    unranked = np.isnan(values).all(1)
    ranked = np.argsort(-np.where(np.isnan(values), -np.inf, values), axis=1, kind="stable")[:queries]
    tops = [tuple(sorted(row[:top_size(k, fraction)])) for fraction in task.sizes.removed for row in ranked]
    groups = list(dict.fromkeys(tops))
    lost = dict(zip(groups, _lost(task, groups, options.between(0.5, 1)).T, strict=True))
    values = np.array([lost[top][index % queries] for index, top in enumerate(tops)]).reshape(-1, queries)
    return np.where(unranked[:queries], np.nan, values)


def _lost(task: Task, groups: Sequence[Sequence[int] | np.ndarray], options: Options) -> np.ndarray:
    """(q, G): the drop of the behavior at the first queries without each group of candidates."""
    rows = [task.problem.candidates[torch.as_tensor(np.array(group), device=task.problem.device)] for group in groups]
    return -removed(task.case, rows, options)[:task.sizes.queries]


def _of_steps(options: Options) -> Options:
    """Precision is asked for trainings: what a step changes is so little that float32 loses it."""
    return replace(options, precision="auto")


def _alone(problem: Problem) -> Problem:
    """The same trained problem, of which nothing is computed yet but its training and its outputs: once, for all."""
    def prepared() -> list[Entries]:
        fresh = problem.holding(problem.examples, Shared(ProblemMemory(), ProblemMemory()))
        fresh.prepare()
        return [fresh.shared.model.entries(), fresh.shared.queries.entries()]

    model, queries = (ProblemMemory(entries) for entries in problem.memo("prepared", prepared))
    return problem.holding(problem.examples, Shared(model, queries))


def _text(sentence: str) -> np.ndarray:
    return np.frombuffer(sentence.encode(), dtype=np.uint8)


def reasons(arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Name of what was not measured -> why."""
    return {name.removeprefix(WHY): own.tobytes().decode() for name, own in arrays.items() if name.startswith(WHY)}


MEASURES: Mapping[str, Callable[..., Arrays]] = {
    "method": method, "exact": lambda task, index, options: exact(task, int(index), options), "beside": beside,
    "models": lambda task, index, later, options: models(task, int(index), int(later), options)}
