"""The optimiser follows the recipe, checkpoints hold its state, and a training that stopped goes on unharmed."""

import math
import shutil

import numpy as np
import pytest
import torch
from transformers import get_cosine_schedule_with_warmup

from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.basics.errors import InvalidInput
from engine.basics.provenance import device_name
from engine.models.causal import finetune, lora, passes
from engine.models.causal.readouts import learned_likelihood, mean_response_likelihood
from engine.models.causal.recipe import FineTuning
from engine.models.training import Training
from engine.store.results import digest_of


def test_the_learning_rate_is_the_usual_cosine_with_warmup():
    recipe, total = FineTuning(warmup=0.1, learning_rate=1.0), 40
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    theirs = get_cosine_schedule_with_warmup(optimizer, 4, total)
    for step in range(4, total):
        while theirs.last_epoch < step:
            optimizer.step()
            theirs.step()
        assert recipe.rate(step, total) == pytest.approx(theirs.get_last_lr()[0], abs=1e-12)
    assert [recipe.rate(step, total) for step in range(4)] == [0.25, 0.5, 0.75, 1.0]


def test_the_papers_recipe_is_the_default():
    recipe = FineTuning()
    assert (recipe.rank, recipe.scaling, recipe.learning_rate, recipe.weight_decay, recipe.warmup, recipe.clip,
            recipe.batch, recipe.context) == (16, 32, 1e-4, 0, 0.03, 1, 8, 1024)


def test_every_epoch_sees_every_record_once():
    y = torch.zeros(10, dtype=torch.long)
    training = Training(lambda: torch.nn.Linear(1, 1), y[:, None], y, FineTuning(batch=4, epochs=3), 1)
    batches = [rows.tolist() for epoch in training.batches() for rows in epoch]
    assert [len(rows) for rows in batches] == [4, 4, 2] * 3
    assert sorted(sum(batches[3:6], [])) == list(range(10)) and batches[:3] != batches[3:6]
    assert finetune.schedule(FineTuning(batch=4, epochs=3, checkpoints=4), 10) == (9, [2, 4, 7, 9])


def test_training_against_a_plain_loop(plain_setting, attribution):
    """A loop with torch's AdamW and the same batches ends at the same weights; B starts at zero."""
    recipe = attribution.setting.recipe
    model, encoder, encoded = attribution.model, attribution.encoder, attribution.encoded
    lora.renew(model, 0)
    parameters = lora.trained(model)
    assert all(bool(value.any()) == name.endswith(".a") for name, value in parameters.items())
    optimizer = torch.optim.AdamW(parameters.values(), lr=recipe.learning_rate, weight_decay=0.0)
    batches = [rows[start:start + recipe.batch] for rows in (
        np.random.default_rng([0, epoch]).permutation(len(encoded)).tolist() for epoch in range(recipe.epochs))
        for start in range(0, len(rows), recipe.batch)]
    model.train()
    for step, rows in enumerate(batches):
        optimizer.param_groups[0]["lr"] = recipe.rate(step, len(batches))
        batch = encoder.batch([encoded[row] for row in rows])
        loss = -learned_likelihood(passes.forward(model, batch)[0], batch).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters.values(), 1.0)
        optimizer.step()
    model.eval()
    weights = attribution.points[-1].weights
    for name, parameter in parameters.items():
        assert torch.equal(parameter.detach(), weights[name])
    rates = [recipe.rate(step, len(batches)) for step in range(len(batches))]
    half = attribution.points[0].step
    assert [point.weight for point in attribution.points] == pytest.approx([math.fsum(rates[:half]),
                                                                           math.fsum(rates[half:])])


def test_a_training_that_stopped_goes_on_to_the_same_weights(plain_setting, attribution, monkeypatch, tmp_path):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    found, calls = Attribution(Setting.parse(plain_setting), 0), []

    def stop():
        calls.append(1)
        if len(calls) > 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found.train(stop)
    done, told = [], []
    points = Attribution(Setting.parse(plain_setting), 0).train(lambda: done.append(1), told.append)
    assert len(done) == 8 - 4  # from the checkpoint after four of eight steps
    assert told == [4 / 8, 5 / 8, 6 / 8, 7 / 8, 1.0]
    for name, value in attribution.points[-1].weights.items():
        assert torch.equal(points[-1].weights[name], value)
    told.clear()
    finished = Attribution(Setting.parse(plain_setting), 0).train(lambda: pytest.fail("it was finished"), told.append)
    assert len(finished) == 2 and told == [1.0]


def test_a_training_says_how_long_its_steps_took(attribution):
    told = finetune.facts_of(attribution.points)
    assert 0 < told["training_seconds"] == pytest.approx(sum(point.facts["seconds"] for point in attribution.points))
    assert told["trained_on"] == device_name("cpu")


def folder_of(attribution):
    """Where it was trained, whatever home is now."""
    return attribution.points[-1].folder.parent


def fewer(plain_setting, checkpoints):
    return Setting.parse({**plain_setting, "recipe": {**plain_setting["recipe"], "checkpoints": checkpoints}})


def test_a_training_is_the_same_however_many_checkpoints_are_read(plain_setting, attribution, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(folder_of(attribution).parents[2]))
    once = Attribution(fewer(plain_setting, 1), 0)
    whole, = once.train(lambda: pytest.fail("it was trained"))
    first, last = attribution.points
    assert (whole.step, whole.folder) == (last.step, last.folder) and whole.facts["steps"] == last.step
    assert whole.weight == pytest.approx(first.weight + last.weight)
    assert whole.facts["loss"] == pytest.approx((first.facts["loss"] * first.facts["steps"]
                                                 + last.facts["loss"] * last.facts["steps"]) / last.step)
    assert finetune.facts_of([whole]) == finetune.facts_of(attribution.points)


def test_checkpoints_that_are_missing_are_made(plain_setting, attribution, monkeypatch, tmp_path):
    """Of a training that kept its end alone, another that reads more."""
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    end, = Attribution(fewer(plain_setting, 1), 0).train()
    first, last = Attribution(Setting.parse(plain_setting), 0).train()
    assert last.folder == end.folder
    assert [first.weight, last.weight] == [point.weight for point in attribution.points]
    for name, value in attribution.points[0].weights.items():
        assert torch.equal(first.weights[name], value)


def test_checkpoints_at_fractions_are_part_of_no_other_training():
    recipe = FineTuning.parse({"batch": 4, "epochs": 3, "checkpoints_at": "1, .33,0.66"})
    assert recipe.checkpoints == 3 and finetune.schedule(recipe, 10) == (9, [3, 6, 9])
    assert FineTuning.parse(recipe.model_dump(mode="json")) == recipe
    spaced = FineTuning(batch=4, epochs=3)
    assert finetune.identity({}, "", recipe, 0, "cpu") == finetune.identity({}, "", spaced, 0, "cpu")
    assert not {"checkpoints_at", "dropout"} & set(spaced.model_dump(mode="json"))
    with pytest.raises(InvalidInput, match="must end with 1"):
        FineTuning(checkpoints_at="0.5")
    with pytest.raises(InvalidInput, match="is not a list of fractions of a training"):
        FineTuning(checkpoints_at="0,1")


def test_dropout_is_sampled_in_training_alone_and_replayed(plain_setting, attribution, monkeypatch, tmp_path):
    setting = Setting.parse({**plain_setting, "recipe": {**plain_setting["recipe"], "dropout": 0.5}})
    ends = []
    for place in ("one", "two"):
        monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / place))
        dropping = Attribution(setting, 0)
        ends.append(dropping.train()[-1].weights)
    assert all(torch.equal(ends[0][name], value) for name, value in ends[1].items())
    assert not all(torch.equal(ends[0][name], value) for name, value in attribution.points[-1].weights.items())
    first, again = (dropping.features(dropping.task.queries["clean"]).last.gradients for _ in range(2))
    assert np.array_equal(first, again)
    dropping.load(dropping.points[-1])
    readers = [mean_response_likelihood]
    one, other = (passes.read(dropping.model, dropping.encoder, dropping.encoded, readers) for _ in range(2))
    assert torch.equal(one, other) and "with dropout 0.5" in setting.recipe.sentence


def test_what_a_gpu_trained_is_taken_where_nothing_else_is(plain_setting, attribution, monkeypatch, tmp_path):
    """Its gradients are those of this machine, and are kept as such."""
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    from_gpu = {**attribution.identity, "device": "cuda"}
    shutil.copytree(folder_of(attribution), finetune.folder_of(digest_of(from_gpu)))
    found = Attribution(Setting.parse(plain_setting), 0)
    found.train(lambda: pytest.fail("it was trained"))
    assert found.identity == from_gpu
    cache = found.record_cache(found.points[-1])
    own = cache.described["identity"]
    assert own["device"] == "cpu" and own["run"] == digest_of(from_gpu)
    shutil.copytree(folder_of(attribution), finetune.folder_of(attribution.digest))
    assert Attribution(Setting.parse(plain_setting), 0).identity == attribution.identity


def test_the_loss_falls(attribution):
    first, last = (point.facts["loss"] for point in attribution.points)
    assert np.isfinite(first) and last < first
