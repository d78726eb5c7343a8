"""What a desk keeps: bounded in bytes, least recently used first, safe for threads, growth counted."""

import threading
import time

import numpy as np
import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.basics.footprint import footprint
from engine.desk.memory import ENTRY, VARIABLE, BoundedMemory
from engine.models.mlp import mlp
from engine.problems import ModuleProblem, SoftmaxProblem

MB = 1_000_000


def made(seed: int, n: int = 250, d: int = 500) -> SoftmaxProblem:
    """A problem whose training data take about n·d·8 bytes."""
    rng = np.random.default_rng(seed)
    return SoftmaxProblem(rng.normal(size=(n, d)), rng.integers(0, 3, n), rng.normal(size=(4, d)), [0, 1, 2, 0])


def kept(memory: BoundedMemory, keys) -> list:
    return [key for key in keys if key in memory]


class TestFootprint:
    def test_a_problem_tells_its_data_once_and_what_it_has_built(self):
        problem = made(0, n=60, d=20)
        data = sum(t.nbytes for t in (problem.x, problem.y, problem.queries, problem.query_labels, problem.candidates))
        assert problem.nbytes == data
        hessian, factor = problem.hessian, problem.cholesky(0.1)
        assert problem.nbytes >= data + hessian.nbytes + factor.nbytes
        assert footprint(problem, problem.with_candidates(torch.arange(5))) < problem.nbytes + 1_000

    def test_a_network_tells_its_parameters_and_its_memo(self):
        rng = np.random.default_rng(0)
        problem = ModuleProblem(mlp((1, 4, 4), 3), rng.normal(size=(20, 1, 4, 4)), rng.integers(0, 3, 20),
                                rng.normal(size=(5, 1, 4, 4)), [0, 1, 2, 0, 1])
        before = problem.nbytes
        assert before >= problem.parameters * 4 + problem.x.nbytes
        big = torch.zeros(MB, dtype=torch.uint8)
        problem.memo("made up", lambda: {"inside": [lambda: big]})
        assert problem.nbytes == before + MB

    def test_views_and_what_torch_shares_with_numpy_count_once(self):
        array = np.zeros(MB, dtype=np.uint8)
        assert footprint(array, array[10:20], torch.from_numpy(array), {"again": (array.reshape(10, -1),)}) == MB


class TestBound:
    def test_the_least_recently_used_goes_first(self):
        memory = BoundedMemory(3.5 * MB)
        for seed in range(3):
            memory.put(seed, made(seed))
        assert kept(memory, range(3)) == [0, 1, 2] and memory.nbytes <= 3.5 * MB
        memory.get(0)
        memory.put(3, made(3))
        assert kept(memory, range(4)) == [0, 2, 3] and memory.nbytes <= 3.5 * MB

    def test_what_is_put_stays_even_if_it_alone_is_over_the_bound(self):
        memory = BoundedMemory(MB // 2)
        memory.put("small", np.zeros(1_000))
        memory.put("old", made(0))
        memory.get("small")
        memory.put("new", made(1))
        assert kept(memory, ("small", "old", "new")) == ["small", "new"]

    def test_room_is_made_before_something_large_is(self):
        memory = BoundedMemory(3.5 * MB)
        for seed in range(3):
            memory.put(seed, made(seed))
        memory.make_room(MB // 4)
        assert kept(memory, range(3)) == [0, 1, 2]
        with memory.using(1):
            memory.put("small", np.zeros(1_000))
            memory.make_room(MB)
            assert kept(memory, (*range(3), "small")) == [1, 2, "small"]
            memory.make_room(100 * MB)
            assert kept(memory, (*range(3), "small")) == [1, "small"]

    def test_growth_counts_when_anything_is_asked_for(self):
        memory, problem = BoundedMemory(5 * MB), made(1, n=300, d=200)
        memory.put("other", made(0))
        memory.put("grows", problem)
        problem.hessian  # noqa: B018 - 600 × 600 in float64
        problem.cholesky(0.1)
        assert memory.get("grows") is problem and "other" not in memory
        assert problem.nbytes > 5 * MB

    def test_what_grew_unasked_is_measured_when_another_is_put(self):
        memory, problem = BoundedMemory(5 * MB), made(1, n=300, d=200)
        memory.put("grows", problem)
        problem.cholesky(0.1)
        memory.put("other", made(0))
        assert "grows" not in memory and memory.nbytes <= 5 * MB

    def test_what_is_in_use_stays(self):
        memory = BoundedMemory(2.5 * MB)
        memory.put("used", made(0))
        with memory.using("used"):
            memory.put(1, made(1))
            memory.put(2, made(2))
            assert "used" in memory and 1 not in memory
        memory.put(3, made(3))
        assert "used" not in memory and memory.nbytes <= 2.5 * MB

    def test_many_small_values_do_not_pile_up(self):
        memory = BoundedMemory(100 * ENTRY)
        for number in range(300):
            memory.put(number, number)
        assert len(kept(memory, range(300))) == 100 and 299 in memory

    def test_shared_storage_counts_once(self):
        memory, shared = BoundedMemory(2.5 * MB), np.zeros(MB, dtype=np.uint8)
        for place in range(5):
            memory.put(place, shared[place:])
        assert kept(memory, range(5)) == list(range(5))


class TestThreads:
    def test_of_two_that_ask_one_builds_and_both_have_it(self):
        memory, built, found = BoundedMemory(MB), [], []

        def build():
            built.append(1)
            time.sleep(0.05)
            return np.zeros(10)

        threads = [threading.Thread(target=lambda: found.append(memory.cached("x", build))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(built) == 1 and found[0] is found[1]

    def test_two_that_put_and_get_stay_under_the_bound(self):
        memory, faults = BoundedMemory(MB), []

        def work(start: int) -> None:
            try:
                for number in range(start, start + 60):
                    memory.put(number, {"grows": [np.zeros(100_000, dtype=np.uint8)]})
                    value = memory.get(number)
                    if value is not None:
                        value["grows"].append(np.zeros(1_000, dtype=np.uint8))
            except Exception as error:
                faults.append(error)

        threads = [threading.Thread(target=work, args=(start,)) for start in (0, 1_000)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults and memory.nbytes <= MB + 2_000  # what the last two grew by after they were asked for

    def test_a_build_that_fails_leaves_the_next_one_free(self):
        memory = BoundedMemory(MB)

        def fail():
            raise InvalidInput("no")

        with pytest.raises(InvalidInput):
            memory.cached("x", fail)
        assert memory.cached("x", lambda: 3) == 3


class TestVariable:
    def test_it_sets_the_bound_in_gigabytes(self, monkeypatch):
        monkeypatch.setenv(VARIABLE, "0.25")
        assert BoundedMemory().bound == 0.25e9
        monkeypatch.delenv(VARIABLE)
        assert BoundedMemory().bound == 0.6e9

    @pytest.mark.parametrize("text", ["much", "-1", "0", "inf", "nan"])
    def test_nonsense_is_a_sentence(self, monkeypatch, text):
        monkeypatch.setenv(VARIABLE, text)
        with pytest.raises(InvalidInput, match="give a positive number of GB"):
            BoundedMemory()
