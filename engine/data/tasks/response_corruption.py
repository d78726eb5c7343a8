"""Response corruption: some records get a wrong answer, others the explanation of another record (Appendix A-2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from engine.basics.errors import InvalidInput
from engine.data.question import Question
from engine.data.tasks.task import Task, TaskKind, sample_questions, shuffled, wrong_answer
from engine.data.tasks.wording import as_authors, record

SIZES = {"clean": 4_000, "answer": 500, "rationale": 500, "validation": 500}
CLOSENESS = (("subject", "topic", "answer"), ("subject", "topic"), ("subject", "answer"), ("answer",), ())
"""What a mismatched rationale's source shares with the record, the closest first."""
WORTH = {"subject": 4, "topic": 2, "answer": 1}
"""What each counts in the authors' code."""


def build(settings: Mapping[str, Any]) -> Task:
    """Clean, answer-corrupted and rationale-corrupted training records, and clean validation records as queries."""
    sizes = {**SIZES, **{key: settings[key] for key in SIZES if key in settings}}
    questions, rng = sample_questions(settings, sum(sizes.values()))
    cut = np.cumsum([sizes["clean"], sizes["answer"], sizes["rationale"]])
    clean, answers, rationales, validation = np.split(np.arange(len(questions)), cut)
    training = questions[:cut[-1]]
    authors = as_authors(settings)
    sources = (exchanged_sources if authors else matched_sources)(training, rationales, rng)
    worded = partial(record, authors=authors)
    records = [worded(questions[k], flags=("clean",)) for k in clean]
    records += [worded(questions[k], answer=wrong_answer(questions[k], rng), flags=("answer",)) for k in answers]
    records += [worded(questions[k], explanation=training[s].explanation, flags=("rationale",))
                for k, s in zip(rationales, sources, strict=True)]
    return Task(KIND.name, shuffled(records, rng), {"validation": tuple(worded(questions[k]) for k in validation)},
                "validation", -1, {"answer": "answer", "rationale": "rationale"})


def matched_sources(training: Sequence[Question], rows: np.ndarray, rng: np.random.Generator) -> list[int]:
    """For each row, the row of another record with another explanation, as close as `CLOSENESS` allows."""
    groups: list[dict[tuple, list[int]]] = [{} for _ in CLOSENESS]
    for row, question in enumerate(training):
        for keys, group in zip(CLOSENESS, groups, strict=True):
            group.setdefault(tuple(getattr(question, key) for key in keys), []).append(row)
    return [_source(training, int(row), groups, rng) for row in rows]


def _source(training: Sequence[Question], row: int, groups: Sequence[Mapping[tuple, list[int]]],
            rng: np.random.Generator) -> int:
    own = training[row]
    for keys, group in zip(CLOSENESS, groups, strict=True):
        near = [other for other in group[tuple(getattr(own, key) for key in keys)]
                if other != row and training[other].explanation != own.explanation]
        if near:
            return near[rng.integers(len(near))]
    raise InvalidInput("Rationale corruption needs two different explanations; give more training records.")


def exchanged_sources(training: Sequence[Question], rows: np.ndarray, rng: np.random.Generator) -> list[int]:
    """For each row another of the rows, each of them once, none with the same explanation: as the code of the paper's
    authors pairs them, in random order with the closest that is left, subject counting 4, topic 2 and answer 1."""
    def differ(one: int, other: int) -> bool:
        return training[one].explanation != training[other].explanation

    def closeness(one: int, other: int) -> int:
        return sum(worth * (getattr(training[one], key) == getattr(training[other], key))
                   for key, worth in WORTH.items())

    order, sources = [int(row) for row in rng.permutation(rows)], dict[int, int]()
    left = list(order)
    for row in order:
        source = max((other for other in left if differ(row, other)), key=partial(closeness, row), default=left[0])
        left.remove(source)
        if not differ(row, source):  # the last ones may be left with their own: then another row gives up its source
            other = next((one for one in sources if differ(one, source) and differ(row, sources[one])), None)
            if other is None:
                raise InvalidInput("Rationale corruption needs two different explanations; give more training records.")
            sources[other], source = source, sources[other]
        sources[row] = source
    return [sources[int(row)] for row in rows]


KIND = TaskKind("response_corruption", "Response corruption",
                "Some training records have a wrong answer, others the explanation of another record.", build, SIZES)
