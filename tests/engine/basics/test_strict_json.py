"""JSON from outside is read as it stands, or refused in one sentence that names it."""

import json

import pytest

from engine.basics.errors import InvalidInput
from engine.basics.strict_json import MOST_DEPTH, parse_json, parse_object

FAULTY = {
    "": "is not JSON: Expecting value in line 1, column 1; correct it there",
    "{": "is not JSON: ",
    '{"a": 1, "a": 2}': "has the key `a` twice",
    '[{"a": {"b": 1, "b": 1}}]': "has the key `b` twice",
    "[NaN]": "holds NaN", "[-Infinity]": "holds -Infinity", "[1e400]": "holds a number that is too large",
    '{"eta": -1e400}': "has at `eta` a number that is too",
    "9" * 5_000: "whole number of 5,000 digits", '"\\ud800"': "a lone surrogate", '{"\\udc00": 1}': "a lone surrogate",
    "[" * 100_000: "contains JSON with lists or objects nested more than",
    "[" * 70 + "]" * 70: "lists or objects nested more than",
    '{"a":' * 500 + "1" + "}" * 500: "lists or objects nested more than",
    b"\xff\xfa": "is not valid JSON", b"\xff\xfe\xd8": "is not valid JSON"}


@pytest.mark.parametrize("text", FAULTY, ids=lambda text: repr(text[:20]))
def test_what_is_no_json_is_refused_in_a_sentence(text):
    with pytest.raises(InvalidInput) as caught:
        parse_json(text, "`spec.json`")
    assert str(caught.value).startswith("`spec.json` ") and FAULTY[text] in str(caught.value)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize("value", [{"a": [1, 2.5, None, True, "ü \u2028 😀"]}, [], 3, "a", 10**300, -1e300])
def test_what_is_json_comes_back(value):
    assert parse_json(json.dumps(value), "it") == value
    assert parse_json(b"\xef\xbb\xbf" + json.dumps(value, ensure_ascii=False).encode(), "it") == value


def test_as_deep_as_allowed():
    assert parse_json("[" * MOST_DEPTH + "]" * MOST_DEPTH, "it")


def test_an_object_is_asked_for():
    assert parse_object('{"a": 1}', "it") == {"a": 1}
    with pytest.raises(InvalidInput, match="--run holds a list, not an object; copy it from the page"):
        parse_object("[]", "--run", "copy it from the page")
    with pytest.raises(InvalidInput, match=r"--run is not JSON \(Expecting value .*\); copy it from the page"):
        parse_object("nothing", "--run", "copy it from the page")
