"""Registries and values: the rules that every named thing and every frozen value keeps."""

import json
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from engine.basics.errors import InvalidInput
from engine.basics.registry import Registry, unknown
from engine.basics.values import Count, Number, Value, canonical_json, short


@pytest.fixture
def shapes():
    registry = Registry("shape")
    registry.add("disc", 1)
    registry.add("square", 2)
    return registry


def test_a_registry_keeps_its_order_and_names(shapes):
    assert list(shapes) == ["disc", "square"] and len(shapes) == 2 and "disc" in shapes and "ring" not in shapes
    assert list(shapes.items()) == [("disc", 1), ("square", 2)] and list(shapes.values()) == [1, 2]
    assert shapes.add("disc", 3, replace=True) == 3 and shapes["disc"] == 3 and list(shapes) == ["disc", "square"]
    shapes.remove("disc")
    shapes.remove("disc")
    assert list(shapes) == ["square"]


def test_a_taken_name_is_refused_and_the_thing_kept(shapes):
    with pytest.raises(InvalidInput, match="A shape named `disc` is already registered"):
        shapes.add("disc", 9)
    assert shapes["disc"] == 1


@pytest.mark.parametrize(("name", "said"), [
    ("disk", "There is no shape `disk`; did you mean `disc`?"),
    ("xyz", "There is no shape `xyz`; known: `disc`, `square`."),
    ("", "known:"), (None, "`None`"), (["disc"], "no shape"), (3, "`3`"),
])
def test_unknown_names_give_the_nearest_or_all(shapes, name, said):
    with pytest.raises(InvalidInput) as caught:
        shapes[name]
    assert said in str(caught.value)


def test_unknown_takes_any_names():
    assert unknown("key", "alhpa", {"alpha": 1}) == "There is no key `alhpa`; did you mean `alpha`?"


class Small(Value):
    number: Annotated[Number, Field(ge=0, le=2)] = 1.0
    count: Count = 3


@pytest.mark.parametrize(("data", "said"), [
    ({"numbr": 1}, "Unknown key `numbr` in the small; remove it"),
    ({"number": True}, "`number`: true/false is not a number."),
    ({"count": False}, "true/false"),
    ({"number": "x"}, "`number` is 'x': "),
    ({"number": 3}, "`number` is 3: "),
    ({"number": float("nan")}, "number"),
    ({"number": float("inf")}, "number"),
    ({"count": 1.5}, "count"),
    ([], "small"),
    (None, "small"),
    ("text", "small"),
])
def test_faults_become_one_sentence(data, said):
    with pytest.raises(InvalidInput) as caught:
        Small.parse(data)
    assert said in str(caught.value) and str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_values_compare_by_content_and_zero_has_one_sign():
    assert Small(number=-0.0) == Small(number=0.0)
    assert Small(number=-0.0).model_dump_json() == '{"number":0.0,"count":3}'
    assert Small() != Small(count=4) and hash(Small()) == hash(Small(number=1))
    assert Small.parse(Small(count=5)) == Small(count=5)


@pytest.mark.parametrize(("number", "text"), [
    (0.1, "0.1"), (20.0, "20"), (20, "20"), (1e-5, "1e-5"), (1.5e-7, "1.5e-7"), (0.0, "0"), (-3.0, "-3"),
    (1e22, "1e22"),     (0.30000000000000004, "0.30000000000000004"), (100.0, "100"), (1e6, "1000000"),
])
def test_short_numbers(number, text):
    assert short(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_short_numbers_lose_nothing(number):
    assert float(short(number)) == number


def test_canonical_json_is_one_text_for_one_value():
    assert canonical_json({"b": [1, 2.5, None], "a": "ü"}) == '{"a":"ü","b":[1,2.5,null]}'
    assert canonical_json(json.loads('{"x": {"d": 1, "c": 2}}')) == canonical_json({"x": {"c": 2, "d": 1}})
    for wrong in (float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ValueError, match="JSON"):
            canonical_json({"x": wrong})


def test_a_value_that_is_made_with_a_wrong_field_is_refused_in_a_sentence():
    """Of one within another the whole path is named, as `parse` names it."""
    class Inner(Value):
        size: Annotated[Count, Field(ge=1)]

    class Outer(Value):
        inner: Inner

    for make, path in ((lambda: Inner(size=0), "`size`"), (lambda: Outer(inner={"size": 0}), "`inner.size`"),
                       (lambda: Outer.parse({"inner": {"size": 0}}), "`inner.size`")):
        with pytest.raises(InvalidInput, match=f"^{path} is 0: input should be greater than or equal to 1.$"):
            make()
    assert Outer(inner=Inner(size=2)) == Outer.parse({"inner": {"size": 2}})
