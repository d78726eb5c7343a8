"""Requests answered by their jobs, as a worker does it, and the payloads of jobs that tests submit."""

from engine.applications import kinds  # noqa: F401  # all are known
from engine.applications.language.run import AttributionRequest
from engine.applications.noisy_labels.retraining import RetrainingRequest, WhatIfRequest
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.jobs import run_job
from engine.requests.scores import ScoresRequest
from engine.requests.training import TrainingRequest


def answered(request, source, root=None):
    """The answer that a finished job leaves."""
    asked = request.of(source)
    return asked.answered(run_job(asked.name, asked.payload, root))


def scores_payload(source, scorings, candidates=None, **more):
    return ScoresRequest(scorings=tuple(scorings), candidates=candidates, source=source, **more).payload


def training_payload(source):
    return TrainingRequest().of(source).payload


def suspicion_payload(source, methods=None):
    return SuspicionRequest(source=source, **({} if methods is None else {"methods": methods})).payload


def retraining_payload(source, removed=(), relabelled=None):
    return RetrainingRequest(source=source, removed=removed, relabelled=relabelled or {}).payload


def what_if_payload(source, removed=(), relabelled=None, seeds=3):
    training = RetrainingRequest(source=source, removed=removed, relabelled=relabelled or {})
    return WhatIfRequest(training=training, seeds=seeds).payload


def attribution_payload(setting, seed=0, asked=()):
    return AttributionRequest(setting=setting, seed=seed, explained=tuple(asked)).payload
