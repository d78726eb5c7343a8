"""Every family of causal models reads, learns and differentiates records as plain transformers does, one by one."""

import copy
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from engine.applications.language import gradients
from engine.basics.errors import InvalidInput
from engine.gradients.per_example import loss_gradients
from engine.models.causal import lora
from engine.models.causal.checked import check_reading
from engine.models.causal.encoding import Encoded, Encoder
from engine.models.causal.learning import LearningReader
from engine.models.causal.packed import Packing
from engine.models.causal.readouts import mean_response_likelihood
from engine.models.causal.recipe import FineTuning
from engine.models.causal.wide import widen
from engine.problems import CausalProblem
from engine.question.token_behaviors import RESPONSE

VOCABULARY, CLOSE, WINDOW = 40, 1e-5, 4
SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 64}
OLD = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
EXPERTS = {**SIZES, "num_experts_per_tok": 2, "num_experts": 4, "num_local_experts": 4, "moe_intermediate_size": 16}
FAMILIES = {
    "llama": SIZES, "qwen3": {**SIZES, "head_dim": 8, "tie_word_embeddings": True}, "gemma": {**SIZES, "head_dim": 8},
    "mistral": {**SIZES, "sliding_window": WINDOW}, "starcoder2": {**SIZES, "sliding_window": WINDOW},
    "gemma2": {**SIZES, "head_dim": 8, "sliding_window": WINDOW},
    "gemma3_text": {**SIZES, "head_dim": 8, "sliding_window": WINDOW,
                    "layer_types": ["sliding_attention", "full_attention"]},
    "qwen2": {**SIZES, "use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 1},
    "phi3": {**SIZES, "sliding_window": WINDOW, "pad_token_id": 0}, "cohere2": {**SIZES, "sliding_window": WINDOW},
    "phi": SIZES, "granite": SIZES, "gpt_neox": SIZES, "gpt2": OLD, "gptj": {**OLD, "rotary_dim": 4},
    "gpt_neo": {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]],
                "window_size": WINDOW, "max_position_embeddings": 64},
    "opt": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 48,
            "max_position_embeddings": 64, "word_embed_proj_dim": 16},
    "bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4},
    "falcon": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "alibi": True},
    "mpt": {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 64},
    "mixtral": {**EXPERTS, "sliding_window": WINDOW}, "qwen2_moe": {**EXPERTS, "shared_expert_intermediate_size": 16},
    "gpt_oss": {**EXPERTS, "head_dim": 8, "sliding_window": WINDOW},
    "xglm": {"d_model": 32, "num_layers": 2, "attention_heads": 4, "ffn_dim": 48, "max_position_embeddings": 64},
    "mamba": {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4},
    "recurrent_gemma": {**SIZES, "attention_window_size": WINDOW, "lru_width": 32},
    "deepseek_v3": {**EXPERTS, "num_key_value_heads": 4, "n_routed_experts": 4, "n_group": 2, "topk_group": 1,
                    "first_k_dense_replace": 1, "q_lora_rank": 8, "kv_lora_rank": 8, "qk_nope_head_dim": 8,
                    "qk_rope_head_dim": 4, "v_head_dim": 8},
    "dbrx": {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 64, "attn_config": {
        "rope_theta": 1e4, "kv_n_heads": 2, "clip_qkv": 8.0}, "ffn_config": {
            "hidden_size": 32, "ffn_hidden_size": 48, "moe_num_experts": 4, "moe_top_k": 2}},
    "rwkv": {"hidden_size": 32, "num_hidden_layers": 2, "context_length": 64}}
UNADAPTED = "mamba"
"""PEFT refuses adapters of its maps."""
QUICK = ("llama", "deepseek_v3", "gemma3_text", "qwen2", "gpt2", "gpt_neo", "bloom", "falcon", "mixtral", "mamba",
         "recurrent_gemma", "rwkv")
"""Whose losses are compared quickly; gradients of adapters are for every family."""
DROPOUTS = ("p", "dropout", "attn_dropout", "attention_dropout", "hidden_dropout")


@pytest.fixture(scope="module")
def records():
    generator = torch.Generator().manual_seed(1)
    return [Encoded(tuple(torch.randint(4, VOCABULARY, (length,), generator=generator).tolist()), length - response)
            for length, response in ((14, 3), (5, 4), (9, 2), (14, 6))]


@pytest.fixture(scope="module")
def encoder():
    return Encoder(SimpleNamespace(is_fast=True, pad_token_id=0, eos_token="", eos_token_id=3, chat_template=None))


def model(family):
    torch.manual_seed(0)
    made = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, vocab_size=VOCABULARY, **FAMILIES[family]))
    moved(made.eval())
    for part in made.modules():  # of what is compared in training mode
        vars(part).update({name: 0.0 for name in DROPOUTS if isinstance(getattr(part, name, None), float)})
    return made


@torch.no_grad()
def moved(made):
    for parameter in made.parameters():
        parameter.add_(torch.randn_like(parameter) * 0.1)


def alone(made, record):
    """(loss, its gradient by every free parameter, by name) by plain transformers, without padding or mask."""
    ids, default = torch.tensor(record.ids), torch.get_default_dtype()
    torch.set_default_dtype(made.dtype)  # without it transformers cannot compute XGLM in float64
    try:
        logits = made(input_ids=ids[None], use_cache=False).logits[0]
    finally:
        torch.set_default_dtype(default)
    at = torch.arange(record.response, len(ids))
    loss = -logits.log_softmax(-1)[at - 1, ids[at]].mean()
    named = {name: value for name, value in made.named_parameters() if value.requires_grad}
    slopes = torch.autograd.grad(loss, list(named.values()), allow_unused=True, materialize_grads=True)
    return loss.detach(), dict(zip(named, slopes, strict=True))


def doubled(made):
    made = copy.deepcopy(made).double()
    made.set_experts_implementation("eager")  # transformers' other kernels have no float64
    return made


@pytest.mark.parametrize("family", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
                                    for name in FAMILIES])
def test_losses_and_gradients_are_those_of_each_record_alone(family, records, encoder):
    made = model(family)
    right = [alone(doubled(made), record) for record in records]
    losses = torch.stack([loss for loss, _ in right])
    packing = Packing.of(records)
    rows = packing.pack(encoder, records)
    problem = CausalProblem(LearningReader(made, packing), rows, None, rows[:2], None, dtype="float64")
    for values in (problem.outputs(problem.x), torch.cat([problem.outputs(row[None]) for row in problem.x])):
        torch.testing.assert_close(-values[:, RESPONSE], losses, rtol=CLOSE, atol=0, check_dtype=False)
    trained = LearningReader(copy.deepcopy(made), packing).to(torch.float64).train()
    torch.testing.assert_close(-trained(rows)[:, RESPONSE].detach(), losses, rtol=CLOSE, atol=0, check_dtype=False)
    found = loss_gradients(problem, torch.arange(len(records)))
    for row, (_, slopes) in zip(found, right, strict=True):
        expected = torch.cat([slopes[name.removeprefix("model.")].flatten() for name in problem.network.names])
        assert (row - expected).norm() <= CLOSE * expected.norm()


@pytest.mark.parametrize(("family", "more"), [
    ("llama", {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}}),
    ("phi3", {"original_max_position_embeddings": 8, "rope_scaling": {
        "rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [3.0] * 4, "rope_theta": 1e4}})])
def test_positions_that_depend_on_the_batch_are_refused(family, more, records, encoder):
    sizes = {**FAMILIES[family], "max_position_embeddings": 8, **more}
    made = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, vocab_size=VOCABULARY, **sizes)).eval()
    for rows, refused in ((records, True), (records[1:2], False)):
        packing = Packing.of(rows)
        with pytest.raises(InvalidInput, match="depend on the longest") if refused else nullcontext():
            check_reading(LearningReader(made, packing), packing.pack(encoder, rows), rows)


def test_tokens_that_attention_chooses_are_refused_where_the_choice_depends_on_the_batch(records, encoder):
    """Scores behind a ReLU are often 0, and which of those are chosen depends on the width of the batch."""
    sizes = {**FAMILIES["deepseek_v3"], "index_topk": 3, "index_n_heads": 2, "index_head_dim": 8}
    made = AutoModelForCausalLM.from_config(AutoConfig.for_model("deepseek_v32", vocab_size=VOCABULARY, **sizes)).eval()
    for rows, refused in ((records, True), (records[1:2], False)):
        packing = Packing.of(rows)
        with pytest.raises(InvalidInput, match="how ties are broken") if refused else nullcontext():
            check_reading(LearningReader(made, packing), packing.pack(encoder, rows), rows)


def test_maps_by_groups_get_no_adapters(records, encoder):
    sizes = {"hidden_size": 32, "moe_intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
             "head_dim": 8, "qk_rope_head_dim": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "q_lora_rank": 8,
             "o_lora_rank": 8, "o_groups": 2, "sliding_window": WINDOW, "max_position_embeddings": 64}
    torch.manual_seed(0)
    made = AutoModelForCausalLM.from_config(AutoConfig.for_model("deepseek_v4", vocab_size=VOCABULARY, **sizes))
    compare_adapters(made, records, encoder)


def test_routers_of_experts_get_no_adapters(records, encoder):
    sizes = {**EXPERTS, "intermediate_size_mlp": 48, "head_dim": 8, "pad_token_id": 0}
    made = AutoModelForCausalLM.from_config(AutoConfig.for_model("llama4_text", vocab_size=VOCABULARY, **sizes))
    packing = Packing.of(records)
    reader = LearningReader(lora.attach(made, FineTuning(rank=2, scaling=4)).eval(), packing)
    check_reading(reader, packing.pack(encoder, records), records)
    assert not [layer.name for layer in lora.layers(reader) if "router" in layer.name]


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != UNADAPTED])
def test_gradients_of_adapters_are_those_of_each_record_alone(family, records, encoder):
    compare_adapters(model(family), records, encoder)


def test_a_layer_that_is_called_twice_has_the_sum_of_both_calls(records, encoder):
    """As the blocks that Zamba and ALBERT share."""
    made = model("llama")
    made.model.layers[1] = made.model.layers[0]
    compare_adapters(made, records, encoder)


def test_embeddings_that_are_scaled_in_place_are_read(records, encoder):
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "dff": 48, "n_positions": 64}
    torch.manual_seed(0)
    made = AutoModelForCausalLM.from_config(AutoConfig.for_model("ctrl", vocab_size=VOCABULARY, **sizes))
    compare_adapters(made, records, encoder)


def compare_adapters(base, records, encoder):
    """By the factors of a batch that is padded, as attributions of many records have them."""
    made = lora.attach(base, FineTuning(rank=2, scaling=4)).eval()
    moved(made)
    right, packing = made.double(), Packing.of(records)
    widen(made.get_base_model())
    expected = [alone(right, record)[1] for record in records]
    found = {}
    with gradients.tapped(made) as tap:
        gradients.record_gradients(tap, packing.unpack(packing.pack(encoder, records)),
                                   [lambda logits, batch: -mean_response_likelihood(logits, batch)],
                                   [found.__setitem__])
    assert found
    for name, values in found.items():
        layer, _, part = name.rpartition(".")
        for row, slopes in zip(values.double(), expected, strict=True):
            own = slopes[f"{layer}.lora_{part.upper()}.default.weight"]
            assert (row - own).norm() <= 1e-4 * own.norm() + 1e-7, name  # the products are of float32
