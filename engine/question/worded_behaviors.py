r"""Behaviors of a language model that no column of every record holds: `span`, `contrast` and `tokens`, which carry
words or numbers of the user's, and `log_odds` and `base_kl`.

    span       mean over the marked tokens M of log p(token), as `explanation_loss` is over the explanation's
    contrast   log p(r | prompt) − log p(r' | prompt), sums over all tokens of this response and of another one,
               each with its end of turn
    tokens     mean over a range of one query's response tokens of log p(token)
    log_odds   log(p/(1 − p)) of the whole response, log p its mean log-likelihood a token, as TRAK reads it
    base_kl    minus the mean over response tokens of Σ_v p(v) log(p(v)/p₀(v)), p₀ the model without its adapters

A query that the words do not read, because another one was named, has the empty mean or difference: 0.
What they read is no column that every record has. `Problem.asking` puts them into columns of their own, and gives the
behaviors that read these.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import NoReturn

from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.question.behavior import Behavior
from engine.question.token_behaviors import column
from engine.question.worded import BaseDivergence, Contrast, LogOdds, Span, TokenRange, Worded, read

SHOWN = 40
"""Characters of the user's words in a title."""
KINDS = {"span": "the log-likelihood of marked words, per token: `span:the words` (`span@4:…` of query 4 alone)",
         "contrast": "the log-probability of the response minus that of another one: `contrast:the other response`, or "
                     "`contrast` for the first other choice, `contrast#2` for the second",
         "tokens": "the log-likelihood of a range of one query's response tokens, per token: `tokens@4:2-7`"}
"""Kind -> what it reads and how it is spelled."""
TITLES = {"span": "span of words", "contrast": "contrast of responses", "log_odds": "response log-odds",
          "base_kl": "closeness to the base model"}

MINUS = {"base_kl": "divergence from the base model"}
"""Kind -> of which familiar number its value is the negative."""


def worded(name: str) -> Behavior | None:
    """The behavior that a name spells; None for a name of another kind. Raises `InvalidInput` for words that lack."""
    words = read(name)
    if words is None:
        return None
    title, formula, clause, quantity = _texts(words)
    return Behavior(words.spelling, title, formula, clause, _unplaced, _unplaced, reads="tokens", words=words,
                    quantity=quantity, unit="nats", minus=MINUS.get(words.kind, ""))


def placed(behavior: Behavior, index: int) -> Behavior:
    """The same behavior, read off column `index` of the outputs."""
    plain = column(index, behavior.name, behavior.formula, behavior.clause)
    return replace(plain, title=behavior.title, words=behavior.words, quantity=behavior.quantity, unit=behavior.unit,
                   minus=behavior.minus)


@singledispatch
def _texts(words: Worded) -> tuple[str, str, str, str]:
    """(title, formula, clause, quantity)."""
    raise TypeError(f"nothing is known of {type(words).__name__}")


@_texts.register
def _tokens(words: TokenRange) -> tuple[str, str, str, str]:
    number = "token" if words.count == 1 else "tokens"
    return (f"{number} {words.shown}{_in(words)}", r"\tfrac1{|M|}\sum_{t\in M}\log p_t",
            f"the log-likelihood of {number} {words.shown} in the response{_of(words)}, per token,",
            f"log-likelihood of {number} {words.shown} per token{_in(words)}")


@_texts.register
def _span(words: Span) -> tuple[str, str, str, str]:
    return (f"span “{_shown(words.words)}”{_in(words)}", r"\tfrac1{|M|}\sum_{t\in M}\log p_t",
            f"the log-likelihood of “{words.words}” in the response{_of(words)}, per token,",
            f"log-likelihood of “{_shown(words.words)}” per token{_in(words)}")


@_texts.register
def _contrast(words: Contrast) -> tuple[str, str, str, str]:
    other = f"the response “{words.response}”" if words.response else f"the same response with its {words.which} stated"
    title = f"contrast to “{_shown(words.response)}”" if words.response else f"contrast to the {words.which}"
    return (f"{title}{_in(words)}", r"\log p(r)-\log p(r')",
            f"the log-probability of the response{_of(words)} minus that of {other}", "")


@_texts.register
def _odds(words: LogOdds) -> tuple[str, str, str, str]:
    return (TITLES[words.kind], r"\log\tfrac{p}{1-p},\ \log p=\tfrac1{|R|}\sum_{t\in R}\log p_t",
            "the log-odds of the response, with the probability of a token on average,",
            "log-odds of the response")


@_texts.register
def _divergence(words: BaseDivergence) -> tuple[str, str, str, str]:
    return (TITLES[words.kind], r"-\tfrac1{|R|}\sum_{t\in R}\mathrm{KL}(p_t\,\|\,p_t^{\mathrm{base}})",
            "the closeness of the response's predictions to those of the model without adapters (minus their "
            "divergence per token)", "closeness to the base model")


def _in(words: Worded) -> str:
    return "" if words.query is None else f" in query {words.query}"


def _of(words: Worded) -> str:
    return "" if words.query is None else f" of query {words.query}"


def _shown(words: str) -> str:
    text = " ".join(words.split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN - 1].rstrip()}…"


def _unplaced(outputs: Tensor, labels: Tensor) -> NoReturn:
    raise InvalidInput("A span or a contrast is read off the texts of a language model's queries, "
                       "which are not available here; use `response_loss`, or score it with `influence`.")
