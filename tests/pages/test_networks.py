"""The pages on a network: it is trained by a job, its scores come live or by a job, and every page shows them."""

import io
import re

import pytest
import torch

from app.examples import panel as example_panel
from app.widgets.jobs.desk import desk
from engine.analysis.error_curves import ALPHAS, ETAS, alpha_scorings, differentiable, eta_scorings, solvers
from engine.desk.presets import CONVEX, NETWORKS
from engine.jobs import run_job
from engine.models import own_weights
from engine.models.recorded import Recorder, stored_recordings
from engine.problems import ModuleProblem, ProblemSource
from engine.requests.scores import ScoresRequest
from engine.requests.training import TrainingRequest
from engine.scoring import codes, controlled
from tests.engine.requests_for_tests import scores_payload, training_payload
from tests.pages import support
from tests.pages.support import open, queued, says, scored, sound, texts

SMALL = {"data": "digits", "model": "mlp", "train": 60, "queries": 12, "candidates": 6, "nseeds": 1}
SOURCE = ProblemSource(model="mlp", n_train=60, n_queries=12, n_test=500)
STEP, MARGIN = (controlled.step_scoring(name, 0.1) for name in ("query_loss", "hard_margin"))


@pytest.fixture(autouse=True)
def own_home(home, monkeypatch):
    support.forget()


@pytest.fixture
def trained():
    run_job(TrainingRequest.name, training_payload(SOURCE))
    assert SOURCE.is_trained


@pytest.mark.parametrize(("page", "title"), [
    ("compare", "Training two-layer network on Handwritten digits"),
    ("examples", "Training two-layer network on Handwritten digits"),
    ("approximation_error", "Error curves over η on Handwritten digits, two-layer network, seed 0, 60 candidates")])
def test_an_untrained_network_is_trained_by_a_job_that_can_be_cancelled(page, title):
    at = sound(open(page, s=[codes.encode(STEP), codes.encode(MARGIN)], draws=1, settle=False, **SMALL))
    assert says(at, title) and queued() == [title]
    assert any(button.label == "Cancel" for button in at.button)


def test_model_and_parameters_stand_in_the_sidebar_and_in_the_address():
    at = sound(open("home", settle=False, **SMALL))
    assert at.selectbox(key="choice:model").value == "mlp"
    at.selectbox(key="choice:parameters").set_value("last_layer").run()
    assert at.query_params["parameters"] in ("last_layer", ["last_layer"])
    at.selectbox(key="choice:model").set_value("softmax").run()
    assert not [box for box in at.selectbox if box.key == "choice:parameters"]


def test_weights_that_are_gone_are_trained_again_here(trained, home):
    desk().jobs.queue.submit(TrainingRequest.name, training_payload(SOURCE))
    for file in (home / "models").iterdir():
        file.unlink()
    at = open("compare", s=[codes.encode(STEP), codes.encode(MARGIN)], **SMALL)
    assert says(sound(at), "Heatmap") or len(at.dataframe) >= 1


def test_compare_answers_a_preset_of_networks(trained):
    preset = NETWORKS["vary-b"]
    at = sound(open("compare", s=[codes.encode(scoring) for scoring in preset.scorings], **SMALL))
    assert says(at, "Different question") and says(at, "60 training examples")


def test_the_derivative_of_a_training_stands_beside_the_training_itself(trained):
    at = open("compare", s=[codes.encode(scoring) for scoring in NETWORKS["training"].scorings], pair="1-2", **SMALL)
    at = scored(at)
    assert says(at, "Different question")
    assert says(at, "rate of the log-likelihood (minus the query loss) in nats by the weight α")
    tau = next(float(metric.value) for metric in at.metric if metric.label.startswith("Kendall"))
    assert tau > 0.7  # the sixtieth part of the data does nearly what the derivative promises


def test_a_preset_of_softmax_regression_becomes_that_of_networks():
    first = CONVEX["first"]
    at = open("compare", s=[codes.encode(scoring) for scoring in first.scorings], settle=False, **SMALL)
    assert sound(at).query_params["s"] == [codes.encode(scoring) for scoring in NETWORKS["first"].scorings]


def test_what_does_not_fit_a_network_is_a_sentence(trained):
    too_large = codes.encode(controlled.response_scoring("query_loss", 0.0))
    at = open("compare", s=[codes.encode(STEP), too_large], **SMALL)
    assert any("select at most 4,000" in error.value for error in sound(at).error)


def test_long_answers_come_from_the_queue(trained, monkeypatch):
    monkeypatch.setattr(ModuleProblem, "live_seconds", 0.0)
    listed = [codes.encode(STEP), codes.encode(controlled.damped_upweighting("query_loss", 1e-3))]
    at = open("compare", s=listed, **SMALL)
    assert any("Handwritten digits, two-layer network, 6 candidates" in title for title in queued())
    at = scored(at)
    assert says(at, "Exact: 20 iterations for every candidate; gradient norm at most")


def test_commands_name_the_network(trained):
    at = sound(open("compare", s=[codes.encode(STEP), codes.encode(MARGIN)], **SMALL))
    commands = next(code.value for code in at.code if "engine compare" in code.value)
    assert '"model":"mlp"' in commands and "--data problem.json" in commands and "export-problem" not in commands


def test_examples_with_the_parts_of_a_score(trained):
    at = sound(open("examples", s=[codes.encode(STEP)], **SMALL))
    row = next(button for button in at.button if button.key.startswith("open:top:0:")).key.rpartition(":")[2]
    at = sound(open("examples", s=[codes.encode(STEP)], example=row, **SMALL))
    assert all(says(at, title) for title in ("Behavior signal", "Kernel K", "Training signal"))
    said = next(text for text in texts(at) if "K · s_ℓ" in text)
    product, exact = (float(number.replace("−", "-")) for number in re.findall(r"\*\*([^*]+)\*\*", said))
    assert product == pytest.approx(exact, rel=0.5)


def test_examples_without_a_choice_need_no_optima_of_a_network(trained):
    at = scored(open("examples", **SMALL))
    assert says(at, "EK-FAC") and len(example_panel.defaults(SOURCE.problem_class)) == 3


def test_curves_over_eta_and_their_marker_come_from_one_run(trained):
    run_job(ScoresRequest.name, scores_payload(SOURCE, eta_scorings(), 60, precision="float64"))
    at = sound(open("approximation_error", draws=1, **SMALL))
    table = next(frame.value for frame in at.dataframe if {"series", "x", "n_seeds"} <= set(frame.value.columns))
    assert len(table) == len(ETAS) * len(differentiable())
    assert at.selectbox(key="choice:eta").value == 0.1 and not queued()


@pytest.mark.slow
def test_curves_over_alpha_show_the_solvers_of_networks(trained):
    run_job(ScoresRequest.name, scores_payload(SOURCE, alpha_scorings(kind="module"), 6, precision="float64"))
    at = sound(open("approximation_error", panel="alpha", draws=1, **SMALL))
    table = next(frame.value for frame in at.dataframe if {"series", "x", "n_seeds"} <= set(frame.value.columns))
    assert set(table["series"]) == {solver.title for solver in solvers("module").values()}
    assert sorted(set(table["x"])) == list(ALPHAS) and not queued()


@pytest.mark.parametrize("name, value", [("model", "resnet9000"), ("parameters", "every")])
def test_nonsense_is_ignored_with_a_message(name, value):
    at = sound(open("compare", settle=False, **{**SMALL, name: value}))
    assert says(at, "which was ignored")


def test_own_weights_need_no_training(home):
    buffer = io.BytesIO()
    torch.save(SOURCE.build_module().state_dict(), buffer)
    buffer.seek(0)
    name = own_weights.keep(buffer, "mine.pt", SOURCE.build_module())
    at = sound(open("compare", s=[codes.encode(STEP), codes.encode(MARGIN)], weights=name, **SMALL))
    assert says(at, "In use: own-") and says(at, "60 training examples") and not queued()
    at.button(key="weights:forget").click().run()
    assert says(sound(at), "Training two-layer network")


def test_a_recorded_training_answers_for_itself(home, tmp_path):
    draw = SOURCE.draw()[1]
    x, y = torch.tensor(draw.x_train).float().reshape(-1, 1, 8, 8), torch.tensor(draw.y_train)
    torch.manual_seed(0)
    module = SOURCE.build_module()
    optimizer = torch.optim.SGD(module.parameters(), 0.1, momentum=0.9)
    with Recorder(tmp_path / "run", module, optimizer, every=3) as recorder:
        for rows in torch.randperm(len(y)).split(10):
            recorder.batch(x[rows], y[rows])
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(module(x[rows]), y[rows]).backward()
            optimizer.step()
    name = stored_recordings.keep(tmp_path / "run")
    at = sound(open("compare", s=[codes.encode(STEP), codes.encode(MARGIN)], weights=name, **SMALL))
    assert says(at, "6 steps by SGD, with 2 checkpoints") and says(at, "60 training examples") and not queued()


def test_layers_are_named_in_the_sidebar_and_in_the_address():
    at = sound(open("home", settle=False, **SMALL))
    at.selectbox(key="choice:parameters").set_value("named").run()
    assert says(at, "No layer is chosen yet")
    at.text_input(key="choice:layers").set_value("head, hidden.bias").run()
    assert at.query_params["layers"] in ("head, hidden.bias", ["head, hidden.bias"])
    assert says(sound(at), f"{128 * 10 + 10 + 128:,} parameters are differentiated")
    at.text_input(key="choice:layers").set_value("haed").run()
    assert any("the nearest are `head`" in error.value for error in at.error)
