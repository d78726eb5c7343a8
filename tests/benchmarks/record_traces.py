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
from pathlib import Path

import numpy as np

from engine import worker
from engine.analysis.catalogue import request
from engine.applications.noisy_labels.cross_validation import CrossValidationRequest
from engine.applications.noisy_labels.held_out import HeldOutRequest
from engine.applications.noisy_labels.retraining import RetrainingRequest, WhatIfRequest
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import NoisySource
from engine.applications.noisy_labels.trial import TrialRequest
from engine.desk.datasets import FIRST
from engine.experiments.language_study import LanguageStudy
from engine.jobs import JobQueue
from engine.jobs.loop import Worker
from engine.jobs.traces import work_of
from engine.models.causal.catalogue import EMBEDDED_MODEL
from engine.models.recipe import Recipe
from engine.problems import ProblemSource
from engine.question.processes import Replay
from engine.requests import JobRequest
from engine.requests.scores import ScoresRequest
from engine.requests.training import TrainingRequest
from engine.scoring.scoring import Scoring

UPWEIGHTED = {"kind": "upweight", "alpha": 1e-3}
OPTIMUM, STEP = {"kind": "reoptimize"}, {"kind": "one_step", "eta": 0.1}
RETRAINED, SEARCH = {"kind": "retrain", "seeds": 1}, {"kind": "local_search"}


def requests(change: int, scale: float) -> list[JobRequest]:
    """The jobs, the sizes of each drawn with a seed, and multiplied by a scale."""
    rng = np.random.default_rng(change)

    def size(low: int, high: int, most: int | None = None) -> int:
        return min(most or 10**9, round(scale * np.exp(rng.uniform(np.log(low), np.log(high)))))

    listed: list[JobRequest] = []
    for index in range(6):
        seed = 10 * change + index
        digits = ProblemSource(dataset="digits", n_train=size(200, 1_000, 1_200), n_queries=size(20, 150, 150),
                               seed=seed, n_candidates=size(40, 150))
        clothes = ProblemSource(dataset=FIRST, pool=2, n_train=size(300, 800, 1_000), n_queries=size(20, 80, 100),
                                seed=seed, n_candidates=size(20, 50))
        few = digits.model_copy(update={"n_candidates": size(20, 40)})
        mlp = digits.model_copy(update={"model": "mlp", "n_candidates": size(5, 15), "recipe": Recipe(
            epochs=size(10, 40), batch_size=64, learning_rate=0.05, momentum=0.9, weight_decay=1e-4, checkpoints=2)})
        noisy = NoisySource(dataset="digits", n_train=size(200, 1_000, 1_000), trusted=10, mask=seed, seed=seed,
                            model=("logistic", "mlp", "cnn")[index % 3], recipe=Recipe(
                                epochs=size(4, 15), batch_size=64, learning_rate=0.05, momentum=0.9,
                                weight_decay=5e-4, checkpoints=2))
        listed += [scores(clothes, UPWEIGHTED, OPTIMUM), scores(digits, {"kind": "remove"}, OPTIMUM, STEP),
                   TrainingRequest().of(mlp), scores(mlp, UPWEIGHTED, SEARCH, STEP), SuspicionRequest(source=noisy),
                   HeldOutRequest(source=noisy)]
        retraining = RetrainingRequest(source=noisy, removed=tuple(range(10)))
        listed += [
            [TrialRequest(source=noisy), WhatIfRequest(training=retraining, seeds=size(2, 4)),
             CrossValidationRequest(training=retraining, folds=size(3, 6))][index % 3],
            [request("linear-range")(candidates=size(1, 3), process=Replay(eta=0.1, steps=size(5, 20))).of(few),
             request("datamodel")(subsets=size(10, 60)).of(few),
             request("run-errors")(process=Replay(eta=0.1, steps=size(5, 20))).of(few),
             request("self-influence")(scoring=Scoring.of("query_loss", UPWEIGHTED, OPTIMUM)).of(clothes)][index % 4]]
        if index % 3 == 0:
            listed += [LanguageStudy(task="conditional_backdoor", model=EMBEDDED_MODEL, records=20 * size(1, 2),
                                     seed=seed).request, scores(mlp.model_copy(update={"n_candidates": 8}),
                                                                {"kind": "remove"}, RETRAINED)]
    return listed


def scores(source: ProblemSource, intervention: dict, *processes: dict) -> ScoresRequest:
    """Under one behavior."""
    scorings = tuple(Scoring.of("query_loss", intervention if process is not STEP else {"kind": "add_occurrence"},
                                process) for process in processes)
    return ScoresRequest(scorings=scorings, candidates=source.n_candidates, source=source)


def main() -> None:
    """Run them, and write a row each as it is done."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--change", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--step", type=int, default=1)
    options = parser.parse_args()
    os.environ["WHICHFLUENCE_HOME"] = home = tempfile.mkdtemp(prefix="traces-")
    worker.load_kinds()
    queue, rows = JobQueue(home), []
    for index, one in list(enumerate(requests(options.change, options.scale)))[options.first::options.step]:
        job, work = queue.submit(one.name, one.payload, one.job_title), work_of(one.name, one.payload)
        Worker(home).serve(once=True)
        done = queue.get(job.id)
        if done is None or done.state != "done" or work is None or done.predicted is None:  # None of a stored result
            print(index, one.name, "not done:", done and done.error, work, flush=True)
            continue
        trace = queue.traces.read()[0]
        rows.append({"index": index, "kind": one.name, "work": work.seconds, "words": work.words,
                     "seconds": round(trace.seconds, 3), "processor": round(trace.processor, 3),
                     "began": done.started, "ended": trace.ended, "crowd": round(trace.crowd, 2),
                     "predicted": done.predicted, "low": done.predicted_low, "high": done.predicted_high})
        options.out.write_text(json.dumps(rows, indent=0))
        print(index, one.name, f"work {work.seconds:.2f} took {done.spent:.2f} ({trace.processor:.2f} cpu), predicted "
              f"{done.predicted:.2f}",
              flush=True)


if __name__ == "__main__":
    main()
