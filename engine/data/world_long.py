"""The embedded world's questions in the form of ScienceQA's: two to five choices, and a long explanation.

An explanation has 30 to 100 words: a fact about every further choice and other true facts of the world, in any order,
and the question's own explanation as their conclusion. As in a written rationale, few of its words follow from the
question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from engine.data.question import Question
from engine.data.world_facts import WorldFacts
from engine.data.world_topics import Key, Topic, with_article

CHOICES = 5
LEAST, MOST = 30, 80
"""Words of an explanation before its last fact."""
NUMBERS = 256
"""Random numbers of a question: more than it takes."""
T = TypeVar("T")


class Sampler:
    """Samples from sequences, the same for its seed."""

    def __init__(self, *seed: int) -> None:
        self._uniform: Iterator[float] = iter(np.random.default_rng(seed).random(NUMBERS).tolist())

    def below(self, count: int) -> int:
        """0 … count − 1."""
        return int(next(self._uniform) * count)

    def one(self, of: Sequence[T]) -> T:
        return of[self.below(len(of))]

    def some(self, of: Sequence[T], count: int) -> list[T]:
        """So many different ones, or all, in any order."""
        left = list(of)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]


def lengthened(topic: Topic, facts: WorldFacts, key: Key) -> Question:
    """The question of a key with up to three more choices and a long explanation; the same for the key."""
    question = topic.question(facts, key)
    sample = Sampler(*topic.name.encode(), *key)
    right = question.choices[question.answer]
    wrong = [word for word in topic.further(facts, key) if word not in question.choices]
    further = sample.some(wrong, sample.below(CHOICES - 1))
    choices = tuple(sample.some([*question.choices, *further], CHOICES))
    explanation = _explanation(facts, [about(facts, word, right) for word in further], question.explanation, sample)
    return replace(question, question=f"{question.question.rstrip('?')}{topic.among}?", choices=choices,
                   labels=choices, answer=choices.index(right), explanation=explanation)


def about(facts: WorldFacts, word: str, right: str) -> str:
    """What is true of a wrong choice: its class, its opposite, or a comparison with the right one."""
    if word in facts.numbers:
        less, more = sorted((word, right), key=facts.numbers.index)
        return f"{more} is more than {less}"
    pair = next((pair for pair in facts.opposites if word in pair), None)
    if pair is not None:
        return f"the opposite of {word} is {pair[pair[0] == word]}"
    kind = next(kind for kind in facts.kinds if word in kind.members)
    return f"{with_article(word)} is {with_article(kind.name)}"


def _explanation(facts: WorldFacts, given: Sequence[str], conclusion: str, sample: Sampler) -> str:
    """What is given among other facts, in any order, and the conclusion, as sentences."""
    sentences, wanted = list(given), LEAST + sample.below(MOST - LEAST + 1)
    words = sum(len(sentence.split()) for sentence in (*sentences, conclusion))
    while words < wanted:
        sentences.append(sample.one(FACTS)(facts, sample))
        words += len(sentences[-1].split())
    return ". ".join([*sample.some(sentences, len(sentences)), conclusion])


def _membership(facts: WorldFacts, sample: Sampler) -> str:
    kind = sample.one(facts.kinds)
    return f"{with_article(sample.one(kind.members))} is {with_article(kind.name)}"


def _exclusion(facts: WorldFacts, sample: Sampler) -> str:
    """One to three that are no members of a class."""
    kind, *others = sample.some(facts.kinds, 2 + sample.below(3))
    return f"no {' or '.join(sample.one(other.members) for other in others)} is {with_article(kind.name)}"


def _trait(facts: WorldFacts, sample: Sampler) -> str:
    """What every member has or does, of two of them."""
    kind = sample.one(facts.kinds)
    return f"{' and '.join(f'each {member}' for member in sample.some(kind.members, 2))} {kind.trait}"


def _opposite(facts: WorldFacts, sample: Sampler) -> str:
    first, second = sample.some(sample.one(facts.opposites), 2)
    return f"the opposite of {first} is {second}"


def _comparison(facts: WorldFacts, sample: Sampler) -> str:
    less, more = sorted(sample.some(facts.numbers, 2), key=facts.numbers.index)
    return f"{more} is more than {less}"


def _sum(facts: WorldFacts, sample: Sampler) -> str:
    total = sample.below(len(facts.numbers))
    first = sample.below(total + 1)
    return f"the sum of {facts.numbers[first]} and {facts.numbers[total - first]} is {facts.numbers[total]}"


FACTS: tuple[Callable[[WorldFacts, Sampler], str], ...] = (
    _membership, _exclusion, _trait, _opposite, _comparison, _sum)
"""Ways to state a fact at random."""
