"""Runs that score training records: nothing, then what to wait for, then what they found."""

import pandas as pd
import pytest

from engine.applications.language.decomposition import TokensRequest
from engine.basics.errors import StoreError
from engine.desk import Waiting
from engine.experiments.language_study import LanguageStudy
from engine.models.causal.catalogue import EMBEDDED_MODEL
from engine.store.results import Store

ASKED = LanguageStudy("response_corruption", EMBEDDED_MODEL, 80, 0)
RUN = ASKED.request
TOKENS = TokensRequest(run=RUN, record=1)
TABLES = {"records": pd.DataFrame({"record": [0, 1]}), "tokens": pd.DataFrame({"record": [1]})}


def finish(desk, digest):
    """A result in the place of what a job would leave."""
    return Store(desk.jobs.root).write(digest, {"kind": RUN.name, "payload": RUN.payload, "sign": -1}, TABLES)


def test_a_run_is_asked_for_once_waited_for_and_read(desk):
    assert desk.known(RUN) is None
    desk.start(RUN)
    found = desk.known(RUN)
    assert isinstance(found, Waiting) and (found.job, found.what) == (ASKED.digest, RUN.job_title)
    assert desk.jobs.find(RUN.name, RUN.payload).id == ASKED.digest
    desk.jobs.queue.request_cancel(found.job)
    assert desk.known(RUN) == found, "a job that was stopped can be taken up"
    finish(desk, ASKED.digest)
    done = desk.known(RUN)
    assert done.manifest["sign"] == -1 and list(done.tables["records"]["record"]) == [0, 1]


def test_the_tokens_of_a_record_are_a_job_of_their_own(desk):
    assert desk.known(TOKENS) is None
    desk.start(TOKENS)
    found = desk.known(TOKENS)
    assert found.what == f"Score of record 1 · {RUN.job_title}"
    assert desk.known(TokensRequest(run=RUN, record=0)) is None
    finish(desk, found.job)
    assert list(desk.known(TOKENS).tables["tokens"]["record"]) == [1]


def test_a_damaged_run_is_told_and_can_be_asked_for_again(desk):
    (desk.jobs.store.folder(finish(desk, ASKED.digest).digest) / "records.parquet").write_bytes(b"no table")
    with pytest.raises(StoreError, match="cannot be trusted"):
        desk.known(RUN)
    assert desk.known(RUN) is None
