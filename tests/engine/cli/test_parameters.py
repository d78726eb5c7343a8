"""A dataclass among a command's parameters becomes its fields' options, in its place, and comes back as the value."""

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer

from engine.cli.parameters import spread
from engine.cli.program import application

Depth = Annotated[int, typer.Option(help="How deep.")]


@dataclass(frozen=True)
class Inner:
    depth: Depth = 3


@dataclass(frozen=True)
class Outer:
    width: float = 0.5
    inner: Inner = Inner()


def made(received):
    def dig(name: str, outer: Outer = Outer(), twice: bool = False) -> None:
        """Dig."""
        received.append((name, outer, twice))

    return dig


def test_fields_stand_in_the_place_of_their_value():
    dig = spread(made([]))
    assert [(name, one.default) for name, one in inspect.signature(dig).parameters.items()] == [
        ("name", inspect.Parameter.empty), ("width", 0.5), ("depth", 3), ("twice", False)]
    assert inspect.signature(dig).parameters["depth"].annotation == Depth and dig.__doc__ == "Dig."


@pytest.mark.parametrize(("words", "expected"), [
    (["well"], ("well", Outer(), False)),
    (["well", "--depth", "7", "--twice"], ("well", Outer(0.5, Inner(7)), True)),
    (["well", "--width", "2"], ("well", Outer(2.0), False)),
])
def test_the_command_receives_the_value(words, expected):
    received = []
    app = application({"": {"dig": made(received), "fill": made([])}})
    app(args=["dig", *words], standalone_mode=False)
    assert received == [expected]


def test_two_options_of_one_name_are_refused():
    def twice(depth: int, inner: Inner = Inner()) -> None:
        """Two depths."""

    with pytest.raises(ValueError, match="depth"):
        spread(twice)
