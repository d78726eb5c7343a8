"""Background trainings: one at a time, shared, tried again, dropped where nobody waits."""

import threading
import time

import pytest

from engine.basics.errors import Cancelled, InvalidInput, MissingData
from engine.desk.memory import BoundedMemory
from engine.desk.training import Trainings
from engine.problems import ProblemSource

SOURCE = ProblemSource(n_train=120, n_queries=12, n_test=50, seed=3)


def test_an_unforeseen_fault_is_a_sentence():
    def broken(source):
        raise MemoryError("no room")

    with pytest.raises(Exception, match=r"could not be trained \(MemoryError: no room\); choose fewer") as caught:
        Trainings(broken).ask(SOURCE).result(5)
    assert type(caught.value).__name__ == "TrainingFailed"


def test_a_failed_training_is_tried_again_after_a_while(monkeypatch):
    attempts = []

    def flaky(source):
        attempts.append(source)
        if len(attempts) == 1:
            raise MissingData("The network is down.")
        return "trained"

    trainings = Trainings(flaky)
    with pytest.raises(MissingData):
        trainings.ask(SOURCE).result(5)
    with pytest.raises(MissingData):
        trainings.ask(SOURCE).result(5)  # at once: the same answer, without another attempt
    assert len(attempts) == 1
    monkeypatch.setattr("engine.desk.training.RETRY_AFTER", 0.0)
    assert trainings.ask(SOURCE).result(5) == "trained"


def test_all_sessions_share_one_training_and_trainings_take_turns():
    running, most = [], []
    lock = threading.Lock()

    def slow(source):
        with lock:
            running.append(source)
            most.append(len(running))
        time.sleep(0.03)
        with lock:
            running.remove(source)
        return source

    trainings = Trainings(slow)
    sources = [ProblemSource(n_train=50, seed=seed) for seed in range(3)]
    futures = [trainings.ask(source) for source in (*sources, *sources)]
    assert trainings.ahead(sources[2]) >= 1
    assert [future.result(5) for future in futures] == [*sources, *sources]
    assert max(most) == 1 and len(most) == 3 and trainings.ahead(sources[2]) == 0


def test_a_training_that_nobody_waits_for_is_dropped(monkeypatch):
    begun, gate, trained = threading.Event(), threading.Event(), []

    def held(source):
        begun.set()
        gate.wait(5)
        trained.append(source.seed)
        return source

    trainings = Trainings(held)
    first = trainings.ask(ProblemSource(seed=1))
    second = trainings.ask(ProblemSource(seed=2))
    begun.wait(5)
    monkeypatch.setattr("engine.desk.training.UNWANTED_AFTER", -1.0)
    gate.set()
    first.result(5)
    with pytest.raises(Cancelled):
        second.result(5)
    monkeypatch.setattr("engine.desk.training.UNWANTED_AFTER", 60.0)
    assert trainings.ask(ProblemSource(seed=2)).result(5).seed == 2
    assert trained == [1, 2]


def test_it_goes_on_with_what_is_ready_while_nothing_else_waits():
    done, gate = [], threading.Event()

    def prepare(source):
        gate.wait(10)
        return source

    trainings = Trainings(prepare, afterwards=done.append)
    first, last = trainings.ask(SOURCE), trainings.ask(SOURCE.model_copy(update={"seed": 4}))
    gate.set()
    first.result(10)
    last.result(10)
    deadline = time.monotonic() + 10
    while not done and time.monotonic() < deadline:
        time.sleep(0.01)
    assert done == [last.result()]


def test_what_fails_afterwards_leaves_the_problem_usable():
    def fail(problem):
        raise InvalidInput("too ill-conditioned")

    trainings = Trainings(lambda source: source, afterwards=fail)
    assert trainings.ask(SOURCE).result(10) == SOURCE
    assert trainings.ask(SOURCE.model_copy(update={"seed": 4})).result(10).seed == 4


def test_a_problem_that_memory_has_dropped_is_trained_again():
    trained, memory = [], BoundedMemory(bound=1)
    trainings = Trainings(lambda source: trained.append(source) or source, memory)
    trainings.ask(SOURCE).result(5)
    trainings.ask(SOURCE).result(5)
    assert len(trained) == 1
    trainings.ask(SOURCE.model_copy(update={"seed": 4})).result(5)
    trainings.ask(SOURCE).result(5)
    assert [source.seed for source in trained] == [3, 4, 3]
