"""Why a score is at chance: each reason from numbers that show it, and none from numbers that do not."""

import math

import numpy as np
import pandas as pd
import pytest

from engine.analysis.scorecard import BENCHMARKS, card, reasons
from engine.analysis.scorecard.benchmark import CEILING, SeedValues, Sizes
from engine.analysis.scorecard.reasons import Estimate, reason

AT, ABOVE, NOISY = Estimate(0.01, 0.03, 0.05), Estimate(0.5, 0.03, 0.05), Estimate(0.06, 0.02, 0.12)
HIGH, LOW = Estimate(0.8, 0.02, 0.03), Estimate(0.02, 0.03, 0.04)
TABLE = [
    (AT, LOW, {}, "cannot be separated from that of seeds"),
    (AT, LOW, {"75%": ABOVE}, "cannot be separated from that of seeds"),
    (NOISY, HIGH, {}, "sampling only 20 subsets leaves ± 0.12, while queries alone leave ± 0.02; sample more"),
    (NOISY, None, {"75%": ABOVE}, "sample more subsets"),
    (AT, HIGH, {"75%": ABOVE, "90%": AT}, "on subsets of another size it does (75%: 0.50 ± 0.06), so their size"),
    (AT, None, {"75%": ABOVE}, "their size matters here"),
    (AT, HIGH, {"75%": AT}, "reaches 0.80 ± 0.04, so seed noise does not explain it; the cause is unknown."),
    (AT, HIGH, {}, "the cause is unknown"),
    (AT, None, {}, "no other seed was measured, so the cause is unknown."),
]


@pytest.mark.parametrize(("own", "ceiling", "others", "words"), TABLE)
def test_a_reason_is_what_was_measured(own, ceiling, others, words):
    assert words in reason(own, ceiling, others, 0.0, 20)


@pytest.mark.parametrize(("standing", "chance", "differs"), [
    (Estimate(0.1, 0.09), 0.0, True), (Estimate(0.1, 0.11), 0.0, False), (Estimate(0.1, 0.08, 0.08), 0.0, False),
    (Estimate(-0.3, 0.1, 0.1), 0.0, True), (Estimate(0.55, 0.1), 0.5, False), (Estimate(0.9, math.nan), 0.0, False),
    (Estimate(1.0, 0.0, 0.0), 0.0, True)])
def test_a_score_differs_from_chance_beyond_both_intervals(standing, chance, differs):
    assert standing.differs(chance) is differs


def lds(**measured):
    """A card of LDS: method -> measure -> mean over 40 queries with a spread of 0.05, subset error 0.01."""
    noise = np.random.default_rng(0).normal(0, 0.05, 40)
    noise -= noise.mean()
    found = {name: {measure: SeedValues((mean + noise)[None], 30, 0.01) for measure, mean in own.items()}
             for name, own in measured.items()}
    return card.rows(BENCHMARKS["lds"], found, Sizes(protocol="seeds"))


def test_the_card_gives_a_reason_for_methods_at_chance_alone():
    table = lds(gradsim={"50%": 0.0, "90%": 0.3}, tracin={"50%": 0.4, "90%": 0.4}, random={"50%": 0.0, "90%": 0.0},
                **{CEILING: {"50%": 0.9, "90%": 0.9}})
    [said] = reasons.reasons(BENCHMARKS["lds"], table, "50%")
    assert said.startswith("GradSim, 0.00 ± 0.02, does not differ from chance (0): on subsets of another size it does")
    assert not reasons.reasons(BENCHMARKS["lds"], table, "90%")
    [said] = reasons.reasons(BENCHMARKS["lds"], lds(gradsim={"50%": 0.0}, **{CEILING: {"50%": 0.0}}), "50%")
    assert "cannot be separated from that of seeds" in said
    assert not reasons.reasons(BENCHMARKS["removal"], table, "50%")  # its chance depends on the data


def test_scores_of_another_seed_have_the_same_ceiling_and_their_own_sizes():
    table = lds(gradsim={"50%": 0.3, "50%, other seed": 0.0, "90%, other seed": 0.2}, **{CEILING: {"50%": 0.9}})
    [said] = reasons.reasons(BENCHMARKS["lds"], table, "50%, other seed")
    assert "90%, other seed: 0.20" in said
    table = lds(gradsim={"50%": 0.3, "50%, other seed": 0.0}, **{CEILING: {"50%": 0.9}})
    [said] = reasons.reasons(BENCHMARKS["lds"], table, "50%, other seed")
    assert "reaches 0.90 ± 0.02" in said and "the cause is unknown" in said


def test_a_row_has_its_counts_and_every_spread():
    values = np.array([[0.2, 0.4, np.nan], [0.4, 0.6, np.nan]])
    table = card.rows(BENCHMARKS["lds"], {"gradsim": {"50%": SeedValues(values, 30, 0.02)}}, Sizes(protocol="subset"))
    row = table.iloc[0]
    assert (row["protocol"], row["n"], row["n_dropped"], row["subsets"], row["n_seeds"]) == ("subset", 2, 1, 30, 2)
    assert row["mean"] == pytest.approx(0.4) and row["seed_sd"] == pytest.approx(np.std([0.3, 0.5], ddof=1))
    assert row["ci95_subsets"] == pytest.approx(2.0452 * 0.02, rel=1e-4)
    said = card.counted(row)
    assert all(word in said for word in ("2 queries", "30 subsets (± 0.04", "2 values over seeds", "deviation of 0.14"))


def test_a_card_of_an_earlier_version_had_the_first_protocol():
    old = pd.DataFrame([{"benchmark": "lds", "measure": "50% kept", "method": "gradsim", "title": "GradSim",
                         "exact": False, "control": False, "mean": 0.3, "ci95": 0.1, "n": 5, "n_dropped": 0}] * 2)
    old.loc[1, "benchmark"] = "stability"
    assert list(card.with_older(old)["protocol"]) == ["weights", ""]
    found = card.with_older(old).iloc[0]
    assert found["subsets"] == 0 and math.isnan(found["seed_sd"])
