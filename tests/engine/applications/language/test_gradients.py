"""Gradients from hooks against autograd on each record alone; caches against them; projection and Adam by hand."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.applications.language import gradients, projection
from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.projection import Adam, Conditioned, Draws, Groups, Maps, Projection
from engine.basics.errors import StoreError
from engine.gradients.projectors import PROJECTORS
from engine.models.adam import BETAS, EPSILON, adam_update
from engine.models.causal import lora, passes
from engine.models.causal.readouts import READOUTS, mean_response_likelihood


def alone(attribution, item, reader):
    """∇ of a scalar of one record by plain autograd on the adapters' parameters, flat."""
    parameters = lora.trained(attribution.model)
    batch = attribution.encoder.batch([item])
    logits, _ = passes.forward(attribution.model, batch)
    found = torch.autograd.grad(reader(logits, batch).sum(), list(parameters.values()))
    return torch.cat([part.flatten() for part in found])


def test_record_gradients_against_a_loop(attribution):
    point, cache = attribution.points[0], attribution.record_cache(attribution.points[0])
    attribution.load(point)
    for row in range(0, len(attribution.encoded), 5):
        expected = -alone(attribution, attribution.encoded[row], mean_response_likelihood)
        assert expected.norm() > 0
        np.testing.assert_allclose(cache["gradient"][row], expected, atol=2e-5 * float(expected.abs().max()))
        assert cache["norm"][row] == pytest.approx(float(expected.norm()), rel=1e-4)


def test_query_gradients_of_every_behavior_against_a_loop(attribution):
    point, records = attribution.points[1], attribution.task.queries["triggered"]
    cache, encoded = attribution.query_cache(point, records), attribution.queries("triggered")
    attribution.load(point)
    for place, (name, behavior) in enumerate(READOUTS.items()):
        for row in (0, 3):
            expected = alone(attribution, encoded[row], behavior.read)
            np.testing.assert_allclose(cache[name][row], expected, atol=3e-5 * float(expected.abs().max()))
        values = passes.read(attribution.model, attribution.encoder, encoded, [behavior.read])[:, 0]
        np.testing.assert_allclose(cache["value"][:, place], values, atol=1e-5)


def test_the_conditioned_gradient_is_the_step_that_adam_would_take(attribution):
    """Against torch's own AdamW: one step from the checkpoint's state on one record."""
    point, updates, row = attribution.points[0], attribution.kept.points[0].conditioned, 2
    attribution.load(point)
    parameters = lora.trained(attribution.model)
    first, second = point.moments()
    before = {name: parameter.detach().clone() for name, parameter in parameters.items()}
    optimizer = torch.optim.AdamW(parameters.values(), lr=1e-3, betas=BETAS, eps=EPSILON, weight_decay=0.0)
    for name, parameter in parameters.items():
        optimizer.state[parameter] = {"step": torch.tensor(float(point.step)), "exp_avg": first[name].clone(),
                                      "exp_avg_sq": second[name].clone()}
    batch = attribution.encoder.batch([attribution.encoded[row]])
    optimizer.zero_grad()
    (-mean_response_likelihood(passes.forward(attribution.model, batch)[0], batch).sum()).backward()
    optimizer.step()
    moved = torch.cat([((before[name] - parameter.detach()) / 1e-3).flatten()
                       for name, parameter in parameters.items()])
    optimizer.zero_grad()
    np.testing.assert_allclose(updates[row], moved, atol=2e-3)


def test_no_gradient_of_a_weight_ever_exists(attribution):
    """Neither frozen nor adapted parameters get a gradient, and none require one while tapped."""
    attribution.model.zero_grad()
    batch = attribution.encoder.batch(attribution.encoded[:2])
    states = [parameter.requires_grad for parameter in attribution.model.parameters()]
    with gradients.tapped(attribution.model) as tap:
        assert not any(parameter.requires_grad for parameter in attribution.model.parameters())
        shapes = {}
        gradients.record_gradients(tap, batch, [mean_response_likelihood],
                                   [lambda name, found: shapes.update({name: tuple(found.shape)})])
        assert all(parameter.grad is None for parameter in attribution.model.parameters())
    assert shapes == {name: (2, *parameter.shape) for name, parameter in lora.trained(attribution.model).items()}
    assert [parameter.requires_grad for parameter in attribution.model.parameters()] == states


def test_a_sum_of_parts_keeps_inner_products():
    torch.manual_seed(0)
    sizes, found = {"x": 400, "y": 300}, []
    u = torch.randn(2, 700)
    u[1] += u[0]
    for seed in range(200):
        draws = Draws(Maps(Projection(dimension=64, seed=seed), sizes), lengths=True)
        groups = Groups(draws)
        groups("x", u[:, :400].view(2, 20, 20))
        groups("y", u[:, 400:])
        groups.end()
        found.append(float(torch.linalg.vecdot(*draws.projected("u")["u"])))
        torch.testing.assert_close(draws.norms(), u.norm(dim=1))
    assert abs(np.mean(found) - float(u[0] @ u[1])) < 4 * np.std(found) / 200**0.5


def test_parts_wait_for_each_other_and_none_is_lost(monkeypatch):
    """Whatever number of them is handed on at a time, and what Adam makes of them is what it makes of each."""
    monkeypatch.setitem(projection.TOGETHER, "cpu", 500)
    sizes, handed = {"x": 400, "y": 300, "z": 50}, []
    parts = {name: torch.randn(2, size // 10, 10) for name, size in sizes.items()}
    first, second = ({name: torch.rand(part.shape[1:]) for name, part in parts.items()} for _ in range(2))
    adam = Adam(first, second, 3)
    groups = Groups(lambda names, joined: handed.append((names, joined)),
                    Conditioned(adam, lambda names, joined: handed.append((names, joined))))
    for name, part in parts.items():
        groups(name, part)
    assert [names for names, _ in handed] == [("x", "y")] * 2
    groups.end()
    groups.end()
    assert [names for names, _ in handed[2:]] == [("z",)] * 2
    torch.testing.assert_close(torch.cat([joined for _, joined in handed[::2]], 1),
                               torch.cat([part.flatten(1) for part in parts.values()], 1))
    torch.testing.assert_close(torch.cat([joined for _, joined in handed[1::2]], 1), torch.cat(
        [adam_update(part, first[name], second[name], 3).flatten(1) for name, part in parts.items()], 1))
    for kind, given in ((adam.first, first), (adam.second, second)):
        assert all(torch.equal(kind[name], given[name]) for name in sizes)
    assert adam.first["y"].untyped_storage().data_ptr() == adam.first["x"].untyped_storage().data_ptr(), "held twice"


def test_every_map_is_drawn_once(monkeypatch):
    drawn, sketch = [], PROJECTORS["count_sketch"]

    def draw(sizes, *rest):
        drawn.append(sizes)
        return sketch.draw(sizes, *rest)

    monkeypatch.setattr(projection, "PROJECTORS", {"count_sketch": replace(sketch, draw=draw)})
    maps = Maps(Projection(dimension=8), {str(place): 10 for place in range(100)})
    for _ in range(3):
        for place in range(100):
            Draws(maps)((str(place),), torch.ones(1, 10))
    assert len(drawn) == 2 * 100


def test_a_cache_goes_on_where_it_stopped(plain_setting, attribution, monkeypatch, tmp_path):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    found = Attribution(Setting.parse({**plain_setting, "recipe": {**plain_setting["recipe"], "epochs": 1,
                                                                   "checkpoints": 1}}), 0)
    found.train()
    calls = []

    def stop():
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found.record_cache(found.points[0], stop)
    done, told = [], []
    cache = found.record_cache(found.points[0], lambda: done.append(1), told.append)
    assert len(done) == 2 and cache.sealed  # two of four batches were there
    assert told[0] == pytest.approx(0.5, abs=0.1) and len(told) == 3 and told[-1] == 1.0
    again = found.record_cache(found.points[0], lambda: pytest.fail("nothing was left to do"), told.append)
    assert told[3:] == [1.0]
    assert np.array_equal(again["gradient"], cache["gradient"])
    with (cache.folder / "norm.npy").open("r+b") as file:
        file.seek(-4, 2)
        file.write(b"\x00\x00\x80\x3f")
    assert np.array_equal(found.record_cache(found.points[0])["norm"], cache["norm"]), "it is computed anew"
    (cache.folder / "manifest.json").write_text('{"identity": {}, "rows": 3}')
    with pytest.raises(StoreError, match="belong to another run"):
        found.record_cache(found.points[0])


@pytest.mark.parametrize("projection", [{"projector": "identity"}, {"dimension": 64}])
def test_larger_batches_give_the_same_gradients(plain_setting, monkeypatch, tmp_path, projection):
    """All 16 records at once against batches of the recipe's four; only rounding differs."""
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    run, caches, counts = Attribution(Setting.parse({**plain_setting, "projection": projection}), 0), [], []
    run.train()
    monkeypatch.setitem(passes.TOKENS, "cpu", 1 << 20)
    for room in (0, 1 << 30):
        monkeypatch.setitem(passes.ROOM, "cpu", room)
        called = []
        cache = run.record_cache(run.points[0], lambda called=called: called.append(1))
        caches.append({name: np.array(cache[name]) for name in cache.columns})
        counts.append(len(called))
        shutil.rmtree(cache.folder)
    assert counts == [4, 1]
    for name, own in caches[0].items():
        assert np.linalg.norm(caches[1][name] - own) <= 1e-5 * np.linalg.norm(own)
