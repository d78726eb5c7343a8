"""Studies of language models as a front end asks for them: a run, its records, their tokens, and decisions on them."""

# ruff: noqa: F401 (types and values that come with the verbs)
from __future__ import annotations

from functools import lru_cache

from engine.applications.language.by_query import of_query
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
from engine.data import holds_records, uploads
from engine.data.record_files import keep, path_of
from engine.data.record_sets import marked_sentence
from engine.data.records import read_jsonl
from engine.data.tasks import TASKS
from engine.data.tasks import cached_task as task_of
from engine.data.tasks.own import content_of
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
