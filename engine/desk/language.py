"""Studies of language models as a front end asks for them: a run, its records, their tokens, and decisions on them."""

# ruff: noqa: F401 (types and values that come with the verbs)
from __future__ import annotations

from engine.applications.language.methods import METHODS, REPSIM, Method
from engine.applications.language.rankings import at_layer, behavior_title
from engine.applications.language.review import VERDICTS, RecordReview
from engine.applications.language.typed import Example, example, typed
from engine.data import questions
from engine.data.record_files import keep, path_of
from engine.data.tasks import TASKS
from engine.data.tasks import kept as task_of
from engine.desk.attributed import Attributed, attribute, attributed, shade, shaded
from engine.experiments.language_asked import SHARES, SIZES, guessed_seconds
from engine.experiments.language_asked import Asked as Study
from engine.models.causal.readouts import READOUTS
from engine.runs.language import KIND
from engine.runs.language_records import Reading as Ranking
from engine.runs.language_records import changed, contributions


def missing_questions(study: Study) -> str:
    """What a study's task lacks on this machine, as a sentence; empty where its questions are here."""
    here, sentence = (True, "") if study.task == "own" else questions.of(study.setting.task).available()
    return "" if here else sentence
