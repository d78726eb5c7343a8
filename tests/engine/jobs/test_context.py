"""What a chunk may ask of its surroundings."""

import pytest

from engine.basics.errors import Cancelled
from engine.basics.options import Options
from engine.jobs import Context
from engine.store.results import Store


def test_what_is_left_of_a_chunk_is_told_in_its_share(tmp_path):
    told = []
    context = Context(Store(tmp_path), {"budget": 7, "device": "cuda:1"}, report=lambda *said: told.append(said))
    options = context.computing("scoring", 0.2)
    for share in (0.0, 0.5, 1.0):
        options.progress(share)
    fractions, messages, lay_there = zip(*told, strict=True)
    assert messages == ("scoring",) * 3 and lay_there == (0.0,) * 3
    assert fractions == pytest.approx([0.2, 0.6, 1.0])
    assert options.budget == 7 and context.device == "cuda:1"
    plain = Context(Store(tmp_path))
    assert plain.device == "cpu" and plain.computing("").budget == Options().budget


def test_what_lay_there_is_told_beside_what_is_done(tmp_path):
    told = []
    context = Context(Store(tmp_path), report=lambda fraction, message, found: told.append((fraction, found)))
    context.progress_stored(0.25)
    context.progress(0.5)
    context.progress_stored(0.75)
    context.progress_stored(0.5)  # another part begins anew
    context.progress_stored(2.0)
    assert told == [(0.25, 0.25), (0.5, 0.25), (0.75, 0.5), (0.5, 0.5), (1.0, 1.0)]


def test_a_computation_is_cancelled_with_its_chunk(tmp_path):
    def cancel():
        raise Cancelled("stop")

    options = Context(Store(tmp_path), check=cancel).computing("scoring")
    for call in (options.check, lambda: options.progress(0.5)):
        with pytest.raises(Cancelled):
            call()
