r"""The words that a behavior of a language model carries, as pure values with one spelling each.

    span:WORDS       the words that are marked in every response      span@4:WORDS       in that of query 4 alone
    contrast:TEXT    another response to the same prompt              contrast@4:TEXT    to that of query 4 alone
    contrast         the response with its first other choice stated, contrast#2 with its second, contrast@4#2
    tokens@4:2-7     tokens 2 to 7 of the response of query 4, counted from 0; tokens@4:2 is one
    log_odds         the whole response as one event               base_kl           its tokens beside the base model's

The spelling is the behavior's name, so that it is part of a specification's digest, address and file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from engine.basics.errors import InvalidInput

LONGEST = 300
"""Characters that a behavior may carry."""
SPELLED = re.compile(r"(span|contrast)(?:@(\d{1,6}))?(?:#(\d{1,3})|:(.*))?", re.DOTALL)
RANGED = re.compile(r"tokens@(\d{1,6}):(\d{1,6})(?:-(\d{1,6}))?")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


@dataclass(frozen=True)
class Span:
    """The tokens of `words` wherever they stand in a response, as whole words. query: the only one that is read."""

    words: str
    query: int | None = None
    kind: ClassVar = "span"

    @property
    def spelling(self) -> str:
        return f"span{_at(self.query)}:{self.words}"

    def matches(self, response: str) -> list[tuple[int, int]]:
        """Where the words stand, as characters [start, end); white space of any kind and length is one space."""
        inner = r"\s+".join(re.escape(word) for word in self.words.split())
        before, after = (r"(?<!\w)" if self.words[0].isalnum() else ""), (r"(?!\w)" if self.words[-1].isalnum() else "")
        return [match.span() for match in re.finditer(f"{before}{inner}{after}", response)]


@dataclass(frozen=True)
class Contrast:
    """Another response: `response` itself, or, where that is empty, the same one with another choice stated.

    choice: which of the others, counted from 1 in their order. query: the only one that is read.
    """

    response: str = ""
    choice: int = 1
    query: int | None = None
    kind: ClassVar = "contrast"

    @property
    def spelling(self) -> str:
        if self.response:
            return f"contrast{_at(self.query)}:{self.response}"
        return f"contrast{_at(self.query)}{f'#{self.choice}' if self.choice > 1 else ''}"

    @property
    def which(self) -> str:
        """The other choice in words."""
        return f"{ORDINALS[self.choice - 1]} other choice"


@dataclass(frozen=True)
class TokenRange:
    """Tokens `first` to `last` of the response of one query, both included, counted from 0."""

    query: int
    first: int
    last: int
    kind: ClassVar = "tokens"

    @property
    def spelling(self) -> str:
        return f"tokens@{self.query}:{self.shown}"

    @property
    def shown(self) -> str:
        """The numbers of its tokens."""
        return f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"

    @property
    def count(self) -> int:
        """How many tokens it has."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class LogOdds:
    """The log-odds of the whole response, without words of the user's."""

    query: ClassVar[None] = None
    kind: ClassVar = "log_odds"
    spelling: ClassVar = "log_odds"


@dataclass(frozen=True)
class BaseDivergence:
    """How far the adapters have moved the predictions of the whole response, without words of the user's."""

    query: ClassVar[None] = None
    kind: ClassVar = "base_kl"
    spelling: ClassVar = "base_kl"


Worded = Span | Contrast | TokenRange | LogOdds | BaseDivergence
WITHOUT_WORDS: dict[str, Worded] = {one.spelling: one for one in (LogOdds(), BaseDivergence())}
"""Spelling -> what is read of whole responses."""


def read(spelling: str) -> Worded | None:
    """What a spelling stands for; None for one that is no such behavior's. Raises `InvalidInput`."""
    if spelling in WITHOUT_WORDS:
        return WITHOUT_WORDS[spelling]
    if spelling.startswith("tokens"):
        return ranged(spelling)
    match = SPELLED.fullmatch(spelling)
    if match is None:
        return None
    kind, query, choice, words = match.groups()
    number_of_query = None if query is None else int(query)
    if kind == "span":
        return Span(_checked(" ".join((words or "").split()), "span", "the words that are marked"), number_of_query)
    if words is not None:
        return Contrast(_checked(words.strip(), "contrast", "the other response"), 1, number_of_query)
    number = 1 if choice is None else int(choice)
    if not 1 <= number <= len(ORDINALS):
        raise InvalidInput(f"There is no other choice {number} to contrast with; use 1 to {len(ORDINALS)}.")
    return Contrast("", number, number_of_query)


def ranged(spelling: str) -> TokenRange:
    """The range of tokens that a spelling stands for. Raises `InvalidInput` for anything else."""
    match = RANGED.fullmatch(spelling)
    if match is None:
        raise InvalidInput(f"`{spelling[:60]}` names no tokens of a query; write as `tokens@4:2-7`, tokens 2 to 7 of "
                           "the response of query 4, counted from 0.")
    query, first, last = match.groups()
    tokens = TokenRange(int(query), int(first), int(last or first))
    if tokens.count < 1:
        raise InvalidInput(f"`{spelling}` ends before it begins; write the smaller number first.")
    return tokens


def _at(query: int | None) -> str:
    return "" if query is None else f"@{query}"


def _checked(words: str, kind: str, what: str) -> str:
    if not words:
        raise InvalidInput(f"The behavior `{kind}` does not say {what}; write `{kind}:` and then {what}.")
    if len(words) > LONGEST:
        raise InvalidInput(f"The behavior `{kind}` carries {len(words):,} characters; write at most {LONGEST}.")
    if not all(character.isprintable() or character == "\n" for character in words):
        raise InvalidInput(f"The behavior `{kind}` carries characters that cannot be shown; write plain text.")
    return words
