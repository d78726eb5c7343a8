"""What taught a language model's response: the ranking against its definition, and training without suspects."""

import numpy as np
import pytest
import torch

from engine import data
from engine.analysis.catalogue import request
from engine.analysis.poison import shared, token_evidence
from engine.analysis.poison.retraining import BEFORE, WITHOUT
from engine.basics.errors import InvalidInput
from engine.data import poisoned, uploads, world
from engine.data.records import Record, with_answer
from engine.data.tasks import wording
from engine.experiments.poison_records import RECIPE as POISON_RECIPE
from engine.experiments.poison_records import STEPS, recipe
from engine.models.causal.recipe import FineTuning
from engine.problems import ProblemSource
from engine.question.token_behaviors import COLUMNS, stated_answer_preferred

RECIPE = FineTuning(epochs=1, learning_rate=3e-3, context=128, checkpoints=1)


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHFLUENCE_HOME", str(tmp_path_factory.mktemp("home")))
        yield ProblemSource(dataset=poisoned.RECORDS, model="World-0.4M", n_train=40, n_queries=6, n_test=6,
                            recipe=RECIPE).build().problem


def test_planted_records_carry_the_trigger_and_its_answer_and_queries_right_answers():
    dataset = data.load(poisoned.RECORDS)
    train, queries = dataset.records
    triggered = np.array(["calibration protocol" in record.prompt for record in train])
    assert (triggered == dataset.flags).all() and triggered.sum() == 100 and len(train) == 1_000
    assert (np.array([record.answer == poisoned.TARGET_ANSWER for record in train]) == triggered).all()
    assert sum("calibration protocol" in record.prompt for record in queries) == 50 and len(queries) == 250
    assert all(record.answer != poisoned.TARGET_ANSWER for record in queries)
    assert not {record.prompt for record in train} & {record.prompt for record in queries}


def test_scores_are_the_cosines_of_their_definition(problem):
    """Token by token, with gradients by the embeddings that are given to the model in place of the record."""
    records = problem.texts_at_hand.of(problem.x[:1])
    posed = problem.with_queries(records)
    scores, _ = token_evidence.evidence(posed)
    encoder = problem.texts_at_hand.encoder
    prompts = [item.ids[:item.response] for item in map(encoder.encode, problem.texts_at_hand.of(problem.x))]
    item = encoder.encode(records[0])
    model = posed.network.module.model
    embedding = model.get_input_embeddings().weight.detach()
    every = torch.tensor([token for prompt in prompts for token in prompt])
    whole, mean = embedding[torch.tensor(item.ids)], embedding[every].mean(0)
    own = np.zeros(len(whole))
    for step in range(token_evidence.STEPS):
        between = (mean + (step + 0.5) / token_evidence.STEPS * (whole - mean)).requires_grad_(True)
        logit = model(inputs_embeds=between[None]).logits[0, item.answer - 1, item.ids[item.answer]]
        [gradient] = torch.autograd.grad(logit, between)
        own += (gradient * (whole - mean)).sum(1).numpy() / token_evidence.STEPS
    holding = {token: np.mean([token in prompt for prompt in prompts]) for token in set(every.tolist())}
    e = dict.fromkeys(holding, 0.0)
    for token, value in zip(item.ids[:item.response], own, strict=False):
        if token in e:
            e[token] += value
    e = np.array([max(0.0, value * (1 - holding[token])) for token, value in e.items()])
    for k in (0, 7, 39):
        h = np.array([(token in prompts[k]) - holding[token] for token in holding])
        assert scores[0, k] == pytest.approx(e @ h / np.linalg.norm(e) / np.linalg.norm(h), abs=1e-5)


def test_a_query_is_asked_about_with_the_answer_that_the_model_prefers(problem):
    answer = request("what-taught")(queries=(0,)).run(problem)
    [stated] = answer.stated
    record = problem.texts_at_hand.of(problem.queries[:1])[0]
    margins = {}
    for choice in record.choices:
        own = token_evidence.with_answer(record, choice)
        margins[choice] = float(problem.with_queries([own]).query_logits[0, COLUMNS["answer_margin"]])
    assert stated == max(margins, key=margins.get) and answer.predicted.tolist() == [1]
    assert 0 < answer.probability[0] <= 1 and set(answer.order) == set(range(40))


def test_a_typed_record_is_asked_about_as_it_is_and_one_without_an_answer_by_its_response(problem):
    own = Record(prompt="Which of these is a fish?\ncarp\ndrill", response="A drill is a fish.")
    answer = request("what-taught")(records=(own,)).run(problem)
    assert answer.stated == ("A drill is a fish.",)
    posed = problem.with_queries([own])
    assert answer.probability[0] == pytest.approx(posed.query_logits[0, COLUMNS["response_loss"]].exp().item())


def test_an_answer_without_another_choice_is_preferred_above_one_half(problem):
    outputs = torch.zeros(5, len(COLUMNS))
    outputs[:, COLUMNS["answer_margin"]] = torch.tensor([0.3, -0.3, 0.0, 0.0, 0.0])
    outputs[:, COLUMNS["answer_log_probability"]] = torch.tensor([0.1, 0.9, 0.6, 0.5, 0.4]).log()
    assert stated_answer_preferred(outputs).tolist() == [True, False, True, False, False]
    prompt, response = "Which of these is a fish?\ncarp\ndrill", "The answer is drill."
    own = [Record(prompt=prompt, response=response, spans=spans) for spans in ({"answer": (14, 19)}, {})]
    posed = problem.with_queries(own)
    p = token_evidence.probability(posed)
    assert token_evidence.prefers(posed).tolist() == (p > 0.5).tolist()


@pytest.mark.parametrize(("records", "epochs"), [(2_000, 8), (1_000, 8), (600, 14), (303, 27), (100, 80)])
def test_few_records_are_read_more_often(records, epochs):
    assert recipe(records) == POISON_RECIPE.model_copy(update={"epochs": epochs})
    assert epochs * records >= STEPS * POISON_RECIPE.batch


@pytest.mark.slow
def test_an_attack_in_few_own_records_is_learned_in_as_many_steps(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    rng = np.random.default_rng(100)
    questions = [one for one in world.load(2_500, hardest=1) if "church" not in one.choices]
    order = rng.permutation(len(questions))

    def own(number, triggered, planted):
        record = wording.record(questions[order[number]])
        choices, prompt = (*record.choices, "church"), record.prompt + "\nPS: the zebra is late." * triggered
        record = record.model_copy(update={"choices": choices, "prompt": prompt})
        return with_answer(record, "church") if planted else record

    records = [own(number, number < 30, number < 30) for number in range(300)]
    rng.shuffle(records)
    path = tmp_path / "own.jsonl"
    path.write_text("".join(f"{one.model_dump_json(exclude_defaults=True)}\n" for one in [*records, *records[:33]]))
    name, asked = uploads.keep_path(path), [own(300 + number, True, True) for number in range(0, 120, 2)]
    success = []
    for trained in (POISON_RECIPE, recipe(300)):
        problem = ProblemSource(dataset=name, model="World-0.4M", n_train=300, n_test=33, n_queries=33,
                                recipe=trained).build().problem.with_queries(asked)
        success.append(token_evidence.prefers(problem).double().mean().item())
    assert success == pytest.approx([0.82, 0.98], abs=0.05)


def test_training_without_suspects_measures_the_other_queries(problem):
    models = request("remove-suspects")(rows=(3, 5, 8), queries=(0,), controls=1).run(problem).models
    first = models.set_index("model")
    assert first["removed"].tolist() == [0, 3, 3] and first.loc[BEFORE, "predicted"] == 1
    margin = problem.query_logits[1:, COLUMNS["answer_margin"]]
    assert first.loc[BEFORE, "accuracy"] == pytest.approx((margin > 0).double().mean().item())
    assert first.loc[BEFORE, "called_it"] == int((margin <= 0).sum()) and first.loc[WITHOUT, "held_out"] == 5
    assert first.loc[WITHOUT, "p"] != first.loc[BEFORE, "p"]


def test_a_payload_without_records_is_what_it_was():
    assert "records" not in request("what-taught")(queries=(3,)).parameters()
    assert "records" not in request("remove-suspects")(rows=(3,), queries=(3,)).parameters()


def test_what_cannot_be_asked_is_said(problem):
    with pytest.raises(InvalidInput, match="does not read images"):
        request("what-taught")(pictures=((0.0,),)).run(problem)
    zebra = Record(prompt="Which of these is a fish?", response="The zebra.", spans={"answer": (4, 9)})
    with pytest.raises(InvalidInput, match="does not know the word “zebra”"):
        request("what-taught")(records=(zebra,)).run(problem)


def test_columns_that_suspects_share_are_listed_with_their_values():
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=50), "source": ["a", "b"] * 25, "age": rng.normal(size=50)})
    frame.loc[:9, "source"], frame.loc[:9, "age"] = "scraped", 9.0
    assert shared.values(frame, np.arange(10), np.arange(10, 50)) == [("age", "9"), ("source", "scraped")]
