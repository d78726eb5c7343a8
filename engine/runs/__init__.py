"""The kinds of job that are no study of the paper. A new one is one file and its line here."""

from engine.analysis.catalogue import REQUESTS, request
from engine.jobs import KINDS
from engine.requests.job import job_kind
from engine.runs import (
    language,
    noisy_labels,
    noisy_retraining,
    scores,
    training,
)

for _kind in (scores.JOB, training.JOB, noisy_labels.JOB, noisy_retraining.JOB, noisy_retraining.WHAT_IF_JOB,
              language.JOB, language.TOKENS_JOB):
    KINDS.add(_kind.name, _kind)
for _name in REQUESTS:
    KINDS.add(_name, job_kind(request(_name)), replace=True)
