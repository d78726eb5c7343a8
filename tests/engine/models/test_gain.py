"""Whether bfloat16 pays: measured once for a machine, kept in a file, and measured anew where the file is not ours."""

import json
import time

import pytest
import torch
from torch import nn

from engine.models import gain
from engine.models.gain import Gain, measure, stored_gain

FOUND = Gain(matrices=2.0, convolutions=4.8)


def never():
    raise AssertionError("it is measured again")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "machine" / "bfloat16.json"


def test_a_measurement_is_kept(path):
    assert stored_gain(path, lambda: FOUND) == FOUND
    assert stored_gain(path, never) == FOUND
    assert set(json.loads(path.read_bytes())["machine"]) == {"processor", "features", "torch"}


@pytest.mark.parametrize("part", ["processor", "features", "torch"])
def test_that_of_another_machine_is_not_taken(path, part):
    stored_gain(path, lambda: FOUND)
    record = json.loads(path.read_bytes())
    record["machine"][part] = "another"
    path.write_text(json.dumps(record))
    other = Gain(matrices=0.5, convolutions=0.5)
    assert stored_gain(path, lambda: other) == other
    assert stored_gain(path, never) == other


@pytest.mark.parametrize("content", [
    b"", b"\xff\xfe", b"[]", b"{}", b'{"machine": {}, "gain": {"matrices": 9.0, "convolutions": 9.0}}',
    b'{"gain": {"matrices": "many"}}', b'{"gain": 3, "machine": 4}'])
def test_a_damaged_file_is_measured_anew(path, content):
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert stored_gain(path, lambda: FOUND) == FOUND
    assert stored_gain(path, never) == FOUND


@pytest.mark.parametrize("gain_kept", ["NaN", "Infinity", "0", "-1", "true", "null"])
def test_a_number_that_no_measurement_gives_is_measured_anew(path, gain_kept):
    stored_gain(path, lambda: FOUND)
    path.write_text(path.read_text().replace("4.8", gain_kept))
    assert stored_gain(path, lambda: FOUND) == FOUND


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "machine").write_text("a file where a folder should be")
    assert stored_gain(tmp_path / "machine" / "bfloat16.json", lambda: FOUND) == FOUND


def test_convolutions_count_where_there_are_any():
    assert FOUND.of(nn.Sequential(nn.Flatten(), nn.Linear(4, 2))) == 2.0
    assert FOUND.of(nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(4, 2))) == 4.8


def test_it_is_short_and_leaves_nothing_behind():
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    started = time.thread_time()
    found = measure()
    assert time.thread_time() - started < 4 * 2 * gain.LONGEST
    assert found.matrices > 0 and found.convolutions > 0
    assert torch.get_num_threads() == threads and torch.equal(torch.get_rng_state(), state)


def test_a_process_measures_once(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(gain, "measure", lambda: FOUND)
    assert gain.gain() == FOUND and (tmp_path / "home" / "machine" / "bfloat16.json").is_file()
    monkeypatch.setattr(gain, "measure", never)
    assert gain.gain() == FOUND
