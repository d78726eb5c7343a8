"""A tiny language model on disk, and questions without a download."""

from contextlib import contextmanager

import pytest

from engine.data import scienceqa
from engine.data.question import Question
from tests.engine import tiny

THINGS = ("mug", "rock", "gorilla", "tree", "lamp", "river", "cloud", "spoon")


def questions(count: int = 120) -> tuple[Question, ...]:
    """Short questions with two to four choices, in two subjects of two topics."""
    found = []
    for place in range(count):
        size = 2 + place % 3
        choices = tuple(f"{THINGS[(place + step) % 8]} {place}" for step in range(size))
        answer = (place // 3) % size
        found.append(Question(str(place), f"Which of these is a solid {place}?", choices, answer,
                              "Select the better estimate." if place % 4 == 0 else "", f"subject {place % 2}",
                              f"topic {place // 2 % 2}", f"A {choices[answer]} has a shape of its own."))
    return tuple(found)


@contextmanager
def tiny_home(folder):
    """Within it FOLDER/home is the home, ScienceQA is these questions, and FOLDER/tiny holds a model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHFLUENCE_HOME", str(folder / "home"))
        patch.setattr(scienceqa, "load", questions)
        tiny.save(folder / "tiny")
        yield folder


@pytest.fixture(scope="session")
def pool():
    return questions()


@pytest.fixture
def own_questions(monkeypatch, pool):
    """ScienceQA is the pool of these questions."""
    monkeypatch.setattr(scienceqa, "load", lambda: pool)


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    return tiny.save(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def templates():
    return tiny.TEMPLATES


@pytest.fixture(scope="session")
def make_tokenizer():
    return tiny.tokenizer
