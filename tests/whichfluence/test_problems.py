"""Own models and data in every form that people hold them in are one problem, with the same scores."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, RandomSampler, Subset, TensorDataset

import whichfluence as wf
from engine.basics.errors import InvalidInput
from engine.problems import ModuleProblem
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

STEP = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.1))
X, Y = torch.rand(40, 6, generator=torch.Generator().manual_seed(0)), torch.arange(40) % 3


class Dictionaries(Dataset):
    def __len__(self):
        return len(X)

    def __getitem__(self, row):
        return {"x": X[row], "y": int(Y[row])}


class Stream(IterableDataset):
    def __iter__(self):
        return iter(zip(X, Y, strict=True))


class Noisy(Dictionaries):
    def __getitem__(self, row):
        return X[row] + torch.rand(6), Y[row]


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))


@pytest.fixture(scope="module")
def expected(model):
    held = ModuleProblem(model, X, Y, X[:5], Y[:5], range(10))
    [scores] = compute(held, [Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})])
    return scores.values


TRAIN = {
    "tensors": lambda: (X, Y), "arrays": lambda: (X.numpy(), Y.numpy()), "lists": lambda: [X.tolist(), Y.tolist()],
    "dataset": lambda: TensorDataset(X, Y), "subset": lambda: Subset(TensorDataset(X, Y), range(40)),
    "dictionaries": Dictionaries, "stream": Stream, "loader": lambda: DataLoader(TensorDataset(X, Y), batch_size=7),
    "shuffled loader": lambda: DataLoader(TensorDataset(X, Y), batch_size=7, shuffle=True),
    "frame": lambda: (pd.DataFrame(X.numpy()), pd.Series(Y.numpy())), "sparse": lambda: (X.to_sparse(), Y),
    "other byte order": lambda: (X.numpy().astype(">f4"), Y.numpy().astype(">i8")),
    "stream loader": lambda: DataLoader(Stream(), batch_size=9), "pairs": lambda: list(zip(X, Y, strict=True)),
}


@pytest.mark.parametrize("form", TRAIN)
def test_every_form_of_the_data_has_the_same_scores(form, model, expected):
    problem = wf.problem(model, TRAIN[form](), (X[:5], Y[:5]), candidates=range(10))
    np.testing.assert_allclose(wf.influence(problem, STEP).values, expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(("train", "options", "said"), [
    (lambda: DataLoader(TensorDataset(X, Y), sampler=RandomSampler(X, replacement=True)), {}, "more than once"),
    (Noisy, {}, "random transform"),
    (lambda: 3, {}, "give a pair of arrays"),
    (lambda: TensorDataset(X), {}, "pairs of an input and its label"),
    (lambda: (X, Y), {"candidates": torch.tensor([True, False])}, "nonzero"),
    (lambda: (X, Y), {"candidates": [0, 40]}, "among 0 to 39"),
    (lambda: (X, Y), {"candidates": [0.5]}, "whole numbers"),
    (lambda: (X, Y), {"parameters": "nothing"}, "nothing"),
    (lambda: (X, Y[:-1]), {}, "has 40 inputs and 39 labels"),
    (lambda: (X.to(torch.complex64), Y), {}, "complex numbers"),
    (lambda: (X[:, :4], Y), {}, r"shape \(4,\) and queries \(6,\)"),
    (lambda: (X, torch.where(Y == 0, -100, Y)), {}, "the label -100"),
    (lambda: [(X[row][:3 + row % 2], Y[row]) for row in range(40)], {}, "do not make one batch"),
    (lambda: [(nn.Identity(), 0)] * 4, {}, "do not make one batch"),
])
def test_what_does_not_fit_is_refused_in_a_sentence(train, options, said, model):
    with pytest.raises(wf.InvalidInput, match=said):
        wf.problem(model, train(), (X[:5], Y[:5]), **options)


class Outputs(NamedTuple):
    logits: torch.Tensor


class Odd(nn.Linear):
    def __init__(self, turn):
        super().__init__(6, 3)
        self.turn = turn

    def forward(self, x):
        return self.turn(super().forward(x))


@pytest.mark.parametrize(("made", "said"), [
    (lambda: Odd(torch.Tensor.detach), "no gradient with respect to the differentiated parameters"),
    (lambda: Odd(lambda logits: nn.functional.one_hot(logits.argmax(1), 3).float()), "no gradient"),
    (lambda: Odd(lambda logits: {"scores": logits}), "returns a dict"),
    (lambda: Odd(lambda logits: (logits, 1)), "returns a tuple"),
    (lambda: torch.jit.trace(nn.Linear(6, 3), X), "TopLevelTracedModule")])
@pytest.mark.filterwarnings("ignore")
def test_a_module_without_differentiable_logits_is_refused(made, said):
    with pytest.raises(wf.InvalidInput, match=said):
        wf.problem(made(), (X, Y), (X[:5], Y[:5]))


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("turn", [lambda logits: {"logits": logits, "loss": None}, Outputs])
def test_logits_are_taken_from_what_a_module_returns(turn, named):
    """As models of transformers return them; the module that was given still returns all of it."""
    module, plain = Odd(turn), nn.Linear(6, 3)
    plain.load_state_dict(module.state_dict())
    step = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.1))
    data = ({"x": X}, Y) if named else (X, Y)
    found = wf.influence(wf.problem(module, data, ({"x": X[:5]} if named else X[:5], Y[:5])), step).values
    np.testing.assert_array_equal(found, wf.influence(wf.problem(plain, (X, Y), (X[:5], Y[:5])), step).values)
    assert not isinstance(module(X), torch.Tensor)


def test_named_inputs_do_not_make_a_tuple_logits():
    with pytest.raises(wf.InvalidInput, match="returns a tuple"):
        wf.problem(Odd(lambda logits: (logits, 1)), ({"x": X}, Y), ({"x": X[:5]}, Y[:5]))


def test_softmax_regression_is_trained_to_its_optimum():
    problem = wf.problem("softmax", (X, Y), (X[:5], Y[:5]), l2=1e-2)
    removed = wf.influence(problem, wf.Specification("query_loss", wf.Remove(), wf.Reoptimize()))
    assert problem.convex and removed.converged.all() and removed.values.shape == (5, 40)


def test_a_folder_of_pictures_is_read_with_its_test_split(tmp_path):
    from PIL import Image

    rng = np.random.default_rng(0)
    for split, count in (("train", 6), ("test", 2)):
        for name in ("cat", "dog"):
            (tmp_path / split / name).mkdir(parents=True)
            for place in range(count):
                pixels = rng.integers(0, 255, (9, 9), dtype=np.uint8)
                Image.fromarray(pixels).save(tmp_path / split / name / f"{place}.png")
    problem = wf.problem(nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 2)), tmp_path, parameters="all")
    assert problem.n == 12 and len(problem.queries) == 4 and problem.x.shape[1:] == (1, 28, 28)
    with pytest.raises(wf.MissingData, match="check the path"):
        wf.problem("softmax", tmp_path / "gone", (X, Y))


def test_a_recording_answers_what_needs_the_training(tmp_path):
    torch.manual_seed(0)
    own = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(own.parameters(), lr=0.1)
    recorder = wf.Recorder(tmp_path / "run", own, optimizer, every=4)
    for rows in torch.randperm(40).split(10):
        recorder.batch(X[rows], Y[rows])
        optimizer.zero_grad()
        nn.functional.cross_entropy(own(X[rows]), Y[rows]).backward()
        optimizer.step()
    recorder.close()
    problem = wf.problem(nn.Linear(6, 3), (X, Y), (X[:3], Y[:3]), candidates=range(4), recording=tmp_path / "run")
    replayed = wf.Specification("query_loss", wf.Infinitesimal(), wf.Replay())
    raised = wf.Specification("query_loss", wf.Upweight(alpha=1e-4), wf.Retrain(seeds=1))
    rate, change = wf.influence(problem, [replayed, raised])
    np.testing.assert_allclose(change.values, 1e-4 * rate.values, rtol=0.02, atol=1e-2 * np.abs(change.values).max())


def test_queries_of_a_file_are_all_asked_about_with_the_classes_of_the_training_data(tmp_path):
    rows = [(a, b, "xyz"[(a + b) % 3]) for a in range(6) for b in range(4)]
    for name, own in {"train": rows, "queries": [(9.0, 1.0, "z"), (2.0, 9.0, "y"), (3.0, 3.0, "z")]}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(["a,b,label", *(",".join(map(str, row)) for row in own)]))
    problem = wf.problem("softmax", tmp_path / "train.csv", tmp_path / "queries.csv")
    assert (problem.n, problem.query_labels.tolist()) == (24, [2, 1, 2])  # nothing is held out of either
    assert problem.y.tolist() == ["xyz".index(label) for *_, label in rows]
    spread = float(problem.x[:, 0].max() - problem.x[:, 0].min())
    assert (problem.queries[:, 0] - problem.queries[2, 0]).tolist() == pytest.approx(
        [6 / 5 * spread, -1 / 5 * spread, 0.0])  # one scale for both
    with pytest.raises(InvalidInput, match="queries are a path, but the training data are not"):
        wf.problem("softmax", (X, Y), tmp_path / "queries.csv")
    (tmp_path / "other.csv").write_text("a,b,label\n1,2,w")
    with pytest.raises(InvalidInput, match="class `w`, which the training data do not have"):
        wf.problem("softmax", tmp_path / "train.csv", tmp_path / "other.csv")
