"""JSON from outside, read strictly: each key once, finite numbers, text that can be written, nothing without end."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from engine.basics.errors import InvalidInput

MOST_DEPTH = 60
"""How many lists and objects may stand inside one another: more than any file of ours, less than Python's own stack
holds."""
MOST_DIGITS = 1_000
"""Of a whole number; no number that can be meant has more."""

_SUSPECT = re.compile(r"\\u[dD]|[\ud800-\udfff]|[eE]\+?\d{3}|\d{300}")
"""What half a letter or a number that no float holds is written with."""


def text_encoding(first: bytes) -> str:
    """In which of UTF-8, UTF-16 and UTF-32 JSON is written, by its first four bytes."""
    encoding = json.detect_encoding(first)
    return "utf-8-sig" if encoding == "utf-8" else encoding


def in_utf8(content: bytes) -> bytes:
    """JSON, or JSON lines, in UTF-8: text in UTF-16 or UTF-32 is written anew, other content comes back as it is."""
    if (encoding := text_encoding(content[:4])) == "utf-8-sig":
        return content
    try:
        return content.decode(encoding).encode()
    except UnicodeError:  # what reads it says that it is no text
        return content


def parse_json(content: bytes | str, name: str, remedy: str = "") -> Any:
    """The value that JSON holds, in UTF-8, UTF-16 or UTF-32, with or without a byte-order mark.

    name: what the sentences call it, such as a file in backticks; remedy: what to do about text that is no JSON, by
    default to correct it where it fails. Raises `InvalidInput` for anything but JSON, for a key that stands twice in
    an object, NaN, infinity, a number too large for a float, half a surrogate pair, and nesting deeper than
    `MOST_DEPTH`.
    """
    try:
        text = in_utf8(content).decode("utf-8-sig") if isinstance(content, bytes) else content.removeprefix("\ufeff")
        value = _DECODER.decode(text)
    except InvalidInput as error:
        raise InvalidInput(f"{name} {error}") from None
    except json.JSONDecodeError as error:
        where = f"{error.msg} in line {error.lineno}, column {error.colno}"
        raise InvalidInput(f"{name} is not JSON{f' ({where}); {remedy}' if remedy else f': {where}; correct it there'}."
                           ) from None
    except RecursionError:
        raise InvalidInput(f"{name} {_too_deep()}") from None
    except ValueError:
        raise InvalidInput(f"{name} is not valid JSON; {remedy or 'save it as plain UTF-8 text'}.") from None
    if _SUSPECT.search(text) or text.count("[") + text.count("{") > MOST_DEPTH:
        _check(value, name)
    return value


def parse_object(content: bytes | str, name: str, remedy: str = "") -> dict[str, Any]:
    """`parse_json` of what has to be an object; raises `InvalidInput` as it does, and for anything else."""
    value = parse_json(content, name, remedy)
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} holds {noun(value)}, not an object; {remedy or 'check what was given'}.")
    return value


def noun(data: Any) -> str:
    """What a JSON value is called in a sentence."""
    return {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(
        type(data), "a number")


def _check(data: Any, name: str) -> None:
    """Raises `InvalidInput` for text that UTF-8 cannot hold and for deep nesting, without any recursion."""
    level, depth = [data], 0
    while level:
        if depth > MOST_DEPTH:
            raise InvalidInput(f"{name} {_too_deep()}")
        if any(isinstance(item, _TooLarge) for item in level):
            raise InvalidInput(f"{name} holds a number that is too large; give a smaller one.")
        texts = [item for item in level if isinstance(item, str)]
        texts += [key for item in level if isinstance(item, dict) for key in item]
        if not all(map(_whole, texts)):
            raise InvalidInput(f"{name} contains a lone surrogate (`\\ud800` to `\\udfff` alone); write it whole.")
        level = [inner for item in level if isinstance(item, (list, dict))
                 for inner in (item.values() if isinstance(item, dict) else item)]
        depth += 1


class _TooLarge(float):
    """A number that no float holds, until it is known under which key it stands."""


def _whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise InvalidInput(f"has the key `{twice[:40]}` twice in one object; keep one of them.")
    if _TooLarge in map(type, result.values()):
        odd = next(key for key, value in pairs if isinstance(value, _TooLarge))
        raise InvalidInput(f"has at `{odd[:40]}` a number that is too large; give a smaller one.")
    return result


def _constant(text: str) -> Any:
    raise InvalidInput(f"holds {text}, which is not a valid JSON number; give a finite one.")


def _float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _TooLarge(number)


def _int(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise InvalidInput(f"holds a whole number of {len(text):,} digits; give a smaller one.")
    return int(text)


def _too_deep() -> str:
    return f"contains JSON with lists or objects nested more than {MOST_DEPTH} deep; flatten it."


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int)
"""Made once: to make it takes longer than a short text to read."""
