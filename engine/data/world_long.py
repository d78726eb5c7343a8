"""The embedded world's questions in the form of ScienceQA's: two to five choices, and a long explanation.

An explanation has 30 to 100 words: a fact about every further choice and other true facts, in any order, and the
question's own explanation as their conclusion, which may be marked as such. Every fact names a word of the question,
so that the explanation of another question does not fit; what it says of that word is sampled, so that few of its words
follow from the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from engine.data.question import Question
from engine.data.world_facts import EntityClass, WorldFacts
from engine.data.world_topics import Key, Topic, with_article

FURTHER = (0,) * 73 + (1,) * 15 + (2,) * 11 + (3,)
"""How many choices stand beside the two of a question: about as often as in ScienceQA's questions without a picture."""
LEAST, MOST = 30, 70
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


def lengthened(topic: Topic, facts: WorldFacts, key: Key, concluded: bool = False) -> Question:
    """The question of a key with up to three more choices and a long explanation; the same for the key.

    concluded: the conclusion is one sentence, “that … is true”, so that the end of an explanation can be foreseen; else
    any sentence may be its last.
    """
    question = topic.question(facts, key)
    sample = Sampler(*topic.name.encode(), *key)
    right = question.choices[question.answer]
    wrong = [word for word in topic.further(facts, key) if word not in question.choices]
    further = sample.some(wrong, sample.one(FURTHER))
    choices = tuple(sample.some([*question.choices, *further], len(FURTHER)))
    text = f"{question.question.rstrip('?')}{topic.among}"
    named = list(dict.fromkeys([*choices, *(word for word in text.split() if ways(facts, word) == ways(facts, right))]))
    given = [about(facts, word, right) for word in further]
    explanation = _explanation(facts, given, named, _conclusion(facts, question, right), sample, concluded)
    return replace(question, question=f"{text}?", choices=choices, labels=choices, answer=choices.index(right),
                   explanation=explanation)


def about(facts: WorldFacts, word: str, right: str) -> str:
    """What is true of a wrong choice: its class, its opposite, or a comparison with the right one."""
    if word in facts.numbers:
        return _compared(facts, word, right)
    kind = _kind(facts, word)
    return f"the opposite of {word} is {_turned(facts, word)}" if kind is None else _member(word, kind)


def _conclusion(facts: WorldFacts, question: Question, right: str) -> str:
    """The question's own explanation, and where that does not name the right choice, what is true of it."""
    own = question.explanation
    if right in own.rstrip(".").split():
        return own
    kind, asked = _kind(facts, right), question.question.rstrip("?").partition(" not ")[2]
    return f"{own.removesuffix('.')}. {f'{asked} is not {right}' if kind is None else _member(right, kind)}."


def _explanation(facts: WorldFacts, given: Sequence[str], named: Sequence[str], conclusion: str, sample: Sampler,
                 concluded: bool) -> str:
    """What is given among other facts on the named words, in any order, and the conclusion, as sentences."""
    sentences, wanted = list(given), LEAST + sample.below(MOST - LEAST + 1)
    words = sum(len(sentence.split()) for sentence in (*sentences, conclusion))
    while words < wanted:
        word = sample.one(named)
        sentences.append(sample.one(ways(facts, word))(facts, word, sample))
        words += len(sentences[-1].split())
    before = ". ".join(sample.some(sentences, len(sentences)))
    if concluded:
        conclusion = f"that {conclusion.removesuffix('.').replace('. ', ' and ')} is true."
    return f"{before}. {conclusion}"


def ways(facts: WorldFacts, word: str) -> tuple[Callable[[WorldFacts, str, Sampler], str], ...]:
    """Ways to state a fact on a word; none where the world knows nothing of it."""
    if word in facts.numbers:
        return _comparison, _sum
    if _kind(facts, word) is not None:
        return _membership, _trait, _exclusion
    return (_opposite, _no_opposites) if any(word in pair for pair in facts.opposites) else ()


def _kind(facts: WorldFacts, word: str) -> EntityClass | None:
    return next((kind for kind in facts.kinds if word in kind.members), None)


def _turned(facts: WorldFacts, word: str) -> str:
    return next(pair[pair[0] == word] for pair in facts.opposites if word in pair)


def _member(word: str, kind: EntityClass) -> str:
    return f"{with_article(word)} is {with_article(kind.name)}"


def _compared(facts: WorldFacts, one: str, other: str) -> str:
    less, more = sorted((one, other), key=facts.numbers.index)
    return f"{more} is more than {less}"


def _membership(facts: WorldFacts, word: str, sample: Sampler) -> str:
    return about(facts, word, word)


def _trait(facts: WorldFacts, word: str, sample: Sampler) -> str:
    """What the word and another of its class have or do."""
    kind = next(kind for kind in facts.kinds if word in kind.members)
    other = sample.one([member for member in kind.members if member != word])
    return f"{' and '.join(f'each {member}' for member in sample.some([word, other], 2))} {kind.trait}"


def _exclusion(facts: WorldFacts, word: str, sample: Sampler) -> str:
    """A class that neither the word nor one or two others are of."""
    kind, *others = sample.some([kind for kind in facts.kinds if word not in kind.members], 2 + sample.below(2))
    words = sample.some([word, *(sample.one(other.members) for other in others)], len(facts.kinds))
    return f"no {' or '.join(words)} is {with_article(kind.name)}"


def _opposite(facts: WorldFacts, word: str, sample: Sampler) -> str:
    first, second = sample.some([word, _turned(facts, word)], 2)
    return f"the opposite of {first} is {second}"


def _no_opposites(facts: WorldFacts, word: str, sample: Sampler) -> str:
    """One or two that are no opposite of the word."""
    others = sample.some([pair for pair in facts.opposites if word not in pair], 1 + sample.below(2))
    return f"the opposite of {word} is not {' or '.join(sample.one(pair) for pair in others)}"


def _comparison(facts: WorldFacts, word: str, sample: Sampler) -> str:
    return _compared(facts, word, sample.one([number for number in facts.numbers if number != word]))


def _sum(facts: WorldFacts, word: str, sample: Sampler) -> str:
    """Two numbers that add up to it, or what it gives with another one."""
    own, largest = facts.numbers.index(word), len(facts.numbers) - 1
    first, second = own, sample.below(largest - own + 1)
    if sample.below(2):
        first = sample.below(own + 1)
        second = own - first
    return f"the sum of {facts.numbers[first]} and {facts.numbers[second]} is {facts.numbers[first + second]}"
