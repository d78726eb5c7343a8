"""Finding and loading models: local ones by name, and one sentence for what cannot be used."""

import json
import os
from types import SimpleNamespace

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

from engine.basics.errors import InvalidInput, MissingData
from engine.data.records import Record
from engine.models.causal import loading, lora, passes
from engine.models.causal.encoding import Encoder
from engine.models.causal.recipe import FineTuning

CPU = torch.device("cpu")


def test_a_model_is_found_by_path_and_by_name(model_folder, monkeypatch):
    monkeypatch.setenv(loading.MODELS, str(model_folder.parent))
    for name in (str(model_folder), "tiny", "someone/tiny"):
        assert loading.find(name) == loading.ModelFiles("tiny", str(model_folder))
    assert loading.available()[0] == "tiny"
    assert not loading.find("nobody/nothing").local
    assert loading.find("SmolLM2-135M-Instruct").source == "HuggingFaceTB/SmolLM2-135M-Instruct"
    model, tokenizer = loading.load("tiny")
    assert model.dtype == torch.float32 and not model.training and tokenizer.is_fast


def test_identity_follows_the_files(model_folder, tmp_path):
    other = tmp_path / "tiny"
    other.mkdir()
    for path in model_folder.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    assert loading.identity(str(model_folder)) == loading.identity(str(other))
    (other / "config.json").write_text((other / "config.json").read_text() + " ")
    assert loading.identity(str(model_folder)) != loading.identity(str(other))


def test_no_network_and_no_local_model_says_what_to_set(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv(loading.MODELS, raising=False)
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(MissingData, match="set WHICHFLUENCE_MODELS"):
        loading.load("someone/absent-model")


def test_a_model_that_is_not_causal(tmp_path):
    BertForMaskedLM(BertConfig(vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
                               intermediate_size=8)).save_pretrained(tmp_path)
    with pytest.raises(InvalidInput, match="BertForMaskedLM, which does not generate text"):
        loading.load(str(tmp_path))


def test_a_model_that_does_not_fit_says_what_would(model_folder, monkeypatch):
    monkeypatch.setattr(loading, "_free_memory", lambda: 100_000)
    with pytest.raises(InvalidInput, match="a model that fits has up to") as error:
        loading.load(str(model_folder))
    assert "\n" not in str(error.value)


def test_damaged_files_are_one_sentence(tmp_path, model_folder):
    for path in model_folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"nonsense")
    with pytest.raises(InvalidInput, match="cannot be loaded"):
        loading.load(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "no-such-thing"}))
    with pytest.raises(InvalidInput, match="cannot be loaded"):
        loading.load(str(tmp_path))


def test_an_empty_name():
    with pytest.raises(InvalidInput, match="name of the model is empty"):
        loading.find(" ")


def test_adapters_need_layers_that_exist(model_folder):
    model, _ = loading.load(str(model_folder))
    with pytest.raises(InvalidInput, match="cannot be attached to `nothing`"):
        lora.attach(model, FineTuning(targets="nothing"))


@pytest.mark.slow
def test_the_local_gguf_model():
    """SmolLM2 where WHICHFLUENCE_MODELS has it: its own template, its own letters."""
    if "SmolLM2-135M-Instruct" not in loading.available():
        pytest.skip("WHICHFLUENCE_MODELS holds no SmolLM2-135M-Instruct")
    from transformers import AutoTokenizer

    place = loading.find("SmolLM2-135M-Instruct")
    encoder = Encoder(AutoTokenizer.from_pretrained(place.source, gguf_file=place.gguf), 256)
    record = Record(prompt="Which one?", response="Explanation: Mugs. The answer is B.",
                    spans={"explanation": (13, 18), "answer": (33, 34)}, choices=("A", "B"))
    found = encoder.encode(record)
    assert encoder.end == "<|im_end|>" and encoder.tokenizer.decode([found.ids[found.answer]]) == " B"
    assert encoder.tokenizer.decode([found.ids[at] for at in found.explanation]) == " Mugs."


def test_batches_hold_every_record_once_and_records_of_one_length_together():
    lengths = [5, 2, 9, 2, 7]
    records = [SimpleNamespace(ids=[0] * length) for length in lengths]
    assert list(passes.batches(records, 2, CPU)) == [[1, 3], [0, 4], [2]]
    assert list(passes.batches(records, 2, CPU, rows=[2, 4, 1])) == [[1, 4], [2]]
    assert list(passes.batches(records, 9, CPU)) == [[1, 3, 0, 4, 2]] and list(passes.batches([], 2, CPU)) == []


def test_batches_of_long_records_hold_fewer(monkeypatch):
    monkeypatch.setitem(passes.TOKENS, "cpu", 10)
    records = [SimpleNamespace(ids=[0] * length) for length in (2, 5, 11, 2, 5, 3, 12)]
    assert list(passes.batches(records, 9, CPU)) == [[0, 3, 5], [1, 4], [2], [6]]
    assert list(passes.batches(records, 2, CPU)) == [[0, 3], [5, 1], [4], [2], [6]]
    assert list(passes.batches(records, 9, torch.device("cuda"))) == [[0, 3, 5, 1, 4, 2, 6]]


def test_batches_hold_more_than_their_size_where_there_is_room(monkeypatch):
    monkeypatch.setitem(passes.ROOM, "cpu", 12)
    records = [SimpleNamespace(ids=[0] * length) for length in (2, 2, 2, 2, 6, 6, 6)]
    assert list(passes.batches(records, 2, CPU, numbers=lambda tokens: tokens)) == [[0, 1, 2, 3], [4, 5], [6]]
    monkeypatch.setitem(passes.TOKENS, "cpu", 6)
    assert list(passes.batches(records, 2, CPU, numbers=lambda tokens: 0)) == [[0, 1, 2], [3], [4], [5], [6]]


def test_every_byte_of_the_weights_counts(model_folder, tmp_path):
    """A byte beyond the first MiB, under the same size and time of change."""
    weights, before = tmp_path / "model.safetensors", bytearray(3 << 20)
    for path in model_folder.glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights.write_bytes(before)
    told, times = loading.identity(str(tmp_path)), weights.stat()
    before[-1] = 1
    weights.write_bytes(before)
    os.utime(weights, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert loading.identity(str(tmp_path)) != told


def test_a_model_of_the_hub_is_told_by_its_revision(tmp_path, monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    assert loading.identity("someone/hosted") == {"name": "someone/hosted", "files": "hub"}
    folder, found = tmp_path / "models--someone--hosted", []
    (folder / "refs").mkdir(parents=True)
    for commit in ("a" * 40, "b" * 40):
        (folder / "snapshots" / commit).mkdir(parents=True)
        (folder / "snapshots" / commit / "config.json").write_text("{}")
        (folder / "refs" / "main").write_text(commit)
        found.append(loading.identity("someone/hosted")["files"])
    assert found == ["hub:" + "a" * 40, "hub:" + "b" * 40]
