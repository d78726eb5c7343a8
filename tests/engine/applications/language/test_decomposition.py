"""Scores taken apart into tokens of records and queries, layers, heads and marks: each against plain autograd."""

import copy

import numpy as np
import pytest
import torch

from engine.applications.language import modules, shading, tokens
from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.methods import METHODS
from engine.basics.errors import InvalidInput
from engine.models.causal import lora, passes
from engine.models.causal.marked import loss, loss_weights, mean_weights
from engine.models.causal.readouts import READOUTS, token_log_probabilities
from engine.models.double import keep_double

LINEAR = [name for name, method in METHODS.items() if not method.undivided]
ROW, QUERY = 5, 2


def gradients(model, value):
    """∇ of a scalar by the adapters' names, by autograd."""
    named = lora.trained(model)
    return dict(zip(named, torch.autograd.grad(value, list(named.values()), retain_graph=True), strict=True))


def products(one, other):
    return float(sum((one[name].double() * other[name].double()).sum() for name in one))


def read(found, item):
    batch = found.encoder.batch([item])
    return passes.forward(found.model, batch)[0], batch


def weighted(found):
    """The training's checkpoints, loaded one after another, with the sums of their learning rates."""
    for point in found.points:
        found.load(point)
        yield point.weight


@pytest.mark.grid
@pytest.mark.parametrize("query", [None, QUERY])
@pytest.mark.parametrize("name", LINEAR)
def test_modules_and_tokens_add_up_to_the_score(attribution, name, query):
    features = attribution.kept
    table = modules.by_module(attribution, features, ROW, query)
    for behavior in ("response_loss", "answer_margin"):
        scores = METHODS[name].score(features, behavior)[:, ROW]
        score, allowed = scores.mean() if query is None else scores[query], 1e-4 * float(abs(scores).max())
        assert modules.parts(table, name, behavior)["contribution"].sum() == pytest.approx(score, rel=2e-3, abs=allowed)
        [(values, rest)] = shading.shade(attribution, features, METHODS[name], behavior, [ROW], query=query)
        assert values.sum() + rest == pytest.approx(score, rel=2e-3, abs=allowed)


@pytest.mark.parametrize("name", LINEAR)
def test_tokens_of_a_query_add_up_to_its_score(attribution, name):
    features = attribution.kept
    encoded = attribution.queries("triggered")[QUERY]
    apart = shading.shade_query(attribution, features, METHODS[name], encoded, QUERY, ROW)
    for behavior, values in apart.items():
        scores = METHODS[name].score(features, behavior)[:, ROW]
        assert len(values) == len(encoded.ids) - encoded.response
        assert values.sum() == pytest.approx(scores[QUERY], rel=2e-3, abs=1e-4 * float(abs(scores).max()))
    assert np.flatnonzero(apart["answer_logit"]).tolist() == [encoded.answer - encoded.response]
    read_by_explanation = np.flatnonzero(apart["explanation_loss"]) + encoded.response
    assert set(read_by_explanation) <= set(encoded.explanation)


@pytest.mark.parametrize("name", ["gradsim", "tracin"])
def test_tokens_of_a_query_against_one_backward_pass_a_token(attribution, name):
    encoded = attribution.queries("triggered")[QUERY]
    expected = 0.0
    points = list(enumerate(weighted(attribution)))
    for index, weight in points if name == "tracin" else points[-1:]:
        attribution.load(attribution.points[index])
        own = gradients(attribution.model, loss("response")(*read(attribution, attribution.encoded[ROW])).sum())
        logits, batch = read(attribution, encoded)
        log_p = token_log_probabilities(logits, batch)[0] / batch.response.sum()
        expected = expected - (weight if name == "tracin" else 1.0) * np.array(
            [products(gradients(attribution.model, one), own) for one in log_p])
    found = shading.shade_query(attribution, attribution.kept, METHODS[name], encoded, QUERY, ROW)["response_loss"]
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-3 * abs(expected).max())


def test_in_float64_tokens_layers_and_heads_add_up_to_ten_digits(attribution):
    model, item = copy.deepcopy(attribution.model).double(), attribution.encoded[ROW]
    encoder, batch = attribution.encoder, attribution.encoder.batch([item])
    keep_double(model, batch.ids)
    drawn = torch.Generator().manual_seed(0)
    towards = {name: torch.randn(own.shape, generator=drawn, dtype=torch.float64)
               for name, own in lora.trained(model).items()}
    log_p = token_log_probabilities(passes.forward(model, batch)[0], batch)[0]
    apart = np.array([products(gradients(model, -one / len(log_p)), towards) for one in log_p])
    whole = gradients(model, -log_p.mean())
    found = tokens.contributions(model, encoder, [item], towards, {"loss": loss_weights("response")})["loss"][0]
    np.testing.assert_allclose(found, apart, rtol=0, atol=1e-10 * abs(apart).max())
    assert found.sum() == pytest.approx(products(whole, towards), rel=1e-10)
    own = tokens.gradient(model, batch, "response", towards)
    for name, value in own.items():
        torch.testing.assert_close(value[0], whole[name], rtol=1e-10, atol=1e-14)
    cells = list(modules.cells(towards, own, model.config.to_dict()))
    assert sum(value for _, value in cells) == pytest.approx(products(whole, towards), rel=1e-10)
    heads = {key: value for key, value in cells if key[1] != modules.SHARED}
    assert {module.rpartition(".")[2] for module, _ in heads} == {"q_proj", "k_proj", "v_proj", "o_proj"}
    config = model.config
    width = config.hidden_size // config.num_attention_heads
    name = "base_model.model.model.layers.1.self_attn"
    rows = slice(width, 2 * width)
    assert heads["model.layers.1.self_attn.q_proj", 1] == pytest.approx(
        float((towards[f"{name}.q_proj.b"][rows] * whole[f"{name}.q_proj.b"][rows]).sum()), rel=1e-10)
    assert heads["model.layers.1.self_attn.o_proj", 1] == pytest.approx(
        float((towards[f"{name}.o_proj.a"][:, rows] * whole[f"{name}.o_proj.a"][:, rows]).sum()), rel=1e-10)


def variant(attribution, plain_setting, **changed):
    """The same training, scored through a part of it."""
    return Attribution(Setting.parse({**plain_setting, **changed}), 0)


def test_layers_are_those_whose_gradients_count(attribution, plain_setting):
    own = variant(attribution, plain_setting, modules=["model.layers.1.*", "*.0.mlp"])
    names = [name for name in lora.trained(attribution.model)
             if "layers.1." in name or "layers.0.mlp." in name]
    assert own.digest == attribution.digest and list(own.sizes) == names and len(names) < len(attribution.sizes)
    features = own.features(own.task.queries["triggered"])
    own.load(own.points[-1])
    query = gradients(own.model, READOUTS["answer_logit"].read(*read(own, own.queries("triggered")[QUERY])).sum())
    record = gradients(own.model, loss("response")(*read(own, own.encoded[ROW])).sum())
    expected = -products({name: query[name] for name in names}, record)
    assert METHODS["gradsim"].score(features, "answer_logit")[QUERY, ROW] == pytest.approx(expected, rel=1e-3)
    [(values, _)] = shading.shade(own, features, METHODS["gradsim"], "answer_logit", [ROW], query=QUERY)
    assert values.sum() == pytest.approx(expected, rel=2e-3)
    apart = modules.parts(modules.by_module(own, features, ROW, QUERY), "gradsim", "answer_logit")
    assert apart["contribution"].sum() == pytest.approx(expected, rel=2e-3)
    assert set(apart["layer"]) == {lora.plain(name).rpartition(".")[0] for name in names}
    with pytest.raises(InvalidInput, match="matches `model.layers.7`; the nearest are `model.layers"):
        _ = variant(attribution, plain_setting, modules=["model.layers.7"]).sizes


def test_tokens_of_a_mark_are_a_part_of_the_records_loss(attribution, plain_setting):
    item = attribution.encoded[ROW]
    logits, batch = read(attribution, item)
    log_p = token_log_probabilities(logits, batch)[0]
    for mark, places in (("explanation", item.explanation), ("answer", (item.answer,))):
        own = variant(attribution, plain_setting, tokens=mark)
        assert own.digest == attribution.digest and own.unmarked == 0
        part = -sum(log_p[place - item.response] for place in places) / len(log_p)
        torch.testing.assert_close(loss(mark)(logits, batch)[0], part)
        features = own.features(own.task.queries["triggered"])
        own.load(own.points[-1])
        logits, batch = read(own, item)
        log_p = token_log_probabilities(logits, batch)[0]
        record = gradients(own.model, -sum(log_p[place - item.response] for place in places) / len(log_p))
        query = gradients(own.model, READOUTS["response_loss"].read(*read(own, own.queries("triggered")[QUERY])).sum())
        score = METHODS["gradsim"].score(features, "response_loss")[QUERY, ROW]
        assert score == pytest.approx(-products(query, record), rel=1e-3)
        for name in ("gradsim", "less"):
            [(values, rest)] = shading.shade(own, features, METHODS[name], "response_loss", [ROW], query=QUERY)
            assert values.sum() + rest == pytest.approx(
                METHODS[name].score(features, "response_loss")[QUERY, ROW], rel=2e-3)
            assert set(np.flatnonzero(values) + item.response) <= set(places)


def test_records_without_the_mark_have_no_score_and_none_with_it_is_refused(attribution, plain_setting):
    own = variant(attribution, plain_setting, tokens="answer")
    bare = own.task.train[ROW].model_copy(update={"spans": {}, "choices": ()})
    own.train_records = tuple(bare if row == ROW else record for row, record in enumerate(own.task.train))
    assert own.unmarked == 1
    own.digest = attribution.digest
    own.open_cache = lambda content, *rest: Attribution.open_cache(own, {**content, "bare": True}, *rest)
    features = own.features(own.task.queries["triggered"])
    for name in ("gradsim", "less", "trak", "tracin"):
        scores = METHODS[name].score(features, "response_loss")
        assert not scores[:, ROW].any() and scores.any()
    own = variant(attribution, plain_setting, tokens="answer")
    own.train_records = (bare,)
    with pytest.raises(InvalidInput, match="No training record has an answer to score"):
        _ = own.unmarked


def test_weights_of_means_add_up_to_one(attribution):
    batch = attribution.encoder.batch(attribution.encoded[:4])
    for mark in ("response", "explanation", "answer"):
        torch.testing.assert_close(mean_weights(mark)(batch).sum(1), torch.ones(4, dtype=torch.float64))
