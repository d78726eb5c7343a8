"""What a chunk is expected to hold, against measured peaks (resident megabytes of one process with one thread)."""

import pytest

from engine.data import DATASETS
from engine.jobs import KINDS
from engine.problems import ProblemSource
from engine.requests.scores import ScoresRequest
from engine.scoring.scoring import Scoring
from tests.engine.requests_for_tests import scores_payload

STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
REMOVE = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"})
MEASURED = [
    ({"dataset": "digits", "n_queries": 10, "n_candidates": 50}, STEP, 723),
    ({"dataset": "digits", "model": "mlp", "n_queries": 10, "n_candidates": 50}, STEP, 864),
    ({"dataset": "fashion_small", "n_queries": 10, "n_candidates": 20}, STEP, 1684),
    ({"dataset": "fashion_small", "n_queries": 10, "n_candidates": 5}, REMOVE, 2604),
    ({"dataset": "fashion_small", "model": "cnn", "n_queries": 10, "n_candidates": 50}, STEP, 1237),
]


@pytest.mark.parametrize(("source", "scoring", "megabytes"), MEASURED)
def test_a_chunk_is_expected_to_hold_what_it_was_measured_to_hold(source, scoring, megabytes):
    if not DATASETS[source["dataset"]].available()[0]:
        pytest.skip(f"{source['dataset']} is not here")
    data = scores_payload(ProblemSource(**source), [scoring])
    found = {KINDS[ScoresRequest.name].memory(data, key) for key in KINDS[ScoresRequest.name].plan(data)}
    assert len(found) == 1 and 0.8 < found.pop() / 1e6 / megabytes < 1.25
