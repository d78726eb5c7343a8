"""Every causal model that transformers knows, of a few numbers: read and differentiated as plain transformers does
record by record, or refused by one sentence."""

import copy

import pytest
import torch
from transformers import CONFIG_MAPPING, AutoConfig, AutoModelForCausalLM
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from engine.basics.errors import InvalidInput
from engine.gradients.per_example import loss_gradients
from engine.models.causal.checked import check_reading
from engine.models.causal.learning import LearningReader
from engine.models.causal.packed import Packing
from engine.models.causal.supported import check_config
from engine.models.double import _Wide
from engine.problems import CausalProblem
from engine.question.token_behaviors import RESPONSE
from tests.engine.models.causal.test_families import (  # noqa: F401 - fixtures
    CLOSE,
    DROPOUTS,
    VOCABULARY,
    WINDOW,
    alone,
    compare_adapters,
    doubled,
    encoder,
    moved,
    records,
)

SIZES = {
    "vocab_size": VOCABULARY, "vocab_size_per_layer_input": VOCABULARY, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 3, "decoder_start_token_id": 1, "layer_types": None,
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "embedding_size", "input_embedding_size", "hidden_dim",
                     "output_embedding_size", "emb_dim", "lru_width", "word_embed_proj_dim", "embedding_dim",
                     "mamba_d_ssm", "dim_model_base", "attention_hidden_size"), 32),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim", "d_ff", "dff", "n_inner",
                     "intermediate_size_mlp", "ffn_hidden_size", "dim_ff"), 48),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers",
                     "num_encoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads",
                     "decoder_attention_heads",
                     "encoder_attention_heads", "mamba_n_heads", "mamba_num_heads", "linear_num_value_heads",
                     "num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "rotary_dim"), 4),
    **dict.fromkeys(("num_key_value_heads", "num_experts_per_tok", "linear_num_key_heads", "moe_topk", "moe_k",
                     "top_k_experts", "moe_router_topk", "num_attention_groups",
                     "linear_conv_kernel_dim", "index_n_heads",
                     "conv_L_cache", "attn_layer_period", "swa_num_key_value_heads", "num_global_key_value_heads"), 2),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx", "context_length",
                     "max_seq_length", "original_max_position_embeddings"), 64),
    **dict.fromkeys(("head_dim", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "v_head_dim", "mamba_d_head",
                     "hidden_size_per_layer_input", "linear_key_head_dim", "linear_value_head_dim", "mamba_head_dim",
                     "attention_head_dim", "dim_head", "global_head_dim", "swa_head_dim", "swa_v_head_dim", "d_kv",
                     "index_head_dim", "qk_head_dim", "kv_channels"), 8),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size", "expert_ffn_hidden_size",
                     "shared_intermediate_size"), 16),
    **dict.fromkeys(("state_size", "ssm_state_size", "mamba_d_state", "chunk_size", "mamba_chunk_size", "laurel_rank",
                     "qk_rope_head_dim", "attention_chunk_size", "sliding_window", "window_size", "local_window_size",
                     "attention_window_size"), WINDOW),
    **dict.fromkeys(("n_group", "topk_group", "first_k_dense_replace", "n_shared_experts", "n_groups",
                     "num_shared_experts", "mamba_n_groups", "max_window_layers", "attn_layer_offset",
                     "moe_num_shared_experts", "moe_layer_start_index", "num_memory_blocks", "num_mem_blocks"), 1),
    "num_kv_shared_layers": 0, "residual_dropout": 0.0, "attention_dropout": 0.0, "index_topk": 3}
"""By the names that configurations have for them."""
LATENT = {"num_key_value_heads": 4, "head_dim": WINDOW}
STATES = {"mamba_n_heads": 8, "mamba_d_head": 8}
OWN = {
    **dict.fromkeys(("axk1", "axk2", "deepseek_v2", "deepseek_v3", "deepseek_v32", "glm4_moe_lite", "glm_moe_dsa",
                     "minicpm3", "youtu", "dots3_note_text"), LATENT),
    "dbrx": {"attn_config": {"rope_theta": 1e4, "kv_n_heads": 2}, "ffn_config": {
        "hidden_size": 32, "ffn_hidden_size": 48, "moe_num_experts": 4, "moe_top_k": 2}},
    "bamba": {**STATES, "attn_layer_indices": [1]},
    "granitemoehybrid": {**STATES, "layer_types": ["mamba", "attention"]},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]}, "mamba2": {"num_heads": 8, "head_dim": 8},
    "zaya": {"num_experts_per_tok": 1}, "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "big_bird": {"attention_type": "original_full"}, "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
    "xlm": {"causal": True}}
UNBUILT = ("kimi_linear", "zamba", "zamba2", "gemma3n", "gemma4_assistant", "gemma4_unified_assistant", "dots3_note",
           "cohere_compass_text", "longcat_flash", "bailing_hybrid", "blt", "reformer", "prophetnet")
"""transformers itself builds or runs none of these sizes: they need a library, another model's states, or 240 s."""


def configuration(family):
    usual = CONFIG_MAPPING[family]().to_dict()
    inner = {name: {**_fitting(part), "model_type": part["model_type"]} for name, part in usual.items()
             if isinstance(part, dict) and name.endswith("_config") and {"hidden_size", "model_type"} <= part.keys()}
    own = {name: size for name, size in _fitting(usual).items() if "text_config" not in inner or "token_id" in name}
    if "is_decoder" in usual:
        own["is_decoder"] = True
    if usual.get("is_encoder_decoder"):
        own |= {"is_encoder_decoder": False, "is_decoder": True}
    return AutoConfig.for_model(family, **own, **inner) if family not in OWN else AutoConfig.for_model(
        family, **{**own, **inner, **OWN[family]})


def _fitting(usual):
    return {name: size for name, size in SIZES.items() if name in usual}


@pytest.mark.slow
@pytest.mark.parametrize("family", [name for name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES if name not in UNBUILT])
def test_a_family_is_read_as_it_is_alone_or_refused(family, records, encoder):  # noqa: F811 - fixtures
    config = configuration(family)
    torch.manual_seed(0)
    try:
        check_config(family, config)
        made = AutoModelForCausalLM.from_config(config).eval()
        moved(made)
        for part in made.modules():
            vars(part).update({name: 0.0 for name in DROPOUTS if isinstance(getattr(part, name, None), float)})
        packing = Packing.of(records)
        rows = packing.pack(encoder, records)
        check_reading(LearningReader(copy.deepcopy(made), packing), rows, records)
    except InvalidInput as error:
        assert str(error).count("\n") == 0 and str(error).endswith(".")
        return
    with _Wide():  # what transformers lowers to float32 by itself
        right = [alone(doubled(made), record) for record in records]
    problem = CausalProblem(LearningReader(copy.deepcopy(made), packing), rows, None, rows[:2], None, dtype="float64")
    losses = torch.stack([loss for loss, _ in right])
    torch.testing.assert_close(-problem.outputs(problem.x)[:, RESPONSE], losses, rtol=CLOSE, atol=0, check_dtype=False)
    for row, (_, slopes) in zip(loss_gradients(problem, torch.arange(len(records))), right, strict=True):
        expected = torch.cat([slopes[name.removeprefix("model.")].flatten() for name in problem.network.names])
        assert (row - expected).norm() <= CLOSE * expected.norm()
    try:
        with _Wide():
            compare_adapters(copy.deepcopy(made), records, encoder)
    except InvalidInput as error:
        assert "cannot be attached" in str(error)
