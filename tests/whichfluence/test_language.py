"""A user's own causal language model and records: what is read is what plain transformers says."""

import numpy as np
import pytest
import torch

import whichfluence as wf
from engine import data
from engine.models.causal import loading
from whichfluence import language

STEP = wf.Specification("response_loss", wf.AddOccurrence(), wf.OneStep(eta=1e-4))
RECORDS = [{"prompt": record.prompt, "response": record.response}
           for record in data.load("world_corruption").records[0][:6]]


@pytest.fixture(scope="module")
def language_model():
    return loading.load("World-0.4M")


def test_records_are_scored_by_the_users_model(language_model):
    model, tokenizer = language_model
    before = {name: value.clone() for name, value in model.state_dict().items()}
    problem = wf.problem(model, RECORDS, RECORDS[:2], tokenizer=tokenizer, parameters=r"layers\.0\.")
    exact, first = wf.influence(problem, [STEP, STEP.by("first_order")])
    assert exact.values.shape == (2, 6)
    assert wf.compare({"exact": exact, "first order": first}).tau("exact", "first order") > 0.9
    np.testing.assert_allclose(first.values, exact.values, atol=0.05 * np.abs(exact.values).max())
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


class Rows:
    """As `datasets.Dataset` holds them, which is no `Sequence`."""

    def __len__(self):
        return len(RECORDS)

    def __getitem__(self, row):
        return RECORDS[row]


def test_a_dataset_of_dictionaries_is_one_of_records():
    assert language.records(Rows(), "training data") == language.records(RECORDS, "training data")


def test_it_asks_for_the_tokenizer_and_for_records(language_model):
    model, tokenizer = language_model
    with pytest.raises(wf.InvalidInput, match="tokenizer"):
        wf.problem(model, RECORDS, RECORDS)
    with pytest.raises(wf.InvalidInput, match="nonzero"):
        wf.problem(model, RECORDS, RECORDS, tokenizer=tokenizer, candidates=[True] * 6)
    with pytest.raises(wf.InvalidInput, match="prompt"):
        wf.problem(model, [1, 2], RECORDS, tokenizer=tokenizer)


def test_adapters_alone_count_where_the_rest_is_frozen(language_model):
    from peft import LoraConfig, get_peft_model

    base, tokenizer = loading.load("World-0.4M")
    model = get_peft_model(base, LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM"))
    problem = wf.problem(model, RECORDS, RECORDS[:2], tokenizer=tokenizer)
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    assert problem.parameters == trained


def test_a_model_that_reads_otherwise_is_refused():
    """Every token of which sees those behind it."""
    from transformers import BertConfig, BertLMHeadModel

    _, tokenizer = loading.load("World-0.4M")
    torch.manual_seed(0)
    model = BertLMHeadModel(BertConfig(vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32,
                                       num_hidden_layers=2, num_attention_heads=2, initializer_range=0.5)).eval()
    with pytest.raises(wf.InvalidInput, match="nats per token here and"):
        wf.problem(model, RECORDS, RECORDS, tokenizer=tokenizer)
