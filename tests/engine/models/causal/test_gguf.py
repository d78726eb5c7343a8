"""A GGUF file gives its own numbers, whatever became of what was converted of it."""

import json
import shutil
import subprocess
import sys

import gguf as format_of_gguf
import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.basics.errors import InvalidInput, StoreError
from engine.models.causal import gguf, loading

NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
         "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
         "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "model.layers": "blk"}
HARMS = {"emptied": lambda content: b"", "cut": lambda content: content[:len(content) // 2],
         "a byte short": lambda content: content[:-1], "garbled": lambda content: b"\xa5" * len(content),
         "altered": lambda content: content[:-4] + (b"\1\2\3\4" if content[-4:] != b"\1\2\3\4" else bytes(4))}


def written(model, heads):
    """How llama.cpp's converter orders the rows of queries and keys."""
    tensors = {}
    for key, value in model.state_dict().items():
        array, name = value.numpy(), key
        for theirs, ours in NAMES.items():
            name = name.replace(theirs, ours)
        if "attn_q" in name or "attn_k" in name:
            count = heads["attn_q" if "attn_q" in name else "attn_k"]
            array = array.reshape(count, 2, len(array) // count // 2, -1).swapaxes(1, 2).reshape(array.shape)
        tensors[name] = np.ascontiguousarray(array)
    return tensors


@pytest.fixture(scope="module")
def packed(model_folder, tmp_path_factory):
    """(the GGUF file, the model that it was written of)."""
    model = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32)
    tokenizer, config = json.loads((model_folder / "tokenizer.json").read_text()), model.config
    path = tmp_path_factory.mktemp("packed") / "tiny.gguf"
    writer = format_of_gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    words = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(words)
    writer.add_token_types([1] * len(words))
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    writer.add_eos_token_id(0)
    for name, array in written(model, {"attn_q": config.num_attention_heads,
                                       "attn_k": config.num_key_value_heads}).items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path, model.eval()


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    return tmp_path


@torch.no_grad()
def same_numbers(path, right):
    ids = torch.tensor([[5, 7, 11, 13, 17, 19]])
    model, tokenizer = loading.load(str(path))
    torch.testing.assert_close(model(ids).logits, right(ids).logits, rtol=0, atol=1e-6)
    return tokenizer


def test_the_numbers_are_those_of_the_file_and_it_is_converted_once(packed, home, monkeypatch):
    path, right = packed
    assert same_numbers(path, right).is_fast
    monkeypatch.setattr(gguf, "_convert", lambda *_: pytest.fail("it was converted again"))
    same_numbers(path, right)


def test_what_is_damaged_is_converted_again(packed, home):
    path, right = packed
    same_numbers(path, right)
    [folder] = home.glob("models/tiny-*")
    names = sorted(file.name for file in folder.iterdir())
    assert {"config.json", "model.safetensors", "sha256", "tokenizer.json"} <= set(names)
    for name in names:
        for harm in HARMS.values():
            (folder / name).write_bytes(harm((folder / name).read_bytes()))
            assert not gguf._is_whole(folder), name
            assert gguf.converted(path, "tiny") == folder and gguf._is_whole(folder)
        (folder / name).unlink()
        (folder / name).mkdir()
        same_numbers(path, right)
    shutil.rmtree(folder)
    folder.write_text("no folder")
    same_numbers(path, right)
    (folder / "sha256").unlink()  # as conversions of earlier versions
    same_numbers(path, right)
    assert not [left for left in folder.parent.iterdir() if left != folder]


def test_a_conversion_that_cannot_be_stored_is_one_sentence(packed, home, monkeypatch):
    (home / "models").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be written|does not exist"):
        loading.load(str(packed[0]))
    (home / "models").unlink()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(gguf, "write_synced", full)
        with pytest.raises(StoreError, match="The disk is full, so the converted model `tiny-"):
            loading.load(str(packed[0]))
    assert not list((home / "models").iterdir())
    same_numbers(*packed)


def test_one_of_several_files_is_named(packed, home, tmp_path):
    path, right = packed
    folder = tmp_path / "several"
    folder.mkdir()
    for name in ("q4.gguf", "q8.gguf"):
        shutil.copy(path, folder / name)
    with pytest.raises(InvalidInput, match=r"several GGUF files \(q4.gguf, q8.gguf\)"):
        loading.load(str(folder))
    same_numbers(folder / "q8.gguf", right)


@pytest.mark.slow
def test_two_processes_at_once(packed, home):
    script = ("from engine.models.causal import loading\n"
              f"print(loading.load({str(packed[0])!r})[0].lm_head.weight.sum().item())")
    together = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = {float(one.communicate(timeout=300)[0].splitlines()[-1]) for one in together}
    assert said == {packed[1].lm_head.weight.sum().item()}
