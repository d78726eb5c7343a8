"""What decides a statement, beside scipy's t tests, and on the published tables by another route."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from engine.experiments import publish
from engine.experiments.statements import STATEMENTS, wording
from engine.experiments.statements.findings import findings
from engine.experiments.statements.statement import CONFIRMED, CONTRADICTED, UNDECIDED, Clause, Finding, verdict
from tests.engine.experiments.test_statements import NOISE, controlled, of, put, row


def by_tests(samples):
    """The verdict from p values: all two-sided at 0.05 and above, or one at 0.05/k and below."""
    found = [stats.ttest_1samp(sample, 0.0) for sample in samples]
    if all(one.pvalue < 0.05 and one.statistic > 0 for one in found):
        return CONFIRMED
    return CONTRADICTED if any(one.pvalue < 0.05 / len(found) and one.statistic < 0 for one in found) else UNDECIDED


def test_intervals_decide_as_t_tests_do():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(400):
        count, seeds = rng.integers(1, 7), rng.integers(2, 11)
        samples = rng.normal(rng.normal(0.6, 1.0, (count, 1)), rng.uniform(0.1, 1.0), (count, seeds))
        clauses = [Clause.of("", sample) for sample in samples]
        assert verdict(clauses) == by_tests(samples)
        seen.add(verdict(clauses))
    assert seen == {CONFIRMED, CONTRADICTED, UNDECIDED}


def test_a_difference_within_seeds_is_the_paired_test():
    a, b = np.random.default_rng(1).normal(size=(2, 6)) + [[0.8], [0.0]]
    ends = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert Clause.of("", a - b).bounds() == pytest.approx((ends.low, ends.high))


def test_the_adjusted_interval_keeps_its_promise():
    """Of five comparisons that are all nought, some adjusted interval leaves nought out in at most 5% of the trials;
    raw ones do so in far more."""
    rng = np.random.default_rng(2)
    trials = [[Clause.of("", sample) for sample in rng.normal(size=(5, 4))] for _ in range(1_000)]
    wrong = [np.mean([any(not low < 0 < high for low, high in (clause.bounds(level) for clause in clauses))
                      for clauses in trials]) for level in (0.95, 1 - 0.05 / 5)]
    assert wrong[1] < 0.05 + 2 * np.sqrt(0.05 * 0.95 / 1_000) < 0.15 < wrong[0]


def test_raw_and_adjusted_interval_are_told_with_what_was_counted():
    statement = next(iter(STATEMENTS.values()))
    clauses = tuple(Clause.of(name, mean + NOISE) for name, mean in (("a", 0.5), ("b", -0.03)))
    found = Finding(statement, "paper", "paper", clauses)
    half = [stats.t.ppf(1 - (1 - level) / 2, 2) * 0.01 / np.sqrt(3) for level in (0.95, 0.975)]
    assert wording.interval(found) == f"−0.030 ± {half[0]:.3f} (± {half[1]:.3f} adjusted for 2)"
    assert wording.comparisons(found)[1] == (
        f"b: −0.030; 95% interval −{0.03 + half[0]:.3f} to −{0.03 - half[0]:.3f}; adjusted for 2 (97.5%) "
        f"−{0.03 + half[1]:.3f} to +{half[1] - 0.03:.3f}: open")
    assert found.verdict == UNDECIDED and "1 of 2 comparisons hold" in wording.measured(found)
    alone = Finding(statement, "paper", "paper", clauses[1:])
    assert alone.adjusted == "" and "one comparison, nothing to adjust" in wording.comparisons(alone)[0]
    assert alone.verdict == CONTRADICTED and wording.comparisons(alone)[0].endswith(": fails")


def test_the_seeds_that_would_decide_are_the_fewest_that_do():
    """Repeating the seeds' mean and deviation: one fewer leaves it open."""
    statement, low, high = next(iter(STATEMENTS.values())), Clause.of("a", 0.05 + 10 * NOISE), Clause.of("b", 9 + NOISE)
    for clause, level, word in ((low, 0.95, "confirm"), (Clause.of("c", -0.05 - 10 * NOISE), 0.975, "contradict")):
        seeds = int(clause.seeds_to_decide(2))
        halves = [stats.t.ppf((1 + level) / 2, n - 1) * np.std(clause.values, ddof=1) / np.sqrt(n)
                  for n in (seeds, seeds - 1)]
        assert halves[0] < 0.05 <= halves[1]
        found = Finding(statement, "paper", "paper", (clause, high))
        assert found.verdict == UNDECIDED and found.why == f"With this mean and spread {seeds} seeds would {word} it."
    assert Finding(statement, "paper", "paper", (high,)).why == ""
    endless = Finding(statement, "paper", "paper", (Clause.of("", 1e-6 + NOISE),))
    assert endless.why == "With this mean and spread more than 1,000 seeds would confirm it."


def test_equal_seeds_of_a_coarse_share_keep_the_spread_of_rounding():
    found = Finding(next(iter(STATEMENTS.values())), "paper", "paper", (Clause.of("", [0.25, 0.25], 0.5, grain=0.05),))
    half = stats.t.ppf(0.975, 1) * 0.05 / np.sqrt(12) / np.sqrt(2)
    assert found.least.interval() == pytest.approx((0.25, half)) and found.least.is_rounded
    assert "rounding to steps of 0.05" in wording.comparisons(found)[0]
    assert not Clause.of("", [0.1, 0.9], grain=0.05).is_rounded


def published(name, preset):
    table = pd.read_csv(publish.RESULTS / name / preset / "results.csv", keep_default_na=False)
    return table, table["seed_means"].astype(str).str.split(expand=True).astype(float).to_numpy()


def test_the_verdict_on_a_curve_follows_from_its_table():
    """Figure A-2, by pandas and scipy alone: the query loss over α falls neither surely nor is it contradicted."""
    table, seeds = published("figure-a2", "desk")
    own = (table["metric"] == "Kendall tau") & (table["axis"] == "approximation") & (table["curve"] == "alpha")
    own &= table["behavior"] == "query_loss"
    at = table["parameter"].str.partition("=")[2].where(own).replace("", np.nan).astype(float)
    fall = seeds[at.idxmin()] - seeds[at.idxmax()]
    found = next(one for one in findings([STATEMENTS["error-grows-cnn"]]) if one.scale == "desk")
    clause = next(clause for clause in found.clauses if clause.title == "query loss over α")
    assert clause.values == pytest.approx(fall)
    test = stats.ttest_1samp(fall, 0.0)
    assert test.statistic < 0 and 0.05 / len(found.clauses) < test.pvalue < 0.05 and found.verdict == UNDECIDED
    adjusted = test.confidence_interval(1 - 0.05 / len(found.clauses))
    assert clause.bounds(1 - 0.05 / len(found.clauses)) == pytest.approx((adjusted.low, adjusted.high))


def test_the_verdict_on_removal_follows_from_its_table():
    """Table A-10, by pandas and scipy alone."""
    table, seeds = published("table-a10", "desk")
    ten = table["topk"] == "10%"

    def of_pair(method, behavior):
        return seeds[(ten & (table["method"] == method) & (table["behavior"] == behavior)).to_numpy()][0]

    best = of_pair("TracIn", "Target logit")
    others = [of_pair("Random", "none"), of_pair("TracIn", "Trusted loss")]
    found = next(one for one in findings([STATEMENTS["removal-gains"]]) if one.scale == "desk")
    for clause, other in zip(found.clauses, others, strict=True):
        ends = stats.ttest_rel(best, other).confidence_interval(0.95)
        assert clause.bounds() == pytest.approx((ends.low, ends.high))
    assert found.verdict == by_tests([best - other for other in others])


def test_tables_of_other_seeds_are_not_subtracted(tmp_path):
    rows = controlled(0.4, 0.5)
    put(tmp_path, "figure-a1", rows, "desk", seeds=[0, 1, 2])
    put(tmp_path, "figure-a2", rows, "desk", seeds=[1, 2, 3])
    (found,) = of(tmp_path, "error-grows-cnn")
    assert found.verdict == UNDECIDED and "same seeds" in found.why and not found.clauses


def test_rows_with_fewer_seeds_are_not_subtracted(tmp_path):
    rows = [row(0.9, np.zeros(1), method="RepSim + train (logit)", behavior="none", metric="AUPRC"),
            row(0.2, method="RepSim", behavior="none", metric="AUPRC")]
    put(tmp_path, "table-a16", rows)
    (found,) = of(tmp_path, "training-signal-helps")
    assert found.verdict == UNDECIDED and "same seeds" in found.why


def test_a_comparator_chosen_by_chance_decides_nothing(tmp_path):
    """Two behaviors that beat the target logit in one seed each, and lose in the mean, do not contradict it: the better
    of them in every seed would."""
    values = {"Trusted loss": "0.59 0.40 0.59 0.40", "Hard margin": "0.40 0.59 0.40 0.59",
              "Target logit": "0.50 0.50 0.51 0.50"}
    rows = [{**row(0.5, method="TracIn", behavior=behavior, metric="AUPRC", architecture="CNN"), "seed_means": cell}
            for behavior, cell in values.items()]
    put(tmp_path, "table-a9", rows)
    (found,) = of(tmp_path, "steady-over-networks")
    better = np.maximum([0.59, 0.40, 0.59, 0.40], [0.40, 0.59, 0.40, 0.59]) - [0.50, 0.50, 0.51, 0.50]
    assert found.verdict == UNDECIDED and by_tests([-better]) == CONTRADICTED
