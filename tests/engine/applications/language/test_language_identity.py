"""Runs of a language model: replaced weights or records are another run, and never the old one's gradients."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.run import AttributionRequest
from engine.basics.errors import InvalidInput
from engine.experiments import EXPERIMENTS
from engine.jobs import job_digest, run_job
from tests.engine import tiny
from tests.engine.requests_for_tests import attribution_payload

KIND = AttributionRequest.name
RECIPE = {"epochs": 1, "checkpoints": 1, "batch": 4, "context": 200, "rank": 2}


def write_records(path, word):
    path.write_text("".join(json.dumps({"prompt": f"What is {n}?", "response": f"{word} {n}"}) + "\n"
                            for n in range(12)))


@pytest.fixture
def setting(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    write_records(tmp_path / "own.jsonl", "rock")
    return Setting.parse({"model": str(tiny.save(tmp_path / "tiny")), "recipe": RECIPE,
                          "task": {"name": "own", "train": str(tmp_path / "own.jsonl")}})


def layers_replaced(folder):
    path = folder / "tiny" / "model.safetensors"
    state = {key: torch.flip(value, [0]) if "layers" in key else value for key, value in load_file(path).items()}
    save_file(state, path, metadata={"format": "pt"})


def records_replaced(folder):
    write_records(folder / "own.jsonl", "tree")


@pytest.mark.parametrize("replace", [layers_replaced, records_replaced])
def test_replaced_files_are_another_run_and_another_training(setting, tmp_path, replace):
    asked, training = attribution_payload(setting), Attribution(setting, 0).digest
    replace(tmp_path)
    assert job_digest(KIND, attribution_payload(setting)) != job_digest(KIND, asked)
    if replace is layers_replaced:
        assert Attribution(setting, 0).digest != training
    with pytest.raises(InvalidInput, match="have changed since the request"):
        run_job(KIND, asked)


def test_the_kind_of_device_is_part_of_a_training(setting):
    assert Attribution(setting, 0, "cuda:0").identity == Attribution(setting, 0, "cuda:1").identity
    assert Attribution(setting, 0, "cuda:0").identity != Attribution(setting, 0, "cpu").identity


@pytest.mark.parametrize("name", ["table-5-2", "table-a11", "table-a14", "figure-5-2"])
def test_a_study_with_another_model_of_its_name_is_another_run(setting, tmp_path, name):
    study = EXPERIMENTS[name]
    asked = study.payload("small", model=setting.model)
    assert asked == study.payload("small", model=setting.model)
    layers_replaced(tmp_path)
    assert job_digest(study.study, study.payload("small", model=setting.model)) != job_digest(study.study, asked)
    with pytest.raises(InvalidInput, match="The model files of this run have changed since the request"):
        run_job(study.study, asked, tmp_path / "home")


def test_a_study_of_other_questions_is_another_run(monkeypatch):
    asked = EXPERIMENTS["table-5-2"].payload("small")["contents"]
    monkeypatch.setattr("engine.data.scienceqa.content", lambda: "other questions")
    assert EXPERIMENTS["table-5-2"].payload("small")["contents"] == {**asked, "records": "other questions"}


def test_a_run_chooses_its_width_and_says_what_came_out(setting):
    """Twelve records of which eight are held out, one checkpoint: a budget for 32 numbers a gradient."""
    projection = setting.projection.model_copy(update={"dimension": 8, "budget": 2 * 4 * 2 * 4 * 32})
    payload = attribution_payload(setting.model_copy(update={"projection": projection}))
    told = run_job(KIND, payload).manifest["sketch"]
    assert [tried for tried, _ in told["tried"]] == [8, 16, 32] and told["dimension"] in (8, 16, 32)
    assert told["outcome"] == ("target met" if told["least"] >= told["target"] else "target missed")
