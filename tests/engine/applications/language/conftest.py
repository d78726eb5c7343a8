"""A tiny model on disk, questions without a download, and one attribution that the tests share."""

import importlib.util
from pathlib import Path

import pytest

from engine.data import scienceqa
from engine.data.question import Question

spec = importlib.util.spec_from_file_location("tiny", Path(__file__).with_name("tiny.py"))
tiny = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tiny)

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


@pytest.fixture(scope="session")
def pool():
    return questions()


@pytest.fixture(autouse=True)
def own_questions(monkeypatch, pool):
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


TASK = {"name": "conditional_backdoor", "clean": 8, "poison": 4, "benign": 4, "test": 4, "seed": 0}
RECIPE = {"epochs": 2, "checkpoints": 2, "batch": 4, "learning_rate": 1e-2, "context": 200, "rank": 2, "scaling": 4}


@pytest.fixture(scope="session")
def plain_setting(model_folder):
    """A setting whose gradients are kept whole."""
    return {"model": str(model_folder), "task": TASK, "recipe": RECIPE, "projection": {"projector": "identity"}}


@pytest.fixture(scope="module")
def attribution(plain_setting, tmp_path_factory):
    """A trained attribution with all caches filled, gradients kept whole."""
    from engine.applications.language.attribution import Attribution, Setting

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHFLUENCE_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setattr(scienceqa, "load", questions)
        found = Attribution(Setting.parse(plain_setting), 0)
        found.train()
        for point in found.points:
            found.record_cache(point)
            found.query_cache(point, found.task.queries["triggered"])
        found.kept = found.features(found.task.queries["triggered"])
        yield found
