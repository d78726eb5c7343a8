"""Studies of language models as a front end asks for them: a run, its records, their tokens, and decisions on them."""

# ruff: noqa: F401 (types and values that come with the verbs)
from __future__ import annotations

from functools import lru_cache

from engine.applications.language import shards
from engine.applications.language.by_query import QueryScoresRequest, of_query
from engine.applications.language.decomposition import TokensRequest
from engine.applications.language.methods import METHODS, REPSIM, RecordMethod
from engine.applications.language.methods import SETTINGS as METHOD_SETTINGS
from engine.applications.language.modules import SHARED
from engine.applications.language.modules import parts as module_parts
from engine.applications.language.rankings import at_layer, behavior_title
from engine.applications.language.records import RecordRanking as Ranking
from engine.applications.language.records import changed, contributions
from engine.applications.language.review import RecordReview
from engine.applications.language.run import Attributed
from engine.applications.language.typed import Example, example, typed
from engine.data import holds_records, questions, uploads
from engine.data.record_files import keep, path_of
from engine.data.record_sets import marked_sentence
from engine.data.records import read_jsonl
from engine.data.tasks import TASKS
from engine.data.tasks import cached_task as task_of
from engine.desk.desk import Desk
from engine.desk.waiting import Waiting
from engine.experiments.language_study import SHARES, SIZES
from engine.experiments.language_study import LanguageStudy as Study
from engine.models.causal import loading
from engine.models.causal.marked import Mark
from engine.models.causal.readouts import READOUTS
from engine.models.layers import listed as listed_layers
from engine.models.own_architecture import declared


def check_model(name: str) -> None:
    """Raises one sentence for a model on this machine whose records cannot be attributed."""
    loading.check(name, lora=True)


def begun() -> Study | None:
    """The study of the model and records that the program was started with; None where it was not."""
    own = declared()
    if own is None or not own.data or not holds_records(own.data):
        return None
    reading = uploads.reading(own.data)
    return Study("own", own.name, SIZES[0], 0, _as_records(str(uploads.base(own.data))), turns=reading.turns,
                 mark=reading.mark)


@lru_cache(maxsize=1)
def _as_records(path: str) -> str:
    """Where the records of an upload, which is named by its content, are stored for a study."""
    with open(path, "rb") as file:
        return keep(file.read())


def attributed(desk: Desk, study: Study) -> Attributed | Waiting | str | None:
    """The finished run, or what to wait for; None where nobody asked for it yet."""
    return desk.known(study.request)


def attribute(desk: Desk, study: Study) -> None:
    """Queue the run, or take it up where it stopped. Raises one sentence for a model or task that cannot be had."""
    desk.start(study.request)


def shaded(desk: Desk, study: Study, record: int, query: int | None) -> Attributed | Waiting | str | None:
    """The score of one record for a query, or of its mean score, taken apart as `TokensRequest` says, or what to wait
    for; None where nobody asked."""
    return desk.known(TokensRequest(run=study.request, record=record, query=query))


def shade(desk: Desk, study: Study, record: int, query: int | None) -> None:
    """Queue the job that computes them, or take it up where it stopped."""
    desk.start(TokensRequest(run=study.request, record=record, query=query))


def scored_by_query(desk: Desk, study: Study) -> Attributed | Waiting | str | None:
    """The scores for each query of a run, in the table `by_query`, or what to wait for; None where nobody asked."""
    return desk.known(QueryScoresRequest(run=study.request))


def score_by_query(desk: Desk, study: Study) -> None:
    """Queue the job that computes them, or take it up where it stopped."""
    desk.start(QueryScoresRequest(run=study.request))


def trained_on(study: Study) -> int:
    """About how many records a study trains on."""
    return shards.trained_on(study.setting.task)


def missing_questions(study: Study) -> str:
    """What a study's task lacks on this machine, as a sentence; empty where its questions are here."""
    here, sentence = (True, "") if study.task == "own" else questions.of(study.setting.task).available()
    return "" if here else sentence
