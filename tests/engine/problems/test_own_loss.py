"""A model with a loss of the user's own, named where the program starts: arrays and tables with targets."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.func import functional_call

import whichfluence as wf
from engine import data
from engine.analysis.datamodels import retrain, subsets
from engine.basics.errors import InvalidInput
from engine.cli import main
from engine.models.own_architecture import declared
from engine.problems.own_model import declare
from engine.problems.source import ProblemSource
from engine.scoring import controlled
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.models.test_own_architecture import folder  # noqa: F401

SOURCE = '''
from torch import nn


def make(shape, numbers):
    return nn.Sequential(nn.Linear(shape[0], 6), nn.Tanh(), nn.Linear(6, numbers))


def loss(outputs, targets):
    return (outputs - targets.reshape(outputs.shape)).square().sum(1)


def mean(outputs, targets):
    return (outputs - targets.reshape(outputs.shape)).square().mean()
'''
STEP = controlled.step_scoring("query_loss", 0.1)


@pytest.fixture
def files(folder, monkeypatch):  # noqa: F811
    """`regressing.py` with arrays, a table and weights for it."""
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(folder / "home"))
    (folder / "regressing.py").write_text(SOURCE)
    rng, weights = np.random.default_rng(0), np.random.default_rng(1)
    x = rng.normal(size=(50, 4))
    t = x @ weights.normal(size=(4, 2))
    np.savez(folder / "data.npz", x_train=x[:40], y_train=t[:40], x_query=x[40:], y_query=t[40:])
    pd.DataFrame({**{f"f{at}": x[:, at] for at in range(4)}, "price": t[:, 0], "rent": t[:, 1],
                  "split": ["train"] * 40 + ["test"] * 10}).to_csv(folder / "data.csv", index=False)
    torch.manual_seed(0)
    torch.save(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).state_dict(), folder / "w.pt")
    yield folder
    sys.modules.pop("regressing", None)


def named(files, data="data.npz", loss="loss", **more):
    return list(declare(model=f"{files}/regressing.py:make", loss=f"{files}/regressing.py:{loss}", data=files / data,
                        **more))


def stepped(files, x, t, queries, of_queries):
    """−loss after a step on each example minus before, by plain torch in float64."""
    module = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    module.load_state_dict(torch.load(files / "w.pt"))
    x, t, queries, of_queries = (torch.as_tensor(one, dtype=torch.float64) for one in (x, t, queries, of_queries))
    theta = {name: value.detach() for name, value in module.double().named_parameters()}

    def losses(values, inputs, wanted):
        return (functional_call(module, values, (inputs,)) - wanted).square().sum(1)

    before, columns = losses(theta, queries, of_queries), []
    for row in range(len(x)):
        slopes = torch.func.grad(lambda values, row=row: losses(values, x[row:row + 1], t[row:row + 1]).sum())(theta)
        moved = {name: theta[name] - 0.1 * slope for name, slope in slopes.items()}
        columns.append(before - losses(moved, queries, of_queries))
    return torch.stack(columns, 1).numpy()


def test_a_source_has_the_answers_of_plain_torch(files):
    said = named(files, checkpoint=files / "w.pt")
    assert said[0] == "Data: 40 examples with targets to train on, 10 to ask about."
    own = declared()
    assert own.loss == "regressing:loss"
    built = ProblemSource(dataset=own.data, model=own.name, weights=own.weights).build()
    assert built.problem.kind == built.source.kind == "targets" and built.test_accuracy() is None
    arrays, at = np.load(files / "data.npz"), built.sample
    right = stepped(files, arrays["x_train"][at.train_index], arrays["y_train"][at.train_index],
                    arrays["x_query"][at.query_index], arrays["y_query"][at.query_index])
    scores = compute(built.problem, [STEP])[0]
    assert scores.values == pytest.approx(right[:, scores.candidates], rel=1e-5, abs=1e-6)
    shown = [float(one) for one in built.dataset.class_names[at.y_query[0]].split(", ")]
    assert shown == pytest.approx(arrays["y_query"][at.query_index[0]], rel=1e-3)


def test_columns_of_a_table_are_targets(files):
    said = named(files, "data.csv", read={"label": "price,rent"})
    assert "The targets are the columns `price` and `rent`." in said
    dataset, arrays = data.load(declared().data), np.load(files / "data.npz")
    assert dataset.targets[dataset.y_train] == pytest.approx(arrays["y_train"]) and dataset.n_features == 4
    assert (dataset.noun, dataset.n_outputs) == ("target", 2)


def test_one_column_is_a_target_of_one_number(files):
    frame = pd.read_csv(files / "data.csv").drop(columns=["rent", "split"])
    frame.to_csv(files / "one.csv", index=False)
    named(files, "one.csv", read={"label": "price"})
    dataset = data.load(declared().data)
    assert dataset.targets.ndim == 1 and dataset.n_outputs == 1 and dataset.test_from_train
    assert sorted(np.concatenate([dataset.targets[dataset.y_train], dataset.targets[dataset.y_test]])) == pytest.approx(
        sorted(frame["price"]))


@pytest.mark.parametrize(("changed", "said"), [
    ({"loss": "nothing"}, "loss `regressing:nothing` cannot be imported"),
    ({"loss": "mean"}, r"returns shape \(\)"),
    ({"data": "data.csv", "read": {"label": "price,rant"}}, "no column `rant`"),
    ({"data": "data.csv", "read": {"label": "split"}}, "holds `train` in row 0")])
def test_what_does_not_fit_is_said_before_anything_starts(files, changed, said):
    with pytest.raises(InvalidInput, match=said):
        named(files, **changed)
        own = declared()
        ProblemSource(dataset=own.data, model=own.name).build()


def test_a_loss_belongs_to_a_model_of_ones_own(files):
    with pytest.raises(InvalidInput, match="belongs to a model of your own"):
        list(declare(model="mlp", loss=f"{files}/regressing.py:loss", data=files / "data.npz"))


def test_a_recorded_training_is_replayed(files):
    """By its folder in place of weights, as the pages take it."""
    arrays, module = np.load(files / "data.npz"), nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    x, t = (torch.tensor(arrays[name], dtype=torch.float32) for name in ("x_train", "y_train"))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    with wf.Recorder(files / "run", module, optimizer) as recorder:
        for rows in torch.randperm(40).split(10):
            recorder.batch(x[rows], t[rows])
            optimizer.zero_grad()
            (module(x[rows]) - t[rows]).square().sum(1).mean().backward()
            optimizer.step()
    named(files, checkpoint=files / "run")
    own = declared()
    problem = ProblemSource(dataset=own.data, model=own.name, weights=own.weights).build().problem
    replayed = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "replay"})
    assert np.isfinite(compute(problem, [replayed])[0].values).all()


def test_models_on_subsets_are_refused(files):
    named(files)
    own = declared()
    problem = ProblemSource(dataset=own.data, model=own.name).build().problem
    with pytest.raises(InvalidInput, match="this network is trained on targets"):
        retrain(problem, subsets(len(problem.candidates), 3))


def test_other_models_and_data_do_not_fit_it(files):
    named(files)
    own = declared()
    with pytest.raises(InvalidInput, match="is trained on classes"):
        ProblemSource(dataset=own.data, model="softmax").build()
    with pytest.raises(InvalidInput, match="has classes"):
        ProblemSource(dataset="digits", model=own.name).build()


def test_commands_take_it(files, capsys):
    (files / "spec.json").write_text(json.dumps(STEP.model_dump(mode="json")))
    own = ["--model", f"{files}/regressing.py:make", "--loss", f"{files}/regressing.py:loss", "--device", "cpu",
           "--checkpoint", str(files / "w.pt"), "--data", str(files / "data.npz")]
    assert main(["influence", *own, "--spec", str(files / "spec.json"), "--out", str(files / "a.npz")]) == 0
    arrays, written = np.load(files / "data.npz"), np.load(files / "a.npz")
    right = stepped(files, arrays["x_train"], arrays["y_train"], arrays["x_query"], arrays["y_query"])
    assert written["scores"] == pytest.approx(right[:, written["candidates"]], rel=1e-5, abs=1e-6)
    (files / "margin.json").write_text((files / "spec.json").read_text().replace("query_loss", "soft_margin"))
    assert main(["influence", *own, "--spec", str(files / "margin.json"), "--out", str(files / "b.npz")]) == 2
    assert "is read off class logits, and this network is trained on targets" in capsys.readouterr().err
