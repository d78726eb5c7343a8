"""Runs of a language model: replaced weights or records are another run, and never the old one's gradients."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.applications.language.attribution import Attribution, Setting
from engine.basics.errors import InvalidInput
from engine.jobs import job_digest, run_job
from engine.runs import language as runs
from tests.engine.applications.language.conftest import tiny

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
    asked, training = runs.payload(setting), Attribution(setting, 0).digest
    replace(tmp_path)
    assert job_digest(runs.KIND, runs.payload(setting)) != job_digest(runs.KIND, asked)
    if replace is layers_replaced:
        assert Attribution(setting, 0).digest != training
    with pytest.raises(InvalidInput, match="have changed since it was asked for"):
        run_job(runs.KIND, asked)


def test_the_kind_of_device_is_part_of_a_training(setting):
    assert Attribution(setting, 0, "cuda:0").identity == Attribution(setting, 0, "cuda:1").identity
    assert Attribution(setting, 0, "cuda:0").identity != Attribution(setting, 0, "cpu").identity
