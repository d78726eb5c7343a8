"""New candidates and streams in every form that people hold them in, against plain gradients."""

import json

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import whichfluence as wf
from engine.data import load
from engine.models.causal import loading

STEP = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.1)).by("first_order")
REMOVE = wf.Specification("query_loss", wf.Remove(), wf.Reoptimize())
GENERATOR = torch.Generator().manual_seed(0)
X, Y = torch.rand(30, 6, generator=GENERATOR), torch.arange(30) % 3
NEW_X, NEW_Y = torch.rand(8, 6, generator=GENERATOR), torch.tensor([0, 2, 1, 1, 0, 2, 2, 1])


class Stream(IterableDataset):
    def __iter__(self):
        return iter(zip(NEW_X, NEW_Y, strict=True))


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).eval()


@pytest.fixture(scope="module")
def expected(model):
    """−η ⟨∇B(q), ∇ℓ(z)⟩ by plain autograd, (2 queries, 8 new examples)."""
    def slope(x, y):
        slopes = torch.autograd.grad(cross_entropy(model(x[None]), y[None]), list(model.parameters()))
        return torch.cat([part.flatten() for part in slopes]).double()

    queries, new = (torch.stack([slope(*one) for one in zip(x, y, strict=True)])
                    for x, y in ((X[:2], Y[:2]), (NEW_X, NEW_Y)))
    return 0.1 * (queries @ new.T).numpy()


NEW = {"tensors": lambda: (NEW_X, NEW_Y), "arrays": lambda: (NEW_X.numpy(), NEW_Y.numpy()), "stream": Stream,
       "dataset": lambda: TensorDataset(NEW_X, NEW_Y), "loader": lambda: DataLoader(TensorDataset(NEW_X, NEW_Y), 3)}
BATCHES = {**NEW, "generator": lambda: (pair for pair in zip(NEW_X.split(3), NEW_Y.split(3), strict=True)),
           "dictionaries": lambda: [{"x": NEW_X[:5], "y": NEW_Y[:5]}, {"x": NEW_X[5:], "y": NEW_Y[5:]}]}


@pytest.mark.parametrize("form", NEW)
def test_new_candidates_are_numbered_behind_the_training_examples(form, model, expected):
    problem = wf.problem(model, (X, Y), (X[:2], Y[:2]), candidates=[4], new_candidates=NEW[form]())
    scores = wf.influence(problem, STEP)
    assert scores.candidates.tolist() == [4, *range(30, 38)]
    np.testing.assert_allclose(scores.values[:, 1:], expected, rtol=1e-5, atol=1e-7)
    with pytest.raises(wf.InvalidInput, match="candidate 37 is not one of the 30"):
        wf.influence(problem, wf.Specification("query_loss", wf.Remove(), wf.LocalSearch()))


@pytest.mark.parametrize("form", BATCHES)
def test_a_stream_keeps_the_ends(form, model, expected):
    problem = wf.problem(model, (X, Y), (X[:2], Y[:2]))
    ends = wf.stream(problem, BATCHES[form](), STEP, k=3)
    order = np.argsort(-expected, axis=1)
    np.testing.assert_array_equal(ends.top.numbers, order[:, :3])
    np.testing.assert_array_equal(ends.bottom.numbers, order[:, :-4:-1])
    np.testing.assert_allclose(ends.top.scores, np.take_along_axis(expected, order, 1)[:, :3], rtol=1e-5, atol=1e-7)
    assert len(ends.to_frame()) == 2 * 2 * 3


def test_the_training_data_themselves_may_be_streamed(model):
    """A sample of them stands in the problem; for a step it does not matter which."""
    whole = wf.influence(wf.problem(model, (X, Y), (X[:2], Y[:2])), STEP)
    ends = wf.stream(wf.problem(model, (X[:5], Y[:5]), (X[:2], Y[:2])), DataLoader(TensorDataset(X, Y), 7), STEP, k=4)
    for query in range(2):
        np.testing.assert_array_equal(ends.top.numbers[query], whole.top(query, 4)["candidate"])


def test_softmax_regression_is_optimised_again_with_the_new_example(expected):
    import scipy.optimize

    problem = wf.problem("softmax", (X, Y), (X[:2], Y[:2]), l2=0.1, new_candidates=(NEW_X[:2], NEW_Y[:2]))
    scores = wf.influence(problem, wf.Specification("query_loss", wf.Upweight(alpha=0.2), wf.Reoptimize()))

    def read(row):
        def objective(flat):
            w = torch.tensor(flat, requires_grad=True)
            logits = torch.cat([X, NEW_X]).double() @ w.view(6, 3)
            each = cross_entropy(logits, torch.cat([Y, NEW_Y]), reduction="none")
            value = each[:30].mean() + 0.05 * w.square().sum() + (0.0 if row is None else 0.2 * each[30 + row])
            return value.item(), torch.autograd.grad(value, w)[0].numpy()

        flat = scipy.optimize.minimize(objective, np.zeros(18), jac=True, tol=1e-13).x
        return -cross_entropy(X[:2].double() @ torch.tensor(flat).view(6, 3), Y[:2], reduction="none").numpy()

    change = np.stack([read(row) - read(None) for row in range(2)], 1)
    np.testing.assert_allclose(scores.values, change, atol=1e-7)


def test_what_does_not_fit_is_said(model, tmp_path):
    held = (X, Y), (X[:2], Y[:2])
    for new, said in (((NEW_X[:, :5], NEW_Y), "give at least one such input"), ((NEW_X, NEW_Y + 3), "outside 0…2"),
                      (str(tmp_path), "both as paths"), (3, "give a pair of arrays"),
                      (({"tokens": NEW_X}, NEW_Y), "has inputs other than those of the training data")):
        with pytest.raises(wf.InvalidInput, match=said):
            wf.problem(model, *held, new_candidates=new)
    problem = wf.problem(model, *held)
    for batches, said in ((3, "give a DataLoader"), ("a.csv", "only for a language model"),
                          ([NEW_X], "pairs of an input"), ([], "no candidates")):
        with pytest.raises(wf.InvalidInput, match=said):
            wf.stream(problem, batches, STEP)
    with pytest.raises(wf.InvalidInput, match="asks about training examples"):
        wf.stream(wf.problem("softmax", *held), [(NEW_X, NEW_Y)], REMOVE)


def test_analyses_of_the_training_set_refuse_new_candidates_and_others_take_them(model):
    problem = wf.problem(model, (X, Y), (X[:2], Y[:2]), new_candidates=(NEW_X, NEW_Y))
    assert wf.self_influence(problem, STEP).shape == (8,)
    frame = wf.analyse(problem, "self-influence", scoring=STEP)
    assert frame.candidates.tolist() == list(range(30, 38))
    for name in ("embedding", "linear-range"):
        with pytest.raises(wf.InvalidInput, match=f"`{name}` asks about training examples"):
            wf.analyse(problem, name)
    exact = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.1))
    agreement = wf.compare(wf.influence(problem, {"first": STEP, "exact": exact}))
    assert agreement.tau("first", "exact") > 0.5
    other = wf.Specification("query_logit", exact.intervention, exact.process)
    assert [link.title for link in wf.explain(problem, exact, other).links] == ["the behavior"]


def test_records_of_a_language_model(tmp_path):
    model, tokenizer = loading.load("World-0.4M")
    every = [{"prompt": record.prompt, "response": record.response}
             for record in load("world_corruption").records[0][:9]]
    options = {"tokenizer": tokenizer, "parameters": r"layers\.0\."}
    step = wf.Specification("response_loss", wf.AddOccurrence(), wf.OneStep(eta=1e-4)).by("first_order")
    whole = wf.influence(wf.problem(model, every, every[:2], **options), step).values
    problem = wf.problem(model, every[:4], every[:2], **options)
    new = wf.influence(wf.problem(model, every[:4], every[:2], new_candidates=every[4:], **options), step)
    np.testing.assert_allclose(new.values, whole[:, 4:], rtol=1e-4, atol=1e-6 * np.abs(whole).max())
    path = tmp_path / "records.jsonl"
    path.write_text("\n".join(map(json.dumps, every[4:])))
    for source in (path, iter(every[4:])):
        ends = wf.stream(problem, source, step, k=2)
        np.testing.assert_array_equal(ends.top.numbers, np.argsort(-new.oriented, 1)[:, :2])
