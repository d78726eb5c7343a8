"""The kinds of job that are no study of the paper: importing this makes all of them known."""

from engine.analysis.catalogue import REQUESTS, request
from engine.applications.language import by_query, decomposition, new_records, run
from engine.applications.noisy_labels import cross_validation, duplicates, held_out, reasons, retraining, trial
from engine.requests import scores, training

__all__ = ["by_query", "cross_validation", "decomposition", "duplicates", "held_out", "new_records", "reasons",
           "retraining", "run", "scores", "training", "trial"]

for _name in REQUESTS:
    request(_name)
