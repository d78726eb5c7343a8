"""Questions about the embedded world, generated: they need no download, as many as a task needs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import islice, zip_longest

import numpy as np

from engine.basics.errors import InvalidInput
from engine.data import world_facts, world_long
from engine.data.question import Question
from engine.data.world_topics import TOPICS, Key, Topic

content = world_facts.content


def load(count: int, seed: int = 0, hardest: int | None = None, long: bool = False, concluded: bool = False
         ) -> tuple[Question, ...]:
    """`count` different questions, sampled from `seed`: the topics take turns while they hold questions.

    hardest: the highest level. long: with up to five choices and a long explanation, as
    `engine.data.world_long` has them; concluded: which marks its conclusion. A smaller count gives the first of them.
    Raises `InvalidInput` where the world holds fewer, `MissingData` where its file is damaged.
    """
    return _load(count, seed, hardest, long, concluded, world_facts.content())


def available() -> tuple[bool, str]:
    """Whether the world's file is here, and a sentence on it."""
    if not world_facts.content():
        return False, "The file of the embedded world is missing; restore assets/embedded."
    return True, "Generated from the embedded world; needs no download."


@lru_cache(maxsize=4)
def _load(count: int, seed: int, hardest: int | None, long: bool, concluded: bool, changed: str
          ) -> tuple[Question, ...]:
    facts, rng = world_facts.read(), np.random.default_rng(seed)
    held = {topic: [key for key in topic.keys(facts) if hardest is None or topic.level + key[-2] <= hardest]
            for topic in TOPICS}
    if (total := sum(map(len, held.values()))) < count:
        raise InvalidInput(f"{count:,} questions are requested, but the embedded world has "
                           f"{total:,}{'' if hardest is None else f' up to level {hardest}'}; use fewer.")
    turns = zip_longest(*[_shuffled(topic, keys, rng) for topic, keys in held.items()])
    pairs = (pair for turn in turns for pair in turn if pair is not None)
    write = partial(world_long.lengthened, concluded=concluded) if long else Topic.question
    return tuple(write(topic, facts, key) for topic, key in islice(pairs, count))


def _shuffled(topic: Topic, keys: Sequence[Key], rng: np.random.Generator) -> list[tuple[Topic, Key]]:
    return [(topic, keys[index]) for index in rng.permutation(len(keys))]
