r"""How long a job takes on this machine, from how long earlier ones took: a posterior median with its 90% interval.

Of job i, w_i = `START` + the seconds that its kind declares for two idle cores, c_i the processor seconds and t_i the
seconds that it took, and s_i how many processes wanted each core when it began. log(t_i / w_i), or log(c_i / w_i) +
log(t_i / c_i), is the sum of two Gaussian processes: of the work, with what jobs have in common in their machine, their
kind and what is computed on what, those of start and declared work apart and weighted by their fractions of w_i, and a
smooth departure from c ∝ w within a kind; and of the load, of mean log s_i, with what jobs of a kind or of about the
same time have in common, and a departure from t ∝ s. Their posteriors are those of Rasmussen and Williams, *Gaussian
Processes for Machine Learning* (2006), equations 2.25 and 2.26.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log

import numpy as np

HERE = ""
"""The machine of traces of its own home."""
START = 0.2
"""Processor seconds that a job takes besides its work, roughly."""
MACHINE, KIND, FIRST, ALL, SLOPE, NOISE = 0.5, 1.0, 0.6, 0.5, 0.3, 0.25
"""Standard deviations of log(c / w) due to the machine, the kind, the first and all words of what is computed, a factor
e of work within a kind, and one job."""
LASTING, WAITING, PASSING, CROWD, UNEVEN = 0.4, 0.4, 0.3, 0.4, 0.25
"""Standard deviations of log(t / c) due to the machine, what the kind waits for besides a core, the load of the machine
for some minutes, a factor e of s, and one job."""
PASSING_SECONDS, WORK_SCALE = 600.0, 1.0
"""How long a load lasts, and over which log(work) one rate holds."""
QUANTILE = 1.645
CHUNK = 0.2
"""Standard deviation of log(t / w) of what is left of a job, given what is done of it, at one half."""
LATEST = 200
"""How many traces are read, the latest ones."""


@dataclass(frozen=True)
class JobWork:
    """What a job is, for its duration. seconds: declared by its kind, on two idle cores. words: what is computed on
    what, from general to specific, such as the model and the dataset."""

    kind: str
    seconds: float
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trace:
    """Work that was done up to the time `ended` (seconds since 1970), and the seconds and processor seconds that it
    took. crowd: how many processes wanted each core when it began. machine: another one's name, or `HERE`."""

    work: JobWork
    seconds: float
    processor: float
    ended: float
    crowd: float = 1.0
    machine: str = HERE

    @property
    def declared(self) -> float:
        """Seconds of its work and its start."""
        return self.work.seconds + START


@dataclass(frozen=True)
class TimeEstimate:
    """Seconds: median, and the ends of a 90% interval. jobs: of how many jobs of the kind on this machine it knows."""

    seconds: float
    low: float
    high: float
    jobs: int = 0

    @classmethod
    def of(cls, mean: float, sd: float, jobs: int = 0) -> TimeEstimate:
        """From mean and standard deviation of the logarithm."""
        return cls(exp(mean), exp(mean - QUANTILE * sd), exp(mean + QUANTILE * sd), jobs)

    @property
    def sd(self) -> float:
        """Of the logarithm."""
        return log(self.high / self.low) / (2 * QUANTILE)

    def of_fraction(self, fraction: float) -> TimeEstimate:
        """That of a fraction of the work."""
        return TimeEstimate(fraction * self.seconds, fraction * self.low, fraction * self.high, self.jobs)

    def left(self, spent: float, fraction: float) -> TimeEstimate:
        """What is left once `fraction` of the work is done, which took `spent` seconds: its own rate and the estimate,
        each by its precision. `fraction` 0 leaves the estimate less `spent`."""
        if fraction >= 1.0:
            return TimeEstimate(0.0, 0.0, 0.0, self.jobs)
        if fraction <= 0.0 or spent <= 0.0:
            seconds, low, high = (max(0.0, end - spent) for end in (self.seconds, self.low, self.high))
            return TimeEstimate(seconds, low, high, self.jobs)
        own, known = (CHUNK / min(1.0, 2 * fraction)) ** -2, self.sd ** -2 if self.sd else inf
        weight = own / (own + known) if known < inf else 0.0
        rate = weight * log(spent / fraction) + (1 - weight) * log(self.seconds)
        return self.of(rate + log(1 - fraction), (own + known) ** -0.5 if known < inf else 0.0, self.jobs)


def crowd_now() -> float:
    """How many processes want each core with one more, at least 1: by the load average of the last minute."""
    try:
        return max(1.0, (os.getloadavg()[0] + 1.0) / (os.cpu_count() or 1))
    except OSError:  # there is none on this system
        return 1.0


def estimate(work: JobWork, traces: Sequence[Trace], now: float, crowd: float = 1.0) -> TimeEstimate:
    """How long `work` takes from `now` on, where `crowd` processes want each core. traces: of this machine and others,
    the latest `LATEST` of which count."""
    known = sorted((one for one in traces if min(one.seconds, one.processor) > 0), key=lambda one: one.ended)[-LATEST:]
    jobs = sum(one.work.kind == work.kind and one.machine == HERE for one in known)
    points = [*known, Trace(work, 1.0, 1.0, now, crowd)]
    rate = np.log([one.processor / one.declared for one in known])
    load = np.log([one.seconds / (one.processor * one.crowd) for one in known])
    means, variances = zip(posterior(_of_work(points), rate, NOISE), posterior(_of_load(points), load, UNEVEN),
                           strict=True)
    return TimeEstimate.of(sum(means) + log(points[-1].declared * crowd), sum(variances) ** 0.5, jobs)


def posterior(covariance: np.ndarray, y: np.ndarray, noise: float) -> tuple[float, float]:
    """(mean, variance) of one more noisy observation. covariance: (n + 1, n + 1) without the noise, that one the last;
    y (n,). Of no observation it is the prior's."""
    gain = np.linalg.solve(covariance[:-1, :-1] + noise ** 2 * np.eye(len(y)), covariance[:-1, -1])
    return float(gain @ y), max(float(covariance[-1, -1] - gain @ covariance[:-1, -1]), 0.0) + noise ** 2


def _of_work(points: Sequence[Trace]) -> np.ndarray:
    """The covariance (n, n) of log(c / w): what the start of a job and its work contribute, each by its fraction."""
    size, start = np.log([one.declared for one in points]), np.array([START / one.declared for one in points])
    kind, first, words, machine = (_equal(keys) for keys in (
        [one.work.kind for one in points], [(one.work.kind, *one.work.words[:1]) for one in points],
        [(one.work.kind, *one.work.words) for one in points], [one.machine for one in points]))
    near = np.exp(-np.subtract.outer(size, size) ** 2 / (2 * WORK_SCALE ** 2))
    common = kind * KIND ** 2 + first * FIRST ** 2
    return (machine * MACHINE ** 2 + np.multiply.outer(start, start) * common
            + np.multiply.outer(1 - start, 1 - start) * (common + kind * SLOPE ** 2 * _from_the_last(size)
                                                         + words * near * ALL ** 2))


def _of_load(points: Sequence[Trace]) -> np.ndarray:
    """The covariance (n, n) of log(t / c s)."""
    ended = np.array([one.ended for one in points])
    passing = PASSING ** 2 * np.exp(-np.abs(np.subtract.outer(ended, ended)) / PASSING_SECONDS)
    crowd = CROWD ** 2 * _from_the_last(np.log([one.crowd for one in points]))
    waiting = WAITING ** 2 * _equal([one.work.kind for one in points])
    return _equal([one.machine for one in points]) * (LASTING ** 2 + passing + crowd) + waiting


def _from_the_last(values: np.ndarray) -> np.ndarray:
    """(n, n): the covariance of a line of unit slope that passes through what is sought."""
    return np.multiply.outer(values - values[-1], values - values[-1])


def _equal(keys: Sequence[object]) -> np.ndarray:
    """(n, n): 1 where two keys are equal."""
    numbers = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    codes = np.array([numbers[key] for key in keys])
    return (codes[:, None] == codes[None]).astype(float)
