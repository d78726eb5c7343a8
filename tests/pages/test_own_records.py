"""Records of one's own that mark no spans: what reads a span is named before a model is trained."""

import io
import json

import pytest

from engine.basics.errors import InvalidInput
from engine.data import uploads
from engine.desk import language_presets, presets
from engine.desk.desk import Desk
from engine.problems import CausalProblem, ProblemSource
from engine.scoring import codes
from engine.scoring.controlled import step_scoring
from tests.pages.support import open, sound


@pytest.fixture
def records(home):
    lines = [json.dumps({"messages": [{"role": "user", "content": f"Say {n}"},
                                      {"role": "assistant", "content": f"{n}!"}]}) for n in range(20)]
    return uploads.keep(io.BytesIO("\n".join(lines).encode()), "mine.jsonl")


def test_a_behavior_without_its_span_is_refused_before_the_model_is_trained(records):
    source = ProblemSource(dataset=records, model="World-0.4M", n_train=10, n_queries=2, n_test=2)
    with pytest.raises(InvalidInput, match="“Answer margin” needs an answer span in every query"):
        Desk().scores(source, [step_scoring("answer_margin", 0.1)], 5)
    assert not source.is_trained


def test_compare_begins_with_what_the_records_allow_and_names_what_they_lack(records):
    at = sound(open("compare", data=records, model="World-0.4M"))
    at.button_group(key="compare:preset").set_value("first").run()
    plain = presets.preset(language_presets.PLAIN, CausalProblem)
    assert {scoring.behavior for scoring in plain.scorings} == {"response_loss"}
    assert at.query_params["s"] == [codes.encode(scoring) for scoring in plain.scorings]
