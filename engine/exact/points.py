"""The states that a computation of many steps went through, in reverse, without holding all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

State = TypeVar("State")


class Points(Generic[State]):
    """states[0] = `beginning`, states[t + 1] = advance(states[t], t) for t < count.

    All are kept where `each` bytes a state fit `room`; else every √count-th, and those between are computed again when
    they are wanted (Griewank 1992). check is called before every step, and raises to cancel.
    """

    def __init__(self, beginning: State, advance: Callable[[State, int], State], count: int, each: int, room: int,
                 check: Callable[[], None]) -> None:
        self.advance, self.count = advance, count
        self.every = 1 if count * each <= room else math.isqrt(count - 1) + 1
        self.states, state = [], beginning
        for t in range(count):
            check()
            if t % self.every == 0:
                self.states.append(state)
            state = advance(state, t)
        self.end = state

    def backwards(self, check: Callable[[], None]) -> Iterator[tuple[int, State]]:
        """(t, states[t]) for t = count − 1, …, 0; check is called before each, and before each that is computed again.
        """
        for segment in reversed(range(len(self.states))):
            first = segment * self.every
            states = [self.states[segment]]
            for t in range(first, min(first + self.every, self.count) - 1):
                check()
                states.append(self.advance(states[-1], t))
            for index in reversed(range(len(states))):
                check()
                yield first + index, states[index]
