"""A training by `transformers.Trainer` is not changed by its callback, and its folder answers for the model."""

import json
from collections import Counter

import numpy as np
import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.cli import main
from engine.exact.replay import training_of
from engine.models.causal import loading
from engine.models.causal.encoding import Encoder
from engine.models.recorded import open_recording, stored_recordings
from engine.models.recorded.checking import check
from engine.problems import ProblemSource
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

pytestmark = pytest.mark.slow  # the trainer's library is large

SOURCE = ProblemSource(dataset="world_corruption", model="World-0.4M", n_train=40, n_test=8, n_queries=3,
                       n_candidates=4)
ALONG = {"kind": "trajectory", "eta": 1.0, "checkpoints": 2}
TRACIN, LESS = (Scoring.of("response_loss", {"kind": "add_occurrence"}, ALONG, name)
                for name in ("first_order", "less"))
REPLAY = Scoring.of("response_loss", {"kind": "infinitesimal"}, {"kind": "replay"})


def items(alike):
    """Records as a trainer takes them; of one length of responses where they are to be `alike`."""
    dataset, sample = SOURCE.draw()
    encoder = Encoder(loading.load(SOURCE.model)[1], 512)
    encoded = [encoder.encode(dataset.records[0][row]) for row in sample.train_index]
    most = Counter(len(item.ids) - item.response for item in encoded).most_common(1)[0][0]
    return [{"input_ids": list(item.ids), "labels": [-100] * item.response + list(item.ids[item.response:])}
            for item in encoded if not alike or len(item.ids) - item.response == most]


def collated(batch):
    width = max(len(item["input_ids"]) for item in batch)
    filled = [(item, width - len(item["input_ids"])) for item in batch]
    return {"input_ids": torch.tensor([item["input_ids"] + [1] * more for item, more in filled]),
            "labels": torch.tensor([item["labels"] + [-100] * more for item, more in filled]),
            "attention_mask": torch.tensor([[1] * len(item["input_ids"]) + [0] * more for item, more in filled])}


def tuned(folder, out, adapters, alike=True, recorded=True, lora=None, **changed):
    from peft import LoraConfig, get_peft_model
    from transformers import Trainer, TrainingArguments

    from engine.models.recorded.trainer import RecordingCallback

    model = loading.load(SOURCE.model)[0]
    if adapters:
        torch.manual_seed(0)
        model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **{
            "r": 2, "lora_alpha": 4, "target_modules": "all-linear", **(lora or {})}))
    given = {"per_device_train_batch_size": 4, "num_train_epochs": 2, "learning_rate": 1e-3, **changed}
    arguments = TrainingArguments(output_dir=str(out), report_to=[], save_strategy="no", use_cpu=True,
                                  disable_tqdm=True, logging_strategy="no", **given)
    Trainer(model=model, args=arguments, train_dataset=items(alike), data_collator=collated,
            callbacks=[RecordingCallback(folder, every=2)] if recorded else []).train()
    return {name: value.detach().clone() for name, value in model.named_parameters() if value.requires_grad}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("adapters", [True, False], ids=["adapters", "whole model"])
def test_a_recorded_fine_tuning_answers_for_itself(home, adapters):
    end = tuned(home / "run", home / "out", adapters)
    plain = tuned(home / "run", home / "out", adapters, recorded=False)
    assert all(torch.equal(end[name], plain[name]) for name in plain)
    run = open_recording(home / "run")
    assert not run.facts.reasons and run.facts.clip == 1.0 and (run.facts.adapters is not None) is adapters
    problem = SOURCE.model_copy(update={"weights": stored_recordings.keep(home / "run")}).build().problem
    names = [name.removeprefix("model.") for name in problem.network.names]
    assert set(names) == set(end)
    assert torch.equal(problem.theta, torch.cat([end[name].flatten() for name in names]))
    assert problem.checkpoints[-1].steps == run.facts.steps and problem.checkpoints[-1].first.any()
    checked = check(training_of(problem, problem.seed))
    assert checked.off < 1e-3 and (checked.exact or "the size of rounding errors" in checked.sentence)
    tracin, less, replayed = (one.values for one in compute(problem, [TRACIN, LESS, REPLAY]))
    assert np.isfinite(tracin).all() and np.isfinite(less).all() and np.isfinite(replayed).all()
    rates = [point.learning_rate for point in problem.checkpoints[-2:]]
    total = np.zeros_like(tracin)
    for point, rate in zip(problem.checkpoints[-2:], rates, strict=True):
        slopes = [torch.stack([gradient(problem, point.theta, row[None]) for row in rows])
                  for rows in (problem.queries, problem.x[problem.candidates])]
        share = rate / max(one.learning_rate for one in problem.checkpoints)
        total += share * (slopes[0] @ slopes[1].T).numpy()
    np.testing.assert_allclose(tracin, total, rtol=1e-3, atol=1e-6 * np.abs(total).max())


def gradient(problem, theta, row):
    values = {name: part.clone().requires_grad_() for name, part in problem.network.unflatten(theta).items()}
    loss = -problem.network.at(row, values)[0, 0]
    return torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(values.values()))])


@pytest.mark.parametrize("lora", [
    {"lora_dropout": 0.3}, {"target_modules": ["q_proj", "v_proj"], "layers_to_transform": [0]}, {"use_rslora": True},
    {"exclude_modules": ["model.layers.1.self_attn.q_proj"]}, {"use_dora": True}, {"rank_pattern": {"q_proj": 3}},
    {"modules_to_save": ["embed_tokens"]}, {"target_modules": r".*layers\.0.*\.(q|v)_proj"}], ids=str)
def test_adapters_of_any_kind_replay_bit_for_bit(home, lora):
    tuned(home / "run", home / "out", True, lora=lora, per_device_train_batch_size=1, max_steps=4)
    problem = SOURCE.model_copy(update={"weights": stored_recordings.keep(home / "run")}).build().problem
    checked = check(training_of(problem, problem.seed))
    assert checked.exact, checked.sentence


@pytest.mark.parametrize("changed, told", [
    ({"bf16": True}, "autocast"), ({"lora": {"lora_dropout": 0.3}}, "dropout also sampled masks for padding"),
    ({"lora": {"init_lora_weights": "pissa"}}, "")])
def test_what_a_fine_tuning_cannot_be_made_again_for_is_said(home, changed, told):
    tuned(home / "run", home / "out", True, max_steps=2, **changed)
    facts = open_recording(home / "run").facts
    assert any(told in reason.why for reason in facts.reasons) if told else "alters the base" in facts.adapters.unlike


@pytest.mark.parametrize("adapters", [True, False], ids=["adapters", "whole model"])
def test_steps_that_add_up_batches_with_decay_by_group_replay_to_rounding(home, adapters):
    tuned(home / "run", home / "out", adapters, gradient_accumulation_steps=2, weight_decay=0.1)
    run = open_recording(home / "run")
    assert not run.facts.reasons and max(run.batches.counts) == 2 and len(run.facts.groups) == (0 if adapters else 2)
    problem = SOURCE.model_copy(update={"weights": stored_recordings.keep(home / "run")}).build().problem
    checked = check(training_of(problem, problem.seed))
    assert checked.off < 1e-3 and (checked.exact or "the size of rounding errors" in checked.sentence)
    assert all(np.isfinite(one.values).all() for one in compute(problem, [LESS, REPLAY]))


def test_what_the_trainer_does_otherwise_is_said(home):
    tuned(home / "run", home / "out", True, alike=False, gradient_accumulation_steps=2)
    assert ["differ in length" in reason.why for reason in open_recording(home / "run").facts.reasons] == [True]
    problem = SOURCE.model_copy(update={"weights": stored_recordings.keep(home / "run")}).build().problem
    assert np.isfinite(compute(problem, TRACIN)[0].values).all()
    with pytest.raises(InvalidInput, match="cannot be replayed from step 1"):
        compute(problem, REPLAY)


def test_the_command_line_opens_a_fine_tuning(home, capsys):
    tuned(home / "run", home / "out", True)
    (home / "problem.json").write_text(json.dumps(SOURCE.model_dump(mode="json")))
    (home / "spec.json").write_text(LESS.model_dump_json())
    assert main(["influence", "--data", "problem.json", "--trajectory", "run", "--spec", "spec.json",
                 "--out", "scores.npz"]) == 0
    assert main(["recording", "--data", "problem.json", "--trajectory", "run"]) == 0
    assert "bit for bit" in capsys.readouterr().out
