"""What is trained already is attributed as it is: a folder of PEFT's adapters, and a model without any fine-tuning."""

import json

import pandas as pd
import pytest
import torch
from peft import IA3Config, LoHaConfig, LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

import whichfluence as wf
from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.basics.errors import InvalidInput
from engine.cli import main
from engine.data import uploads
from engine.experiments.language_study import LanguageStudy
from engine.models.causal import loading
from engine.problems import ProblemSource
from tests.engine.conftest import questions

STEP = wf.Specification("response_loss", wf.AddOccurrence(), wf.OneStep(eta=0.1))
AS_IT_IS = {"epochs": 0, "rank": 0, "context": 200}


@pytest.fixture
def records(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    path = tmp_path / "records.jsonl"
    path.write_text("\n".join(json.dumps({"prompt": one.question, "response": f"It is {one.choices[one.answer]}."})
                              for one in questions(20)), encoding="utf-8")
    return path


@pytest.fixture
def dora():
    return True


@pytest.fixture
def adapters(tmp_path, model_folder, dora):
    """Adapters with weights that are not at their start, where nothing else is said of the kind that DoRA trains."""
    torch.manual_seed(0)
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(model_folder), LoraConfig(
        r=2, target_modules=["q_proj", "v_proj"], use_dora=dora, task_type="CAUSAL_LM"))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter) if parameter.requires_grad else 0)
    model.peft_config["default"].base_model_name_or_path = str(model_folder)
    model.save_pretrained(tmp_path / "adapters")
    return model, tmp_path / "adapters"


def problem(records, model, **options):
    return ProblemSource.parse({"dataset": uploads.keep_path(records), "model": str(model), "n_queries": 2,
                                "n_candidates": 3, **options}).build().problem


def stepped(model, found, row, query):
    """What a step on a record changes in the response's log-likelihood of a query, by plain PEFT in float64."""
    def likelihood(x):
        batch = found.reader.packing.unpack(x[None])
        ids, count = batch.ids[0, batch.mask[0].bool()], int(batch.response.sum())
        at = torch.arange(len(ids) - count, len(ids))
        return model(input_ids=ids[None]).logits[0].log_softmax(-1)[at - 1, ids[at]].mean()

    free = [value for value in model.parameters() if value.requires_grad]
    before = likelihood(found.queries[query]).item()
    for value, slope in zip(free, torch.autograd.grad(likelihood(found.x[row]), free), strict=True):
        value.data.add_(slope, alpha=STEP.process.eta)
    return likelihood(found.queries[query]).item() - before


def test_a_folder_of_adapters_is_read_with_its_base(records, adapters):
    model, folder = adapters
    found = problem(records, folder)
    trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
    assert {name.removeprefix("model.") for name in found.network.names} == set(trained)
    assert any("magnitude" in name for name in trained)
    assert torch.equal(found.theta, torch.cat([trained[name.removeprefix("model.")].flatten()
                                               for name in found.network.names]))
    values = wf.influence(found, STEP).values
    row, query = found.candidates.tolist()[1], 1
    assert values[query, 1] == pytest.approx(stepped(model.double(), found, row, query), rel=1e-4)
    with pytest.raises(InvalidInput, match="attributed as they are; give the recipe `epochs` 0"):
        problem(records, folder, recipe={"rank": 2, "epochs": 1, "context": 200})


def test_adapters_that_would_be_unpickled_are_refused(adapters):
    _, folder = adapters
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")
    with pytest.raises(InvalidInput, match="no `adapter_model.safetensors`"):
        loading.load(str(folder))


@pytest.mark.parametrize("kind", [
    IA3Config(target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"], task_type="CAUSAL_LM"),
    LoraConfig(r=2, target_modules=["embed_tokens"], task_type="CAUSAL_LM"),
    LoHaConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM")], ids=["IA3", "embedding", "LoHa"])
def test_adapters_of_other_kinds_are_what_is_trained(records, model_folder, kind, tmp_path):
    torch.manual_seed(0)
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(model_folder), kind)
    trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
    for parameter in trained.values():
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    model.peft_config["default"].base_model_name_or_path = str(model_folder)
    model.save_pretrained(tmp_path / "adapters")
    found = problem(records, tmp_path / "adapters")
    assert {name.removeprefix("model.") for name in found.network.names} == trained.keys()
    assert torch.equal(found.theta, torch.cat([value.flatten() for value in trained.values()]))


@pytest.mark.parametrize("dora", [False])
def test_adapters_that_lack_weights_are_refused(adapters):
    _, folder = adapters
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**config, "target_modules": ["q_proj", "k_proj"]}))
    with pytest.raises(InvalidInput, match="lack .* of the weights that their configuration names"):
        loading.load(str(folder))


def test_a_model_is_read_as_it_is_without_fine_tuning(records, model_folder):
    found = problem(records, model_folder, recipe=AS_IT_IS)
    plain = AutoModelForCausalLM.from_pretrained(model_folder)
    assert torch.equal(found.theta, torch.cat([value.flatten() for value in plain.parameters()]))
    assert wf.influence(found, STEP).values.shape == (2, 3)
    with pytest.raises(InvalidInput, match="unknown how this model was trained"):
        found.training()


def test_a_study_of_adapters_begins_without_further_training(adapters, model_folder):
    own, base = (LanguageStudy("own", str(model), 80, 0, "x.jsonl") for model in (adapters[1], model_folder))
    assert own.usual_recipe.epochs == 0 < base.usual_recipe.epochs
    assert own.usual_recipe.sentence == "As it is, without any training here."


@pytest.mark.parametrize("dora", [False])
@pytest.mark.parametrize("own", [True, False], ids=["adapters", "plain model"])
def test_a_study_attributes_what_is_there(records, adapters, model_folder, own):
    """At one checkpoint, which holds the adapters of the folder, or fresh ones that change nothing."""
    recipe = {"epochs": 0, "rank": 2, "context": 200}
    study = Attribution(Setting.parse({"model": str(adapters[1] if own else model_folder), "recipe": recipe, "task": {
        "name": "own", "train": str(records), "held": 2}}), 0)
    [point] = study.train()
    assert point.step == 0 and study.train() == [point]
    moved = [value for name, value in point.weights.items() if name.endswith(".b")]
    assert all(value.any() for value in moved) is own
    assert len(study.record_cache(point)["norm"]) == 18
    with pytest.raises(InvalidInput, match="`rank` is 0" if not own else "attributed as they are"):
        Attribution(Setting.parse({**study.setting.model_dump(), "recipe": {**recipe, "rank": 0, "epochs": 1}}),
                    0).train()


@pytest.mark.parametrize("dora", [False])
def test_scores_of_tokens_are_those_of_plain_peft(records, adapters, tmp_path):
    """Of a record, ∇B(q)·∇(log p_t / R), and of a query's tokens the same the other way round, in float64."""
    model, folder = adapters
    found, run = problem(records, folder), ["--train", str(records), "--model", str(folder), "--held", "2", "--recipe",
                                            '{"epochs": 0}']
    out = {name: str(tmp_path / f"{name}.csv") for name in ("records", "tokens", "asked")}
    assert main(["attribute", *run, "--out", out["records"], "--keep-gradients"]) == 0
    assert main(["attribute-record", *run, "--record", "5", "--query", "1", "--out", out["tokens"], "--query-tokens",
                 out["asked"]]) == 0
    model, free = model.double().eval(), [value for value in model.parameters() if value.requires_grad]

    def slopes(x):
        batch = found.reader.packing.unpack(x[None])
        ids, count = batch.ids[0, batch.mask[0].bool()], int(batch.response.sum())
        at = torch.arange(len(ids) - count, len(ids))
        each = model(input_ids=ids[None]).logits[0].log_softmax(-1)[at - 1, ids[at]] / count
        return torch.stack([torch.cat([slope.flatten() for slope in torch.autograd.grad(one, free, retain_graph=True)])
                            for one in each])

    known, asked = (slopes(rows[list(ids).index(name)]) for rows, ids, name in zip(
        (found.x, found.queries), found.ids, ("6", "20"), strict=True))
    for name, right in (("tokens", known @ asked.sum(0)), ("asked", asked @ known.sum(0))):
        table = pd.read_csv(out[name], keep_default_na=False)
        own = table[(table["estimator"] == "gradsim") & (table["behavior"] == "response_loss")]
        assert own["contribution"].to_numpy() == pytest.approx(right.numpy(), rel=1e-4,
                                                                  abs=1e-6 * float(right.abs().max()))
