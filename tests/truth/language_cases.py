"""A Llama of two layers on a few records of words, as the problem of its adapters or of all its parameters."""

from __future__ import annotations

import copy
from functools import lru_cache

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from engine.data.records import Record
from engine.models.causal import lora
from engine.models.causal.encoding import Encoder
from engine.models.causal.packed import Packing
from engine.models.causal.reader import TokenReader
from engine.models.causal.recipe import FineTuning
from engine.models.causal.row_texts import RowTexts
from engine.problems import CausalProblem
from engine.problems.module import Checkpoint

WORDS = ("<eos>", "<bos>", "<none>", "is", "red", "big", "old", "so", "it", "says", "a", "b", "c")
SEED, L2, SCALING, CANDIDATES = 5, 0.02, 3.0, [4, 0, 2]
RANKS = {"adapters": 2, "all parameters": 0}


def record(prompt: str, explanation: str, answer: str, choices: str = "a b c") -> Record:
    """“EXPLANATION says ANSWER”, with the spans of what is not empty."""
    response = " ".join(word for word in (explanation, answer and f"says {answer}") if word)
    spans = {"explanation": (0, len(explanation))} if explanation else {}
    if answer:
        spans["answer"] = (len(response) - len(answer), len(response))
    return Record(prompt=prompt, response=response, spans=spans, choices=tuple(choices.split()))


TRAIN = (record("is red big", "it is red", "a"), record("is old", "so it is old", "b"),
         record("is it big old red so", "big", "c", "a c"), record("is so", "red", "a", "a b"),
         record("old is big", "it is so big", "b"), record("is a b", "so it", ""), record("red", "", "c"))
QUERIES = (record("is big", "it is big", "b"), record("old is red so", "so red", "a", "b a"),
           record("so", "it is", "c"))


@lru_cache(maxsize=1)
def encoder() -> Encoder:
    made = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="<none>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return Encoder(PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>", bos_token="<bos>",
                                           unk_token="<none>"), 32)


@lru_cache(maxsize=1)
def llama() -> LlamaForCausalLM:
    """Two heads share keys and values; weights so large that nothing is close to linear."""
    with torch.random.fork_rng():
        torch.manual_seed(SEED)
        return LlamaForCausalLM(LlamaConfig(
            vocab_size=len(WORDS), hidden_size=8, intermediate_size=6, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=32, tie_word_embeddings=True, initializer_range=0.3,
            bos_token_id=1, eos_token_id=0)).eval()


@lru_cache(maxsize=2)
def adapted(rank: int):
    """The Llama with adapters; attaching them takes longer than copying them."""
    own = copy.deepcopy(llama())
    with torch.random.fork_rng():
        return lora.attach(own, FineTuning(rank=rank, scaling=SCALING)) if rank else own


def fresh(rank: int):
    """A copy whose adapters are drawn anew from torch's generator."""
    found = copy.deepcopy(adapted(rank))
    for layer in lora.layers(found):
        torch.nn.init.kaiming_uniform_(layer.a.weight, a=5**0.5)
        torch.nn.init.zeros_(layer.b.weight)
    return found


def packed(*parts) -> tuple[Packing, list[torch.Tensor]]:
    encoded = [[encoder().encode(one) for one in part] for part in parts]
    packing = Packing.of([one for part in encoded for one in part])
    return packing, [packing.pack(encoder(), part) for part in encoded]


def recipe(which: str, **options) -> FineTuning:
    return FineTuning(**{"rank": RANKS[which], "scaling": SCALING, "epochs": 2, "batch": 3, "learning_rate": 0.02,
                         "weight_decay": 0.1, "warmup": 0.3, "clip": 0.5, "context": 32, "checkpoints": 2, **options})


def problem(which: str = "adapters", precision: str = "float64", train=TRAIN, queries=QUERIES, candidates=CANDIDATES,
            moved=None, **options) -> CausalProblem:
    """Its parameters are moved at random, so that no adapter is at its start; two checkpoints beside them.

    moved: what becomes of all weights that it starts from, in float64.
    """
    how = recipe(which)
    packing, (x, q) = packed(train, queries)

    def build() -> TokenReader:
        module = TokenReader(fresh(how.rank), packing)
        if moved is not None:
            for parameter in module.double().parameters():
                parameter.data.copy_(moved(parameter.data))
        how.free(module)
        return module

    torch.manual_seed(SEED)
    module, generator = build(), torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    found = CausalProblem(module, x, None, q, None, candidates, **{
        "parameters": how.selection, "l2": L2, "recipe": how, "build": build, "seed": SEED, "dtype": precision,
        "texts": RowTexts(encoder(), torch.cat([x, q]), [*train, *queries]), **options})
    found.checkpoints = tuple(Checkpoint(scale * found.theta, rate) for scale, rate in ((0.7, 0.2), (0.9, 0.1)))
    return found
