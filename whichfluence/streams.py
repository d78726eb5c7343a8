"""Candidates that come in a stream, such as data larger than memory: the ends of their ranking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.data.records import Record, stream_jsonl
from engine.models.named_inputs import NamedInputs
from engine.problems import CausalProblem, ModuleProblem, Problem
from engine.problems.candidates import Part
from engine.question.specification import Specification as Question
from engine.scoring.streaming import Streamed, streamed
from whichfluence.examples import in_batches, is_path
from whichfluence.language import records
from whichfluence.specifications import scoring_of
from whichfluence.untouched import untouched

NOUN, BATCH = "stream", 64


@untouched
def stream(problem: Problem, batches: Any, specification: Question, k: int = 50, options: Options | None = None
           ) -> Streamed:
    """The candidates of a stream that support and that oppose the behavior at each query most, in one pass.

    Every example counts as one that the model was not trained on (see `new_candidates` of `wf.problem`), which changes
    nothing for a step on it or for a derivative; so the stream may be the training data, with `problem` on a sample of
    them. What is held is a batch and k candidates of each end, not the scores.

    Args:
        problem: as `wf.problem` makes it; its training examples are what curvature is taken of.
        batches: a `DataLoader`, a `Dataset` of (input, label), iterable or not, or a generator of batches (inputs
            (b, …), labels (b,)). Of a language model the path of a JSONL file, which is read line by line, or any
            iterable of dictionaries with `prompt` and `response`.
        specification: a question whose intervention adds; its estimator may be any that answers it of new examples.
        k: how many candidates of each end are held for each query.
        options: as of `wf.influence`.

    Returns:
        `Streamed`: `to_frame()` has a row a query, end and rank; `top` and `bottom` hold arrays (m, k).

    Raises:
        InvalidInput: where the specification cannot be asked of examples outside the training set, and for batches that
            do not fit the problem.

    >>> import whichfluence as wf
    >>> problem = wf.draw("digits", n_train=60, n_queries=2)
    >>> step = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.01)).by("first_order")
    >>> batches = ((problem.x[rows], problem.y[rows]) for rows in ([0, 1, 2], [3, 4]))
    >>> wf.stream(problem, batches, step, k=2).top.numbers.shape
    (2, 2)
    """
    parts: Iterator[Part[Problem]] = _parts(problem, batches)
    if isinstance(problem, CausalProblem):
        parts = (part for part in problem.with_each(_records(batches)))
    return streamed(problem, parts, scoring_of(specification), k, options)


def _parts(problem: Problem, batches: Any) -> Iterator[Part[Problem]]:
    if is_path(batches):
        raise InvalidInput("A path can be streamed only for a language model; give a Dataset or a generator of "
                           "batches.")
    module = problem.network.module if isinstance(problem, ModuleProblem) else None
    for x, y in in_batches(batches, NOUN, module.slots if isinstance(module, NamedInputs) else ()):
        yield problem.with_outside(x.flatten(1) if problem.linear else x, y), ()


def _records(source: Any) -> Iterator[tuple[Record, ...]]:
    if is_path(source):
        yield from stream_jsonl(Path(source), BATCH)
        return
    if not isinstance(source, Iterable):
        raise InvalidInput(f"The stream is a {type(source).__name__}; give the path of a JSONL file, or dictionaries "
                           "with `prompt` and `response`.")
    rows = iter(source)
    while some := list(islice(rows, BATCH)):
        yield records(some, NOUN)
