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
from engine.applications.noisy_labels.duplicates import Duplicates, DuplicatesRequest
from engine.applications.noisy_labels.judge import judge
from engine.applications.noisy_labels.origin import IN_DOUBT, IN_TURN, VERIFIED
from engine.applications.noisy_labels.own import coverage
from engine.applications.noisy_labels.pace import Pace, pace
from engine.applications.noisy_labels.pairs import BEHAVIOR_TITLES, CONSENSUS, NONE, Pair, method_of, suspicion
from engine.applications.noisy_labels.reasons import LabelReasonsRequest, Reasons
from engine.applications.noisy_labels.recommended import Recommended, by_flags, by_publication
from engine.applications.noisy_labels.retraining import (
    NOT_MEASURED,
    RetrainingRequest,
    WhatIf,
    WhatIfRequest,
    most_suspicious,
)
from engine.applications.noisy_labels.review import VERDICTS, Review, cleaned, consequences, verified_by
from engine.applications.noisy_labels.search import Scored, SuspicionRequest
from engine.applications.noisy_labels.source import NOISE, SMALL_RECIPE, NoisyData, NoisySource
from engine.applications.noisy_labels.unusual import Cell, cells, rows_of
from engine.desk.commands import declaration
from engine.desk.desk import Desk
from engine.desk.published import reproduction
from engine.desk.waiting import Waiting
from engine.estimators.external import ExternalSettings
from engine.experiments.noisy_labels import cost
from engine.external.files import names as names_of_files
from engine.external.files import read_table
from engine.store import external_scores

SEARCH, RETRAINING = SuspicionRequest.name, WhatIfRequest.name
"""Kinds of job."""
TRAININGS = 3.5
"""How many trainings a search takes about as long as, with confident learning."""
PUBLISHED = "table-5-1"
SCALES = {False: ("small",), True: ("paper", "desk")}
"""Its scales, by whether their model is a deep network that has learned its labels by heart."""
START = 3.0
"""Seconds before a run's first training."""


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
    """Queue the run, or take it up again where it stopped."""
    desk.start(SuspicionRequest(source=source))


def what_if(source: NoisySource, removed: Sequence[int], relabelled: Mapping[int, int], seeds: int) -> WhatIfRequest:
    """Training again with other labels, for so many seeds, as `Desk.known` and `Desk.start` take it."""
    training = RetrainingRequest(source=source, removed=tuple(removed), relabelled=dict(relabelled))
    return WhatIfRequest(training=training, seeds=seeds)


def recommended(sample: NoisyData, scores: Scored) -> Recommended | None:
    """The ranking to look at first, and why: by what is known of these labels, else by the published table."""
    if sample.flags is not None and sample.flags.noisy.any():
        return by_flags(scores.suspicion, sample.flags.noisy)
    published = filter(None, (reproduction(PUBLISHED, scale) for scale in SCALES[scores.by_heart]))
    best = next(published, None)
    return None if best is None else by_publication(scores.suspicion, best.table, best.manifest["scale"],
                                                    scores.by_heart)


def seconds(source: NoisySource, trainings: float = TRAININGS) -> float:
    """Guessed seconds of so many trainings (default: of a search)."""
    return cost(source.model_dump(mode="json"), trainings) + START


def seconds_of(payload: dict[str, Any]) -> float:
    """The same of a job of either kind, by its payload."""
    trainings = 2 * len(payload["seeds"]) if "seeds" in payload else TRAININGS
    return cost(payload["source"], trainings) + START


def command(source: NoisySource, name: str = "noisy-labels", out: str = "suspicion.csv") -> str:
    """The command line that recomputes the scores, or what `name` computes."""
    words = ["python", "-m", "engine", name, "--source", json.dumps(source.stated), "--out", out]
    return declaration(source.model) + shlex.join(words)
