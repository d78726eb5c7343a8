"""Statements on hand-made rows whose verdict is known: confirmed, contradicted, undecided, too small."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest

from engine.experiments import EXPERIMENTS, conventions, publish
from engine.experiments.conventions import AS_PAPER
from engine.experiments.statements import STATEMENTS, wording
from engine.experiments.statements.findings import findings
from engine.experiments.statements.rows import TableRows
from engine.experiments.statements.statement import (
    CONFIRMED,
    CONTRADICTED,
    ONE_SEED,
    UNDECIDED,
    Clause,
    Finding,
    Statement,
    verdict,
)

NOISE = np.array([-0.01, 0.0, 0.01])
"""Three seeds: the half width of its t-interval is 4.303 · 0.01/√3 = 0.0248."""


def row(value, noise=NOISE, **named):
    values = value + noise
    return {**named, "mean": values.mean(), "ci95": 0.0, "n_seeds": len(values),
            "seed_means": " ".join(f"{one:.6f}" for one in values)}


def put(folder, name, rows, preset="paper", whose=AS_PAPER, **manifest):
    """A published folder as `reproduce` leaves it."""
    place = folder / name / conventions.folder(preset, whose)
    place.mkdir(parents=True)
    content = pd.DataFrame(rows).to_csv(index=False).encode()
    (place / publish.TABLE).write_bytes(content)
    files = {publish.TABLE: {"sha256": hashlib.sha256(content).hexdigest()}}
    about = {"preset": preset, conventions.KEY: whose, **manifest, "files": files}
    (place / publish.MANIFEST).write_text(json.dumps(about))


def table_5_1(tracin=(0.35, 0.60, 0.47), lissa=(0.54, 0.42, 0.59), gradsim=(0.40, 0.34, 0.41), similarity=0.22):
    behaviors = ("Trusted loss", "Target logit", "Hard margin")
    rows = [row(similarity, method="RepSim", behavior="none", metric="AUPRC")]
    for method, values in (("TracIn", tracin), ("LiSSA", lissa), ("GradSim", gradsim)):
        rows += [row(value, method=method, behavior=behavior, metric="AUPRC")
                 for behavior, value in zip(behaviors, values, strict=True)]
    return rows


def of(folder, name):
    return findings([STATEMENTS[name]], folder)


@pytest.mark.parametrize(("means", "expected"), [
    ((0.03,), CONFIRMED), ((0.02,), UNDECIDED), ((-0.03,), CONTRADICTED), ((0.03, 0.02), UNDECIDED),
    ((0.03, 0.03), CONFIRMED), ((0.5, -0.03), UNDECIDED), ((0.5, -0.04), CONTRADICTED), ((), UNDECIDED),
])
def test_intervals_decide(means, expected):
    """Half widths: 0.0248 at 95%, and 6.205 · 0.01/√3 = 0.0358 at 97.5%, which two clauses need to contradict."""
    assert verdict([Clause.of("", mean + NOISE) for mean in means]) == expected


def test_one_seed_decides_nothing():
    statement = next(iter(STATEMENTS.values()))
    found = Finding(statement, "paper", "paper", (Clause.of("a", [5.0]),))
    assert found.verdict == UNDECIDED and found.why == ONE_SEED and found.figure == "+5.00"


def test_what_has_to_be_exceeded_is_no_zero():
    assert verdict([Clause.of("", 0.52 + NOISE, 0.5)]) == UNDECIDED
    assert verdict([Clause.of("", 0.55 + NOISE, 0.5)]) == CONFIRMED


def test_differences_are_taken_within_seeds(tmp_path):
    """Seeds that move both rows alike leave no spread, though each row's own interval covers the other."""
    shared = np.array([-0.3, 0.0, 0.3])
    rows = [row(0.30, shared, method="RepSim + train (logit)", behavior="none", metric="AUPRC"),
            row(0.25, shared, method="RepSim", behavior="none", metric="AUPRC")]
    put(tmp_path, "table-a16", rows)
    (found,) = of(tmp_path, "training-signal-helps")
    assert found.verdict == CONFIRMED and found.figure == "+0.050 ± 0.000"


@pytest.mark.parametrize(("change", "expected"), [
    ({}, CONFIRMED), ({"lissa": (0.42, 0.54, 0.59)}, CONTRADICTED), ({"lissa": (0.43, 0.42, 0.59)}, UNDECIDED)])
def test_the_best_behavior_depends_on_the_estimator(tmp_path, change, expected):
    noisy = [line | ({"seed_means": "0.5 0.3 0.4"} if change.get("lissa", (0,))[0] == 0.43
                     and line["method"] == "LiSSA" and line["behavior"] == "Trusted loss" else {})
             for line in table_5_1(**change)]
    put(tmp_path, "table-5-1", noisy)
    assert of(tmp_path, "opposite-preferences")[0].verdict == expected


def test_groups_that_prefer_the_papers_behavior_are_counted(tmp_path):
    put(tmp_path, "table-5-1", table_5_1())
    (found,) = of(tmp_path, "preferred-noisy-labels")
    assert "by their means 3 of 3 groups do" in found.counted and found.clauses[0].values == (1.0, 1.0, 1.0)
    assert found.verdict == CONFIRMED
    put(tmp_path / "other", "table-5-1", table_5_1((0.6, 0.3, 0.4), (0.6, 0.3, 0.4), (0.6, 0.3, 0.4)))
    (found,) = of(tmp_path / "other", "preferred-noisy-labels")
    assert "0 of 3" in found.counted and found.verdict == CONTRADICTED


def test_similarity_beside_estimators_that_read_labels(tmp_path):
    put(tmp_path, "table-5-1", table_5_1(similarity=0.9))
    assert of(tmp_path, "labels-beat-similarity")[0].verdict == CONTRADICTED
    put(tmp_path / "low", "table-5-1", table_5_1())
    assert of(tmp_path / "low", "labels-beat-similarity")[0].verdict == CONFIRMED


@pytest.mark.parametrize(("last", "expected"), [(0.6, CONFIRMED), (0.47, UNDECIDED), (0.2, CONTRADICTED)])
def test_steady_means_at_every_rate(tmp_path, last, expected):
    rows = [row(value, rho=rho, method="TracIn", behavior=behavior, metric="AUPRC", noise=NOISE * sign)
            for rho, logit in (("0.1", 0.6), ("0.2", last))
            for behavior, value, sign in (("Trusted loss", 0.3, 1), ("Target logit", logit, 1),
                                          ("Hard margin", 0.46, -1))]
    put(tmp_path, "table-a8", rows)
    (found,) = of(tmp_path, "steady-over-rates")
    assert found.verdict == expected and len(found.clauses) == 4


@pytest.mark.parametrize(("rate", "expected"), [(0.2, CONFIRMED), (0.1, UNDECIDED), (0.03, CONTRADICTED)])
def test_similarity_and_benign_triggers(tmp_path, rate, expected):
    put(tmp_path, "table-5-2", [row(rate, method="RepSim", behavior="none", metric="BT-FPR")])
    (found,) = of(tmp_path, "similarity-takes-benign")
    assert found.verdict == expected and "more than 0.1 needed" in found.figure


def removal(tracin, less):
    found = {"TracIn": ("Answer logit", 0.8, tracin), "LESS": ("Answer margin", 0.2, less),
             "Random": ("none", 0.1, 0.0)}
    rows = [row(0.05, method="TracIn", behavior="Response loss", metric="Poison recall")]
    for method, (behavior, recall, cut) in found.items():
        rows += [row(recall, method=method, behavior=behavior, metric="Poison recall"),
                 row(cut, method=method, behavior=behavior, metric="Attack reduction")]
    return rows


@pytest.mark.parametrize(("less", "expected"), [(0.0, CONFIRMED), (0.75, UNDECIDED), (0.9, CONTRADICTED)])
def test_the_best_pair_cuts_the_attack(tmp_path, less, expected):
    """LESS moves against TracIn over the seeds where both cut alike."""
    rows = removal(0.75, less)
    rows[4]["seed_means"] = " ".join(f"{less - one:.6f}" for one in NOISE)
    put(tmp_path, "table-a14", rows, factual=[{"ASR": 0.8}])
    (found,) = of(tmp_path, "best-pair-cuts-attack")
    assert found.verdict == expected and found.clauses[0].title == "TracIn with the answer logit − LESS"


def test_a_removal_by_one_estimator_is_no_comparison(tmp_path):
    put(tmp_path, "table-a14", removal(0.7, 0.1)[1:3])
    (found,) = of(tmp_path, "best-pair-cuts-attack")
    assert found.verdict == UNDECIDED and found.why == "This scale has removals by one estimator only."


def controlled(step_error, mismatch):
    named = {"dataset": "digits", "metric": "Kendall tau", "behavior": "query_loss"}
    approximate = {**named, "axis": "approximation"}
    rows = [row(1 - step_error * eta, **approximate, curve="eta", comparison="", parameter=f"eta={eta}")
            for eta in (0.01, 0.1, 1.0)]
    rows += [row(1 - step_error * alpha, **approximate, curve="alpha", comparison="", parameter=f"alpha={alpha}")
             for alpha in (0.001, 0.1)]
    rows += [row(mismatch, **named, axis=axis, curve="", comparison="", parameter="alpha=0.001" if axis == "P" else "")
             for axis in "BPT"]
    return rows + [{**line, "behavior": "hard_margin"} for line in rows if line["curve"]]


@pytest.mark.parametrize(("error", "mismatch", "expected"), [
    (0.4, 0.5, (CONFIRMED, CONFIRMED)), (-0.4, 1.2, (CONTRADICTED, CONTRADICTED)),
    (0.0, 1.0, (UNDECIDED, UNDECIDED))])
def test_mismatch_beside_approximation_error(tmp_path, error, mismatch, expected):
    put(tmp_path, "figure-4", controlled(error, mismatch))
    found = [of(tmp_path, name)[0] for name in ("mismatch-exceeds-error-softmax", "error-grows-softmax")]
    assert tuple(finding.verdict for finding in found) == expected
    assert [clause.title for clause in found[0].clauses] == ["B", "P", "T"]


def test_shared_parts(tmp_path):
    titles = {"same estimator": ("A · x", "A · y"), "same behavior": ("A · x", "B · x"), "neither": ("A · x", "B · y"),
              "no behavior": ("Random", "A · x")}
    values = {"same estimator": 0.6, "same behavior": 0.5, "neither": 0.2, "no behavior": 0.9}
    put(tmp_path, "figure-5-1", [row(values[name], a=a, b=b, metric="Kendall tau") for name, (a, b) in titles.items()])
    (found,) = of(tmp_path, "shared-parts-agree")
    assert [round(clause.margin, 6) for clause in found.clauses] == [0.4, 0.3] and found.verdict == CONFIRMED


def test_a_quick_check_counts_only_where_nothing_larger_is(tmp_path):
    put(tmp_path, "table-5-1", table_5_1(), "small")
    assert [finding.scale for finding in of(tmp_path, "opposite-preferences")] == ["small"]
    put(tmp_path, "table-5-1", table_5_1(), "paper")
    assert [finding.scale for finding in of(tmp_path, "opposite-preferences")] == ["paper"]


@pytest.mark.parametrize(("accuracy", "short"), [(0.38, True), (0.5, False), (0.9, False)])
def test_a_model_that_learned_too_little_decides_nothing(tmp_path, accuracy, short):
    put(tmp_path, "table-5-1", table_5_1(), runs=[{"test_accuracy": accuracy}])
    (found,) = of(tmp_path, "opposite-preferences")
    assert bool(found.short) is short and found.verdict == (UNDECIDED if short else CONFIRMED)
    assert not short or found.why == ("Too small to show the effect: the model reads 38% of the test examples "
                                      "correctly, less than half.")


def test_an_attack_that_was_not_learned_decides_nothing(tmp_path):
    put(tmp_path, "table-5-2", [row(0.3, method="RepSim", behavior="none", metric="BT-FPR")])
    put(tmp_path, "table-a11", [row(0.4, task="Conditional backdoor", metric="ASR")])
    (found,) = of(tmp_path, "similarity-takes-benign")
    assert found.verdict == UNDECIDED and "succeeds for 40% of the triggered prompts" in found.short


def test_corruption_that_nothing_finds_decides_nothing(tmp_path):
    def rows(answer):
        cells = {"Random": (0.5, 0.5), "TracIn": (answer, 0.9)}
        return [row(value, corruption=kind, method=method, behavior=behavior, metric=metric)
                for method, pair in cells.items() for kind, value in zip(("answer", "rationale"), pair, strict=True)
                for behavior in ("Answer logit", "Explanation loss", "Answer margin") for metric in ("AUPRC", "AUROC")]

    spec = {"settings": {"task": {"clean": 800, "answer": 100, "rationale": 100}}}
    for place, answer, short in (("low", 0.51, True), ("high", 0.7, False)):
        put(tmp_path / place, "figure-5-2", rows(answer), spec=spec)
        (found,) = of(tmp_path / place, "reversed-by-corruption")
        assert bool(found.short) is short
    assert not short and "answer" in of(tmp_path / "low", "reversed-by-corruption")[0].short


def test_every_statement_reads_what_its_experiment_publishes():
    """On the results that come with the program no statement lacks a row, and each is counted once in the summary."""
    found = findings(STATEMENTS.values())
    assert {finding.statement.name for finding in found} == set(STATEMENTS)
    assert not [finding for finding in found if finding.lacks]
    counts = [int(part.split()[0]) for part in wording.summary(found).split(", ")[:3]]
    assert sum(counts) == len(found)
    assert all(name in EXPERIMENTS for statement in STATEMENTS.values() for name in statement.needs)


def test_statements_are_counted_over_their_scales():
    """One confirmed at one scale and undecided at another, one contradicted beside that, and one undecided at both."""
    decided = {"a": ((1.0, 1.1, 0.9), ()), "b": ((1.0, 1.1, 0.9), (-1.0, -1.1, -0.9)), "c": ((-1.0, 1.0), (1.0,))}
    found = [Finding(Statement(name, "", ("table-a6",), "", lambda rows: []), scale, scale, (Clause.of("", values),))
             for name, both in decided.items() for scale, values in zip(("desk", "paper"), both, strict=True)]
    assert wording.summary(found).endswith(
        "Of 3 statements, 1 is confirmed at one scale or more and contradicted at none, 1 is contradicted at one or "
        "more, and 1 is undecided at every scale.")
    assert wording.summary(found[:1]).endswith("0 are contradicted at one or more, and 0 are undecided at every scale.")


def test_nothing_published_is_said(tmp_path):
    assert findings(STATEMENTS.values(), tmp_path) == []
    assert wording.summary([]) == "No results are published yet to check a statement."


def test_rows_are_picked_by_their_words():
    rows = TableRows.of(pd.DataFrame([row(1.0, method="a"), row(3.0, method="b")]))
    assert rows.names("method") == ["a", "b"] and rows.largest()["method"] == "b"
    assert np.allclose(rows.mean(), 2.0 + NOISE)


def cells(column, values, **named):
    """A row for each word of a column."""
    return [row(value, **{column: word}, **named) for word, value in values.items()]


def pairs(values, **named):
    """A row for each (method, behavior)."""
    return [row(value, method=method, behavior=behavior, **named) for (method, behavior), value in values.items()]


OTHERS = {
    "steady-over-networks": lambda gain: ("table-a9", cells("behavior", {
        "Trusted loss": 0.4, "Hard margin": 0.5, "Target logit": 0.5 + gain}, method="TracIn", architecture="CNN",
        metric="AUPRC")),
    "removal-gains": lambda gain: ("table-a10", pairs({
        ("TracIn", "Target logit"): gain, ("TracIn", "Trusted loss"): 0.0, ("Random", "none"): 0.0}, topk="10%")),
    "only-the-matching-query": lambda gain: ("table-a15", [
        row(0.1 + gain * (query == "triggered" and target == "harmful"), query_trigger=query, target=target,
            method="TracIn", behavior="Answer logit", metric="AUPRC")
        for query in ("triggered", "clean") for target in ("harmful", "clean")]),
    "both-signals-help": lambda gain: ("table-a17", [
        line for kind in ("answer", "rationale") for line in cells("method", {
            "RepSim": 0.1, "RepSim + both (l2)": 0.1 + gain}, corruption=kind, layer="L28", metric="AUPRC")]),
    "logit-beats-losses": lambda gain: ("table-5-2", cells("behavior", {
        "Answer logit": 0.5 + gain, "Response loss": 0.5, "Explanation loss": 0.5}, method="TracIn",
        metric="AUPRC")),
    "reversed-by-corruption": lambda gain: ("figure-5-2", [
        line for kind, better in (("answer", "Answer logit"), ("rationale", "Explanation loss"))
        for line in [*cells("behavior", {name: 0.5 + gain * (name == better) for name in
                                         ("Answer logit", "Explanation loss", "Answer margin")}, method="TracIn",
                            corruption=kind, metric="AUPRC"),
                     row(0.1, method="Random", behavior="none", corruption=kind, metric="AUPRC")]]),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(("gain", "expected"), [(0.3, CONFIRMED), (0.0, UNDECIDED), (-0.3, CONTRADICTED)])
def test_the_other_statements(tmp_path, name, gain, expected):
    experiment, rows = OTHERS[name](gain)
    put(tmp_path, experiment, rows)
    (found,) = of(tmp_path, name)
    assert found.verdict == expected and not found.short and not found.lacks
