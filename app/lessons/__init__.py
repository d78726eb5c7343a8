"""The guided tour: eight lessons in order, one a file, and a plane to play with."""

from app.lessons.behavior import LESSON as BEHAVIOR
from app.lessons.counterfactual import LESSON as COUNTERFACTUAL
from app.lessons.intervention import LESSON as INTERVENTION
from app.lessons.lesson import Lesson, teach
from app.lessons.process import LESSON as PROCESS
from app.lessons.proposition import LESSON as PROPOSITION
from app.lessons.signals import LESSON as SIGNALS
from app.lessons.similarity import LESSON as SIMILARITY
from app.lessons.tangent import LESSON as TANGENT

LESSONS = (COUNTERFACTUAL, BEHAVIOR, INTERVENTION, PROCESS, PROPOSITION, TANGENT, SIMILARITY, SIGNALS)

__all__ = ["LESSONS", "Lesson", "teach"]
