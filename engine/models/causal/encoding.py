r"""Records as tokens: the chat template around them, and spans of characters as tokens by the tokenizer's offsets.

A record becomes [template and prompt][response][end of turn]. What is learned and what `response_loss` reads is the
response with its end of turn. A batch is padded on the left, so that all responses end together and logits are
needed for the last positions only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import torch
from jinja2 import TemplateError
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.data.records import Record

PROBE = "qzkxwj"
DATE, ASKS_DATE = datetime(2024, 7, 26), "strftime_now"
"""The day that a chat template writes where it asks for today's, and how it asks: of two days the same record would be
other tokens."""
DATED = "".join(("{% macro ", ASKS_DATE, "(form) %}{{ form", *(
    f"|replace('{one}', '{DATE.strftime(one)}')" for one in (f"%{dash}{of}" for of in "aAbBcdDeFHIjmMpSTuUVwWxXyYzZ%"
                                                             for dash in ("", "-"))), " }}{% endmacro %}{{ '' }}"))
"""What is put before such a template: functions of Python are not handed on to it."""


@dataclass(frozen=True)
class Encoded:
    """A record as tokens. Positions count from the first token that was not cut.

    response: where the response starts; it reaches to the end. explanation: positions of its tokens.
    answer: position of an answer of one token, −1 without one; letters: the tokens of the choices there, with the
    stated one at `stated`. spread: positions of the tokens of any other answer whose words the model knows. cut: prompt
    tokens that were left out because the record is longer than the context.
    """

    ids: tuple[int, ...]
    response: int
    explanation: tuple[int, ...] = ()
    answer: int = -1
    letters: tuple[int, ...] = ()
    stated: int = -1
    cut: int = 0
    spread: tuple[int, ...] = ()

    @property
    def answered(self) -> tuple[int, ...]:
        """Positions of the tokens of the answer, however many they are."""
        return self.spread or ((self.answer,) if self.answer >= 0 else ())


@dataclass(frozen=True)
class Batch:
    """Padded on the left. ids, mask, positions (b, T); the last R positions hold every response.

    targets (b, R): their tokens. response, explanation, answered (b, R) bool. answer (b,): column of an answer of
    one token, −1 without one. letters (b, C): tokens of the choices, −1 where there are fewer. stated (b,). prompt_end
    (b,): the position that predicts the first token of the response. scored (b, R) bool: whose loss counts.
    """

    ids: Tensor
    mask: Tensor
    positions: Tensor
    targets: Tensor
    response: Tensor
    explanation: Tensor
    answer: Tensor
    letters: Tensor
    stated: Tensor
    prompt_end: Tensor
    scored: Tensor
    answered: Tensor

    def __len__(self) -> int:
        return len(self.ids)

    def to(self, device: torch.device | str) -> Batch:
        return Batch(**{name: value.to(device, non_blocking=True) for name, value in vars(self).items()})

    @property
    def predicting(self) -> Tensor:
        """The columns whose logits predict the last R tokens, (R,)."""
        width, tail = self.ids.shape[1], self.targets.shape[1]
        return torch.arange(width - tail - 1, width - 1, device=self.ids.device)

    @property
    def padding(self) -> Tensor:
        """How many columns stand before a record's first token, (b,)."""
        return self.ids.shape[1] - self.mask.sum(1)

    def narrowed(self) -> Batch:
        """Without the columns before the longest record, but for one more than the last R."""
        width, least = self.ids.shape[1], self.targets.shape[1] + 1
        before = width - max(least, int(self.mask.sum(1).max()))
        return replace(self, ids=self.ids[:, before:], mask=self.mask[:, before:],
                       positions=self.positions[:, before:], prompt_end=self.prompt_end - before)


class Encoder:
    """Encodes records for one tokenizer, at most `context` tokens each.

    known: how many tokens the model has embeddings of (default: all that the tokenizer writes).
    """

    def __init__(self, tokenizer: Any, context: int = 1024, known: int | None = None) -> None:
        if not tokenizer.is_fast:
            raise InvalidInput("This model's tokenizer does not say which characters a token covers; use a model that "
                               "has a fast tokenizer (tokenizer.json).")
        self.tokenizer, self.context, self.known = tokenizer, context, known
        self._tails: dict[tuple[str, str], int | None] = {}
        self.chat = bool(getattr(tokenizer, "chat_template", None))
        self.end = self._end_of_turn()

    @property
    def pad(self) -> int:
        """The token that fills up a batch; the mask hides it. A padding token is often added to a tokenizer alone."""
        return next((token for token in (self.tokenizer.pad_token_id, self.tokenizer.eos_token_id)
                     if token is not None and (self.known is None or token < self.known)), 0)

    def opening(self, record: Record) -> str:
        """The text before the response, as the model's template has it; thinking is off where it can be.

        Raises `InvalidInput` for turns that the template does not take. Where it takes no system, its words begin the
        user's first turn.
        """
        if not self.chat:
            return f"{self.tokenizer.bos_token or ''}{record.prompt}\n"
        spoken = record.before_response or (("user", record.prompt),)
        turns = [{"role": role, "content": words} for role, words in spoken]
        try:
            return self._turned(turns, add_generation_prompt=True)
        except TemplateError as error:
            if len(turns) > 1 and (turns[0]["role"], turns[1]["role"]) == ("system", "user"):
                words = "\n\n".join(turn["content"] for turn in turns[:2])
                merged = (("user", words), *record.before_response[2:])
                return self.opening(record.model_copy(update={"before_response": merged}))
            raise InvalidInput(f"The model's chat template does not take the turns of record `{record.id}` "
                               f"({' '.join(str(error).split())[:120].rstrip('.')}); leave those turns out.") from None

    @property
    def facts(self) -> dict[str, str]:
        """What a manifest says of the tokens: the date, where the template writes one."""
        return {"template_date": f"{DATE:%Y-%m-%d}"} if ASKS_DATE in str(self.tokenizer.chat_template) else {}

    def _turned(self, turns: Sequence[Mapping[str, str]], **options: bool) -> str:
        """The turns of a conversation as the model's template writes them."""
        return self.tokenizer.apply_chat_template(turns, tokenize=False, enable_thinking=False, **options, **(
            {"chat_template": DATED + self.tokenizer.get_chat_template()} if self.facts else {}))

    def encode(self, record: Record) -> Encoded:
        """Raises `InvalidInput` for a response that does not fit, or a span or letter that no token holds."""
        opening = self.opening(record)
        start = len(opening)
        ids, offsets = self._tokens(opening + record.response + self.end)
        if self.known is not None and max(ids, default=0) >= self.known:
            raise InvalidInput(f"Record `{record.id}` holds the token “{self.tokenizer.decode([max(ids)])}” (number "
                               f"{max(ids):,}), but the model has embeddings of {self.known:,} tokens; use the model's "
                               "own tokenizer, or resize its embeddings to this one and save both.")
        first = next((position for position, (_, end) in enumerate(offsets) if end > start), len(ids))
        if first == len(ids):
            raise InvalidInput(f"The response of record `{record.id}` has no tokens; give the text that "
                               "the model should write.")
        cut = max(0, len(ids) - self.context)
        if cut > first - 1:
            raise InvalidInput(f"The response of record `{record.id}` has {len(ids) - first:,} tokens, which leave no "
                               f"room for a prompt in {self.context:,}; shorten it or allow more tokens.")
        spans = {name: _covering(offsets, start + a, start + b) for name, (a, b) in record.spans.items()}
        for name, positions in spans.items():
            if not positions:
                raise InvalidInput(f"No token covers the span `{name}` of record `{record.id}`; correct the span.")
        answered = spans.get("answer", [])
        if self.tokenizer.unk_token_id in [ids[position] for position in answered]:
            answered = []  # all words that the model does not know are one to it
        letters, stated = self._choices(record, opening, ids, answered)
        shifted = [tuple(position - cut for position in own) for own in (spans.get("explanation", []), answered)]
        answer, spread = (shifted[1][0], ()) if letters else (-1, shifted[1])
        return Encoded(tuple(ids[cut:]), first - cut, shifted[0], answer, letters, stated, cut, spread)

    def check_answer(self, record: Record) -> None:
        """Raises `InvalidInput` for an answer that holds a word which the model does not know."""
        if record.answer and not self.encode(record).answered:
            raise InvalidInput(f"The model does not know the word “{record.answer[:60]}”, the answer of record "
                               f"`{record.id[:40]}`; leave the answer unmarked, or choose another model.")

    def covered(self, record: Record, spans: Iterable[tuple[int, int]]) -> list[int]:
        """The tokens that cover a character of the response's spans [start, end), each by how many tokens it stands
        before the record's end: 1 is the last."""
        opening = self.opening(record)
        ids, offsets = self._tokens(opening + record.response + self.end)
        positions = {position for start, end in spans
                     for position in _covering(offsets, len(opening) + start, len(opening) + end)}
        return sorted(len(ids) - position for position in positions)

    def response_spans(self, record: Record) -> list[tuple[int, int]]:
        """The characters [start, end) of the response that each of its tokens covers; none of an end of turn."""
        opening, encoded, length = self.opening(record), self.encode(record), len(record.response)
        _, offsets = self._tokens(opening + record.response + self.end)
        inside = (tuple(min(max(at - len(opening), 0), length) for at in pair)
                  for pair in offsets[encoded.response - len(encoded.ids):])
        return [(start, end) for start, end in inside]

    def batch(self, encoded: Sequence[Encoded]) -> Batch:
        """Several records, padded on the left."""
        size, width = len(encoded), max(len(item.ids) for item in encoded)
        tail = max(len(item.ids) - item.response for item in encoded)
        choices = max(1, *(len(item.letters) for item in encoded))
        ids, mask = torch.full((size, width), self.pad), torch.zeros(size, width, dtype=torch.long)
        response, explanation, answered = (torch.zeros(size, tail, dtype=torch.bool) for _ in range(3))
        answer, stated = torch.full((size,), -1), torch.full((size,), -1)
        letters, prompt_end = torch.full((size, choices), -1), torch.zeros(size, dtype=torch.long)
        for row, item in enumerate(encoded):
            shift = width - len(item.ids)
            ids[row, shift:], mask[row, shift:] = torch.tensor(item.ids), 1
            column = shift - (width - tail)  # of position 0 of this record among the last `tail`
            response[row, item.response + column:] = True
            explanation[row, [position + column for position in item.explanation]] = True
            answered[row, [position + column for position in item.answered]] = True
            prompt_end[row] = item.response + shift - 1
            if item.answer >= 0:
                answer[row], stated[row] = item.answer + column, item.stated
                letters[row, :len(item.letters)] = torch.tensor(item.letters)
        positions = (mask.cumsum(1) - 1).clamp_min(0)
        return Batch(ids, mask, positions, ids[:, width - tail:], response, explanation, answer, letters, stated,
                     prompt_end, response, answered)

    def words(self, encoded: Encoded) -> list[str]:
        """The text of every response token, in order."""
        return [self.tokenizer.decode([token]) for token in encoded.ids[encoded.response:]]

    def _tokens(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        tokens = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        return list(tokens["input_ids"]), [tuple(pair) for pair in tokens["offset_mapping"]]

    def _choices(self, record: Record, opening: str, ids: list[int], positions: Sequence[int]
                 ) -> tuple[tuple[int, ...], int]:
        """(tokens of the choices, index of the stated one) of an answer of one token, alone where a choice is of
        several; ((), −1) of any other."""
        letter = record.answer
        if len(positions) != 1 or self.tokenizer.decode([ids[positions[0]]]).strip() != letter:
            return (), -1
        choices = record.choices if letter in record.choices else (*record.choices, letter)
        at = len(opening) + record.spans["answer"][0]
        text = opening + record.response + self.end
        letters = [ids[positions[0]] if choice == letter else self._letter(text, at, letter, choice)
                   for choice in choices]
        known = tuple(token for token in letters if token is not None)
        return (known, choices.index(letter)) if len(known) == len(choices) else ((ids[positions[0]],), 0)

    def _letter(self, text: str, at: int, letter: str, choice: str) -> int | None:
        """The token that stands for `choice` where `letter` stands, None where several do; the neighbourhood decides,
        and is remembered."""
        around = (text[max(0, at - 24):at] + "\0" + text[at + len(letter):at + len(letter) + 4], choice)
        if around not in self._tails:
            ids, offsets = self._tokens(text[:at] + choice + text[at + len(letter):])
            positions = _covering(offsets, at, at + len(choice))
            self._tails[around] = ids[positions[0]] if len(positions) == 1 else None
        return self._tails[around]

    def _end_of_turn(self) -> str:
        """What the template puts after an assistant's words, without trailing white space; else the end token. Raises
        `InvalidInput` for a template that cannot be read, or that writes one conversation differently each time."""
        eos = self.tokenizer.eos_token or ""
        if not self.chat:
            return eos
        turns = [{"role": "user", "content": "?"}, {"role": "assistant", "content": PROBE}]
        try:
            text, again = self._turned(turns), self._turned(turns)
        except Exception as error:  # a template may raise anything
            raise InvalidInput(f"The model's chat template cannot be read ({' '.join(str(error).split())[:120]}); "
                               "correct `chat_template` beside the tokenizer.") from None
        if text != again:
            raise InvalidInput("The model's chat template writes one conversation differently each time; remove its "
                               "random parts from `chat_template` beside the tokenizer.")
        return text.rpartition(PROBE)[2].strip() or eos if PROBE in text else eos


def _covering(offsets: Sequence[tuple[int, int]], start: int, end: int) -> list[int]:
    """Positions of the tokens that cover a character of [start, end)."""
    return [position for position, (a, b) in enumerate(offsets) if a < end and b > start and b > a]
