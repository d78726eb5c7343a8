"""Caches of training gradients that were filled by shards have the bytes of one that was filled in one go."""

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from engine.applications.language import shards, stages
from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.run import AttributionRequest
from engine.applications.language.shards import Shards
from engine.basics import heap
from engine.basics.errors import StoreError
from engine.jobs import KINDS
from engine.models.causal import lora, passes
from engine.models.training import Diverged


def sums(cache):
    return json.loads((cache.folder / "manifest.json").read_bytes())["sha256"]


@pytest.fixture
def elsewhere(plain_setting, monkeypatch, tmp_path):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    found = Attribution(Setting.parse(plain_setting), 0)
    found.train()
    return found


@pytest.mark.parametrize("of", [2, 3, 9])
def test_merged_shards_are_the_cache_that_was_filled_in_one_go(attribution, elsewhere, of):
    """Of 16 records in batches of four, in any order; nine shards are more than there are batches."""
    point = elsewhere.points[0]
    rows = [Shards(elsewhere, of).rows(number) for number in range(of)]
    assert sorted(row for own in rows for row in own) == list(range(16))
    for number in reversed(range(of)):
        Shards(elsewhere, of).fill(point, number)
    kept = [elsewhere.opened_records(point, own).folder for own in rows if own]
    assert len(set(kept)) == min(of, 4) and all(folder.is_dir() for folder in kept)
    told = []
    cache = Shards(elsewhere, of).merged(point, progress=told.append)
    assert told == [1.0]  # nothing was left to compute
    assert sums(cache) == sums(attribution.record_cache(attribution.points[0]))
    assert not any(folder.exists() for folder in kept)
    Shards(elsewhere, of).fill(point, 0)  # the whole is there
    assert not kept[0].exists()


def test_shards_have_about_as_many_tokens(monkeypatch):
    monkeypatch.setitem(passes.TOKENS, "cpu", 100)
    encoded = [SimpleNamespace(ids=[0] * length) for length in range(1, 51)]
    found = SimpleNamespace(encoded=encoded, device="cpu", setting=SimpleNamespace(recipe=SimpleNamespace(batch=8)),
                            numbers=lambda tokens: passes.ROOM["cpu"])
    parts = [Shards(found, 3).rows(number) for number in range(3)]
    assert [row for own in parts for row in own] == list(range(50))
    tokens = [sum(len(encoded[row].ids) for row in own) for own in parts]
    assert max(tokens) - min(tokens) <= 100


def test_a_cache_that_is_there_is_opened_without_its_checkpoint(elsewhere):
    point = elsewhere.points[0]
    filled = sums(elsewhere.record_cache(point))
    shutil.rmtree(point.folder)
    again = replace(point)  # which has read nothing yet
    assert sums(elsewhere.record_cache(again)) == filled
    with pytest.raises(StoreError, match="missing or damaged"):
        _ = again.state


def test_what_no_shard_holds_is_computed(attribution, elsewhere):
    point, done = elsewhere.points[0], []
    Shards(elsewhere, 2).fill(point, 1)
    cache = Shards(elsewhere, 2).merged(point, progress=done.append)
    assert done == [0.5, 0.75, 1.0] and sums(cache) == sums(attribution.record_cache(attribution.points[0]))


def test_hidden_states_tell_how_far_they_are(elsewhere):
    told = []
    elsewhere.states(progress=told.append)
    assert told == [0.0, 0.25, 0.5, 0.75, 1.0]
    elsewhere.states(progress=told.append)
    assert told[5:] == [1.0]


def test_shards_that_a_stopped_merge_left_are_removed(elsewhere):
    point = elsewhere.points[0]
    for number in range(2):
        Shards(elsewhere, 2).fill(point, number)
    kept = [elsewhere.opened_records(point, Shards(elsewhere, 2).rows(number)).folder for number in range(2)]
    whole = elsewhere.record_cache(point)
    assert whole.sealed and all(folder.is_dir() for folder in kept)
    assert sums(Shards(elsewhere, 2).merged(point)) == sums(whole) and not any(folder.exists() for folder in kept)


def test_memory_is_given_back_between_batches(elsewhere, monkeypatch):
    turns = []
    monkeypatch.setattr(heap, "trimmer", lambda: lambda: turns.append(1))
    elsewhere.record_cache(elsewhere.points[0])
    assert len(turns) == 4


def test_a_shard_that_stopped_goes_on(attribution, elsewhere):
    point, calls = elsewhere.points[0], []

    def stop():
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Shards(elsewhere, 2).fill(point, 0, stop)
    done = []
    Shards(elsewhere, 2).fill(point, 0, progress=done.append)
    Shards(elsewhere, 2).fill(point, 1)
    assert done == [0.5, 1.0] and sums(Shards(elsewhere, 2).merged(point)) == sums(
        attribution.record_cache(attribution.points[0]))


def test_an_altered_shard_is_computed_again(attribution, elsewhere):
    point = elsewhere.points[0]
    Shards(elsewhere, 2).fill(point, 0)
    folder = elsewhere.opened_records(point, Shards(elsewhere, 2).rows(0)).folder
    with (folder / "norm.npy").open("r+b") as file:
        file.seek(-4, 2)
        file.write(b"\x00\x00\x80\x3f")
    assert sums(Shards(elsewhere, 2).merged(point)) == sums(attribution.record_cache(attribution.points[0]))


def test_records_with_another_content_are_another_shard(elsewhere):
    point = elsewhere.points[0]
    assert elsewhere.opened_records(point, [0, 1]).folder != elsewhere.opened_records(point, [1, 0]).folder
    assert elsewhere.opened_records(point, [0, 1]).folder == elsewhere.opened_records(point, [0, 1]).folder


def test_how_many_records_a_task_trains_on(tmp_path):
    (tmp_path / "own.jsonl").write_text('{"prompt": "a", "response": "b"}\n\n' * 5)
    own = {"name": "own", "train": str(tmp_path / "own.jsonl")}
    assert shards.trained_on(own) == 5 and shards.trained_on({"name": "own", "train": [{}, {}]}) == 2
    assert shards.trained_on({"name": "own", "train": str(tmp_path / "gone.jsonl")}) == 0
    drawn = {"name": "conditional_backdoor"}
    assert shards.trained_on(drawn) == 5000 and shards.trained_on({**drawn, "clean": 10}) == 1010
    assert (shards.count(own), shards.count(drawn)) == (1, 5)


def test_chunks_wait_for_what_they_read(plain_setting):
    few, many = ({**plain_setting, "task": {"name": "conditional_backdoor", "clean": clean, "poison": 0, "benign": 0},
                  "recipe": {**plain_setting["recipe"], "checkpoints": 1}} for clean in (10, 1500))
    assert stages.chunk_keys(few) == ["train", "records/0", "queries/0"]
    plan = KINDS[AttributionRequest.name].plan({"settings": many})
    assert plan == ["train", "records/0/0", "records/0/1", "records/0", "queries/0", "tokens", "scores"]
    assert {key: stages.before(plan, key) for key in plan} == {
        "train": [], "records/0/0": ["train"], "records/0/1": ["train"], "queries/0": ["train"],
        "records/0": ["train", "records/0/0", "records/0/1"], "tokens": plan[:5], "scores": plan[:6]}
    keys = [*plan[:5], "factual", "removal/0", "removal/1"]
    assert stages.before(keys, "removal/1") == [*plan[:5], "factual"]
    assert [stages.fraction(many, key) for key in plan[1:4]] == [0.5, 0.5, stages.STATES]  # with hidden states
    earlier = {**many, "recipe": {**many["recipe"], "checkpoints": 2}}
    assert sum(stages.fraction(earlier, key) for key in plan[1:4]) == pytest.approx(1.0, abs=0.02)


def test_a_gradient_that_is_not_finite_is_not_kept(elsewhere, monkeypatch):
    point = elsewhere.points[0]
    weights = {name: torch.full_like(weight, torch.nan) for name, weight in point.weights.items()}
    monkeypatch.setattr(elsewhere, "load", lambda point: lora.put(elsewhere.model, weights))
    with pytest.raises(Diverged, match=f"step {point.step} .* not finite"):
        elsewhere.record_cache(point)
    assert len(elsewhere.opened_records(point).missing) == 16
