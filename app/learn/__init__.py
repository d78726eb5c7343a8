"""The guided tour: nine lessons in order, one a file, and a plane to play with."""

from app.learn.behavior import LESSON as BEHAVIOR
from app.learn.counterfactual import LESSON as COUNTERFACTUAL
from app.learn.intervention import LESSON as INTERVENTION
from app.learn.lesson import Lesson, teach
from app.learn.plane import LESSON as PLANE
from app.learn.process import LESSON as PROCESS
from app.learn.proposition import LESSON as PROPOSITION
from app.learn.rough import LESSON as ROUGH
from app.learn.signals import LESSON as SIGNALS
from app.learn.similarity import LESSON as SIMILARITY
from app.learn.tangent import LESSON as TANGENT

LESSONS = (COUNTERFACTUAL, BEHAVIOR, INTERVENTION, PROCESS, PROPOSITION, TANGENT, SIMILARITY, SIGNALS, ROUGH)

__all__ = ["LESSONS", "PLANE", "Lesson", "teach"]
