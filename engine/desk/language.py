"""Studies of language models as a front end asks for them: a run, its records, their tokens, and decisions on them."""

# ruff: noqa: F401 (types and values that come with the verbs)
from __future__ import annotations

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
from engine.data.record_files import keep, path_of
from engine.data.record_sets import marked_sentence
from engine.data.records import read_jsonl
from engine.data.tasks import TASKS
from engine.data.tasks import cached_task as task_of
from engine.experiments.language_study import SHARES, SIZES
from engine.experiments.language_study import LanguageStudy as Study
from engine.models.causal import loading
from engine.models.causal.marked import Mark
from engine.models.causal.readouts import READOUTS
from engine.models.layers import listed as listed_layers


def check_model(name: str) -> None:
    """Raises one sentence for a model on this machine whose records cannot be attributed."""
    loading.check(name, lora=True)
