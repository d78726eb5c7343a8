"""What is said of a record: a lead over other choices, the probability of an answer alone, or that of a token."""

from types import SimpleNamespace

import pytest
import torch

from app.widgets.examples import predictions
from engine.desk.datasets import NO_ANSWER
from engine.question.token_behaviors import COLUMNS


def test_each_record_is_measured_by_what_it_states():
    outputs = torch.zeros(4, len(COLUMNS))
    outputs[:, COLUMNS["response_loss"]] = torch.tensor([0.1, 0.2, 0.3, 0.4]).log()
    outputs[:, COLUMNS["answer_margin"]] = torch.tensor([-1.5, 0.0, 0.0, 0.0])
    outputs[:, COLUMNS["answer_log_probability"]] = torch.tensor([0.9, 0.6, 0.3, 1.0]).log()
    sampled = SimpleNamespace(dataset=SimpleNamespace(records=((), ()), class_names=("carp", NO_ANSWER)))
    said = predictions._read(sampled, outputs, [0, 0, 0, 1])
    assert [one.said for one in said] == [predictions.OTHER, "carp", predictions.OTHER, ""]
    assert [one.measured for one in said] == ["lead of the answer = −1.50", "p(answer) = 0.600", "p(answer) = 0.300",
                                              "p per token = 0.400"]
    columns = predictions.columns(said)
    assert list(columns) == ["lead of the answer", "p(answer)", "p per token"]
    assert columns["p per token"] == [None, None, None, pytest.approx(0.4)]
