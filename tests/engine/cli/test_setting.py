"""The shared options: every command that takes a problem has them alike, and what they record repeats them."""

from pathlib import Path

import pytest
from typer.main import get_command

from engine.basics.errors import InvalidInput
from engine.cli import PANELS
from engine.cli.program import application, command_line
from engine.cli.setting import ALL, SOFTMAX, FitOptions, NetworkOptions, ProblemOptions, budget
from engine.models import network
from engine.problems import source

PROBLEM = ["--device", "--l2", "--intercept", "--memory", "--model", "--checkpoint", "--shape", "--parameters",
           "--trajectory", "--recipe", "--loss", "--precision", "--trusted", "--classes", "--color", "--size",
           "--label", "--verified", "--embeddings", "--turns", "--answer-pattern", "--explanation-pattern"]


@pytest.mark.parametrize("name", ["influence", "compare", "explain", "datamodel", "self-influence", "bring"])
def test_commands_on_a_problem_share_its_options(name):
    shown = get_command(application(PANELS, name)).commands[name].params
    assert [one.opts[0] for one in shown][-len(PROBLEM):] == PROBLEM
    assert {one.opts[0]: one.default for one in shown}["--l2"] is FitOptions.l2 is None
    assert FitOptions().penalty() == 1e-4


def test_defaults_are_the_names_that_the_engine_knows():
    assert (SOFTMAX, ALL) == (source.SOFTMAX, network.ALL)


def test_a_setting_is_written_as_it_was_given():
    nets = NetworkOptions("cnn", Path("/far/weights.pt"), "1,8,8", "last_layer", [Path("a.pt"), Path("b.pt")])
    assert ProblemOptions(FitOptions("cpu", 0.5, True), 2.0, nets).arguments == [
        "--device", "cpu", "--l2", "0.5", "--intercept", "--model", "cnn", "--checkpoint", "weights.pt", "--shape",
        "1,8,8", "--parameters", "last_layer", "--trajectory", "a.pt", "--trajectory", "b.pt", "--memory", "2.0"]
    assert ProblemOptions(precision="float32").arguments[-2:] == ["--precision", "float32"]
    assert ProblemOptions().arguments == ["--device", "auto", "--memory", "4.0"]
    given = {"data": Path("/far/a b.npz"), "spec": [Path("near/c.npz"), "x"], "first_row": None, "share": 0.1,
             "whole_only": True, "flag": False}
    assert command_line("bring", given, ["--l2", "1"]) == (
        "python -m engine bring --data 'a b.npz' --spec near/c.npz --spec x --share 0.1 --whole-only --l2 1")


def test_memory_is_a_positive_size():
    assert budget(0.5) == 2**29
    for memory in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidInput, match="--memory is"):
            budget(memory)
