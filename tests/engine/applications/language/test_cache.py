"""Arrays on disk that two processes may ask for at the same time, and arrays in memory."""

import threading

import numpy as np
import pytest

from engine.applications.language import cache as caches
from engine.applications.language.attribution import Attribution
from engine.applications.language.cache import Cache, in_memory, opened
from engine.applications.language.fine_tuned import Setting

PATIENCE = 5.0


def test_who_comes_second_does_not_empty_what_the_first_fills(tmp_path, monkeypatch):
    arguments = (tmp_path / "cache", {"run": "a"}, 2, {"g": (3,)})
    create, late, filled = np.lib.format.open_memmap, threading.Event(), threading.Event()

    def slow(*given, **named):
        if threading.current_thread().name == "slow":
            late.set()
            filled.wait(PATIENCE / 10)  # who is alone in the folder waits in vain for the other
        return create(*given, **named)

    monkeypatch.setattr(np.lib.format, "open_memmap", slow)
    slow_one = threading.Thread(target=Cache, args=arguments, name="slow", daemon=True)
    slow_one.start()
    assert late.wait(PATIENCE)
    cache = Cache(*arguments)
    cache.put([0], {"g": np.ones((1, 3))})
    filled.set()
    slow_one.join(PATIENCE)
    assert cache.missing == [1] and cache["g"][0].tolist() == [1, 1, 1]
    assert Cache(*arguments).missing == [1]


@pytest.mark.parametrize("harm", [lambda content: b"", lambda content: content[:-1], lambda content: content[:40],
                                  lambda content: content[:-2] + b"\1\1", lambda content: b"\xff" * len(content)],
                         ids=["emptied", "a byte short", "cut", "altered", "garbled"])
@pytest.mark.parametrize("file", ["manifest.json", "g.npy", "done.npy"])
def test_what_was_damaged_begins_anew(tmp_path, harm, file):
    arguments = (tmp_path / "cache", {"run": "a"}, 2, {"g": (3,)})
    cache = Cache(*arguments)
    cache.put([0, 1], {"g": np.ones((2, 3))})
    cache.seal()
    assert Cache(*arguments).sealed
    path = tmp_path / "cache" / file
    path.write_bytes(harm(path.read_bytes()))
    again = Cache(*arguments)
    if again.sealed:  # what says which rows are there is not needed once all are
        assert file == "done.npy" and again["g"].tolist() == [[1.0] * 3] * 2
    else:
        assert again.missing == [0, 1] and sorted(each.name for each in tmp_path.iterdir()) == ["cache"]


def test_in_memory_is_what_fits_there_and_is_not_on_disk_yet(tmp_path, monkeypatch):
    assert caches.IN_MEMORY == 256 << 20  # as the guide says
    monkeypatch.setattr(caches, "IN_MEMORY", 4 * 2 * 3)
    arguments = {"run": "a"}, 2, {"g": (3,)}
    Cache(tmp_path / "stored", *arguments)
    with in_memory():
        cache = opened(tmp_path / "first", *arguments)
        cache.put([1], {"g": np.ones((1, 3))})
        assert opened(tmp_path / "first", *arguments) is cache and cache.missing == [0]
        assert not cache.on_disk and cache.size == 24 and cache["g"].tolist() == [[0, 0, 0], [1, 1, 1]]
        assert opened(tmp_path / "second", *arguments).on_disk and opened(tmp_path / "stored", *arguments).on_disk
    assert not (tmp_path / "first").exists() and opened(tmp_path / "first", *arguments).on_disk


def test_features_in_memory_are_those_on_disk(attribution, plain_setting, monkeypatch):
    """Whichever tokens are scored."""
    for setting in (plain_setting, {**plain_setting, "tokens": "explanation"}):
        run, queries = Attribution(Setting.parse(setting), 0), attribution.task.queries["triggered"]
        stored = run.features(queries)
        with in_memory():
            monkeypatch.setattr(Cache, "_write", None)
            held = run.features(queries, attribution.task.train[:6])
        monkeypatch.undo()
        for own, other in zip(held.points, stored.points, strict=True):
            np.testing.assert_allclose(own.gradients, other.gradients[:6], rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(np.asarray(own.conditioned), other.conditioned[:6], rtol=1e-3, atol=1e-3)
            assert (np.abs(np.asarray(own.conditioned)).sum(1) > 0).tolist() == (own.gradients.any(1)).tolist()
