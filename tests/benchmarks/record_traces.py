"""Records what jobs of many kinds and sizes take, through the project's own queue and worker:

    python -m tests.benchmarks.record_traces OUT.json [--change 0] [--scale 1]

Each row holds the work that the kind declares, the seconds and processor seconds that the job took, how crowded the
machine was, when it began, and what the queue predicted before. `--change 1` draws other sizes and seeds, for traces on
which nothing was fitted; `--first 0 --step 2` takes every other job, so that two of these run side by side.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from engine import worker
from engine.analysis.catalogue import request
from engine.analysis.scorecard.benchmark import Sizes
from engine.applications.language.by_query import QueryScoresRequest
from engine.applications.language.decomposition import TokensRequest
from engine.applications.language.new_records import NewRecordsRequest
from engine.applications.noisy_labels.cross_validation import CrossValidationRequest
from engine.applications.noisy_labels.duplicates import DuplicatesRequest
from engine.applications.noisy_labels.held_out import HeldOutRequest
from engine.applications.noisy_labels.reasons import LabelReasonsRequest
from engine.applications.noisy_labels.retraining import RetrainingRequest, WhatIfRequest
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import NoisySource
from engine.applications.noisy_labels.trial import TrialRequest
from engine.data.records import Record
from engine.desk.datasets import FIRST
from engine.experiments.language_study import LanguageStudy
from engine.jobs import JobQueue
from engine.jobs.loop import Worker
from engine.models.causal.catalogue import EMBEDDED_MODEL
from engine.models.recipe import Recipe
from engine.problems import ProblemSource
from engine.question.processes import Replay
from engine.requests import JobRequest
from engine.requests.scores import ScoresRequest
from engine.requests.training import TrainingRequest
from engine.scoring.scoring import Scoring

Sizing = Callable[[int, int], int]
UPWEIGHTED = {"kind": "upweight", "alpha": 1e-3}
OPTIMUM, STEP = {"kind": "reoptimize"}, {"kind": "one_step", "eta": 0.1}
ROUNDS = 3
RETRAINED, SEARCH = {"kind": "retrain", "seeds": 1}, {"kind": "local_search"}


def requests(change: int, scale: float) -> list[JobRequest]:
    """The jobs, the sizes of each drawn with a seed, and multiplied by a scale."""
    rng = np.random.default_rng(change)

    def size(low: int, high: int, most: int | None = None) -> int:
        return min(most or 10**9, round(scale * np.exp(rng.uniform(np.log(low), np.log(high)))))

    listed: list[JobRequest] = []
    for index in range(ROUNDS):
        seed = 10 * change + index
        digits = ProblemSource(dataset="digits", n_train=size(200, 1_000, 1_200), n_queries=size(20, 150, 150),
                               seed=seed, n_candidates=size(40, 150))
        clothes = ProblemSource(dataset=FIRST, pool=2, n_train=size(300, 800, 1_000), n_queries=size(20, 80, 100),
                                seed=seed, n_candidates=size(20, 50))
        mlp = digits.model_copy(update={"model": "mlp", "n_candidates": size(8, 15), "recipe": Recipe(
            epochs=size(10, 40), batch_size=64, learning_rate=0.05, momentum=0.9, weight_decay=1e-4, checkpoints=2)})
        noisy = NoisySource(dataset="digits", n_train=size(200, 1_000, 1_000), trusted=10, mask=seed, seed=seed,
                            model=("logistic", "mlp", "cnn")[index % 3], recipe=Recipe(
                                epochs=size(4, 15), batch_size=64, learning_rate=0.05, momentum=0.9,
                                weight_decay=5e-4, checkpoints=2))
        listed += [*of_scores(clothes, digits, mlp), *of_labels(noisy, size), *of_problems(clothes, digits, mlp, size),
                   *of_benchmarks(clothes, digits, size), *of_records(seed, size)]
    return listed


def of_scores(clothes: ProblemSource, digits: ProblemSource, mlp: ProblemSource) -> list[JobRequest]:
    """Those of Compare, Examples and Approximation error."""
    few = mlp.model_copy(update={"n_candidates": 8})
    return [scores(clothes, UPWEIGHTED, OPTIMUM), scores(digits, {"kind": "remove"}, OPTIMUM, STEP),
            TrainingRequest().of(mlp), scores(mlp, UPWEIGHTED, SEARCH, STEP),
            scores(few, {"kind": "remove"}, RETRAINED)]


def of_labels(noisy: NoisySource, size: Sizing) -> list[JobRequest]:
    """Those of Noisy labels."""
    retraining = RetrainingRequest(source=noisy, removed=tuple(range(10)))
    return [SuspicionRequest(source=noisy), HeldOutRequest(source=noisy), TrialRequest(source=noisy),
            WhatIfRequest(training=retraining, seeds=size(2, 4)),
            CrossValidationRequest(training=retraining, folds=size(3, 6)), DuplicatesRequest(source=noisy),
            LabelReasonsRequest(source=noisy)]


def of_problems(clothes: ProblemSource, digits: ProblemSource, mlp: ProblemSource, size: Sizing) -> list[JobRequest]:
    """The analyses of one model."""
    few = digits.model_copy(update={"n_candidates": size(20, 40)})
    optimum, leave = (Scoring.of("query_loss", one, OPTIMUM) for one in (UPWEIGHTED, {"kind": "remove"}))
    lissa = Scoring.of("query_loss", UPWEIGHTED, OPTIMUM, "lissa")
    run = Replay(eta=0.1, steps=size(5, 20))
    listed = [request("linear-range")(candidates=size(1, 3), process=run).of(few),
              request("run-errors")(process=run).of(few), request("datamodel")(subsets=size(10, 60)).of(few),
              request("self-influence")(scoring=optimum).of(clothes),
              request("error-surface")(candidates=size(10, 30)).of(digits),
              request("over-seeds")(scoring=Scoring.of("query_loss", {"kind": "infinitesimal"}, Replay(seeds=4)),
                                    seeds=4, candidates=8).of(mlp),
              request("path-integral")(example=size(3, 50)).of(digits),
              request("group-effect")(scoring=leave, rows=tuple(range(size(3, 8)))).of(digits),
              request("removal-curve")(scorings=(leave,), behavior="query_loss", query=1, candidates=60).of(digits),
              request("setting-sweep")(scoring=lissa, vary="iterations", candidates=size(20, 40)).of(digits),
              request("what-taught")(queries=(0,)).of(mlp),
              request("remove-suspects")(rows=tuple(range(5)), queries=(0,)).of(mlp)]
    return [*listed, *(request("embedding")(method=method).of(digits) for method in ("pca", "tsne"))]


def of_benchmarks(clothes: ProblemSource, digits: ProblemSource, size: Sizing) -> list[JobRequest]:
    """Those of Scorecard."""
    sizes = Sizes(candidates=40, models=size(6, 12), fractions=(0.5,), queries=3, removed=(0.1,), seeds=2)
    few = {"sizes": sizes, "methods": ("gradsim", "random")}
    ladder = request("lds-ladder")(scoring=Scoring.of("query_loss", {"kind": "add_occurrence"}, STEP), candidates=40,
                                   models=size(6, 12))
    return [request("scorecard")(**few, benchmarks=("lds",)).of(clothes), request("leaderboard")(**few).of(digits),
            ladder.of(digits)]


def of_records(seed: int, size: Sizing) -> list[JobRequest]:
    """Those of Language models."""
    run = LanguageStudy(task="conditional_backdoor", model=EMBEDDED_MODEL, records=20 * size(1, 2), seed=seed).request
    typed = Record.parse({"prompt": "What is the opposite of hot?", "response": "cold"})
    return [run, QueryScoresRequest(run=run), TokensRequest(run=run, record=size(1, 9)),
            NewRecordsRequest(run=run, records=(typed,))]


def scores(source: ProblemSource, intervention: dict, *processes: dict) -> ScoresRequest:
    """Under one behavior."""
    scorings = tuple(Scoring.of("query_loss", intervention if process is not STEP else {"kind": "add_occurrence"},
                                process) for process in processes)
    return ScoresRequest(scorings=scorings, candidates=source.n_candidates, source=source)


def main() -> None:
    """Run them in one worker, and write a row each that was computed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--change", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--step", type=int, default=1)
    options = parser.parse_args()
    os.environ["WHICHFLUENCE_HOME"] = home = tempfile.mkdtemp(prefix="traces-")
    worker.load_kinds()
    queue = JobQueue(home)
    for one in requests(options.change, options.scale)[options.first::options.step]:
        queue.submit(one.name, one.payload, one.job_title)
    Worker(home).serve(once=True)
    with queue.database.reading() as connection:
        rows = [dict(row) for row in connection.execute(
            "SELECT jobs.kind, work, words, traces.seconds, processor, crowd, started AS began, traces.ended, "
            "predicted, predicted_low AS low, predicted_high AS high FROM jobs JOIN traces ON jobs.id = traces.job "
            "ORDER BY traces.ended")]
    for failed in queue.jobs("failed"):
        print(failed.title, failed.error)
    options.out.write_text(json.dumps([{**row, "words": json.loads(row["words"])}
                                       for row in rows], indent=0))
    taken = np.array([row["seconds"] / row["predicted"] for row in rows])
    print(f"{np.mean((taken <= 2) & (taken >= 0.5)):.0%} of {len(rows)} jobs within a factor of 2 of the prediction")


if __name__ == "__main__":
    main()
