"""Where questions with choices come from, by name. A new source is one file and its line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.basics.registry import Registry
from engine.data import scienceqa, world
from engine.data.question import Question


@dataclass(frozen=True)
class QuestionSource:
    """A set of questions that a task draws from.

    load: (how many the task wants, the highest level of them or None) -> at least so many if there are.
    available: () -> (loads without a network, a sentence on where it lies or what to do). content: () -> the digest of
    what decides the questions, empty where that is not here.
    """

    name: str
    title: str
    load: Callable[[int, int | None], Sequence[Question]]
    available: Callable[[], tuple[bool, str]]
    content: Callable[[], str]
    note: str


POOL = 12_000
"""Questions of the world that tasks draw from, where they want no more."""

QUESTIONS: Registry[QuestionSource] = Registry("source of questions", (
    QuestionSource("scienceqa", scienceqa.LOCATION.title, lambda wanted, hardest: scienceqa.load(),
                   lambda: scienceqa.available(), lambda: scienceqa.content(),
                   "School science questions without images."),
    QuestionSource("world", "The embedded world",
                   lambda wanted, hardest: world.load(max(wanted, POOL), hardest=hardest),
                   lambda: world.available(), lambda: world.content(),
                   "Generated questions on kinds, traits, opposites and numbers; needs no download."),
    QuestionSource("world_long", "The embedded world, long explanations",
                   lambda wanted, hardest: world.load(max(wanted, POOL), hardest=hardest, long=True),
                   lambda: world.available(), lambda: world.content(),
                   "The same with two to five choices and explanations of 30 to 100 words."),
    QuestionSource("world_concluded", "The embedded world, long explanations with a marked conclusion",
                   lambda wanted, hardest: world.load(max(wanted, POOL), hardest=hardest, long=True, concluded=True),
                   lambda: world.available(), lambda: world.content(),
                   "The same with explanations whose last sentence is marked as the conclusion."),
))


def of(settings: Mapping[str, Any]) -> QuestionSource:
    """The source that a task's `questions` names (default: ScienceQA)."""
    return QUESTIONS[settings.get("questions", "scienceqa")]
