"""Specifications: one text, one digest, one question each, and a sentence for every pair that does not fit."""

import itertools
import json
import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from engine.basics.errors import InvalidInput
from engine.question.behaviors import BEHAVIORS
from engine.question.interventions import INTERVENTIONS, Intervention, Remove, Upweight
from engine.question.processes import PROCESSES, OneStep, Process, Reoptimize, Trajectory, Unrolled
from engine.question.specification import AXES, Specification, fitting

REMOVE = {"kind": "remove"}
REOPTIMIZE = {"kind": "reoptimize"}
# Close numbers, so that a question that rounds them would be noticed.
INTERVENED = [
    REMOVE, {"kind": "remove", "normalization": "n"},
    *({"kind": "upweight", "alpha": alpha} for alpha in (1e-5, 1e-3, 0.0010001, 0.1, 0.10000000000000002, 1, 20, -1e-3,
                                                          -0.5)),
    {"kind": "infinitesimal"}, *({"kind": "infinitesimal_during", "unit": unit, "at": at} for unit in ("epoch", "step")
                                 for at in (1, 12)), {"kind": "add_occurrence"}, {"kind": "auxiliary"},
    {"kind": "relabel", "label": 0}, {"kind": "relabel", "label": 12},
]
PROCESSED = [
    *({"kind": "one_step", "eta": eta} for eta in (1e-5, 0.1, 0.1234567, 0.1234568, 1, 100)),
    *({"kind": "unrolled", "eta": eta, "steps": steps} for eta in (0.1, 0.2) for steps in (1, 5, 51)),
    *({"kind": "trajectory", "eta": 0.1, "checkpoints": c, "every": e} for c in (1, 5, 20) for e in (1, 5, 20)),
    *({"kind": "local_response", "damping": damping} for damping in (0, 1e-9, 0.01, 1)),
    REOPTIMIZE, {"kind": "reoptimize", "baseline": "reoptimized"}, {"kind": "reoptimize", "damping": 0.01},
    *({"kind": "local_search", "iterations": count, "baseline": baseline, "damping": damping} for count in (1, 20, 21)
      for baseline in ("factual", "reoptimized") for damping in (0, 0.01)),
    *({"kind": "retrain", "seeds": seeds} for seeds in (1, 2, 12)),
    *({"kind": "replay", "seeds": seeds} for seeds in (1, 2, 12)),
]


def every_valid():
    """Each behavior under each pair of the lists above that fits."""
    for behavior, intervention, process in itertools.product(BEHAVIORS, INTERVENED, PROCESSED):
        if process["kind"] in fitting(intervention["kind"]):
            if behavior == "correct" and PROCESSES[process["kind"]].derivative:
                continue
            yield Specification.of(behavior, intervention, process)


VALID = list(every_valid())
valid = st.sampled_from(VALID)


def test_canonical_json_and_digest_never_change():
    """Stored results are found by this digest: the text by hand, its SHA-256 by sha256sum."""
    spec = Specification.of("query_loss", REMOVE, REOPTIMIZE)
    assert spec.canonical_json == (
        '{"behavior":"query_loss","intervention":{"kind":"remove","normalization":"n-1"},'
        '"process":{"baseline":"factual","kind":"reoptimize"}}')
    assert spec.digest == "2e88d664450f487ce460dba7c7bab94228f37a5d4940874825f9abee1cc2968b"
    step = Specification.of("hard_margin", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
    assert step.canonical_json == ('{"behavior":"hard_margin","intervention":{"kind":"add_occurrence"},'
                                   '"process":{"eta":0.1,"kind":"one_step"}}')
    assert step.digest == "fcb2198cb320e015401426d5b33b2b21f5e8b1252b1acd31b3144337850e72bc"


def test_frozen_and_hashable():
    spec = Specification.of("query_loss", REMOVE, REOPTIMIZE)
    for value, field in ((spec, "behavior"), (spec, "process"), (spec.intervention, "normalization")):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(value, field, "n")
    assert {spec: 1}[Specification.of("query_loss", REMOVE, REOPTIMIZE)] == 1


@pytest.mark.parametrize(("a", "b"), [
    ({"damping": -0.0}, {"damping": 0.0}),
    ({"damping": 0}, {}),
    ({"damping": 1}, {"damping": 1.0}),
    ({"damping": "0.01"}, {"damping": 1e-2}),
])
def test_equal_values_have_equal_digests(a, b):
    first, second = (Specification.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response", **more})
                     for more in (a, b))
    assert first == second and hash(first) == hash(second)
    assert first.digest == second.digest and first.canonical_json == second.canonical_json


def test_key_order_is_irrelevant_and_values_may_be_given():
    text = '{"process": {"eta": 0.1, "kind": "one_step"}, "intervention": {"kind": "add_occurrence"}, "behavior": "%s"}'
    a = Specification.parse(json.loads(text % "query_loss"))
    b = Specification.of("query_loss", {"kind": "add_occurrence"}, OneStep(eta=0.1))
    assert a == b and a.digest == b.digest and Specification.parse(json.loads(a.canonical_json)) == a


@given(valid, valid)
def test_value_digest_question_and_latex_tell_the_same_specifications_apart(a, b):
    assert (a == b) == (a.digest == b.digest) == (a.question == b.question) == (a.title == b.title)
    assert (a == b) == (not a.differing_axes(b))
    assert [axis in a.differing_axes(b) for axis in AXES] == [
        a.behavior != b.behavior, a.intervention != b.intervention, a.process != b.process]


@pytest.mark.parametrize("part", ["digest", "question", "title"])
def test_no_two_specifications_share(part):
    shared = {}
    for spec in VALID:
        shared.setdefault(getattr(spec, part), []).append(spec.canonical_json)
    assert {key: specs for key, specs in shared.items() if len(specs) > 1} == {} and len(VALID) > 400


def test_every_question_is_one_sentence():
    for spec in VALID:
        question = spec.question
        assert question.startswith("If ") and question.endswith("?") and question.count("?") == 1, question
        assert not re.search(r"\.\s|\s\s|,,|, ,|\n|[{}]", question) and question[3].islower(), question
        assert spec.readout.clause in question and spec.intervention.clause in question


def test_latex_is_balanced_and_names_both_sides():
    for spec in VALID:
        latex, depth = spec.latex, 0
        for character in re.sub(r"\\[{}]", "", latex):
            depth += {"{": 1, "}": -1}.get(character, 0)
            assert depth >= 0, latex
        assert depth == 0 and "{P}" not in latex, latex
        assert latex.count(r"\left") == latex.count(r"\right"), latex
        assert latex.startswith(r"I_{\mathcal S}(q,k)=") and spec.readout.formula in latex
        if not spec.process.derivative:
            assert spec.intervention.latex in latex


def test_a_damped_optimum_is_another_specification_and_zero_damping_is_none():
    damped, plain = (Specification.of("query_loss", REMOVE, {**REOPTIMIZE, "damping": damping})
                     for damping in (0.01, 0.0))
    assert plain.digest == Specification.of("query_loss", REMOVE, REOPTIMIZE).digest != damped.digest
    assert '"damping":0.01' in damped.canonical_json and "damping of 0.01" in damped.question
    assert r"\tfrac{0.01}{2}" in damped.latex and Specification.parse(damped.canonical()) == damped


def test_the_number_of_iterations_of_a_search_is_always_said():
    default, stated = (Specification.of("query_loss", REMOVE, {"kind": "local_search", **more})
                       for more in ({}, {"iterations": 20}))
    assert default == stated and default.digest == stated.digest and not default.process.optimum
    assert default.canonical_json.endswith(
        '"process":{"baseline":"factual","iterations":20,"kind":"local_search"}}')
    assert "20 L-BFGS iterations" in default.question and r"\mathrm{LBFGS}_{20}" in default.latex
    assert "1 L-BFGS iteration from" in Specification.of("query_loss", REMOVE, {
        "kind": "local_search", "iterations": 1}).question


def test_a_drift_corrected_estimand_reads_differently():
    plain, corrected = (Specification.of("query_loss", REMOVE, {**REOPTIMIZE, "baseline": baseline})
                        for baseline in ("factual", "reoptimized"))
    assert plain.latex != corrected.latex and "reopt" in corrected.latex and "reopt" not in plain.latex


def test_orientation_is_minus_one_where_an_example_gets_less_weight():
    """The sign of what the intervention does to z_k's own weight, wherever it changes it; else +1."""
    assert {spec.orientation for spec in VALID if spec.intervention.kind == "remove"} == {-1}
    assert {spec.orientation for spec in VALID if spec.intervention.kind not in ("remove", "upweight")} == {1}
    weights = (Upweight(alpha=alpha) for alpha in (1e-9, 0.3, -1e-9, -0.09))
    for change in (Remove(), Remove(normalization="n"), *weights):
        assert change.orientation == (1 if change.change(10).weight > 1 else -1)


@pytest.mark.parametrize(("union", "registry"), [(Intervention, INTERVENTIONS), (Process, PROCESSES)])
def test_what_a_specification_accepts_is_what_is_registered(union, registry):
    assert get_args(get_args(union)[0]) == tuple(registry.values())


@pytest.mark.parametrize(("process", "updates"), [
    (OneStep(eta=0.1), 1), (Unrolled(eta=0.1, steps=5), 5), (Trajectory(eta=0.1, checkpoints=4, every=7), 4),
    (Reoptimize(), 0)])
def test_updates_are_the_steps_on_the_example_alone(process, updates):
    assert process.updates == updates


PARAMETERS = {"upweight": {"alpha": 0.1}, "relabel": {"label": 1}, "one_step": {"eta": 0.1},
              "unrolled": {"eta": 0.1, "steps": 5}, "trajectory": {"eta": 0.1}}


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("intervention", INTERVENTIONS)
def test_each_pair_fits_or_is_refused_with_what_fits(intervention, process):
    pair = [{"kind": kind, **PARAMETERS.get(kind, {})} for kind in (intervention, process)]
    if process in fitting(intervention):
        assert Specification.of("query_loss", *pair).process.kind == process
        return
    with pytest.raises(InvalidInput) as caught:
        Specification.of("query_loss", *pair)
    text = str(caught.value)
    assert text.startswith(f"`{intervention}` does not fit `{process}`: ") and text.endswith(".")
    for kind in fitting(intervention):
        assert f"`{kind}`" in text
    remedy = text.rsplit("; ", 1)[1].split(", or with ")
    suggested = [set(re.findall("`(.+?)`", half)) for half in remedy]
    assert suggested[0] == {intervention, *fitting(intervention)}
    assert suggested[1] == {process, *(kind for kind in INTERVENTIONS if process in fitting(kind))}


def test_every_intervention_and_process_is_used():
    assert {spec.intervention.kind for spec in VALID} == set(INTERVENTIONS)
    assert {spec.process.kind for spec in VALID} == set(PROCESSES)


@pytest.mark.parametrize(("behavior", "intervention", "process", "said"), [
    ("query_los", REMOVE, REOPTIMIZE, "no behavior `query_los`; did you mean `query_loss`?"),
    ("softmargin", REMOVE, REOPTIMIZE, "did you mean `soft_margin`?"),
    ("beauty", REMOVE, REOPTIMIZE, "known: `query_loss`, `query_logit`"),
    ("query_loss", {"kind": "upweigth", "alpha": 0.1}, REOPTIMIZE, "did you mean `upweight`?"),
    ("query_loss", {"kind": "add_occurrence"}, {"kind": "onestep", "eta": 0.1}, "did you mean `one_step`?"),
    ("query_loss", REMOVE, {"kind": "zzz"}, "`reoptimize`"),
    ("query_loss", {"alpha": 0.1}, REOPTIMIZE, "has no `kind`"),
    ("query_loss", {"kind": "upweight"}, REOPTIMIZE, "`intervention.upweight.alpha` is missing"),
    ("query_loss", {"kind": "upweight", "alpha": True}, REOPTIMIZE, "true/false"),
    ("query_loss", {"kind": "upweight", "alpha": 0}, REOPTIMIZE, "changes nothing"),
    ("query_loss", {"kind": "upweight", "alpha": -1}, REOPTIMIZE, "alpha"),
    ("query_loss", {"kind": "upweight", "alpha": float("nan")}, REOPTIMIZE, "alpha"),
    ("query_loss", {"kind": "relabel", "label": -1}, REOPTIMIZE, "label"),
    ("query_loss", {"kind": "relabel", "label": 0.5}, REOPTIMIZE, "label"),
    ("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": float("inf")}, "eta"),
    ("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 101}, "eta"),
    ("query_loss", {"kind": "add_occurrence"}, {"kind": "unrolled", "eta": 0.1, "steps": 0}, "steps"),
    ("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response", "damping": -1e-9}, "damping"),
    ("query_loss", REMOVE, {"kind": "retrain", "seeds": 0}, "seeds"),
    ("query_loss", REMOVE, {**REOPTIMIZE, "tolerance": 1}, "Unknown key"),
    ("query_loss", {**REMOVE, "normalization": "n-2"}, REOPTIMIZE, "normalization"),
    ("correct", {"kind": "infinitesimal"}, {"kind": "local_response"}, "`correct` has no gradient"),
])
def test_refused_with_one_sentence(behavior, intervention, process, said):
    with pytest.raises(InvalidInput) as caught:
        Specification.of(behavior, intervention, process)
    text = str(caught.value)
    assert said in text and text.endswith((".", "?")) and "\n" not in text


@pytest.mark.parametrize("build", [
    lambda: Specification(behavior="nope", intervention=REMOVE, process=REOPTIMIZE),
    lambda: Specification(behavior="query_loss", intervention=Upweight(alpha=0.1), process=OneStep(eta=0.1)),
])
def test_a_direct_construction_is_checked_as_well(build):
    with pytest.raises(ValueError, match="nope|does not fit"):
        build()


def test_a_negative_weight_is_asked_as_a_subtraction():
    taken = Specification.of("query_loss", {"kind": "upweight", "alpha": -0.002}, REOPTIMIZE)
    assert "subtracted" in taken.question and "0.002" in taken.question and "added" not in taken.question
    assert r"\alpha=-0.002" in taken.latex and taken.orientation == -1


def test_a_weight_below_minus_one_nth_is_refused_where_n_is_known():
    weight = Upweight(alpha=-0.25)
    assert weight.change(3).weight == 0.25
    for n in (4, 5):
        with pytest.raises(InvalidInput, match="above −1/n"):
            weight.change(n)
