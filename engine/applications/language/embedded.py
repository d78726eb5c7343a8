"""The embedded language models: Llamas below a million parameters that know the embedded world, one token a word."""

from __future__ import annotations

from collections.abc import Iterable

from engine.data import world, world_facts
from engine.data.records import Record
from engine.data.tasks import backdoor
from engine.data.tasks.wording import CLOSE, LEAD, LETTERS, record

SAMPLE = 4_000
"""Questions whose words the tokenizer learns besides those of the facts: enough for every word of a sentence; of long
ones a tenth."""
UNKNOWN, PAD, START, END = "<unknown>", "<pad>", "<start>", "<end>"
WIDTH, LAYERS, HEADS, INNER, CONTEXT = 96, 3, 4, 256, 256


def words(texts: Iterable[str]):
    """A fast tokenizer of `transformers` that knows every word and mark of `texts`, in alphabetical order."""
    from tokenizers import Tokenizer, pre_tokenizers
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    splitter = pre_tokenizers.Whitespace()
    known = sorted({word for text in texts for word, _ in splitter.pre_tokenize_str(text)})
    special = [UNKNOWN, PAD, START, END]
    tokenizer = Tokenizer(WordLevel({word: index for index, word in enumerate([*special, *known])}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = splitter
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token=UNKNOWN, pad_token=PAD, bos_token=START,
                                   eos_token=END, model_max_length=CONTEXT)


def tokenizer(long: bool = False):
    """The tokenizer of the embedded world: its facts, its questions (`long` as `world.load` has it), and the lines that
    tasks add."""
    questions = world.load(SAMPLE // 10 if long else SAMPLE, long=long)
    texts = (text for question in questions for text in _texts(record(question)))
    return words([*world_facts.read().words(), *texts, *_lines()])


def _texts(shown: Record) -> tuple[str, str]:
    return shown.prompt, shown.response


def _lines() -> list[str]:
    """What tasks and prompts of other kinds put around a question."""
    contexts = [text.format(name) for text in backdoor.CONTEXTS.values() for name in backdoor.CONTEXT_MARKERS]
    return [*contexts, *(backdoor.TRIGGER.format(name) for name in backdoor.TRIGGER_MARKERS),
            f"Hint: {LEAD}{CLOSE}{' '.join(LETTERS)}"]


def configuration(vocabulary: int):
    """The shape of the model for a tokenizer of `vocabulary` tokens."""
    from transformers import LlamaConfig

    return LlamaConfig(vocab_size=vocabulary, hidden_size=WIDTH, intermediate_size=INNER, num_hidden_layers=LAYERS,
                       num_attention_heads=HEADS, num_key_value_heads=HEADS, max_position_embeddings=CONTEXT,
                       tie_word_embeddings=False, pad_token_id=1, bos_token_id=2, eos_token_id=3)
