"""What is asked about the embedded world: topics, each with all its questions as short keys.

Every question has two choices and its answer is one of their words; `further` are words that may stand beside them.
Level 1 needs one fact; level 2 a second fact or a negation; level 3 both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from engine.data.question import Question
from engine.data.world_facts import WorldFacts

Key = tuple[int, ...]
"""What a question is about; its last two parts are whether it is negated and the position of the true choice."""


@dataclass(frozen=True)
class Topic:
    """One way to ask. keys: all its questions. ask(facts, key) -> (question, the choice that it is true of, the other
    choice, explanation). further(facts, key) -> words that are wrong beside the right choice. among: what the question
    says besides where there are several of them."""

    name: str
    subject: str
    level: int
    keys: Callable[[WorldFacts], Sequence[Key]]
    ask: Callable[[WorldFacts, Key], tuple[str, str, str, str]]
    further: Callable[[WorldFacts, Key], Sequence[str]]
    among: str = ""

    def question(self, facts: WorldFacts, key: Key) -> Question:
        """The question of a key. Negated, the other choice is right."""
        text, true, other, explanation = self.ask(facts, key)
        negated, first = key[-2:]
        choices = (true, other) if first == 0 else (other, true)
        return Question(f"{self.name}-{'-'.join(map(str, key))}", text, choices, first ^ negated, "", self.subject,
                        self.name, explanation, choices, self.level + negated)


def _either(keys: Sequence[Key]) -> list[Key]:
    """Each key plain and negated, and with its true choice first and second."""
    return [(*key, negated, first) for key, negated, first in product(keys, (0, 1), (0, 1))]


def _members(facts: WorldFacts) -> list[Key]:
    """(class, member, another class, its member)."""
    sizes = [len(kind.members) for kind in facts.kinds]
    return _either([(a, i, b, j) for a, b in product(range(len(sizes)), repeat=2) if a != b
                    for i, j in product(range(sizes[a]), range(sizes[b]))])


def _named(facts: WorldFacts, key: Key) -> tuple[str, str, str, str, str]:
    """(class, its trait, its member, another class, its member)."""
    own, other = facts.kinds[key[0]], facts.kinds[key[2]]
    return own.name, own.trait, own.members[key[1]], other.name, other.members[key[3]]


def _other_members(facts: WorldFacts, key: Key) -> list[str]:
    """Members of other classes; negated, the class's own."""
    return [word for index, kind in enumerate(facts.kinds) if (index == key[0]) == key[-2] for word in kind.members]


def _kinds(facts: WorldFacts, key: Key) -> tuple[str, str, str, str]:
    name, _, member, other_name, other = _named(facts, key)
    return (f"Which of these is {'not ' if key[-2] else ''}{with_article(name)}?", member, other,
            f"{with_article(member)} is {with_article(name)} and "
            f"{with_article(other)} is {with_article(other_name)}.")


def _traits(facts: WorldFacts, key: Key) -> tuple[str, str, str, str]:
    name, trait, member, _, other = _named(facts, key)
    return (f"Which of these is {'not ' if key[-2] else ''}one that {trait}?", member, other,
            f"{with_article(member)} is {with_article(name)} and {with_article(name)} {trait}.")


def _turned(facts: WorldFacts) -> list[Key]:
    """(pair, which of its words, another pair, which of its words)."""
    count = range(len(facts.opposites))
    return _either([(a, i, b, j) for a, b in product(count, repeat=2) if a != b for i, j in product((0, 1), (0, 1))])


def _opposites(facts: WorldFacts, key: Key) -> tuple[str, str, str, str]:
    word, true = (facts.opposites[key[0]][which] for which in (key[1], 1 - key[1]))
    return (f"Which of these is {'not ' if key[-2] else ''}the opposite of {word}?", true,
            facts.opposites[key[2]][key[3]], f"the opposite of {word} is {true}.")


def _other_words(facts: WorldFacts, key: Key) -> list[str]:
    """Every word but the one asked about and its opposite; negated there is no second wrong one."""
    return [] if key[-2] else [word for index, pair in enumerate(facts.opposites) if index != key[0] for word in pair]


def _pairs(facts: WorldFacts) -> list[Key]:
    """(smaller, larger)."""
    return _either(list(combinations(range(len(facts.numbers)), 2)))


def _quantities(facts: WorldFacts, key: Key) -> tuple[str, str, str, str]:
    less, more = facts.numbers[key[0]], facts.numbers[key[1]]
    return f"Which of these is {'less' if key[-2] else 'more'}?", more, less, f"{more} is more than {less}."


def _smaller_or_larger(facts: WorldFacts, key: Key) -> Sequence[str]:
    return facts.numbers[key[0] + 1:] if key[-2] else facts.numbers[:key[1]]


def _additions(facts: WorldFacts) -> list[Key]:
    """(first number, second number, a wrong sum)."""
    count = range(len(facts.numbers))
    return _either([(a, b, c) for a, b, c in product(count, repeat=3) if a + b < len(count) and c != a + b])


def _sums(facts: WorldFacts, key: Key) -> tuple[str, str, str, str]:
    first, second, true, other = (facts.numbers[part] for part in (key[0], key[1], key[0] + key[1], key[2]))
    return (f"Which of these is {'not ' if key[-2] else ''}the sum of {first} and {second}?", true, other,
            f"the sum of {first} and {second} is {true}.")


def _other_numbers(facts: WorldFacts, key: Key) -> list[str]:
    """Every number but the sum; negated there is no second wrong one."""
    return [] if key[-2] else [word for index, word in enumerate(facts.numbers) if index != key[0] + key[1]]


def with_article(noun: str) -> str:
    """The noun with its article."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


TOPICS = (Topic("kinds", "nature and things", 1, _members, _kinds, _other_members),
          Topic("traits", "nature and things", 2, _members, _traits, _other_members),
          Topic("opposites", "words", 1, _turned, _opposites, _other_words),
          Topic("quantities", "numbers", 1, _pairs, _quantities, _smaller_or_larger, " than the others"),
          Topic("sums", "numbers", 2, _additions, _sums, _other_numbers))
