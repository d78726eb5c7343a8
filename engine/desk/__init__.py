"""What a front end asks for: the answer now, or which job to wait for; what is cached in memory is bounded in bytes."""

from engine.desk.desk import Desk
from engine.desk.jobs import Jobs
from engine.desk.memory import BoundedMemory
from engine.desk.waiting import Waiting
from engine.jobs import TimeEstimate
from engine.problems import Problem, ProblemSource, SampledProblem, TargetProblem
from engine.requests import JobRequest

__all__ = ["BoundedMemory", "Desk", "TimeEstimate", "JobRequest", "Jobs", "Problem", "ProblemSource", "SampledProblem",
           "TargetProblem", "Waiting"]
