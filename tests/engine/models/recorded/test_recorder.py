"""A recorded training: the loop is not changed, its folder makes it again bit for bit, and what cannot be replayed
is said with its step and its cause."""

import json
import shutil
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from engine.basics.errors import InvalidInput, MissingData, StoreError
from engine.models.recorded import Recorder, open_recording
from engine.models.recorded import recorder as module_of_recorder
from engine.models.recorded.checking import check
from engine.models.recorded.examples import matching, of_arrays, of_tokens
from engine.models.recorded.recipe import RecordedRecipe
from engine.models.training import Training
from tests.engine.models.recorded.loops import CLASSES, MODELS, OPTIMIZERS, N, X, Y, flat, trained


def training(folder, x=X, y=Y, model="mlp"):
    run = open_recording(folder)
    build = run.builder(lambda: MODELS[model]().to(x.dtype))
    return Training(build, x, y, RecordedRecipe.of(run, of_arrays(x.numpy(), y.numpy())), 0)


@pytest.mark.parametrize(("model", "optimizer"), [("softmax", "SGD"), ("mlp", "momentum"), ("mlp", "AdamW"),
                                                  ("mlp", "Nesterov"), ("cnn", "momentum"), ("cnn", "Adam")])
def test_the_loop_is_not_changed_and_can_be_made_again_bit_for_bit(tmp_path, model, optimizer):
    recorded = trained(model, optimizer, tmp_path / "run")
    drawn = torch.rand(1)
    assert torch.equal(flat(recorded), flat(trained(model, optimizer))) and torch.equal(drawn, torch.rand(1))
    run = open_recording(tmp_path / "run")
    assert run.facts.checkpoints == (0, 4, 8, 9) and run.facts.finished and not run.facts.reasons
    for step, whole in ((0, False), (9, True)):
        found = torch.cat([run.state(step)[name].flatten() for name in run.facts.trained])
        assert torch.equal(found, flat(recorded)) is whole
    checked = check(training(tmp_path / "run", model=model))
    assert checked.exact and checked.alike == 3
    assert checked.sentence.startswith("This recording replays bit for bit: all 9 steps")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded") / "run"
    trained(folder=folder)
    return folder


def test_rates_and_rows_are_those_of_the_loop(recorded):
    own = training(recorded)
    assert own.recipe.rate_at(8, 9) == pytest.approx(1e-2 * 0.95**8)
    torch.manual_seed(1)
    MODELS["mlp"]()
    expected = [*torch.randperm(N).split(16)]
    assert all(torch.equal(found, rows) for found, rows in zip(next(own.batches()), expected, strict=False))
    weights = [weight for _, weight in own.recipe.run.checkpoints()]
    assert weights == pytest.approx([sum(1e-2 * 0.95**step for step in part)
                                     for part in (range(4), range(4, 8), range(8, 9))])


def test_other_data_are_told_with_the_step(recorded):
    x = X.clone()
    x[3] += 1.0
    own = training(recorded, x)
    step = 1 + next(place for place, rows in enumerate(next(training(recorded).batches())) if 3 in rows.tolist())
    assert f"from step {step:,} of 9 on" in own.recipe.fault and "augmentation" in own.recipe.fault
    assert check(own).step == step and check(own).sentence == own.recipe.fault
    with pytest.raises(InvalidInput, match="39 of its 40 different ones"):
        next(own.batches())


def test_examples_that_are_the_same_are_taken_in_turn(tmp_path):
    x = X.clone()
    x[1::2], y = x[::2], Y.clone()
    y[1::2] = y[::2]
    trained(folder=tmp_path / "run", x=x, y=y)
    own = training(tmp_path / "run", x, y)
    epoch = torch.cat(next(own.batches())[:3])
    assert sorted(epoch.tolist()) == list(range(N)) and check(own).exact


@pytest.mark.parametrize(("loss", "around", "step", "told"), [
    (lambda logits, y: cross_entropy(logits, y, label_smoothing=0.1), None, 1, "another loss"),
    (None, lambda step, module: step == 5 and nn.init.zeros_(module[1].bias), 7, "something happened only there")],
    ids=["loss", "weights"])
def test_a_run_that_does_not_replay_says_from_which_step_on_and_why(tmp_path, loss, around, step, told):
    trained(folder=tmp_path / "run", around=around, **({"loss": loss} if loss else {}))
    checked = check(training(tmp_path / "run"))
    assert checked.step == step and told in checked.sentence and f"From step {step}" in checked.sentence
    assert checked.alike == (0 if loss else 2)


def test_rounding_is_told_from_another_step(tmp_path):
    trained(folder=tmp_path / "run", loss=lambda logits, y: (logits.double().logsumexp(1) - logits.double().gather(
        1, y[:, None])[:, 0]).mean())
    checked = check(training(tmp_path / "run"))
    assert not checked.exact and checked.off < 1e-3 and "the size of rounding errors" in checked.sentence


def test_another_version_is_among_the_causes(tmp_path):
    trained(folder=tmp_path / "run", loss=lambda logits, y: 2 * cross_entropy(logits, y))
    facts = json.loads((tmp_path / "run" / "recording.json").read_text())
    facts["versions"]["torch"] = "1.0"
    (tmp_path / "run" / "recording.json").write_text(json.dumps(facts))
    assert "It was recorded with torch 1.0, and this is" in check(training(tmp_path / "run")).sentence


def steps(folder, make, told=True, y=Y[:8], autocast=False):
    """Two steps by an optimizer."""
    module = MODELS["softmax"]()
    optimizer = make(module)
    with Recorder(folder, module, optimizer) as recorder:
        for _ in range(2):
            if told:
                recorder.batch(X[:8], y)
            with torch.autocast("cpu", enabled=autocast):
                module(X[:8]).square().mean().backward()
            optimizer.step()
    return open_recording(folder)


def descent(module, **options):
    return torch.optim.SGD(module.parameters(), 0.1, **options)


def begun(module):
    module(X[:8]).mean().backward()
    optimizer = descent(module, momentum=0.9)
    optimizer.step()
    return optimizer


@pytest.mark.parametrize(("make", "options", "step", "told"), [
    (lambda own: torch.optim.RMSprop(own.parameters()), {}, 1, "RMSprop"),
    (lambda own: descent(own, momentum=0.9, dampening=0.5), {}, 1, "the option `dampening` of its optimizer is 0.5"),
    (lambda own: torch.optim.Adam(own.parameters(), decoupled_weight_decay=True), {}, 1, "`decoupled_weight_decay`"),
    (begun, {}, 1, "before the recording began"),
    (lambda own: torch.optim.SGD([own[1].weight], 0.1), {}, 1, "updates parameters other than"),
    (descent, {"told": False}, 1, "no batch was given"),
    (descent, {"autocast": True}, 1, "autocast")],
    ids=["optimizer", "option", "decay", "begun", "parameters", "untold", "autocast"])
def test_what_cannot_be_made_again_is_recorded_for_its_checkpoints(tmp_path, make, options, step, told):
    run = steps(tmp_path / "run", make, **options)
    recipe = RecordedRecipe.of(run, of_arrays(X.numpy(), Y.numpy()))
    assert recipe.faulty_step == step and told in recipe.fault and "`trajectory`" in recipe.fault
    assert [set(state) for state, _ in run.checkpoints()] == [{"1.weight", "1.bias"}]
    with pytest.raises(InvalidInput, match="cannot be replayed"):
        next(recipe.batches(N, 0))


def test_another_seed_is_refused(recorded):
    with pytest.raises(InvalidInput, match="one run with one seed"):
        next(training(recorded).recipe.batches(N, 1))


def test_what_is_frozen_is_kept_once(tmp_path):
    module = MODELS["mlp"]()
    module[1].requires_grad_(False)
    optimizer = torch.optim.SGD(module[4].parameters(), 0.1)
    with Recorder(tmp_path / "run", module, optimizer) as recorder:
        recorder.batch(X, Y)
        cross_entropy(module(X), Y).backward()
        optimizer.step()
    run = open_recording(tmp_path / "run")
    assert set(run.frozen) == {"1.weight", "1.bias"} and set(run.state(1)) == {"4.weight", "4.bias"}
    assert torch.equal(flat(run.put(MODELS["mlp"](), 1)), flat(module))


def test_a_fault_of_the_disk_ends_the_recording_and_not_the_training(tmp_path, monkeypatch):
    def full(*_):
        raise StoreError("The disk is full.")

    expected = flat(trained())
    begin = module_of_recorder.Recorder.batch

    def batch(self, x, y):
        if self.step == 3:
            monkeypatch.setattr(module_of_recorder, "write_together", full)
        begin(self, x, y)

    monkeypatch.setattr(module_of_recorder.Recorder, "batch", batch)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = flat(trained(folder=tmp_path / "run"))
    assert torch.equal(found, expected)
    assert ["The recording ends at step 4" in str(one.message) for one in said] == [True]
    with pytest.raises(InvalidInput, match="first checkpoint"):
        open_recording(tmp_path / "run")


def test_a_run_that_was_stopped_is_whole_up_to_its_last_checkpoint(tmp_path, monkeypatch):
    def stop(step, module):
        if step == 6:
            raise KeyboardInterrupt

    monkeypatch.setattr(Recorder, "close", lambda self: None)
    with pytest.raises(KeyboardInterrupt):
        trained(folder=tmp_path / "run", around=stop)
    run = open_recording(tmp_path / "run")
    assert run.facts.steps == 4 and not run.facts.finished and check(training(tmp_path / "run")).exact


def altered(folder, target, how):
    shutil.copytree(folder, target)
    how(target)
    return target


def cut(folder):
    path = folder / "step-000004.safetensors"
    path.write_bytes(path.read_bytes()[:-5])


def facts(folder, **changes):
    path = folder / "recording.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(("how", "told"), [
    (cut, "`step-000004.safetensors` was altered or truncated"),
    (lambda folder: (folder / "steps.safetensors").unlink(), "`steps.safetensors` is missing"),
    (lambda folder: (folder / "recording.json").write_text("{"), "is not JSON"),
    (lambda folder: (folder / "recording.json").write_text("[1]"), "from another program"),
    (lambda folder: (folder / "recording.json").unlink(), "holds no `recording.json`"),
    (lambda folder: facts(folder, steps="many"), "steps"),
    (lambda folder: facts(folder, steps=8), "do not fit together"),
    (lambda folder: facts(folder, checkpoints=[4, 0]), "not in order"),
    (lambda folder: facts(folder, files={"../secret": "0"}), "is missing"),
    (lambda folder: facts(folder, files={}), "not complete")])
def test_damaged_folders_get_one_sentence(recorded, tmp_path, how, told):
    with pytest.raises(InvalidInput) as found:
        open_recording(altered(recorded, tmp_path / "run", how))
    assert told in str(found.value) and "\n" not in str(found.value)


@pytest.mark.parametrize(("changes", "told"), [
    ({"optimizer": "Unheard"}, "`Unheard`"), ({"options": {}}, "not those of torch"),
    ({"options": {"betas": "many", "eps": 1, "weight_decay": 0}}, "not those of torch")])
def test_facts_that_somebody_changed_are_not_replayed(recorded, tmp_path, changes, told):
    folder = altered(recorded, tmp_path / "run", lambda folder: facts(folder, **changes))
    assert told in training(folder).recipe.fault


def test_other_models_and_places_are_refused(recorded, tmp_path):
    with pytest.raises(MissingData, match="There is no folder"):
        open_recording(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="of a different model"):
        open_recording(recorded).put(MODELS["cnn"](), 0)
    module = MODELS["softmax"]()
    with pytest.raises(InvalidInput, match="is not empty"):
        Recorder(recorded, module, descent(module))
    with pytest.raises(InvalidInput, match="at least 1"):
        Recorder(tmp_path / "run", module, descent(module), every=0)
    with pytest.raises(InvalidInput, match="No parameter"):
        Recorder(tmp_path / "run", module.requires_grad_(False), OPTIMIZERS["SGD"](module.parameters()))


def test_records_are_the_same_however_they_are_padded():
    ids, learned = torch.tensor([[5, 6, 7]]), torch.tensor([[0, 0, 1]])
    left = of_tokens(torch.tensor([[0, 5, 6, 7]]), torch.tensor([[0, 1, 1, 1]]), torch.tensor([[0, 0, 0, 1]]))
    assert of_tokens(ids, torch.ones_like(ids), learned) == left
    assert of_tokens(ids, torch.ones_like(ids), 1 - learned) != left
    assert of_arrays(np.ones((1, 2)), np.ones(1)) == of_arrays(np.ones((1, 1, 2), "f"), np.ones(1, int))
    assert of_arrays(np.ones((1, 2)), np.array([[1.0, 0.0]])) == of_arrays(np.ones((1, 2)), np.array([[1, 0]]))
    assert of_arrays(np.ones((1, 2)), np.array([0.25])) == of_arrays(np.ones((1, 2)), np.array([0.25], "f"))
    assert of_arrays(np.ones((1, 2)), np.array([0.25])) != of_arrays(np.ones((1, 2)), np.array([0.5]))


@pytest.mark.parametrize("wrap", [nn.DataParallel, lambda module: torch.compile(module, backend="eager")])
def test_a_wrapped_module_is_recorded_as_what_it_wraps(tmp_path, wrap):
    module = MODELS["softmax"]()
    called, optimizer = wrap(module), descent(module)
    with Recorder(tmp_path / "run", called, optimizer) as recorder:
        for rows in torch.arange(N).split(16):
            recorder.batch(X[rows], Y[rows])
            optimizer.zero_grad()
            cross_entropy(called(X[rows]), Y[rows]).backward()
            optimizer.step()
    assert check(training(tmp_path / "run", model="softmax")).exact


def test_parts_in_evaluation_mode_and_closures_are_reasons_from_their_step(tmp_path):
    module = nn.Sequential(nn.Flatten(), nn.Linear(36, 4), nn.BatchNorm1d(4), nn.Linear(4, CLASSES))
    optimizer = descent(module)

    def closure():
        optimizer.zero_grad()
        loss = cross_entropy(module(X), Y)
        loss.backward()
        return loss

    with Recorder(tmp_path / "run", module, optimizer) as recorder:
        for step in range(3):
            module[2].train(step != 1)
            recorder.batch(X, Y)
            closure()
            optimizer.step(*([closure] if step == 2 else ()))
    reasons = open_recording(tmp_path / "run").facts.reasons
    assert [(one.step, one.why[:26]) for one in reasons] == [(2, "parts of the model were in"),
                                                             (3, "its steps used a closure, ")]


def test_whole_numbers_are_known_again_as_floats_and_the_other_way_round():
    whole, y = np.arange(12).reshape(4, 3).astype(np.uint8), np.arange(4) % 3
    floats = whole.astype(np.float64)
    assert matching(floats, y, of_arrays(whole, y)) == of_arrays(whole, y) != of_arrays(floats, y)
    assert matching(whole, y, of_arrays(floats, y)) == of_arrays(floats, y)
    assert matching(floats + 0.5, y, of_arrays(whole, y)) == of_arrays(floats + 0.5, y)
