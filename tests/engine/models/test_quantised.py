"""Frozen maps of 4 and 8 bits: the weights by hand, every derivative, and bitsandbytes' and PEFT's own passes."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.func import grad, jvp, vmap
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM

import whichfluence as wf
from engine import data
from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.basics.errors import InvalidInput
from engine.gradients.per_example import loss_gradients
from engine.models.causal import loading
from engine.models.quantised import QuantisedLinear
from engine.models.wrapped import copied

RECORDS = [{"prompt": record.prompt, "response": record.response}
           for record in data.load("world_corruption").records[0][:8]]
ETA = 0.1


def four_bits(bias=True):
    """(3, 4) in blocks of 4, of which the last one is filled up: (16 codes; 3 scales)."""
    table = torch.linspace(-1, 1, 16)
    codes = torch.tensor([0x0F, 0x3C, 0x77, 0x80, 0xA1, 0xF0], dtype=torch.uint8)
    return QuantisedLinear((3, 4), codes, torch.tensor([1.0, 2.0, 0.5]), table,
                           nn.Parameter(torch.tensor([1.0, -1.0, 0.0])) if bias else None)


def eight_bits():
    return QuantisedLinear((2, 3), torch.tensor([[127, -127, 0], [1, 2, -3]], dtype=torch.int8),
                           torch.tensor([2.0, 0.5]), None, None)


def test_weights_by_hand():
    value = [-1 + 2 * code / 15 for code in range(16)]
    expected = [[value[0], value[15], value[3], value[12]], [2 * value[code] for code in (7, 7, 8, 0)],
                [value[code] / 2 for code in (10, 1, 15, 0)]]
    torch.testing.assert_close(four_bits().weight, torch.tensor(expected))
    torch.testing.assert_close(eight_bits().weight, torch.tensor([[254.0, -254, 0], [0.5, 1, -1.5]]))


@pytest.mark.parametrize("build", [four_bits, eight_bits])
def test_it_is_a_linear_map_with_every_derivative(build):
    """Backwards, forwards, twice, and of every example by itself."""
    own = build().double()
    plain = nn.Linear(own.in_features, own.out_features, bias=own.bias is not None).double()
    plain.weight.data.copy_(own.weight)
    if own.bias is not None:
        plain.bias.data.copy_(own.bias)
    x = torch.randn(5, own.in_features, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    value, expected = (lambda x, one=one: one(x).sin().sum() for one in (own, plain))
    torch.testing.assert_close(vmap(grad(value))(x), vmap(grad(expected))(x))
    for found, wanted in zip(jvp(grad(value), (x,), (x,)), jvp(grad(expected), (x,), (x,)), strict=True):
        torch.testing.assert_close(found, wanted)
    assert torch.autograd.gradgradcheck(lambda x: own(x).sin(), (x.clone().requires_grad_(),))


def test_it_can_be_copied_and_moved_and_holds_little():
    own = copy.deepcopy(QuantisedLinear((64, 64), torch.zeros(2048, dtype=torch.uint8), torch.ones(64),
                                        torch.linspace(-1, 1, 16), None))
    assert [*own.parameters()] == [] and own(torch.ones(2, 64, dtype=torch.float64)).dtype == torch.float64
    assert sum(one.nbytes for one in own.buffers()) < 64 * 64 * 4 / 3


bits = pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed (the extra `quantised`)")
SETTINGS = {
    "nf4": BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float32),
    "nested nf4": BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True,
                                     bnb_4bit_compute_dtype=torch.float32),
    "fp4": BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="fp4", bnb_4bit_compute_dtype=torch.float32),
    "int8": BitsAndBytesConfig(load_in_8bit=True),
}


def saved(folder: Path, kind: str) -> tuple[Path, Path]:
    """(quantised base, adapters on it) as transformers and PEFT save them. Sizes are whole blocks of 64: on a CPU
    bitsandbytes 0.50 gives other maps wrong weights."""
    whole, base, adapters = (folder / name for name in ("whole", "base", "adapters"))
    _, tokenizer = loading.load("World-0.4M")
    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, initializer_range=0.1)).save_pretrained(whole)
    model = AutoModelForCausalLM.from_pretrained(whole, quantization_config=SETTINGS[kind], dtype=torch.float32)
    model.save_pretrained(base)
    for one in (base, adapters):
        tokenizer.save_pretrained(one)
    given = LoraConfig(r=3, target_modules=["q_proj", "v_proj", "down_proj"], task_type="CAUSAL_LM",
                       init_lora_weights=False)
    get_peft_model(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), given).save_pretrained(adapters)
    assert json.loads((base / "config.json").read_text())["quantization_config"]["quant_method"] == "bitsandbytes"
    return base, adapters


def plain(adapters: Path, base: Path):
    """As a training with transformers and PEFT reads them: bitsandbytes rounds inputs only where it does not train."""
    from peft import PeftModel

    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    return PeftModel.from_pretrained(model, adapters, is_trainable=True).train()


@pytest.fixture(scope="module", params=SETTINGS)
def case(request, tmp_path_factory):
    """(problem of a folder of adapters on a quantised base, the base, the same by plain transformers and PEFT)."""
    base, adapters = saved(tmp_path_factory.mktemp(request.param.replace(" ", "-")), request.param)
    model, tokenizer = loading.load(str(adapters))
    assert sum(isinstance(one, QuantisedLinear) for one in model.modules()) == 14
    return wf.problem(model, RECORDS, RECORDS[:3], tokenizer=tokenizer), base, plain(adapters, base)


def loss(problem, model, row):
    """Of the response of a packed record, by a plain pass of it alone."""
    batch = problem.reader.packing.unpack(row[None])
    ids, count = batch.ids[batch.mask.bool()], int(batch.response.sum())
    return nn.functional.cross_entropy(model(input_ids=ids[None]).logits[0, -count - 1:-1], ids[-count:])


def slope(problem, model, row):
    """Of that loss by the trained parameters one after another, and these."""
    named = dict(model.named_parameters())
    own = [named[name.removeprefix("model.")] for name in problem.network.names]
    return own, torch.autograd.grad(loss(problem, model, row), own)


def test_gradients_of_adapters_are_those_of_plain_training(case):
    problem, _, model = case
    for found, row in zip(loss_gradients(problem, torch.arange(len(RECORDS))), problem.x, strict=True):
        expected = torch.cat([value.flatten() for value in slope(problem, model, row)[1]])
        assert (found - expected).norm() <= 1e-5 * expected.norm()


def test_exact_answers_are_those_of_a_plain_step(case):
    """One step on record k, and what the queries' likelihood does."""
    problem, _, model = case
    found = wf.influence(problem, wf.Specification("response_loss", wf.AddOccurrence(), wf.OneStep(eta=ETA))).values
    expected = np.empty_like(found)
    with torch.no_grad():
        before = [loss(problem, model, row).item() for row in problem.queries]
    for k, row in enumerate(problem.x):
        parameters, values = slope(problem, model, row)
        with torch.no_grad():
            for sign in (-1, 1):
                for own, value in zip(parameters, values, strict=True):
                    own.add_(value, alpha=sign * ETA)
                if sign < 0:
                    expected[:, k] = [old - loss(problem, model, query).item()
                                      for old, query in zip(before, problem.queries, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max() + 2e-6)


def test_new_adapters_are_trained_as_on_the_weights_that_the_numbers_stand_for(case, tmp_path, monkeypatch):
    """Another folder has these in float32: losses, adapters and gradients of a study are the same."""
    _, base, _ = case
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    wide, file = tmp_path / "wide", tmp_path / "records.jsonl"
    file.write_text("\n".join(json.dumps(one) for one in RECORDS), encoding="utf-8")
    model, tokenizer = loading.load(str(base))
    state = {f"{name}.weight": one.weight.contiguous() for name, one in model.named_modules()
             if isinstance(one, QuantisedLinear)}
    plain_model = LlamaForCausalLM(LlamaConfig(**model.config.to_dict()))
    plain_model.load_state_dict({**{name: value for name, value in model.state_dict().items()
                                    if name in plain_model.state_dict()}, **state})
    plain_model.save_pretrained(wide)
    tokenizer.save_pretrained(wide)
    recipe = {"rank": 2, "epochs": 2, "checkpoints": 1, "batch": 4, "learning_rate": 1e-2}
    own, other = (Attribution(Setting.parse({"model": str(folder), "recipe": recipe, "task": {
        "name": "own", "train": str(file), "held": 2}}), 0) for folder in (base, wide))
    for found, expected in zip(own.train(), other.train(), strict=True):
        for name, value in expected.weights.items():
            torch.testing.assert_close(found.weights[name], value, rtol=0, atol=1e-5)
    for found, expected in zip((own.record_cache(own.points[0]),), (other.record_cache(other.points[0]),), strict=True):
        for name in expected.columns:
            np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-4 * np.abs(expected[name]).max())


def test_a_users_own_quantised_model_is_read_and_left_as_it_is(case):
    problem, base, _ = case
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    kinds = [type(one) for one in model.modules()]
    assert sum(isinstance(one, QuantisedLinear) for one in copied(model).modules()) == 14
    assert [type(one) for one in model.modules()] == kinds


def test_one_whose_numbers_were_reordered_is_refused():
    layer = bits.nn.Linear4bit(64, 32, quant_type="nf4")
    layer.weight = layer.weight.to("cpu")
    layer.weight.quant_state.packing_format_for_cpu = True
    with pytest.raises(InvalidInput, match="load it again"):
        copied(nn.Sequential(layer))
