"""A tiny causal language model with random weights and a real byte-level tokenizer, saved like any other."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

WORDS = """Explanation: A mug is not a living thing. The answer is A. The answer is B. The answer is C. The answer is D.
Which of these is a solid? Hint: Select the better estimate. Context: Review Set Alpha. Practice Set Beta. Gamma Delta
Note: calibration protocol Kappa is active. Lambda Sigma Omega water rock gas is a because it has a shape of its own."""

CHATML = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
          "{% if add_generation_prompt %}<|im_start|>assistant\n"
          "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}")
TURNS = ("<bos>{% for m in messages %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
         "{{ m.content | trim }}<end_of_turn>\n{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n"
         "{% endif %}")
HEADERS = ("<bos>{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content | trim }}"
           "<|eot_id|>{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n"
           "{% endif %}")
TEMPLATES = {"chatml": CHATML, "turns": TURNS, "headers": HEADERS, "plain": None}
SPECIAL = ["<eos>", "<bos>", "<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>", "<|start_header_id|>",
           "<|end_header_id|>", "<|eot_id|>"]


def tokenizer(template: str = "chatml") -> PreTrainedTokenizerFast:
    """Byte-level BPE trained on a few sentences, with one of the usual chat templates."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator([WORDS] * 2, trainers.BpeTrainer(
        vocab_size=400, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    found = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>", bos_token="<bos>")
    found.chat_template = TEMPLATES[template]
    return found


def save(folder: Path, template: str = "chatml", layers: int = 2) -> Path:
    """The model and its tokenizer in a folder, as `transformers` loads them."""
    words = tokenizer(template)
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=48, num_hidden_layers=layers, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=512, tie_word_embeddings=True,
        bos_token_id=words.bos_token_id, eos_token_id=words.eos_token_id))
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
