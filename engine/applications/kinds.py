"""The kinds of job that are no study of the paper: importing this makes all of them known."""

import engine.applications.language.run
import engine.applications.noisy_labels.retraining
import engine.requests.scores
import engine.requests.training  # noqa: F401
from engine.analysis.catalogue import REQUESTS, request

for _name in REQUESTS:
    request(_name)
