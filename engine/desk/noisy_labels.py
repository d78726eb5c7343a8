"""Searches for noisy labels as a front end asks for them: data, rankings, decisions, and training again."""

# ruff: noqa: F401 (types and values that come with the verbs)
from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from engine import data
from engine.applications.noisy_labels import cleaning, consensus, external, limits, rankings
from engine.applications.noisy_labels.changes import Truth, truth
from engine.applications.noisy_labels.comparing import scoring_of, why
from engine.applications.noisy_labels.cross_validation import FOLDS, CrossValidationRequest
from engine.applications.noisy_labels.duplicates import Duplicates, DuplicatesRequest
from engine.applications.noisy_labels.fault import fault
from engine.applications.noisy_labels.held_out import FIRST, MISJUDGED, HeldOut, HeldOutRequest
from engine.applications.noisy_labels.judge import judge
from engine.applications.noisy_labels.learners import REGRESSIONS, learner
from engine.applications.noisy_labels.origin import IN_DOUBT, IN_TURN, SEARCH, VERIFIED
from engine.applications.noisy_labels.own import coverage, usual_model
from engine.applications.noisy_labels.pace import Pace, pace
from engine.applications.noisy_labels.pairs import BEHAVIOR_TITLES, CONSENSUS, NONE, Pair, label_method, suspicion
from engine.applications.noisy_labels.reasons import LabelReasonsRequest, Reasons
from engine.applications.noisy_labels.recommended import Recommended, by_flags, by_trial
from engine.applications.noisy_labels.retraining import (
    OfTraining,
    RetrainingRequest,
    WhatIfRequest,
    most_suspicious,
)
from engine.applications.noisy_labels.review import VERDICTS, Review, cleaned, consequences
from engine.applications.noisy_labels.search import Scored, SuspicionRequest
from engine.applications.noisy_labels.source import NOISE, SMALL_RECIPE, NoisyData, NoisySource
from engine.applications.noisy_labels.trial import Trial, TrialRequest
from engine.applications.noisy_labels.trusting import (
    VerifiedSample,
    by_file,
    carried,
    sample_to_verify,
    trusting,
    verified_by,
)
from engine.desk.commands import declaration
from engine.desk.desk import Desk
from engine.desk.waiting import Waiting
from engine.estimators.external import ExternalSettings
from engine.external.files import names as names_of_files
from engine.external.files import read_table
from engine.requests import JobRequest
from engine.store import external_scores


def sampled(desk: Desk, source: NoisySource) -> NoisyData:
    """The data of a source. Raises `MissingData` where they cannot be had."""
    key = "noisy data", str(desk.jobs.root), source.model_dump_json(), tuple(source.contents.values())
    return desk.memory.cached(key, source.draw)


def scored(desk: Desk, source: NoisySource) -> Scored | None:
    """The scores of a source, where its run is finished. Raises `StoreError` where they cannot be trusted."""
    answer = desk.known(SuspicionRequest(source=source))
    return answer if isinstance(answer, Scored) else None


def under_way(desk: Desk, source: NoisySource) -> Waiting | None:
    """The run that scores a source, where it was asked for and is not done."""
    answer = desk.known(SuspicionRequest(source=source))
    return answer if isinstance(answer, Waiting) else None


def start_search(desk: Desk, source: NoisySource) -> None:
    """Queue the first list of suspects and the run, or take them up again where they stopped."""
    desk.start(HeldOutRequest(source=source))
    desk.start(SuspicionRequest(source=source))


def held_out(desk: Desk, source: NoisySource) -> HeldOut | Waiting | None:
    """What held-out examples are said to be, what to wait for, or None where nobody asked. Raises as `scored` does."""
    answer = desk.known(HeldOutRequest(source=source))
    return None if isinstance(answer, str) else answer


def cross_validation(source: NoisySource, removed: Sequence[int], relabelled: Mapping[int, int], seeds: int
                     ) -> CrossValidationRequest:
    """Accuracy before and after on held-out corrected labels, as `Desk.known` and `Desk.start` take it."""
    training = RetrainingRequest(source=source, removed=tuple(removed), relabelled=dict(relabelled))
    return CrossValidationRequest(training=training, seeds=seeds)


def what_if(source: NoisySource, removed: Sequence[int], relabelled: Mapping[int, int], seeds: int) -> WhatIfRequest:
    """Training again with other labels, for so many seeds, as `Desk.known` and `Desk.start` take it."""
    training = RetrainingRequest(source=source, removed=tuple(removed), relabelled=dict(relabelled))
    return WhatIfRequest(training=training, seeds=seeds)


def recommended(sample: NoisyData, scores: Scored) -> Recommended | None:
    """The ranking to look at first, and why, by what is known of these labels; None where nothing is."""
    if sample.flags is not None and sample.flags.noisy.any():
        return by_flags(scores.suspicion, sample.flags.noisy)
    return None


def command(source: NoisySource, name: str = "noisy-labels", out: str = "suspicion.csv") -> str:
    """The command line that recomputes the scores, or what `name` computes."""
    words = ["python", "-m", "engine", name, "--source", json.dumps(source.stated), "--out", out]
    return declaration(source.model) + shlex.join(words)
