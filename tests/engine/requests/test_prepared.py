"""What chunks begin with, made by one process and taken by another, leaves every chunk as it is."""

import pytest

from engine.analysis.self_influence import SelfInfluenceRequest
from engine.jobs import KINDS, ChunkWork
from engine.problems import ProblemSource, build_cached
from engine.requests.request import MODEL
from engine.requests.scores import ScoresRequest
from engine.scoring.scoring import Scoring
from tests.engine.requests_for_tests import scores_payload

SOURCE = ProblemSource(dataset="digits", n_train=120, n_test=10, n_queries=4, n_candidates=120, pool=2, l2=1e-2)
LOCAL = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"})
REMOVE = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"})
DATA = {ScoresRequest.name: scores_payload(SOURCE, [LOCAL, REMOVE], 101),
        "self-influence": SelfInfluenceRequest(scoring=LOCAL, candidates=101).of(SOURCE).payload}


def elsewhere():
    """As in another process: the problem is built anew, because another one was asked for last."""
    build_cached(SOURCE.model_copy(update={"n_train": 20, "n_candidates": 5}))


@pytest.mark.parametrize("kind", sorted(DATA))
def test_chunks_come_out_the_same(kind, tmp_path):
    data, shares = DATA[kind], KINDS[kind].shares
    own, other = (ChunkWork(KINDS[kind], data, tmp_path / name) for name in ("own", "other"))
    for key in KINDS[kind].plan(data):
        elsewhere()
        own(key)
        handed = {}
        for name in shares.names(data, key):
            elsewhere()
            shares.take(data, handed, other.context())
            made = shares.make(data, name, handed, other.context())
            assert made and not set(made) & set(handed)
            handed |= made
        elsewhere()
        other(key, begin=lambda context, handed=handed: shares.take(data, handed, context))
        found = [work.chunks.read(work.name(key)).manifest["files"] for work in (own, other)]
        assert found[0] == found[1]


def test_groups_of_scorings_hand_over_what_they_solve_with(tmp_path):
    data, shares = DATA[ScoresRequest.name], KINDS[ScoresRequest.name].shares
    context = ChunkWork(KINDS[ScoresRequest.name], data, tmp_path).context()
    elsewhere()
    model = shares.make(data, MODEL, {}, context)
    assert "asked/cholesky" in shares.make(data, "0", model, context)
    assert "asked/training_data" in shares.make(data, "1", model, context)
