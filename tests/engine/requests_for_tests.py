"""Requests answered by their jobs, as a worker does it."""

from engine.jobs import run_job
from engine.requests.job import answer_of


def answered(request, source, root=None):
    """The answer that a finished job leaves."""
    asked = request.of(source)
    return answer_of(asked, run_job(asked.name, asked.payload(source), root))
