"""Behaviors by hand on a known distribution, and unchanged by padding."""

from dataclasses import replace

import pytest
import torch

from engine.applications.language.quality import picks_stated
from engine.basics.errors import InvalidInput
from engine.models.causal import passes
from engine.models.causal.encoding import Encoded
from engine.models.causal.marked import loss
from engine.models.causal.readouts import READOUTS, token_log_probabilities

ALONE = {"none": Encoded((1, 2, 3), 1), "one choice": Encoded((1, 2, 3), 1, (1,), 2, (5,), 0)}


def test_values_against_a_loop_over_tokens(attribution):
    encoded = attribution.encoded[:6]
    attribution.load(attribution.points[-1])
    found = passes.read(attribution.model, attribution.encoder, encoded,
                        [behavior.read for behavior in READOUTS.values()], size=4)
    for row, item in enumerate(encoded):
        with torch.no_grad():
            logits = attribution.model(input_ids=torch.tensor([item.ids])).logits[0].double()
        logp = logits.log_softmax(-1)
        own = torch.tensor([logp[place - 1, item.ids[place]] for place in range(1, len(item.ids))])
        at = logits[item.answer - 1, list(item.letters)]
        others = [at[place] for place in range(len(at)) if place != item.stated]
        expected = [own[item.response - 1:].mean(), own[[place - 1 for place in item.explanation]].mean(),
                    at[item.stated], at[item.stated] - max(others), logp[item.answer - 1, item.ids[item.answer]]]
        torch.testing.assert_close(found[row].double(), torch.stack(expected), atol=2e-5, rtol=1e-5)


def test_an_answer_of_several_tokens_is_read_by_its_log_probability(attribution):
    """It was refused, whatever behavior was asked for."""
    attribution.load(attribution.points[-1])
    encoded = [replace(item, answer=-1, letters=(), stated=-1, spread=tuple(range(item.answer - 2, item.answer + 1)))
               for item in attribution.encoded[:4]]
    read = [READOUTS["answer_log_probability"].read, loss("answer")]
    found = passes.read(attribution.model, attribution.encoder, encoded, read, size=3)
    for row, item in enumerate(encoded):
        with torch.no_grad():
            log_p = attribution.model(input_ids=torch.tensor([item.ids])).logits[0].double().log_softmax(-1)
        expected = sum(log_p[place - 1, item.ids[place]] for place in item.spread)
        assert found[row, 0].item() == pytest.approx(expected.item(), rel=1e-4)
        assert found[row, 1].item() == pytest.approx(-expected.item() / (len(item.ids) - item.response), rel=1e-4)


def test_the_size_of_a_batch_changes_nothing(attribution):
    encoded = attribution.encoded
    attribution.load(attribution.points[-1])
    readers = [behavior.read for behavior in READOUTS.values()] + [picks_stated]
    one, many = (passes.read(attribution.model, attribution.encoder, encoded, readers, size) for size in (1, 8))
    torch.testing.assert_close(one, many, atol=2e-5, rtol=1e-5)


def test_log_probabilities_sum_to_one(attribution):
    batch = attribution.encoder.batch(attribution.encoded[:2])
    logits = torch.randn(2, batch.targets.shape[1], 409)
    assert (token_log_probabilities(logits, batch) < 0).all()


@pytest.mark.parametrize(("behavior", "record", "said"), [
    ("explanation_loss", "none", "explanation span"), ("answer_logit", "none", "answer span"),
    ("answer_margin", "none", "answer span"), ("answer_log_probability", "none", "answer span"),
    ("answer_margin", "one choice", "second choice")])
def test_a_missing_span_is_named(behavior, record, said):
    with pytest.raises(InvalidInput, match=said):
        READOUTS[behavior].check([ALONE[record]])
    READOUTS["response_loss"].check([ALONE[record]])
