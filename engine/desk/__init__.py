"""What a front end asks for: the answer now, or which job to wait for; what is cached in memory is bounded in bytes."""

from engine.desk.desk import Desk
from engine.desk.jobs import Jobs
from engine.desk.memory import BoundedMemory
from engine.desk.waiting import Waiting
from engine.problems import Problem, ProblemSource, SampledProblem

__all__ = ["Desk", "SampledProblem", "Jobs", "BoundedMemory", "Problem", "ProblemSource", "Waiting"]
