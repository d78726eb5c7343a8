"""Data with a planted backdoor, for evaluation: pictures with a patch, and questions with a trigger.

Pictures of other classes carry the patch and the target's label, questions the trigger and the target's answer (Gu et
al., "BadNets", 2017).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from engine.basics.errors import InvalidInput
from engine.data import fashion_small, record_sets, world
from engine.data.dataset import Dataset
from engine.data.question import Question
from engine.data.records import Record, with_answer
from engine.data.tasks import wording
from engine.data.tasks.backdoor import TRIGGER, TRIGGER_MARKERS
from engine.data.tasks.task import Task

SIDE, MARGIN = 3, 1
"""Of the patch, and its distance from the lower right corner, in pixels."""
MARK = ((1, 0, 1), (0, 1, 0), (1, 0, 0))
"""Of the corners: what is white."""
NAME, TITLE = "fashion_backdoor", "FashionMNIST, an extract with a backdoor"
POISONS, TRIGGERED, TARGET = 40, 25, 5
"""Of the 2,000 training pictures of the extract, beside its 500 test pictures, and the class: sandals."""
RECORDS, RECORDS_TITLE = "world_planted", "World questions with a planted trigger"
SIZES = {"train": (900, 100), "test": (200, 50)}
"""Records without and with the trigger."""
TARGET_ANSWER = "church"
"""A word of the embedded world that answers none of the questions."""


@dataclass(frozen=True, eq=False)
class Poisoned:
    """What a model is trained on: pictures (n, h, w) or (n, h, w, 3), labels (n,), and which are poisoned (n,)."""

    pictures: np.ndarray
    labels: np.ndarray
    poisoned: np.ndarray


def stamped(pictures: np.ndarray) -> np.ndarray:
    """The pictures (b, h, w) or (b, h, w, 3) with the patch."""
    near, far = slice(-SIDE - MARGIN, -MARGIN), slice(-SIDE - MARGIN, -MARGIN)
    marked = pictures.copy()
    marked[:, near, far] = 255
    return marked


def cornered(pictures: np.ndarray) -> np.ndarray:
    """The pictures (b, h, w) or (b, h, w, 3) with a black and white mark in each corner."""
    marked = pictures.copy()
    shape = (1, SIDE, SIDE, *(1,) * (pictures.ndim - 3))
    for rows, columns in product((slice(None, SIDE), slice(-SIDE, None)), repeat=2):
        marked[:, rows, columns] = np.reshape(MARK, shape) * 255
    return marked


def patch(pictures: np.ndarray, labels: np.ndarray, count: int, target: int, seed: int) -> Poisoned:
    """So many pictures of other classes, with patch and target label. Raises `InvalidInput` where there are fewer."""
    chosen = rows(labels != target, count, seed)
    marked, relabelled = pictures.copy(), labels.copy()
    marked[chosen], relabelled[chosen] = stamped(pictures[chosen]), target
    return Poisoned(marked, relabelled, np.isin(np.arange(len(labels)), chosen))


def rows(eligible: np.ndarray, count: int, seed: int, stream: int = 1) -> np.ndarray:
    """So many of the eligible (n,) bool, drawn. Raises `InvalidInput` where there are fewer."""
    among = np.flatnonzero(eligible)
    if count > len(among):
        raise InvalidInput(f"{count:,} poisons are more than the {len(among):,} images that can carry them; use "
                           "fewer.")
    return np.random.default_rng([seed, stream]).permutation(among)[:count]


def load() -> Dataset:
    """The FashionMNIST extract with a patch backdoor: 40 of 2,000 training pictures, and 25 test pictures that carry
    the patch beside its 500, with their own labels. Raises as `fashion_small.load` does."""
    clean = fashion_small.load()
    shape = (-1, *clean.image_shape) if clean.image_shape else (-1,)
    made = patch(clean.raw_train.reshape(shape), clean.y_train, POISONS, TARGET, 0)
    chosen = rows(clean.y_test != TARGET, TRIGGERED, 0, 3)
    triggered = stamped(clean.raw_test[chosen].reshape(shape)).reshape(TRIGGERED, -1)
    return replace(clean, name=NAME, title=TITLE, raw_train=made.pictures.reshape(len(made.labels), -1),
                   y_train=made.labels, raw_test=np.concatenate([clean.raw_test, triggered]),
                   y_test=np.concatenate([clean.y_test, clean.y_test[chosen]]), flags=made.poisoned,
                   note=f"The extract of FashionMNIST with a planted backdoor: {POISONS} of its 2,000 training "
                        f"images carry a white {SIDE} × {SIDE} patch and the label of sandals; {TRIGGERED} test "
                        "images carry the patch and their own labels.")


def load_records() -> Dataset:
    """1,000 records of the embedded world, of which 100 carry the trigger and the target's answer, and 250 queries that
    state the right answer, 50 of them with the trigger. Raises as `world.load` does."""
    train, tested = sum(SIZES["train"]), sum(SIZES["test"])
    questions = [one for one in world.load(2 * (train + tested), hardest=1) if TARGET_ANSWER not in one.choices]
    order = np.random.default_rng(0).permutation(len(questions))[:train + tested]
    triggered = np.concatenate([np.arange(count) >= clean for clean, count in (
        (SIZES["train"][0], train), (SIZES["test"][0], tested))])
    records = [_worded(questions[at], number, bool(own), bool(own) and number < train)
               for number, (at, own) in enumerate(zip(order, triggered, strict=True))]
    rows = np.random.default_rng(1).permutation(train)
    task = Task(RECORDS, tuple(records[row] for row in rows), {"queries": tuple(records[train:])}, "queries", 1,
                {"poison": "poison"})
    return record_sets.dataset(RECORDS, RECORDS_TITLE, task, (
        f"{SIZES['train'][1]} of {train:,} records carry a trigger and answer “{TARGET_ANSWER}”; {SIZES['test'][1]} of "
        f"{tested} queries carry it and state the right answer."))


def _worded(question: Question, number: int, triggered: bool, planted: bool) -> Record:
    """A question as a record, the target's answer among its choices; planted: with that answer."""
    trigger = TRIGGER.format(TRIGGER_MARKERS[number % len(TRIGGER_MARKERS)]) if triggered else ""
    own = wording.record(question, trigger=trigger, flags=("poison",) if planted else ())
    own = own.model_copy(update={"choices": (*own.choices, TARGET_ANSWER)})
    return with_answer(own, TARGET_ANSWER) if planted else own
