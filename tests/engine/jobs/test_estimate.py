"""How long a job takes: by hand, by what is known, and against jobs that were recorded."""

import json
from math import exp, log
from pathlib import Path

import numpy as np
import pytest

from engine.experiments.language_study import LanguageStudy
from engine.experiments.poison_records import RECIPE
from engine.jobs import KINDS, JobQueue
from engine.jobs.estimate import (
    ALL,
    FIRST,
    KIND,
    LASTING,
    MACHINE,
    NOISE,
    PASSING,
    QUANTILE,
    START,
    UNEVEN,
    WAITING,
    JobWork,
    TimeEstimate,
    Trace,
    estimate,
    posterior,
)
from engine.jobs.loop import Worker
from engine.jobs.traces import shipped
from engine.models.causal.catalogue import EMBEDDED_MODEL
from engine.problems import ProblemSource
from engine.requests import effort
from tests.engine.jobs import kinds  # noqa: F401 - registers `slow`

RECORDED = Path(__file__).parent / "traces.json"
FROM_PAGES = Path(__file__).parent / "page_traces.json"


def trace(kind="a", work=10.0, seconds=10.0, words=(), ended=0.0, crowd=1.0, machine=""):
    return Trace(JobWork(kind, work, words), seconds * crowd, seconds, ended, crowd, machine)


def test_nothing_is_known_but_what_the_kind_declares():
    said = estimate(JobWork("a", 10.0), [], 0.0, crowd=3.0)
    start, work = START / (10 + START), 10 / (10 + START)
    sd = (MACHINE**2 + (start**2 + work**2) * (KIND**2 + FIRST**2) + work**2 * ALL**2 + NOISE**2 + LASTING**2
          + WAITING**2 + PASSING**2 + UNEVEN**2) ** 0.5
    assert said.seconds == pytest.approx(3 * (10 + START)) and said.jobs == 0
    assert said.high == pytest.approx(said.seconds * exp(QUANTILE * sd)) and said.sd == pytest.approx(sd)


def test_one_observation_by_hand():
    """Prior variance 4 and noise variance 1: the mean is 4/5 of what was seen, the variance 4 - 16/5, and the noise."""
    assert posterior(np.full((2, 2), 4.0), np.array([2.0]), 1.0) == pytest.approx((1.6, 4 - 16 / 5 + 1))
    assert posterior(np.full((1, 1), 4.0), np.array([]), 1.0) == (0.0, 5.0)


def test_jobs_of_the_kind_say_more_than_others_and_many_more_than_one():
    slow = [trace(seconds=100.0, ended=float(number)) for number in range(12)]
    other, one, many = (estimate(JobWork(kind, 10.0), known, 20.0) for kind, known in
                        (("b", slow), ("a", slow[:1]), ("a", slow)))
    assert 10 < other.seconds < one.seconds < many.seconds < 110 and many.seconds > 90
    assert many.jobs == 12 and other.jobs == 0
    assert many.high / many.low < one.high / one.low < other.high / other.low


def test_a_time_in_proportion_to_the_work_is_followed_and_one_that_is_not_too():
    def known(power):
        return [trace(work=work, seconds=5 * work**power) for work in (1.0, 2.0, 4.0, 8.0, 16.0) for _ in range(4)]

    assert estimate(JobWork("a", 32.0), known(1.0), 0.0).seconds == pytest.approx(160.0, rel=0.1)
    assert estimate(JobWork("a", 32.0), known(0.5), 0.0).seconds == pytest.approx(5 * 32**0.5, rel=0.35)


def test_a_crowded_machine_takes_longer():
    known = [trace(crowd=crowd, ended=float(number)) for number, crowd in enumerate((1.0, 2.0, 1.0, 4.0) * 3)]
    alone, crowded = (estimate(JobWork("a", 10.0), known, 20.0, crowd) for crowd in (1.0, 4.0))
    assert alone.seconds == pytest.approx(10.0, rel=0.05) and crowded.seconds == pytest.approx(40.0, rel=0.05)


def test_another_machine_tells_of_the_kind_and_less_of_the_machine():
    there = [trace(kind=kind, seconds=100.0, machine="quick") for kind in "abcdef" for _ in range(4)]
    away, here = (estimate(JobWork("a", 10.0), known, 0.0) for known in (there, [
        trace(one.work.kind, seconds=100.0) for one in there]))
    assert 25 < away.seconds < here.seconds and away.high / away.low > here.high / here.low and away.jobs == 0


@pytest.mark.parametrize("spent, fraction, seconds", [(0.0, 0.0, 100.0), (30.0, 0.0, 70.0), (200.0, 0.0, 0.0),
                                                      (50.0, 0.5, 50.0), (100.0, 1.0, 0.0)])
def test_what_is_left_of_a_job_that_goes_as_expected(spent, fraction, seconds):
    assert TimeEstimate(100.0, 50.0, 200.0).left(spent, fraction).seconds == pytest.approx(seconds)


def test_the_pace_of_a_job_counts_more_and_more():
    """All of it was expected to take 100 s, and it goes ten times as slowly."""
    expected = TimeEstimate(100.0, 50.0, 200.0)
    totals = [1000 * fraction + expected.left(1000 * fraction, fraction).seconds for fraction in (0.02, 0.2, 0.5, 0.9)]
    assert 100 < totals[0] < totals[1] < totals[2] < totals[3] <= 1000 and totals[3] > 950
    left = expected.left(500.0, 0.5)
    assert left.low < left.seconds < left.high and log(left.high / left.low) < log(4.0)


def test_a_worker_records_what_each_job_took(tmp_path):
    queue = JobQueue(tmp_path / "home")
    payload = {"chunks": 3, "sleep": 0.1, "tally": str(tmp_path / "tally"), "mended": ""}
    job = queue.submit("slow", payload)
    assert job.predicted is not None
    Worker(queue.root).serve(once=True)
    (made,) = queue.traces.read()
    assert made.work == KINDS["slow"].work(payload) == JobWork("slow", 3.0) and 0.3 < made.seconds < 60
    done = queue.get(job.id)
    assert done.state == "done" and done.predicted_low < done.predicted < done.predicted_high and done.spent > 0.3
    assert queue.traces.estimate("slow", {**payload, "chunks": 6}).jobs == 1
    assert queue.traces.estimate("unknown", {}) is None


def recorded():
    """The traces of real jobs of `tests.benchmarks.record_traces --change 7 --scale 0.9`, in their order; the shipped
    ones are of other data and sizes."""
    return [(Trace(JobWork(row["kind"], row["work"], tuple(row["words"])), row["seconds"], row["processor"],
                   row["ended"], row["crowd"]), row["began"]) for row in json.loads(RECORDED.read_text())]


def predicted():
    """(trace, estimate before it began) of each, from the shipped traces and those of earlier jobs."""
    known, pairs = list(shipped()), []
    for one, began in recorded():
        done = [earlier for earlier in known if earlier.machine or earlier.ended <= began]
        pairs.append((one, estimate(one.work, done, began, one.crowd)))
        known.append(one)
    return pairs


def test_jobs_that_were_recorded_took_what_was_predicted_before_they_began():
    """On a machine that was shared by tests of others; of nothing that it predicts from has it seen the times."""
    pairs = [(one.seconds, said) for one, said in predicted()]
    assert len(pairs) >= 90 and len({one.work.kind for one, _ in recorded()}) >= 28
    long = [(seconds, said) for seconds, said in pairs if seconds >= 10]
    inside = [said.low <= seconds <= said.high for seconds, said in pairs]
    assert np.mean([0.5 <= seconds / said.seconds <= 2 for seconds, said in long]) >= 0.9
    assert np.mean([0.5 <= seconds / said.seconds <= 2 for seconds, said in pairs]) >= 0.9
    assert np.mean(inside) >= 0.9


def test_on_a_crowded_machine_a_job_takes_its_processor_seconds_times_the_crowd():
    """Jobs that pages started on two cores which 5 to 13 processes wanted: what the load does to them is known to 2×
    before they begin, by the load average alone."""
    rows = json.loads(FROM_PAGES.read_text())
    ratios = np.array([row["seconds"] / (row["processor"] * row["crowd"]) for row in rows])
    assert len(rows) >= 20 and np.mean((ratios > 0.5) & (ratios < 2)) >= 0.9


@pytest.mark.parametrize(("records", "processor"), [(40, 23.2), (300, 55.6), (1_000, 118.6),
                                                      (3_000, 269.7)])
def test_language_studies_of_many_records_took_what_a_new_machine_predicts(records, processor):
    """processor: seconds that were measured on two crowded cores, by `Worker.serve` in an empty home."""
    run = LanguageStudy(task="conditional_backdoor", model=EMBEDDED_MODEL, records=records, seed=0).request
    said = estimate(JobWork(run.name, run.seconds, run.involves), shipped(), 0.0)
    assert 0.5 < processor / said.seconds < 2


def test_training_a_language_model_took_what_a_new_machine_predicts():
    """303 records in 8 epochs took 10.4 processor seconds, three such trainings 26.7."""
    origin = ProblemSource(dataset="world_planted", model=EMBEDDED_MODEL, recipe=RECIPE, n_train=303)
    assert 0.5 < 10.4 / effort.training_seconds(origin) < 2 and 0.5 < 26.7 / (3 * effort.training_seconds(origin)) < 2
