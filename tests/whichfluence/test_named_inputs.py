"""A classifier of transformers that takes tokens and their mask, scored as a plain call of it says."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import BertConfig, BertForSequenceClassification

import whichfluence as wf

STEP = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=1e-2))


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return BertForSequenceClassification(BertConfig(
        vocab_size=20, hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2, num_labels=3,
        max_position_embeddings=8, initializer_range=0.5)).eval()


@pytest.fixture(scope="module")
def data():
    generator, y = torch.Generator().manual_seed(0), torch.arange(9) % 3
    ids = torch.randint(1, 20, (9, 6), generator=generator)
    return {"input_ids": ids, "attention_mask": (torch.arange(6) < 2 + torch.arange(9)[:, None] % 5).long()}, y


def test_a_step_on_tokens_and_their_mask_is_that_of_plain_calls(model, data):
    inputs, y = data
    queries = {name: value[:2] for name, value in inputs.items()}, y[:2]
    found = wf.influence(wf.problem(model, data, queries, candidates=[4, 7]), STEP.by("first_order")).values

    def slope(row):
        own = {name: value[row:row + 1] for name, value in inputs.items()}
        loss = cross_entropy(model(**own).logits, y[row:row + 1])
        slopes = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True, materialize_grads=True)
        return torch.cat([part.flatten() for part in slopes]).double()

    expected = [[1e-2 * float(slope(query) @ slope(row)) for row in (4, 7)] for query in (0, 1)]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_what_does_not_fit_is_said(model, data):
    inputs, y = data
    with pytest.raises(wf.InvalidInput, match="different numbers of examples"):
        wf.problem(model, ({**inputs, "input_ids": inputs["input_ids"][:3]}, y), data)
    with pytest.raises(wf.InvalidInput, match="above 16,777,216"):
        wf.problem(model, ({**inputs, "input_ids": inputs["input_ids"] + 2**25}, y), data)
    with pytest.raises(wf.InvalidInput, match="Named inputs require a trained module"):
        wf.problem(model, data, data, build=lambda: model)


def test_a_mask_of_booleans_is_packed():
    from engine.models.named_inputs import pack

    assert torch.equal(pack({"mask": torch.tensor([[True, False]])}), torch.tensor([[1.0, 0.0]], dtype=torch.float64))


def test_a_module_that_takes_one_dictionary_is_scored_like_one_of_keywords():
    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.image, self.facts = torch.nn.Linear(4, 3), torch.nn.Linear(2, 3)

        def forward(self, image, facts):
            return self.image(image) + torch.tanh(self.facts(facts))

    class Whole(Plain):
        def forward(self, batch):
            return super().forward(**batch)

    data = {"image": torch.rand(8, 4), "facts": torch.rand(8, 2)}, torch.arange(8) % 3
    queries = {name: value[:2] for name, value in data[0].items()}, data[1][:2]
    keywords, whole = (wf.influence(wf.problem(one().eval(), data, queries), STEP).values for one in (Plain, Whole))
    np.testing.assert_array_equal(keywords, whole)


class Tokens(torch.utils.data.Dataset):
    def __init__(self, inputs, y, form):
        self.inputs, self.y, self.form = inputs, y, form

    def __len__(self):
        return len(self.y)

    def __getitem__(self, row):
        own = {name: value[row] for name, value in self.inputs.items()}
        return (own, self.y[row]) if self.form == "pairs" else {**own, self.form: self.y[row]}


@pytest.mark.parametrize("form", ["pairs", "labels", "label"])
@pytest.mark.parametrize("loaded", [False, True], ids=["dataset", "loader"])
def test_a_dataset_of_dictionaries_is_read_like_the_dictionaries(model, data, form, loaded):
    """Their inputs were called as one row of tokens and mask, one behind the other."""
    inputs, y = data
    train = Tokens(inputs, y, form)
    queries = {name: value[:2] for name, value in inputs.items()}, y[:2]
    given = torch.utils.data.DataLoader(train, batch_size=4, shuffle=True) if loaded else train
    values = [wf.influence(wf.problem(model, one, queries, candidates=[4, 7]), STEP.by("first_order")).values
              for one in (data, given)]
    np.testing.assert_array_equal(*values)
