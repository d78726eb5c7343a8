"""What takes long enough to be a job, each declared once: questions about a drawn problem (`request`), and others."""

from engine.requests.job import WHOLE, Answer, JobRequest
from engine.requests.request import Called, OfCandidates, Read, Request, Shown, check_queued

__all__ = ["WHOLE", "Answer", "Called", "JobRequest", "OfCandidates", "Read", "Request", "Shown", "check_queued"]
