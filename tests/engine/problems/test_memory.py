"""What a problem keeps: built once a key, and no build holds up another key."""

import threading

from engine.problems.memory import ProblemMemory

PATIENCE = 5.0


def test_a_key_is_built_once_and_again_for_another_version():
    memory, built = ProblemMemory(), []

    def build():
        built.append(1)
        return len(built)

    assert [memory.memo("a", build, version) for version in (1, 1, 2, 2)] == [1, 1, 2, 2]
    assert memory.values() == [2]


def test_threads_that_ask_for_the_same_share_one_build():
    memory, built, gate = ProblemMemory(), [], threading.Barrier(4)

    def ask():
        gate.wait(PATIENCE)
        memory.memo("a", lambda: built.append(1))

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert built == [1]


def test_a_build_under_way_holds_up_no_other_key():
    memory, under_way, go_on = ProblemMemory(), threading.Event(), threading.Event()

    def slow():
        under_way.set()
        go_on.wait(PATIENCE)

    builder = threading.Thread(target=memory.memo, args=("slow", slow), daemon=True)
    builder.start()
    assert under_way.wait(PATIENCE)
    other = threading.Thread(target=memory.memo, args=("other", int), daemon=True)
    other.start()
    other.join(PATIENCE / 5)
    held_up = other.is_alive()
    go_on.set()
    builder.join(PATIENCE)
    assert not held_up and not builder.is_alive()
