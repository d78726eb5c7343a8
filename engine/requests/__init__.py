"""Questions about a drawn problem that take long enough to be a job, each declared once: see `request`."""

from engine.requests.request import WHOLE, Answer, OfCandidates, Request, Shown, check_queued

__all__ = ["WHOLE", "Answer", "OfCandidates", "Request", "Shown", "check_queued"]
