"""What cannot be read is refused before a weight is loaded, each by one sentence that is true of it."""

import json

import pytest
from peft import IA3Config, LoraConfig, PrefixTuningConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, BertConfig, BertLMHeadModel

from engine.applications.language.fine_tuned import Setting
from engine.applications.language.run import AttributionRequest
from engine.basics.errors import InvalidInput
from engine.desk import language
from engine.models.any_recipe import read_recipe
from engine.models.causal import loading, supported
from engine.models.causal.recipe import FineTuning
from engine.models.recipe import Recipe

ENCODER = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
           "intermediate_size": 16}
T5 = AutoConfig.for_model("t5", vocab_size=40, d_model=16, d_kv=8, num_layers=1, num_heads=2, d_ff=16)
BART = AutoConfig.for_model("bart", vocab_size=40, d_model=16, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=16,
                            decoder_ffn_dim=16, encoder_attention_heads=2, decoder_attention_heads=2)
MAMBA = AutoConfig.for_model("mamba", vocab_size=40, hidden_size=16, num_hidden_layers=1, state_size=4)


@pytest.fixture
def no_weights(monkeypatch):
    """Weights are never loaded at the door."""
    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", lambda *_, **__: pytest.fail("weights were loaded"))


@pytest.mark.parametrize(("build", "sentence"), [
    (lambda: AutoModelForSeq2SeqLM.from_config(T5), "T5ForConditionalGeneration, which does not generate text"),
    (lambda: AutoModelForSeq2SeqLM.from_config(BART), "BartForConditionalGeneration, which does not generate text"),
    (lambda: BertLMHeadModel(BertConfig(**ENCODER)), "BertLMHeadModel, which does not generate text"),
], ids=["t5", "bart", "bert with a head"])
def test_models_that_are_not_read(build, sentence, tmp_path, no_weights):
    build().save_pretrained(tmp_path)
    for door in (loading.check, language.check_model, loading.load):
        with pytest.raises(InvalidInput, match=sentence):
            door(str(tmp_path))


def test_an_encoder_that_is_set_up_as_a_decoder_is_read(tmp_path, model_folder):
    BertLMHeadModel(BertConfig(**ENCODER, is_decoder=True)).save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((model_folder / "tokenizer.json").read_bytes())
    loading.check(str(tmp_path))


@pytest.mark.parametrize("method", ["bitsandbytes", "gptq", "fp8"])
def test_quantised_weights_also_under_adapters(method, tmp_path, model_folder, no_weights, monkeypatch):
    """Those of bitsandbytes need that library."""
    monkeypatch.setattr(supported, "find_spec", lambda name: None)
    base, adapters = tmp_path / "base", tmp_path / "adapters"
    for folder in (base, adapters):
        folder.mkdir()
    config = json.loads((model_folder / "config.json").read_text())
    (base / "config.json").write_text(json.dumps({**config, "quantization_config": {"quant_method": method}}))
    (adapters / loading.ADAPTERS).write_text(json.dumps({"base_model_name_or_path": str(base)}))
    (adapters / "adapter_model.safetensors").touch()
    for folder in (base, adapters):
        with pytest.raises(InvalidInput, match="by bitsandbytes, which is not installed; install it" if (
                method == "bitsandbytes") else rf"quantised \({method}\), which is not supported here"):
            loading.check(str(folder))


@pytest.mark.parametrize(("options", "extra"), [
    ({}, ""), ({"use_rslora": True}, ""), ({"rank_pattern": {"q_proj": 3}}, ""),
    ({"use_dora": True}, "lora_magnitude_vector"), ({"modules_to_save": ["lm_head"]}, "lm_head.weight"),
    ({"target_modules": ["embed_tokens"]}, "embed_tokens"), (None, "ia3_l")],
    ids=["plain", "rsLoRA", "ranks", "DoRA", "modules_to_save", "embedding", "IA3"])
def test_adapters_beyond_a_and_b_are_read_by_problems_alone(options, extra, tmp_path, model_folder):
    given = {"target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM"}
    config = (IA3Config(**given, feedforward_modules=[]) if options is None
              else LoraConfig(**{**given, **options, "r": 2}))
    get_peft_model(AutoModelForCausalLM.from_pretrained(model_folder), config).save_pretrained(tmp_path)
    loading.check(str(tmp_path))
    if not extra:
        language.check_model(str(tmp_path))
        return
    with pytest.raises(InvalidInput, match=f"more than LoRA's matrices A and B .*{extra}"):
        language.check_model(str(tmp_path))


@pytest.mark.parametrize(("targets", "sentence"), [
    ("all-linear", r"Adapters cannot be attached to `all-linear` .*out_proj.* as `targets` \(dt_proj, in_proj"),
    ("q_proj", "Adapters cannot be attached to `q_proj`"), ("in_proj,x_proj", "")])
def test_adapters_that_cannot_be_attached_are_refused_before_a_weight_is_loaded(
        targets, sentence, tmp_path, model_folder, no_weights):
    AutoModelForCausalLM.from_config(MAMBA).save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((model_folder / "tokenizer.json").read_bytes())
    recipe = FineTuning(rank=2, targets=targets)
    loading.check(str(tmp_path), recipe=recipe.model_copy(update={"rank": 0}))
    request = AttributionRequest(setting=Setting(model=str(tmp_path), task={"name": "own"}, recipe=recipe), seed=0)
    if not sentence:
        request.check_queued()
        return
    with pytest.raises(InvalidInput, match=sentence):
        request.check_queued()


def test_learned_prompts_are_refused(tmp_path, model_folder):
    get_peft_model(AutoModelForCausalLM.from_pretrained(model_folder), PrefixTuningConfig(
        task_type="CAUSAL_LM", num_virtual_tokens=2)).save_pretrained(tmp_path)
    with pytest.raises(InvalidInput, match="PREFIX_TUNING, which learns tokens placed before the prompt"):
        loading.check(str(tmp_path))


def test_weights_that_are_not_in_the_files_are_never_drawn_at_random(tmp_path, model_folder):
    from safetensors.torch import load_file, save_file

    for path in model_folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = load_file(tmp_path / "model.safetensors")
    gone = next(name for name in weights if "q_proj" in name)
    save_file({name: value for name, value in weights.items() if name != gone}, tmp_path / "model.safetensors",
              metadata={"format": "pt"})
    with pytest.raises(InvalidInput, match=f"lack 1 of the model's weights, such as `{gone}`"):
        loading.load(str(tmp_path))


def test_a_recipe_is_of_the_kind_of_its_model(model_folder, monkeypatch):
    """`epochs` alone says nothing of the kind; a folder in the current one is a language model too."""
    assert read_recipe({"epochs": 0}, str(model_folder)) == FineTuning(epochs=0)
    monkeypatch.chdir(model_folder.parent)
    assert read_recipe({"epochs": 2}, model_folder.name) == FineTuning(epochs=2)
    network = {"epochs": 2, "learning_rate": 0.1, "batch_size": 8}
    assert read_recipe(network, "./my_module.py:make") == read_recipe(network, "mlp") == Recipe(**network)
