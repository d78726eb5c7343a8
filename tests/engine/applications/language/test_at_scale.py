"""Counted costs against what PyTorch counts in a pass, and against the bytes of a cache."""

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import whichfluence as wf
from engine.applications.language import gradients, rates
from engine.applications.language.at_scale import StudyScale, costs, table
from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.basics.errors import InvalidInput
from engine.models.causal import lora, passes
from engine.models.causal.catalogue import EMBEDDED_MODEL
from engine.models.causal.readouts import mean_response_likelihood
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

ROOM = passes.ROOM["cpu"]
QUERIES = 32


def cost(scale, what):
    return next(one for one in costs(scale) if one.what == what)


def test_a_pass_costs_what_pytorch_counts(attribution):
    """The small model's attention counts for much, and its head reads the response only; both are added here."""
    model, config = attribution.model, attribution.model.config
    batch = attribution.encoder.batch(attribution.encoded[:4])
    layers = {name: layer.weight.numel() for name, layer in model.named_modules()
              if isinstance(layer, torch.nn.Linear) and "lora" not in name}
    head = sum(size for name, size in layers.items() if name.endswith("lm_head"))
    with gradients.tapped(model) as tap, FlopCounterMode(display=False) as counted:
        gradients.record_gradients(tap, batch, [mean_response_likelihood], [lambda name, found: None])
    (records, tokens), answered = batch.ids.shape, batch.targets.shape[1]
    scale = StudyScale(records=records, parameters=sum(layers.values()) - head, tokens=tokens,
                       adapters=sum(parameter.numel() for parameter in lora.trained(model).values()))
    seen = any("attention" in str(operation) for operation in counted.get_flop_counts()["Global"])  # not in torch 2.11
    attention = 3 * config.num_hidden_layers * 4 * tokens * config.hidden_size if seen else 0
    expected = records * (tokens * (scale.backward + attention) + answered * 4 * head)
    assert counted.get_total_flops() == pytest.approx(expected, rel=0.15)


def test_gradients_take_the_bytes_of_their_cache(attribution, plain_setting):
    wide = {**plain_setting, "projection": {"dimension": 64}}
    found = Attribution(Setting.parse(wide), 0)
    found.train()
    kept = sum(found.record_cache(point).size for point in found.points)
    scale = StudyScale(records=len(found.encoded), projection=64, checkpoints=len(found.points))
    assert kept == pytest.approx(cost(scale, "gradients of records").written, rel=0.1)  # files have headers


def test_all_is_in_proportion():
    one, ten = StudyScale(records=1e6), StudyScale(records=1e7)
    assert cost(ten, "gradients of records").operations == 10 * cost(one, "gradients of records").operations
    assert cost(ten, "retraining without each record").operations == pytest.approx(
        100 * cost(one, "retraining without each record").operations)
    assert cost(ten, "gradients of queries") == cost(one, "gradients of queries")
    shared = table(StudyScale(devices=8))
    assert (shared.hours * 8).tolist() == pytest.approx(shared.device_hours.tolist())


def test_memory_is_that_of_weights_activations_and_what_a_method_holds():
    scale = StudyScale(parameters=12 * 4096.0 ** 2 * 36, batch=2, tokens=100)  # 36 layers
    held = 2 * scale.parameters + 2 * 100 * 34 * 36 * 4096
    assert cost(scale, "training").memory == pytest.approx(held + 16 * scale.adapters)
    assert cost(scale, "DataInf").memory == pytest.approx(held + (4 * 2 + 4 * 400) * scale.adapters)
    assert cost(scale, "TRAK").memory == 4 * 400 * 4096 + 16 * 4096 ** 2


def test_money_is_that_of_all_devices():
    frame = table(StudyScale(devices=8, price=2.5))
    assert frame.money.tolist() == pytest.approx((frame.hours * 8 * 2.5).tolist())


@pytest.mark.slow
def test_a_measured_rate_foretells_hours_within_a_factor_of_two():
    """The rate of eight records, and the time of others: more of them, of another length. Each is the best of three
    rounds, since other tests run beside this one."""
    clock = time.process_time
    rate = max(rates.measured_rate(EMBEDDED_MODEL, 40, clock=clock) for _ in range(3))
    model, encoder = rates.adapted(EMBEDDED_MODEL, "cpu")
    batch = rates.records(encoder, 24, 20)
    frozen, adapters = rates.sizes(model)
    scale = StudyScale(records=len(batch.ids), parameters=frozen, adapters=adapters, rate=rate, checkpoints=1,
                       tokens=batch.ids.shape[1])
    planned = table(scale).set_index("part").hours["gradients of records"] * 3600
    assert 0.5 < min(rates.seconds(model, batch, clock) for _ in range(3)) / planned < 2


@pytest.mark.slow
def test_a_plan_foretells_the_parts_of_a_study_within_a_factor_of_two(tmp_path, monkeypatch):
    """Processor seconds of a study of the embedded model; of parts with little to compute the least of two."""
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    monkeypatch.setitem(passes.ROOM, "cpu", ROOM)
    task = {"name": "conditional_backdoor", "questions": "world", "clean": 240, "poison": 30, "benign": 30,
            "test": QUERIES}
    setting = Setting.parse({"model": EMBEDDED_MODEL, "task": task,
                             "recipe": {"rank": 2, "epochs": 1, "checkpoints": 1}})
    rate = max(rates.measured_rate(EMBEDDED_MODEL, 38, clock=time.process_time) for _ in range(3))
    runs = [Attribution(setting, seed) for seed in range(2)]
    queries = runs[0].task.queries["triggered"][:QUERIES]
    spent = {"training": [seconds(run.train) for run in runs],
             "gradients of records": [seconds(lambda run=run: run.record_cache(run.points[0])) for run in runs],
             "gradients of queries": [seconds(lambda run=run: run.query_cache(run.points[0], queries)) for run in runs],
             "representations": [seconds(run.states) for run in runs]}
    run = runs[0]
    run.load(run.points[-1])
    problem = wf.problem(run.model, run.train_records, run.train_records[:2], tokenizer=run.encoder.tokenizer,
                         context=run.setting.recipe.context)
    problem.prepare()
    datainf = Scoring.of("response_loss", {"kind": "infinitesimal"}, {"kind": "local_response", "damping": 0.5},
                         "datainf")
    spent["DataInf"] = [seconds(lambda: compute(problem, [datainf]))]
    frozen, adapters = rates.sizes(run.model)
    scale = StudyScale(len(run.encoded), frozen, adapters, problem.reader.packing.tokens, checkpoints=1, queries=2,
                       behaviors=1, rate=rate)
    plan = table(scale).set_index("part").hours * 3600
    many = replace(scale, queries=len(queries), behaviors=len(run.behaviors([*map(run.encoder.encode, queries)])))
    plan["gradients of queries"] = table(many).set_index("part").hours["gradients of queries"] * 3600
    for part, times in spent.items():
        assert 0.5 < min(times) / plan[part] < 2, (part, times, plan[part])


def seconds(call):
    """Processor seconds."""
    start = time.process_time()
    call()
    return time.process_time() - start


def test_the_guide_tells_what_is_counted():
    text = (Path(__file__).parents[4] / "assets" / "guides" / "language-models.md").read_text("utf-8")
    text = text.partition("## What it costs at scale")[2].partition("\n## ")[0]
    many, most = table(StudyScale(records=1e6)), table(StudyScale(records=1e9))
    for part, one, other in zip(many.part, many.operations, most.operations, strict=True):
        cells = re.search(rf"^\| {re.escape(part)} \|(.*)\|$", text, re.M)[1].split("|")
        assert (number(cells[0]), number(cells[3])) == pytest.approx((one, other), rel=0.05), part


def number(told):
    """6.6·10¹⁸ as a number."""
    mantissa, power = told.strip().split("·10")
    return float(mantissa) * 10.0 ** int(power.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")))


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan")])
def test_what_is_not_positive_is_refused(value):
    with pytest.raises(InvalidInput, match="give a positive number"):
        StudyScale(records=value)

