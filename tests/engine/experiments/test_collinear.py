"""Behaviors that a study does not separate: from its manifest, in a table, and in statements that compare them."""

import pytest

from engine.cli.reproduce_text import collinearity
from engine.experiments import collinear
from engine.experiments.conventions import AS_AUTHORS
from engine.experiments.statements import STATEMENTS
from engine.experiments.statements.findings import findings
from engine.experiments.statements.statement import CONFIRMED, UNDECIDED
from tests.engine.experiments.test_statements import of, put, row

LOGIT, RESPONSE, EXPLANATION = "Answer logit", "Response loss", "Explanation loss"


def manifest(*seeds):
    """One cosine of response loss and answer logit a checkpoint, for every seed."""
    return {"runs": [{"behavior_cosines": [{"behaviors": [RESPONSE, LOGIT], "cosine": list(cosine)},
                                           {"behaviors": [RESPONSE, EXPLANATION], "cosine": [0.2, 0.4]}]}
                     for cosine in seeds]}


def test_a_row_a_pair_averages_over_seeds():
    rows = collinear.table(manifest((0.9, 0.6), (0.8, 1.0))).to_dict("records")
    assert rows[0] == pytest.approx({"first": RESPONSE, "second": LOGIT, "end": 0.8, "least": 0.7})
    assert rows[1] == pytest.approx({"first": RESPONSE, "second": EXPLANATION, "end": 0.4, "least": 0.2})


@pytest.mark.parametrize(("seeds", "compared", "near"), [
    ([(0.99, 0.97)], [(LOGIT, RESPONSE)], True), ([(0.99, 0.94)], [(LOGIT, RESPONSE)], False),
    ([(0.99, 0.97)], [(LOGIT, EXPLANATION)], False), ([(0.99, 0.97)], [], False),
    ([(0.94, 0.99), (0.98, 0.97)], [(RESPONSE, LOGIT)], True), ([], [(LOGIT, RESPONSE)], False)])
def test_only_behaviors_that_are_compared_and_collinear_at_every_checkpoint(seeds, compared, near):
    assert ("response loss and answer logit (0.9" in collinear.undecidable(manifest(*seeds), compared)) == near


def test_a_result_without_cosines_says_nothing():
    assert collinear.table({}).empty and collinear.table({"runs": [{"seed": 0}]}).empty
    assert collinear.undecidable({"runs": [{"seed": 0}]}, [(LOGIT, RESPONSE)]) == "" == collinearity({})


@pytest.mark.parametrize(("cosine", "verdict"), [((0.99, 0.98), UNDECIDED), ((0.99, 0.5), CONFIRMED)])
def test_a_statement_on_collinear_behaviors_stays_undecided(tmp_path, cosine, verdict):
    rows = [row(value, method="TracIn", behavior=behavior, metric="AUPRC")
            for behavior, value in ((RESPONSE, 0.2), (EXPLANATION, 0.1), (LOGIT, 0.5))]
    put(tmp_path, "table-5-2", rows, seeds=[0, 1, 2], **manifest(cosine))
    finding, = of(tmp_path, "logit-beats-losses")
    assert finding.verdict == verdict and len(finding.clauses) == 2
    assert ("inconclusive" in finding.why) == (verdict == UNDECIDED) and not finding.short


LOG_PROBABILITY = "Answer log-probability"


@pytest.mark.parametrize(("near", "verdict"), [(LOG_PROBABILITY, UNDECIDED), (LOGIT, CONFIRMED)])
def test_by_the_authors_code_it_is_the_log_probability_that_is_compared(tmp_path, near, verdict):
    rows = [row(value, method="TracIn", behavior=behavior, metric="AUPRC")
            for behavior, value in ((RESPONSE, 0.2), (EXPLANATION, 0.1), (LOGIT, 0.0), (LOG_PROBABILITY, 0.5))]
    put(tmp_path, "table-5-2", rows, whose=AS_AUTHORS, seeds=[0, 1, 2],
        runs=[{"behavior_cosines": [{"behaviors": [RESPONSE, near], "cosine": [0.99]}]}])
    finding, = findings([STATEMENTS["logit-beats-losses"]], tmp_path, AS_AUTHORS)
    assert finding.verdict == verdict and finding.clauses[0].interval()[0] == pytest.approx(0.3)
    assert finding.sentence == "TracIn detects the poison better with the answer log-probability than with either loss."


def test_the_command_prints_them():
    text = collinearity(manifest((0.9, 0.6)))
    assert "Response loss     Answer logit  0.6    0.6" in text and "From" not in text
