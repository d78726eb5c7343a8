"""A network on the command line: its scores are those of the library, and what does not fit is said in a sentence."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from engine.cli import main
from engine.problems import ModuleProblem
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

N, SHAPE, CLASSES, QUERIES = 18, (1, 4, 4), 3, 4
STEP = {"behavior": "query_loss", "intervention": {"kind": "add_occurrence"},
        "process": {"kind": "one_step", "eta": 0.1}}
TRAJECTORY = {**STEP, "process": {"kind": "trajectory", "eta": 0.1, "checkpoints": 2}, "estimator": "first_order"}
OWN_MODEL = '''
from torch import nn


def tiny(shape, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 5), nn.Tanh(), nn.Linear(5, classes))


def nothing(shape, classes):
    return "not a module"
'''


def tiny():
    torch.manual_seed(3)
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 5), nn.Tanh(), nn.Linear(5, CLASSES))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    arrays = {"x_train": rng.normal(size=(N, 16)), "y_train": np.arange(N) % CLASSES,
              "x_query": rng.normal(size=(QUERIES, 16)), "y_query": np.arange(QUERIES) % CLASSES,
              "candidates": np.array([4, 1, 9])}
    np.savez(tmp_path / "problem.npz", **arrays)
    (tmp_path / "spec.json").write_text(json.dumps(STEP))
    (tmp_path / "own_models.py").write_text(OWN_MODEL)
    save_file(tiny().state_dict(), tmp_path / "weights.safetensors")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    return tmp_path


def influence(*options):
    return main(["influence", "--data", "problem.npz", "--spec", "spec.json", "--out", "scores.npz", *options])


def expected(folder, spec=STEP, **options):
    with np.load(folder / "problem.npz") as arrays:
        x, q = (arrays[name].reshape(-1, *SHAPE).astype("float32") for name in ("x_train", "x_query"))
        problem = ModuleProblem(tiny(), x, arrays["y_train"], q, arrays["y_query"], arrays["candidates"], l2=1e-4,
                                **options)
    problem.keep_checkpoints([(tiny().state_dict(), 1.0), (tiny().state_dict(), 1.0)])
    return compute(problem, Scoring.parse(spec))[0].values


def test_scores_of_a_network_of_ones_own(folder):
    assert influence("--model", "own_models:tiny", "--checkpoint", "weights.safetensors", "--shape", "1,4,4") == 0
    with np.load("scores.npz") as found:
        np.testing.assert_allclose(found["scores"], expected(folder), rtol=1e-5, atol=1e-7)
        assert found["candidates"].tolist() == [4, 1, 9]
    manifest = json.loads((folder / "scores.json").read_text())
    assert manifest["sizes"]["parameters"] == 16 * 5 + 5 + 5 * 3 + 3 and manifest["factual_gradient_norm"] > 0
    assert "--model own_models:tiny --checkpoint weights.safetensors --shape 1,4,4" in manifest["command"]


def test_selected_parameters_and_earlier_weights(folder):
    (folder / "spec.json").write_text(json.dumps(TRAJECTORY))
    assert influence("--model", "own_models:tiny", "--checkpoint", "weights.safetensors", "--parameters", "last_layer",
                     "--trajectory", "weights.safetensors", "--trajectory", "weights.safetensors") == 0
    with np.load("scores.npz") as found:
        np.testing.assert_allclose(found["scores"], expected(folder, TRAJECTORY, parameters="last_layer"), rtol=1e-4,
                                   atol=1e-7)


OWN = ["--model", "own_models:tiny", "--checkpoint", "weights.safetensors"]
RETRAIN = {"behavior": "query_loss", "intervention": {"kind": "remove"}, "process": {"kind": "retrain"}}


def test_given_weights_are_not_retrained_by_a_recipe_that_nobody_gave(folder, capsys):
    (folder / "spec.json").write_text(json.dumps(RETRAIN))
    assert influence(*OWN) == 2
    assert "unknown how this model was trained" in (said := capsys.readouterr().err) and "--recipe" in said
    assert not (folder / "scores.npz").exists()
    (folder / "specs.json").write_text(json.dumps([{"name": "step", "spec": STEP}]))
    assert main(["datamodel", "--data", "problem.npz", "--specs", "specs.json", "--out", "lds.csv", *OWN]) == 2
    assert "--recipe" in capsys.readouterr().err


def test_a_recipe_is_in_the_manifest_and_in_the_question(folder, capsys):
    (folder / "spec.json").write_text(json.dumps(RETRAIN))
    (folder / "recipe.json").write_text(json.dumps({"epochs": 2, "batch_size": 6, "learning_rate": 0.02}))
    assert influence(*OWN, "--recipe", "recipe.json") == 0, capsys.readouterr().err
    first = json.loads((folder / "scores.json").read_text())
    assert first["recipe"] == {**first["recipe"], "epochs": 2, "batch_size": 6, "weight_decay": 1e-4}
    assert "2 epochs" in first["question"] and "--recipe recipe.json" in first["command"]
    (folder / "recipe.json").write_text(json.dumps({"epochs": 3, "batch_size": 6, "learning_rate": 0.02}))
    assert influence(*OWN, "--recipe", "recipe.json") == 0
    assert json.loads((folder / "scores.json").read_text())["data"] != first["data"]


def test_a_recipe_with_another_penalty_is_refused(folder, capsys):
    (folder / "recipe.json").write_text(json.dumps({"epochs": 2, "batch_size": 6, "learning_rate": 0.02,
                                                    "weight_decay": 0.5}))
    assert influence(*OWN, "--recipe", "recipe.json", "--l2", "0.0001") == 2
    assert "weight_decay is 0.5 and --l2 is 0.0001" in capsys.readouterr().err
    (folder / "spec.json").write_text(json.dumps(STEP))
    assert influence(*OWN, "--recipe", "recipe.json") == 0
    assert json.loads((folder / "scores.json").read_text())["recipe"]["weight_decay"] == 0.5


def test_an_indefinite_hessian_is_told(folder, capsys):
    (folder / "spec.json").write_text(json.dumps({"behavior": "query_loss", "intervention": {"kind": "infinitesimal"},
                                                  "process": {"kind": "local_response", "damping": 1e-3}}))
    assert influence(*OWN) == 0
    assert "not a minimum of that objective" in capsys.readouterr().err
    assert json.loads((folder / "scores.json").read_text())["convergence"]["negative_curvature"] == 1


def test_without_weights_it_is_trained_once(folder):
    assert influence("--model", "mlp") == 0
    assert json.loads((folder / "scores.json").read_text())["passes"] == ["float32"]
    kept = list((folder / "home" / "models").glob("*.safetensors"))
    with np.load("scores.npz") as found:
        first = found["scores"]
    assert len(kept) == 1 and influence("--model", "mlp") == 0
    with np.load("scores.npz") as found:
        np.testing.assert_array_equal(found["scores"], first)
    assert list((folder / "home" / "models").glob("*.safetensors")) == kept


@pytest.mark.parametrize(("options", "sentence"), [
    (["--checkpoint", "weights.safetensors"], "apply to a network; name it with --model"),
    (["--model", "mlp", "--intercept"], "--intercept applies to softmax regression"),
    (["--model", "restnet18"], "There is no model `restnet18`; did you mean `resnet18`?"),
    (["--model", "cnn"], "needs images of at least 4 × 4 pixels"),
    (["--model", "mlp", "--shape", "1,5,4"], "does not hold the 16 features"),
    (["--model", "mlp", "--shape", "a,b"], "write channels, height and width"),
    (["--model", "mlp", "--checkpoint", "weights.safetensors"], "does not fit the model"),
    (["--model", "mlp", "--checkpoint", "absent.pt"], "There is no checkpoint `absent.pt`"),
    (["--model", "no_such_module:build"], "The model `no_such_module:build` cannot be imported"),
    (["--model", "own_models:nothing"], "let own_models:nothing return a torch module"),
    (["--model", "mlp", "--parameters", "^nothing$"], "No parameter's name matches `^nothing$`"),
])
def test_what_does_not_fit_is_said_and_nothing_is_written(folder, capsys, options, sentence):
    assert influence(*options) == 2
    said = capsys.readouterr().err
    assert sentence in said and "Unexpected error" not in said
    assert not (folder / "scores.npz").exists() and not (folder / "scores.json").exists()


def test_an_exact_local_response_of_a_large_network_is_refused(folder, capsys):
    (folder / "spec.json").write_text(json.dumps({"behavior": "query_loss", "intervention": {"kind": "infinitesimal"},
                                                  "process": {"kind": "local_response"}}))
    with np.load("problem.npz") as arrays:
        np.savez("problem.npz", **{**arrays, "x_train": np.tile(arrays["x_train"], 4),
                                   "x_query": np.tile(arrays["x_query"], 4)})
    assert influence("--model", "mlp") == 2
    assert "select at most 4,000 of them, or use the estimator `cg`" in capsys.readouterr().err


def test_the_precision_of_differences_is_chosen_recorded_and_its_limits_are_said(folder, capsys):
    """float64 where nothing is said; in float32 what a step of 1e-3 leaves of six digits is flagged."""
    (folder / "spec.json").write_text(json.dumps({**STEP, "process": {"kind": "one_step", "eta": 1e-3}}))
    network = ("--model", "own_models:tiny", "--checkpoint", "weights.safetensors", "--shape", "1,4,4")
    assert influence(*network) == 0
    manifest = json.loads((folder / "scores.json").read_text())
    assert manifest["resolution"] == {"precision": "float64", "relative_error": 1e-6, "below": 0, "of": 12,
                                      "no_error_bound": 0}
    assert [line for line in capsys.readouterr().err.splitlines() if "converted to float32" not in line] == []
    exact = np.load(folder / "scores.npz")["scores"]
    assert influence(*network, "--precision", "float32") == 0
    manifest = json.loads((folder / "scores.json").read_text())
    with np.load(folder / "scores.npz") as written:
        off = np.abs(written["scores"] - exact) > 1e-6 * np.abs(exact)
        assert not (off & written["resolved"]).any()
        assert manifest["resolution"]["below"] == (~written["resolved"]).sum() > 0
        np.testing.assert_array_equal(written["resolved"], written["error"] <= 1e-6 * np.abs(written["scores"]))
    assert "flagged as below resolution, they stay in the ranking" in capsys.readouterr().err
    assert "--precision float32" in manifest["command"]
    assert influence(*network, "--precision", "half") == 2
    assert "--precision is `half`; give auto, float32 or float64." in capsys.readouterr().err


def test_rounded_inputs_are_said_and_written(folder, capsys):
    """The npz holds float64, a network float32: by how much a value moves stands on stderr and in the manifest."""
    assert influence("--model", "own_models:tiny", "--shape", "1,4,4", "--checkpoint", "weights.safetensors") == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "converted to float32" in line]
    assert len(said) == 1 and "inputs are float64" in said[0] and "6e-08 of its value" in said[0]
    assert json.loads((folder / "scores.json").read_text())["rounded"] == said
    with np.load("problem.npz") as arrays:
        narrow = {name: arrays[name].astype(np.float32) for name in ("x_train", "x_query")}
        np.savez("problem.npz", **{**arrays, **narrow})
    assert influence("--model", "own_models:tiny", "--shape", "1,4,4", "--checkpoint", "weights.safetensors") == 0
    assert "converted to float32" not in capsys.readouterr().err
    assert "rounded" not in json.loads((folder / "scores.json").read_text())
