"""What a recorded training answers: the scores of the user's own loop, computed from it directly."""

import io
import json
import zipfile

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from engine.analysis.groups import effects, group_effect
from engine.analysis.run_errors import RunErrorsRequest
from engine.basics.errors import InvalidInput, MissingData
from engine.basics.noted import noting
from engine.cli import main
from engine.models.recorded import open_recording, stored_recordings
from engine.problems import ModuleProblem, ProblemSource
from engine.problems.families.network import of_recording
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.models.recorded.loops import MODELS, N, X, Y, flat, trained

REPLAY = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "replay"})
REMOVED = Scoring.of("query_loss", {"kind": "remove", "normalization": "n"}, {"kind": "retrain"})
TRACIN = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "trajectory", "eta": 1.0, "checkpoints": 3},
                    "first_order")
QUERIES, CANDIDATES = 5, [2, 7]


def behavior(module, x):
    with torch.no_grad():
        return -cross_entropy(module.eval()(x[:QUERIES] + 0.1), Y[:QUERIES], reduction="none")


def problem_of(folder, x, model):
    made = open_recording(folder)

    def problem(module, recipe, **rest):
        return ModuleProblem(module, x, Y, x[:QUERIES] + 0.1, Y[:QUERIES], CANDIDATES, recipe=recipe, **rest)

    return of_recording(made, lambda: MODELS[model]().to(x.dtype), x.numpy(), Y.numpy(), problem)


@pytest.mark.parametrize(("model", "optimizer"), [("softmax", "momentum"), ("mlp", "AdamW"), ("cnn", "Adam")])
def test_replay_is_the_derivative_of_the_users_own_loop(tmp_path, model, optimizer):
    x = X.double()
    trained(model, optimizer, tmp_path / "run", x)
    problem = problem_of(tmp_path / "run", x, model)
    assert problem.precision == "float64"
    assert problem.l2 == {"momentum": 1e-2, "Adam": 1e-2, "AdamW": 0.0}[optimizer]  # whose decay is no gradient
    found = compute(problem, REPLAY)[0].values
    for place, row in enumerate(CANDIDATES):
        ends = []
        for change in (1e-5, -1e-5):
            weights = torch.ones(N, dtype=torch.float64)
            weights[row] += change
            ends.append(behavior(trained(model, optimizer, x=x, weights=weights), x))
        expected = N * (ends[0] - ends[1]) / 2e-5
        np.testing.assert_allclose(found[:, place], expected, rtol=2e-4, atol=1e-6 * float(expected.abs().max()))


@pytest.mark.parametrize(("optimizer", "adam"), [
    ("AdamW", True), pytest.param("momentum", False, marks=pytest.mark.slow)])
def test_what_approximates_the_users_own_loop_is_split_by_cause(tmp_path, optimizer, adam):
    trained("mlp", optimizer, tmp_path / "run", X)
    problem = problem_of(tmp_path / "run", X, "mlp")
    found = RunErrorsRequest(behavior="query_loss").run(problem)
    methods = {"source", "dvemb", "tracin_run"}
    assert set(found.methods["estimator"]) == (methods if adam else {*methods, "in_run_shapley"})
    assert found.causes["cause"].tolist()[:2] == (["scale", "lag"] if adam else ["batches", "segments and flow"])
    assert found.causes["so_far"].iloc[-1] == pytest.approx(found.methods.set_index("estimator").loc["source", "error"])
    assert ("Adam's ε" in [knob.name for knob in problem.recipe.knobs]) == adam


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers") / "run"
    return folder, trained("cnn", "momentum", folder)


def test_tracin_and_retraining_are_those_of_the_users_own_loop(recorded):
    folder, _ = recorded
    problem = problem_of(folder, X, "cnn")
    tracin, removed = (one.values for one in compute(problem, [TRACIN, REMOVED]))
    weights = torch.ones(N)
    weights[7] = 0.0
    expected = behavior(trained("cnn", "momentum", weights=weights), X) - behavior(trained("cnn", "momentum"), X)
    np.testing.assert_allclose(removed[:, 1], expected, atol=2e-5)
    run = open_recording(folder)
    states, total = run.checkpoints(), torch.zeros(QUERIES, len(CANDIDATES))
    top = max(rate for _, rate in states)
    for state, rate in states:
        module = MODELS["cnn"]()
        module.load_state_dict(state)

        def gradient(x, y, module=module):
            loss = cross_entropy(module(x[None]), y[None])
            return torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(module.parameters()))])

        own = torch.stack([gradient(X[row], Y[row]) for row in CANDIDATES])
        total += rate / top * torch.stack([gradient(X[row] + 0.1, Y[row]) for row in range(QUERIES)]) @ own.T
    np.testing.assert_allclose(tracin, total, rtol=1e-4, atol=1e-7)


def test_a_group_is_left_out_of_the_users_own_loop(recorded):
    weights = torch.ones(N)
    weights[CANDIDATES] = 0.0
    found = effects(problem_of(recorded[0], X, "cnn"), REMOVED, [torch.tensor(CANDIDATES)])[:, 0]
    expected = behavior(trained("cnn", "momentum", weights=weights), X) - behavior(trained("cnn", "momentum"), X)
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_a_run_that_ends_elsewhere_is_not_taken_for_the_recorded_one(tmp_path):
    trained(folder=tmp_path / "run", loss=lambda logits, y: 3 * cross_entropy(logits, y, label_smoothing=0.3))
    problem = problem_of(tmp_path / "run", X, "mlp")
    for scoring in (REPLAY, REMOVED):
        with pytest.raises(InvalidInput, match="ends .* of its path length away from where it ended.*engine recording"):
            compute(problem, scoring)
    with pytest.raises(InvalidInput, match="so it is a different run"):
        group_effect(problem, REMOVED, [2, 7])
    assert compute(problem, TRACIN)[0].values.shape == (QUERIES, 2)


def test_a_run_that_rounding_alone_leads_elsewhere_answers_and_says_how_far(recorded, monkeypatch):
    """It replays bit for bit in its own precision, however far a training in float64 ends from it."""
    monkeypatch.setattr("engine.models.recorded.recipe.FAR", -1.0)
    for scoring in (REPLAY, REMOVED):
        with noting() as told:
            compute(problem_of(recorded[0], X, "cnn"), scoring)
        assert any("by rounding alone" in one and "replays within 0 of its length" in one for one in told)


SOURCE = {"dataset": "digits", "model": "mlp", "n_train": 40, "n_test": 20, "n_queries": 4, "n_candidates": 3}


@pytest.fixture(scope="module")
def of_digits(tmp_path_factory):
    """The folder of a run on the digits that a source draws, by the network that it names."""
    source, folder = ProblemSource(**SOURCE), tmp_path_factory.mktemp("digits")
    x, y = source.draw()[1].x_train.astype("float32").reshape(-1, 1, 8, 8), torch.tensor(source.draw()[1].y_train)
    MODELS["digits"] = source.build_module
    try:
        trained("digits", "momentum", folder / "run", torch.tensor(x), y)
    finally:
        del MODELS["digits"]
    return folder / "run"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def packed(folder):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"run/{path.name}")
    buffer.seek(0)
    return buffer


def test_a_zip_is_kept_and_its_source_is_trained(of_digits, home):
    name = stored_recordings.keep_zip(packed(of_digits))
    assert name == stored_recordings.keep(of_digits) and stored_recordings.is_recording(name)
    assert stored_recordings.content(name) == name
    with pytest.raises(InvalidInput, match="of a different model"):
        stored_recordings.keep_zip(packed(of_digits), MODELS["cnn"])
    source = ProblemSource(**SOURCE, weights=name)
    assert source.is_trained
    problem = source.build().problem
    assert compute(problem, REPLAY)[0].values.shape == (4, 3) and len(problem.checkpoints) == 3
    others = source.model_copy(update={"seed": 5}).build().problem
    with pytest.raises(InvalidInput, match="is not in the data given"):
        compute(others, REPLAY)


@pytest.mark.parametrize("content", [b"nothing", b""])
def test_other_zips_are_refused(home, content):
    with pytest.raises(InvalidInput):
        stored_recordings.keep_zip(io.BytesIO(content))
    with pytest.raises(InvalidInput, match="0 files `recording.json`"):
        stored_recordings.keep_zip(packed(home))
    with pytest.raises(MissingData, match="no longer on this machine"):
        stored_recordings.load("run-0123456789abcdef")


def test_the_command_line_opens_a_folder(of_digits, home, capsys):
    (home / "problem.json").write_text(json.dumps(SOURCE))
    (home / "spec.json").write_text(REPLAY.model_dump_json())
    given = ["--data", "problem.json", "--trajectory", str(of_digits)]
    assert main(["recording", *given]) == 0 and "replays bit for bit" in capsys.readouterr().out
    assert main(["influence", *given, "--spec", "spec.json", "--out", "scores.npz"]) == 0
    sample = ProblemSource(**SOURCE).draw()[1]
    np.savez("problem.npz", x_train=sample.x_train, y_train=sample.y_train, x_query=sample.x_query,
             y_query=sample.y_query, candidates=sample.candidates)
    assert main(["influence", "--data", "problem.npz", "--model", "mlp", "--shape", "1,8,8", "--trajectory",
                 str(of_digits), "--spec", "spec.json", "--out", "others.npz"]) == 0
    with np.load("scores.npz") as named, np.load("others.npz") as arrays:
        np.testing.assert_allclose(named["scores"], arrays["scores"], rtol=1e-4, atol=1e-6)
    assert main(["influence", "--data", "problem.npz", "--model", "mlp", "--shape", "1,8,8", "--trajectory",
                 str(of_digits), "--spec", "spec.json", "--out", "no.npz", "--l2", "0.1"]) == 2
    assert "its own weight decay" in capsys.readouterr().err
    recipe = json.loads((home / "scores.json").read_text())["recipe"]
    assert recipe["recording"] == open_recording(of_digits).digest


@pytest.mark.parametrize(("model", "options", "told"), [
    ("softmax", ["--trajectory", "run"], "names `softmax`"), ("softmax", [], "no recorded training to check"),
    ("mlp", ["--trajectory", "run", "--checkpoint", "x"], "leave out --checkpoint"),
    ("mlp", ["--trajectory", "empty"], "holds no `recording.json`")])
def test_refusals(of_digits, home, capsys, model, options, told):
    (home / "problem.json").write_text(json.dumps({**SOURCE, "model": model}))
    (home / "empty").mkdir()
    (home / "run").symlink_to(of_digits)
    assert main(["recording", "--data", "problem.json", *options]) == 2 and told in capsys.readouterr().err


def test_the_module_at_the_end_is_the_users(recorded):
    folder, module = recorded
    assert torch.equal(problem_of(folder, X, "cnn").theta, flat(module))
