"""The forms in which people write records of a language model, as prompt and response."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from engine.basics.errors import InvalidInput
from engine.basics.strict_json import in_utf8, noun, parse_json

Turns = Literal["last", "every"]
FIELDS = ("id", "prompt", "response", "spans", "choices", "marks", "flags", "metadata", "before_response")
"""The keys of a record as it is stored; all others are its metadata."""
SYSTEM = ("system", "system_prompt")
TALKS = ("messages", "conversations", "conversation")
QUESTIONS = ("prompt", "question", "input", "query")
ANSWERS = ("response", "completion", "output", "answer", "chosen")
PREFERENCE = {"chosen", "rejected"}
ROLES = {"user": "User", "human": "User", "prompter": "User", "assistant": "Assistant", "gpt": "Assistant",
         "model": "Assistant", "bot": "Assistant", "chatgpt": "Assistant", "system": "System",
         "developer": "System", "tool": "Tool", "function": "Tool"}
UNREAD = ("tool_calls", "function_call", "reasoning_content", "thinking")
"""What a template may write of a message beside its text."""
_OWN = frozenset(FIELDS)
_OPENING = (*TALKS, *QUESTIONS, "instruction")

BY_KEY = {"answer": ("answer", "final_answer", "label", "target", "answerKey"),
          "explanation": ("explanation", "rationale", "reasoning", "thinking", "cot")}
"""Keys whose text, where it stands in the response as words of their own, marks a span."""
CLASSES = ("label", "target")
"""Of these keys, those that often hold a class that the response does not state: their text is one letter or digit."""
NONE = ("not a known record format: give `prompt` and `response` (or `completion`), `messages`, `conversations`, or "
        "`instruction` and `output`")


class Exchange(NamedTuple):
    """An answer and what stands before it: as one text, and where that is more than a turn of the user, by turns (the
    speaker's role, the words)."""

    prompt: str
    response: str
    turns: tuple[tuple[str, str], ...] = ()


def are_records(content: bytes) -> bool:
    """Whether JSON lines, or a list, hold records, by the first object; what is no JSON is left to their reader."""
    text = in_utf8(content[:1_000_000]).decode("utf-8-sig", "replace").lstrip()
    if text.startswith("["):
        text = text[1:].lstrip()
        return any(f'"{key}"' in text.split("}")[0] for key in _OPENING)
    with suppress(InvalidInput):
        first = parse_json(text.split("\n")[0], "The first line")
        first = held[0] if (held := held_list(first)) else first
        if not isinstance(first, Mapping) or "label" in first and first.keys().isdisjoint((*TALKS, *ANSWERS)):
            return not isinstance(first, Mapping)  # a text with its class
        return not first.keys().isdisjoint(_OPENING) or first.keys() >= PREFERENCE or first.keys() == {"text"}
    return True


def held_list(value: Any) -> list[Any]:
    """The only list of objects that an object of no known form holds; empty where there is none such."""
    if not isinstance(value, Mapping) or not value.keys().isdisjoint((*_OPENING, *PREFERENCE)):
        return []
    lists = [one for one in value.values() if isinstance(one, list) and one and isinstance(one[0], Mapping)]
    return lists[0] if len(lists) == 1 else []


def is_record(data: Mapping[str, Any]) -> bool:
    """Whether an object is written as a record is stored."""
    return data.keys() <= _OWN and isinstance(data.get("prompt"), str) and isinstance(data.get("response"), str) and (
        None not in data.values() and isinstance(data.get("id", ""), str))


def records_of(data: Mapping[str, Any], turns: Turns = "last") -> Iterator[dict[str, Any]]:
    """The records of one object, as fields of `Record`: one, or one an answer of a conversation with `turns` "every".

    Keys that are null are absent, an `id` may be a number, keys of no form become `metadata`. Raises `InvalidInput`
    for an object of no known form.
    """
    data = {key: value for key, value in data.items() if value is not None}
    if {"prompt", "response"} <= data.keys() and all(isinstance(data[key], str) for key in ("prompt", "response")):
        used, pairs = {"prompt", "response"}, [Exchange(data["prompt"], data["response"])]
    else:
        used, pairs = _pairs(data)
    if before := _before(data):
        used |= {key for key in (*SYSTEM, "history") if key in data}
        talk = data[next(iter(used & set(TALKS)))] if used & set(TALKS) else [
            {"role": "user", "content": pairs[-1].prompt}, {"role": "assistant", "content": pairs[-1].response}]
        pairs = _turns([*(one for one in before if not _same(one, talk[0])), *talk])[-len(pairs):]
    own = {key: data[key] for key in FIELDS if key in data and key not in used}
    if isinstance(own.get("id"), int) and not isinstance(own["id"], bool):
        own["id"] = str(own["id"])
    metadata = {key: value for key, value in data.items() if key not in used and key not in FIELDS}
    if metadata:
        own["metadata"] = {**own.get("metadata", {}), **metadata} if isinstance(own.get("metadata", {}), dict) else {
            **metadata, "metadata": own["metadata"]}
    chosen = pairs if turns == "every" else pairs[-1:]
    for turn, pair in enumerate(chosen):
        name = {"id": f"{own['id']}#{turn}"} if len(chosen) > 1 and "id" in own else {}
        spoken = {"before_response": pair.turns} if pair.turns else {}
        yield {**own, **name, "prompt": pair.prompt, "response": pair.response, **spoken,
               **_spans(own, pair.response, metadata)}


def _before(data: Mapping[str, Any]) -> list[dict[str, str]]:
    """What keys of their own say before the question, as messages: `system`, and `history` as pairs of a question and
    its answer."""
    system = [{"role": "system", "content": words} for words in map(data.get, SYSTEM)
              if isinstance(words, str) and words]
    history = data["history"] if isinstance(data.get("history"), list) else []
    paired = all(isinstance(pair, list) and len(pair) == 2 and all(isinstance(words, str) for words in pair)
                 for pair in history)
    return system + ([{"role": role, "content": words} for pair in history
                      for role, words in zip(("user", "assistant"), pair, strict=True)] if paired else [])


def _same(one: Mapping[str, str], first: Mapping[str, Any]) -> bool:
    """Whether the first turn of a conversation says what a key of its own says too."""
    return one == {"role": first.get("role", first.get("from")), "content": first.get("content", first.get("value"))}


def _pairs(data: Mapping[str, Any]) -> tuple[set[str], list[Exchange]]:
    """(the keys that are read, every prompt with its response)."""
    talk = next((key for key in TALKS if isinstance(data.get(key), list)), None)
    if talk is not None:
        return {talk}, _turns(data[talk])
    if isinstance(data.get("chosen"), list) and data.keys().isdisjoint((*QUESTIONS, "instruction")):
        return {"chosen"}, _turns(data["chosen"])
    answer = next((key for key in ANSWERS if key in data), None)
    if "instruction" in data and answer is not None:
        given = [str(data[key]) for key in ("instruction", "input", "context") if data.get(key)]
        return {"instruction", "input", "context", answer}, [Exchange("\n\n".join(given), _text(data[answer]))]
    question = next((key for key in QUESTIONS if key in data and key != answer), None)
    if question is None or answer is None:
        if "prompt" in data:
            raise InvalidInput("`response` is missing, and no `completion` is there either; add it.")
        raise InvalidInput(f"its keys ({', '.join(str(key)[:30] for key in list(data)[:6])}) are {NONE}.")
    if isinstance(data[question], list):
        reply = data[answer] if isinstance(data[answer], list) else [{"role": "assistant", "content": data[answer]}]
        return {question, answer}, _turns([*data[question], *reply])
    context = [data["context"]] if isinstance(data.get("context"), str) and data["context"] else []
    return {question, answer, *(["context"] if context else [])}, [
        Exchange("\n\n".join([_text(data[question]), *context]), _text(data[answer]))]


def _text(value: Any) -> Any:
    """The words of a message: a text, or parts of which all are texts."""
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        if all(one.get("type", "text") == "text" and isinstance(one.get("text"), str) for one in value):
            return "".join(one["text"] for one in value)
        if all({"role", "content"} <= one.keys() for one in value):
            return "\n\n".join(_text(one["content"]) for one in value)
    if not isinstance(value, str):
        raise InvalidInput(f"a message is {noun(value)}, not a text; images and tool calls are not supported; leave "
                           "them out, and write numbers as texts.")
    return value


def _turns(talk: Sequence[Any]) -> list[Exchange]:
    """Every answer of a conversation with what stands before it: the words alone where that is one turn of the user,
    else each turn after its speaker, and the turns themselves."""
    said, pairs = list[tuple[str, str]](), list[Exchange]()
    for one in talk:
        if not isinstance(one, Mapping):
            raise InvalidInput("a message is not an object; write {\"role\": …, \"content\": …}.")
        role = str(one.get("role", one.get("from", "")))
        speaker = ROLES.get(role.casefold())
        if speaker is None:
            raise InvalidInput(f"a message has the role `{role[:30]}`; use user, assistant or system.")
        if unread := next((key for key in UNREAD if one.get(key)), None):
            raise InvalidInput(f"a message has `{unread}`, which is not supported; write it into the text of the "
                               "message, or leave it out.")
        words = _text(one.get("content", one.get("value", one.get("text"))))
        trained = one.get("weight") != 0 and one.get("train") is not False  # no loss is taken of other answers
        if speaker == "Assistant" and said and trained:
            plain = len(said) == 1 and said[0][0] != "Assistant"
            pairs.append(Exchange(said[0][1], words) if plain else Exchange(
                "\n\n".join(f"{who}: {what}" for who, what in said), words,
                tuple((who.lower(), what) for who, what in said)))
        said.append((speaker, words))
    if not pairs:
        raise InvalidInput("the conversation has no answer after a question; give one turn of the assistant.")
    return pairs


def _spans(own: Mapping[str, Any], response: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Spans that a key marks, where the record has none of that name itself."""
    given = own.get("spans", {})
    if not isinstance(given, Mapping):
        return {}
    spans = dict(given)
    for name, keys in BY_KEY.items():
        for key in keys:
            value = metadata.get(key)
            if name in spans or not isinstance(value, str) or (key in CLASSES and len(value.strip()) != 1):
                continue
            start = _last_word(response, value.strip())
            if value.strip() and start >= 0:
                spans[name] = (start, start + len(value.strip()))
    return {"spans": spans} if spans else {}


def _last_word(text: str, word: str) -> int:
    """Where a word stands last in a text, by itself; −1 where it does not."""
    start = text.rfind(word)
    while start >= 0:
        around = text[max(0, start - 1):start] + text[start + len(word):start + len(word) + 1]
        if not any(letter.isalnum() for letter in around):
            return start
        start = text.rfind(word, 0, start + len(word) - 1) if start else -1
    return -1
