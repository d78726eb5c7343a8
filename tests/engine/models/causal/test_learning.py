"""A reader that learns: the same responses and gradients in shorter batches; its trainings on disk go on by step."""

import copy
from dataclasses import replace

import pytest
import torch

from engine.basics import heap
from engine.basics.errors import Cancelled, StoreError
from engine.models.causal import finetune as finetuning
from engine.models.causal import lora
from engine.models.causal.finetune import EVERY, checkpoints, finetune, finished, states_of
from engine.models.causal.learning import LearningReader
from engine.models.causal.reader import TokenReader, response_loss
from engine.models.training import Diverged, Training, replay
from tests.truth import language_cases as cases

PACKING, (X,) = cases.packed(cases.TRAIN)
Y = torch.zeros(len(X), dtype=torch.long)
SEED = 3


def training(which="adapters", **options):
    recipe = cases.recipe(which, **{"checkpoints": 3, **options})

    def build():
        model = copy.deepcopy(cases.adapted(recipe.rank))
        lora.renew(model, torch.initial_seed())
        return LearningReader(model, PACKING)

    return Training(build, X, Y, recipe, SEED, loss=response_loss, dtype=torch.float32)


def test_in_training_it_reads_the_response_alone_with_the_same_gradient():
    reader = training().start()
    plain = TokenReader(reader.model, reader.packing)
    torch.testing.assert_close(reader(X)[:, 0], plain(X)[:, 0])
    assert not reader(X)[:, 1:].any() and torch.equal(reader.eval()(X), plain.eval()(X))
    parameters = [value for value in reader.parameters() if value.requires_grad]
    own, expected = (torch.autograd.grad(read(X[[1, 6]])[:, 0].sum(), parameters) for read in (reader.train(), plain))
    for one, other in zip(own, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("which", cases.RANKS)
def test_what_stands_on_disk_is_what_the_training_ends_at(tmp_path, which):
    found = training(which)
    points, whole = finetune(found, found.recipe, tmp_path), replay(found)
    assert [point.step for point in points] == [2, 4, 6] and len(finished(tmp_path, found.recipe, len(X))) == 3
    names = [name for name, parameter in found.start().named_parameters() if parameter.requires_grad]
    for (state, rate), (expected, own) in zip(states_of(points, names), whole.checkpoints, strict=True):
        assert rate == own and state.keys() <= expected.keys()
        assert all(torch.equal(value, expected[name]) for name, value in state.items())


def stopped(found, folder, steps):
    """The training, stopped after some steps."""
    calls = []

    def stop():
        calls.append(1)
        if len(calls) > steps:
            raise Cancelled("stop")

    with pytest.raises(Cancelled):
        finetune(found, found.recipe, folder, check=stop)


def same(points, others):
    """Whether two trainings end alike at every checkpoint, and tell the same of themselves."""
    for one, other in zip(points, others, strict=True):
        assert one.facts["loss"] == pytest.approx(other.facts["loss"], rel=1e-12)
        assert all(one.facts[told] == other.facts[told] for told in ("steps", "device"))
        assert all(torch.equal(one.state[name], other.state[name]) for name in one.state)
    return True


@pytest.mark.parametrize(("every", "behind"), [(EVERY, 2), (0.0, 3)])
def test_a_training_goes_on_within_an_epoch(tmp_path, monkeypatch, every, behind):
    monkeypatch.setattr(finetuning, "EVERY", every)
    found = training()
    stopped(found, tmp_path / "stopped", 3)
    assert [point.step for point in checkpoints(tmp_path / "stopped", found.recipe, len(X))] == [2]
    assert not finished(tmp_path / "stopped", found.recipe, len(X))
    told = []
    again = finetune(found, found.recipe, tmp_path / "stopped", progress=told.append)
    assert told == pytest.approx([step / 6 for step in range(behind, 6)] + [1.0])
    assert same(again, finetune(found, found.recipe, tmp_path / "whole"))
    assert sorted(own.name for own in (tmp_path / "stopped").iterdir()) == ["step-000002", "step-000004", "step-000006"]


def test_a_training_goes_on_from_what_another_number_of_checkpoints_left(tmp_path, monkeypatch):
    found, last, told = training(), training(checkpoints=1), []
    stopped(found, tmp_path, 3)
    [point] = finetune(last, last.recipe, tmp_path, progress=told.append)
    assert told[0] == 2 / 6 and same([point], finetune(last, last.recipe, tmp_path / "whole"))
    monkeypatch.setattr(finetuning, "EVERY", 0.0)
    stopped(last, tmp_path / "paused", 3)
    told.clear()
    points = finetune(found, found.recipe, tmp_path / "paused", progress=told.append)
    assert told[0] == 0 and same(points, finetune(found, found.recipe, tmp_path / "others")), "step 2 was not kept"


def test_memory_is_given_back_between_steps(tmp_path, monkeypatch):
    found, turns = training(), []
    monkeypatch.setattr(heap, "trimmer", lambda: lambda: turns.append(1))
    finetune(found, found.recipe, tmp_path)
    assert len(turns) == 6


def test_the_seed_draws_the_adapters_and_the_order():
    starts = [dict(training().start().named_parameters()) for _ in range(2)]
    model = copy.deepcopy(cases.adapted(2))
    lora.renew(model, SEED)
    for name, value in lora.trained(model).items():
        [full] = [full for full in starts[0] if lora.short(full) == name]
        assert torch.equal(starts[0][full], value) and torch.equal(starts[1][full], value)


def test_a_training_that_diverges_says_so(tmp_path):
    recipe = training().recipe.model_copy(update={"learning_rate": 1e30})  # further than a recipe may go
    with pytest.raises(Diverged, match="diverged in epoch"):
        finetune(replace(training(), recipe=recipe), recipe, tmp_path)


@pytest.mark.parametrize("harm", [b"", b"no weights", "altered"])
def test_a_damaged_checkpoint_is_said_and_trained_again(tmp_path, harm):
    found = training()
    [*_, point] = whole = finetune(found, found.recipe, tmp_path)
    path = point.folder / "state.safetensors"
    path.write_bytes(path.read_bytes()[:-4] + b"\1\2\3\4" if harm == "altered" else harm)
    with pytest.raises(StoreError, match="`step-000006` of a training was missing or damaged and was removed"):
        finished(tmp_path, found.recipe, len(X))[-1].weights  # noqa: B018
    again, done = finetune(found, found.recipe, tmp_path), []
    assert same(again, whole)
    (again[-1].folder / "facts.json").write_bytes(b"{")
    assert same(finetune(found, found.recipe, tmp_path, progress=done.append), whole) and done

