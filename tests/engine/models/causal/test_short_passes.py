"""Passes without padding and without logits that nothing reads, against those of the whole batch."""

import copy
from contextlib import nullcontext

import pytest
import torch
from torch.autograd import forward_ad
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    CohereConfig,
    Gemma2Config,
    GraniteConfig,
    LlamaConfig,
    MistralConfig,
    Qwen2Config,
)

from engine.applications.language import gradients, tokens
from engine.models.causal import adapted, lora, passes
from engine.models.causal.alone import causal
from engine.models.causal.marked import loss_weights
from engine.models.causal.narrow import narrow_matrices
from engine.models.causal.padding import Padding
from engine.models.causal.readouts import READOUTS, mean_response_likelihood
from engine.models.causal.short import can_be_short, read_shortly
from engine.models.causal.unpadded import Unpadded
from engine.models.causal.unread import CHUNK, Unread, narrow
from tests.truth import language_cases as cases

BATCH = cases.encoder().batch([cases.encoder().encode(record) for record in cases.TRAIN])
SHAPE = {"vocab_size": len(cases.WORDS), "hidden_size": 8, "intermediate_size": 6, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 2, "max_position_embeddings": 32,
         "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 0, "initializer_range": 0.3}


@pytest.fixture
def model():
    """Adapters that are not zero, in float32."""
    found = copy.deepcopy(cases.adapted(2))
    lora.renew(found, 0)
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for layer in lora.layers(found):
            layer.b.weight.copy_(0.3 * torch.randn(layer.b.weight.shape, generator=draw))
    return found


@pytest.fixture
def rounded(model):
    narrow_matrices(model.get_base_model())
    return model


def as_whole(monkeypatch):
    monkeypatch.setattr(passes, "can_be_short", lambda model: False)


def test_records_in_one_row_are_read_as_those_of_a_padded_batch(model):
    """In float32, but for the product with the head."""
    whole, _ = passes.forward(model, BATCH)
    width, tail = BATCH.ids.shape[1], BATCH.targets.shape[1]
    found = read_shortly(causal(model), BATCH, torch.arange(width - tail - 1, width - 1))
    logits = found.states @ found.weight.T
    torch.testing.assert_close(logits[BATCH.response], whole[BATCH.response], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("way", ["one_by_one", "together"])
def test_attention_sees_each_record_alone(way):
    """That of transformers, for queries, keys and values of two heads, as a CPU takes it and as a GPU does."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    row, module = Unpadded.of(BATCH), torch.nn.Module()
    draw = torch.Generator().manual_seed(0)
    parts = [torch.randn(1, 2, row.ids.shape[1], 4, generator=draw) for _ in range(3)]
    found = getattr(row, way)(sdpa_attention_forward, module, *parts)[0]
    start = 0
    for length in row.lengths:
        q, k, v = (part[0, :, start:start + length] for part in parts)
        seen = torch.ones(length, length).tril().bool()
        expected = (q @ k.mT / 2).masked_fill(~seen, -torch.inf).softmax(-1) @ v
        torch.testing.assert_close(found[start:start + length], expected.transpose(0, 1))
        start += length
    assert start == found.shape[0] == int(BATCH.mask.sum())


@pytest.mark.parametrize("together", [False, True])
def test_products_of_each_record_alone(together):
    """As a CPU takes them and as a GPU does, of records of different lengths."""
    lengths, draw = (3, 1, 5), torch.Generator().manual_seed(0)
    before, after = (torch.randn(9, width, generator=draw) for width in (4, 2))
    padding = Padding(lengths, before.device)
    assert torch.equal(padding.row(padding.padded(before)), before)
    found = gradients.products(before, after, padding, together=together)
    for place, start in enumerate((0, 3, 4)):
        own = slice(start, start + lengths[place])
        torch.testing.assert_close(found[place], after[own].T @ before[own])


def test_behaviors_and_gradients_are_those_of_the_padded_batch_within_rounding(rounded, monkeypatch):
    def found():
        made: dict[str, list[torch.Tensor]] = {name: [] for name in READOUTS}
        with gradients.tapped(rounded) as tap:
            values = gradients.record_gradients(tap, BATCH, [readout.read for readout in READOUTS.values()],
                [lambda name, value, rows=rows: rows.append(value.flatten(1)) for rows in made.values()])
        return values, {name: torch.cat(rows, 1) for name, rows in made.items()}

    assert can_be_short(causal(rounded))
    values, short = found()
    as_whole(monkeypatch)
    expected, whole = found()
    for place, (name, readout) in enumerate(READOUTS.items()):
        there = readout.there(BATCH)
        torch.testing.assert_close(values[there, place], expected[there, place], rtol=0.03, atol=0.03)
        assert torch.cosine_similarity(short[name][there], whole[name][there]).min() > 0.99


def test_a_training_step_is_that_of_the_padded_batch_within_rounding(rounded, monkeypatch):
    rounded.train()
    trained = list(lora.trained(rounded).values())

    def step():
        logits, _ = passes.forward(rounded, BATCH)
        return torch.cat([part.flatten() for part in
                          torch.autograd.grad(mean_response_likelihood(logits, BATCH).sum(), trained)])

    short = step()
    assert short.count_nonzero() > 0.9 * len(short)
    as_whole(monkeypatch)
    assert torch.cosine_similarity(short, step(), 0) > 0.99


def differentiated(model, towards):
    """⟨∇, towards⟩ of every record's loss, and the names that arrived."""
    found, names = torch.zeros(len(BATCH)), []

    def receive(name, value):
        names.append(name)
        found.add_((value * towards[name]).sum((1, 2)))

    with gradients.tapped(model) as tap:
        gradients.record_gradients(
            tap, BATCH, [lambda logits, batch: -mean_response_likelihood(logits, batch)], [receive])
    return found, names


def directions(model):
    draw = torch.Generator().manual_seed(2)
    return {name: torch.randn(weight.shape, generator=draw) for name, weight in lora.trained(model).items()}


@pytest.mark.parametrize(("kind", "error"), [("model", 1e-4), ("rounded", 0.05)])
def test_slopes_of_tokens_add_up_to_that_of_their_record(kind, error, request, monkeypatch):
    """Derivatives along a direction of the adapters, forwards token by token and backwards as a whole, of passes that
    round alike."""
    monkeypatch.setattr(adapted, "streamed", lambda *_: nullcontext())
    model = request.getfixturevalue(kind)
    encoded, towards = [cases.encoder().encode(record) for record in cases.TRAIN], directions(model)
    whole, _ = differentiated(model, towards)
    of_tokens = tokens.contributions(model, cases.encoder(), encoded, towards, {"loss": loss_weights("response")})
    found = torch.tensor([each.sum() for each in of_tokens["loss"]])
    assert whole.abs().median() > 0.5
    torch.testing.assert_close(found.float(), whole, rtol=error, atol=error)


def test_gradients_of_adapters_without_calls_of_them_are_those_of_hooks_within_rounding(model, monkeypatch):
    """Each arrives once, on either way; both are as far from those of float32."""
    towards = directions(model)
    exact, _ = differentiated(copy.deepcopy(model), towards)
    narrow_matrices(model.get_base_model())
    short, names = differentiated(model, towards)
    assert sorted(names) == sorted(towards)
    assert all(part.arrived is None for part in model.modules() if isinstance(part, adapted.Adapted))
    monkeypatch.setattr(adapted, "streamed", lambda *_: nullcontext())
    hooked, again = differentiated(model, towards)
    assert sorted(again) == sorted(names) and not torch.equal(short, hooked)
    for found in (short, hooked):
        assert (found - exact).norm() < 0.06 * exact.norm()


@pytest.mark.parametrize("count", (0, 1, CHUNK, 2 * CHUNK + 3))
def test_log_probabilities_and_their_derivatives_without_logits(count):
    draw = torch.Generator().manual_seed(count)
    weight = torch.randn(50, 16, generator=draw).bfloat16()
    states = torch.randn(1, count + 2, 16, generator=draw).bfloat16().float().requires_grad_()
    targets, wanted = torch.randint(50, (1, count + 2), generator=draw), torch.ones(1, count + 2, dtype=torch.bool)
    wanted[:, [0, -1]] = False
    exact = states.double()
    expected = (exact @ weight.double().T).log_softmax(-1).gather(-1, targets[..., None])[..., 0] * wanted
    found = Unread(states, weight, targets, wanted).log_probabilities
    torch.testing.assert_close(found.double(), expected, rtol=0.02, atol=0.05)
    direction = torch.randn(1, count + 2, generator=draw)
    own, = torch.autograd.grad(found, states, direction)
    torch.testing.assert_close(own, torch.autograd.grad(expected, states, direction.double())[0], rtol=0.05, atol=0.05)
    with torch.no_grad(), forward_ad.dual_level():
        tangent = torch.randn(states.shape, generator=draw)
        read = Unread(forward_ad.make_dual(states, tangent), weight, targets, wanted).log_probabilities
        pushed = forward_ad.unpack_dual(read).tangent
    torch.testing.assert_close((pushed * direction).sum(), (own * tangent).sum(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("doubt", (0.1, 1e-2, 1e-4))
def test_a_certain_answer_has_the_slope_of_its_doubt(doubt):
    """Which the difference of W_y and Σ p_v W_v, taken in bfloat16, would lose in rounding."""
    draw = torch.Generator().manual_seed(0)
    weight = torch.randn(50, 16, generator=draw).bfloat16()
    direction = torch.linalg.lstsq(weight.double(), torch.nn.functional.one_hot(torch.tensor(3), 50).double()).solution
    shares = torch.linspace(0, 200, 4_001, dtype=torch.float64)
    left = 1 - (shares[:, None] * direction @ weight.double().T).softmax(1)[:, 3]
    states = (shares[(left - doubt).abs().argmin()] * direction).bfloat16().float()[None, None].requires_grad_()
    target, wanted = torch.tensor([[3]]), torch.ones(1, 1, dtype=torch.bool)
    exact = (states.double() @ weight.double().T).log_softmax(-1)[0, 0, 3]
    expected, = torch.autograd.grad(exact, states)
    found, = torch.autograd.grad(Unread(states, weight, target, wanted).log_probabilities.sum(), states)
    assert 0.3 * doubt < 1 - exact.exp() < 3 * doubt
    assert torch.cosine_similarity(found.flatten(), expected.flatten(), 0) > 0.995


def test_the_head_in_bfloat16_follows_the_weight():
    weight = torch.nn.Parameter(torch.randn(5, 3))
    first = narrow(weight)
    assert torch.equal(first, weight.bfloat16()) and narrow(weight).data_ptr() == first.data_ptr()
    with torch.no_grad():
        weight.mul_(2)
    assert torch.equal(narrow(weight), weight.bfloat16())


@pytest.mark.parametrize(("config", "expected"), (
    (LlamaConfig(**SHAPE), True),
    (Qwen2Config(**SHAPE), True),
    (GraniteConfig(**SHAPE, logits_scaling=2.0), False),
    (CohereConfig(**SHAPE, logit_scale=0.5), False),
    (MistralConfig(**SHAPE, sliding_window=4), False),
    (Gemma2Config(**SHAPE, final_logit_softcapping=30.0), False),
    (BloomConfig(vocab_size=13, hidden_size=8, n_layer=2, n_head=2), False)), ids=lambda value: getattr(
        value, "model_type", ""))
def test_only_models_that_allow_it_are_read_shortly(config, expected):
    """Logits that are changed after the head, attention to a few tokens alone, or places that a mask tells, are not
    what is computed here."""
    found = AutoModelForCausalLM.from_config(config).eval().requires_grad_(False)
    narrow_matrices(found)
    assert can_be_short(found) == expected


def test_a_model_whose_records_touch_in_a_row_is_read_as_a_whole():
    """Its layers add to a token the one before."""
    found = copy.deepcopy(cases.llama()).requires_grad_(False)
    narrow_matrices(found)
    found.model.layers[0].mlp.register_forward_hook(lambda _, __, output: output + output.roll(1, 1))
    assert not can_be_short(found)


def test_a_head_that_is_trained_is_read_as_a_whole():
    found = copy.deepcopy(cases.llama())
    narrow_matrices(found)
    assert not can_be_short(found) and can_be_short(found.requires_grad_(False))


def test_other_models_of_the_process_attend_as_before():
    from transformers import AttentionInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    found = copy.deepcopy(cases.llama()).requires_grad_(False)
    narrow_matrices(found)
    assert can_be_short(found) and AttentionInterface()["sdpa"] is sdpa_attention_forward
