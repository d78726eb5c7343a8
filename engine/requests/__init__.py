"""What takes long enough to be a job, each declared once: questions about a drawn problem (`request`), and others."""

from engine.requests.job import WHOLE, Answer, JobRequest
from engine.requests.request import OfCandidates, Option, Request, Table, Vouched, check_queued

__all__ = ["WHOLE", "Answer", "JobRequest", "OfCandidates", "Option", "Request", "Table", "Vouched", "check_queued"]
