"""`run` with a model of one's own: options, the configuration, and that nothing starts on bad input."""

import os

import pytest

from engine.applications.lessons.answers import Answer, Answers
from engine.cli import main, serve
from engine.data import uploads
from engine.models.own_architecture import declared
from tests.engine.models.test_own_architecture import folder  # noqa: F401
from tests.engine.problems.test_own_model import files  # noqa: F401


@pytest.fixture
def started(monkeypatch):
    """The commands that would have replaced this process."""
    commands = []
    monkeypatch.setattr(os, "execv", lambda program, command: commands.append(command))
    return commands


def test_a_configuration_counts_from_its_folder_and_options_come_first(files, started, capsys):  # noqa: F811
    (files / "run.toml").write_text('model = "stranger.py:bare"\ndata = "data.npz"\ncheckpoint = "w.pt"\n'
                                    'whole = true\nname = "from the file"\n')
    assert main(["run", "--config", f"{files}/run.toml", "--name", "mine", "--port", "8700"]) == 0
    assert declared().name == "mine" and declared().whole and declared().weights
    assert started[0][-1] == "8700" and "all of them fit `mine`" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "words"), [
    ("model = 3\n", "`model`"), ("modle = 'x'\n", "the key `modle`"), ("model\n", "not TOML"),
    ("whole = 'yes'\n", "true or false"), ("size = true\n", "a whole number"),
    ("label = 'kind'\n", "--label says how your own data are read; give --data.")])
def test_a_configuration_that_is_wrong_starts_nothing(files, started, capsys, text, words):  # noqa: F811
    (files / "run.toml").write_text(text)
    assert main(["run", "--config", f"{files}/run.toml"]) == 2
    assert words in capsys.readouterr().err and not started


def test_a_configuration_says_how_the_data_are_read(files, started):  # noqa: F811
    rows = [f"{row / 7},{'xyz'[row % 3]},{row % 2}" for row in range(24)]
    (files / "t.csv").write_text("\n".join(["a,kind,made", *rows]))
    (files / "run.toml").write_text('data = "t.csv"\nlabel = "kind"\n')
    assert main(["run", "--config", f"{files}/run.toml"]) == 0
    assert uploads.reading(declared().data).label == "kind" and started


def test_without_options_the_workbench_starts_as_ever(started):
    assert main(["run", "--", "--server.headless", "true"]) == 0
    assert started[0][-2:] == ["--server.headless", "true"] and serve.ENTRY.is_file()


def test_a_server_for_a_class_begins_without_the_answers_of_an_earlier_class(started, monkeypatch):
    monkeypatch.setattr(os, "environ", dict(os.environ))
    answers = Answers()
    answers.keep("a" * 32, "behavior", Answer(1), joined=True)
    answers.keep("b" * 32, "behavior", Answer(2))
    answers.show("3", "reveal")
    assert main(["run", "--classroom", "192.168.1.20"]) == 0 and started
    assert answers.counts("behavior", 3) == [0, 0, 0] and answers.shown() is None
    assert answers.of("b" * 32)["behavior"].guess == 2  # one who reads alone keeps what they answered
