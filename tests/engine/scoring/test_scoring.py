"""Scorings: a specification with its estimator, and the short codes of addresses and file names."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.basics.errors import InvalidInput
from engine.estimators import ESTIMATORS
from engine.question.specification import Specification, fitting
from engine.scoring.codes import decode, encode
from engine.scoring.scoring import Scoring

REMOVE, REOPTIMIZE = {"kind": "remove"}, {"kind": "reoptimize"}
ADD, STEP = {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}
LOCAL = {"kind": "local_response"}

number = st.one_of(st.sampled_from([1e-5, 0.1, 0.0010001, 1.0]), st.floats(1e-9, 1.0))
INTERVENTIONS = st.one_of(
    st.fixed_dictionaries({"kind": st.just("remove"), "normalization": st.sampled_from(["n-1", "n"])}),
    st.fixed_dictionaries({"kind": st.just("upweight"), "alpha": number}),
    st.fixed_dictionaries({"kind": st.just("relabel"), "label": st.integers(0, 10**6)}),
    st.sampled_from([{"kind": kind} for kind in ("infinitesimal", "add_occurrence", "auxiliary")]))
PROCESSES = {
    "one_step": {"eta": number},
    "unrolled": {"eta": number, "steps": st.integers(1, 10_000)},
    "trajectory": {"eta": number, "checkpoints": st.integers(1, 1_000), "every": st.integers(1, 10_000),
                   "fractions": st.sampled_from(["", "0.33,0.66,1"]), "weights": st.sampled_from(["recipe", "step"])},
    "local_response": {"damping": st.one_of(st.just(0.0), number)},
    "local_search": {"iterations": st.integers(1, 10_000), "baseline": st.sampled_from(["factual", "reoptimized"])},
    "reoptimize": {"baseline": st.sampled_from(["factual", "reoptimized"]), "damping": st.sampled_from([0.0, 0.01])},
    "retrain": {"seeds": st.integers(1, 9)},
    "replay": {"seeds": st.integers(1, 9), "eta": number, "steps": st.integers(1, 10_000)},
}


@st.composite
def scorings(draw):
    intervention = draw(INTERVENTIONS)
    kind = draw(st.sampled_from(fitting(intervention["kind"])))
    process = draw(st.fixed_dictionaries({"kind": st.just(kind), **PROCESSES[kind]}))
    specification = Specification.of(draw(st.sampled_from(["query_loss", "hard_margin"])), intervention, process)
    fits = [name for name, estimator in ESTIMATORS.items() if estimator.refusal(specification) is None]
    return Scoring.of(specification.behavior, intervention, process, draw(st.sampled_from(fits)))


@settings(max_examples=50)
@given(scorings(), scorings())
def test_codes_round_trip_and_tell_scorings_apart(a, b):
    assert decode(encode(a)) == a and decode(encode(a)).digest == a.digest
    assert (a == b) == (encode(a) == encode(b)) == (a.digest == b.digest)
    assert not set(encode(a)) & set(" ?&#%\"'{}"), "needs quoting in an address"


@pytest.mark.parametrize(("scoring", "code"), [
    ((REMOVE, REOPTIMIZE), "query_loss/remove/reoptimize"),
    (({"kind": "remove", "normalization": "n"}, {"kind": "reoptimize", "baseline": "reoptimized"}, "cg"),
     "query_loss/remove;normalization=n/reoptimize;baseline=reoptimized/cg"),
    (({"kind": "upweight", "alpha": 0.001}, REOPTIMIZE), "query_loss/upweight;alpha=0.001/reoptimize"),
    ((REMOVE, {"kind": "local_search"}), "query_loss/remove/local_search;iterations=20"),
    ((REMOVE, {"kind": "local_search", "iterations": 7, "damping": 0.1}, "cg"),
     "query_loss/remove/local_search;damping=0.1;iterations=7/cg"),
    ((ADD, {"kind": "unrolled", "eta": 0.1, "steps": 5}), "query_loss/add_occurrence/unrolled;eta=0.1;steps=5"),
    (({"kind": "infinitesimal"}, LOCAL), "query_loss/infinitesimal/local_response"),
])
def test_codes_leave_out_what_is_default(scoring, code):
    assert encode(Scoring.of("query_loss", *scoring)) == code
    assert decode(code) == Scoring.of("query_loss", *scoring)


@pytest.mark.parametrize("code", [
    "", "/", "//", "///", "query_loss", "query_loss/remove", "query_loss/remove/reoptimize/exact/more",
    "query_los/remove/reoptimize", "query_loss/erase/reoptimize", "query_loss/remove/one_step;eta=0.1",
    "query_loss/upweight/reoptimize", "query_loss/upweight;alpha=/reoptimize", "query_loss/upweight;alpha=x/reoptimize",
    "query_loss/upweight;alpha=nan/reoptimize", "query_loss/upweight;alpha=inf/reoptimize",
    "query_loss/upweight;alpha=-1/reoptimize", "query_loss/upweight;alpha/reoptimize",
    "query_loss/upweight;alpha=0.1;beta=1/reoptimize", "query_loss/remove;/reoptimize",
    "query_loss/remove/reoptimize/", "query_loss/remove/reoptimize/magic", "query_loss/remove/reoptimize/first_order",
    "correct/add_occurrence/one_step;eta=0.1/first_order", "../../etc/passwd",
    "query_loss/remove/reoptimize" + "x" * 300,
    "query_loss/add_occurrence/unrolled;eta=0.1;steps=1.5", "query_loss\n/remove/reoptimize", None, 3, "a" * 10_000,
])
def test_nonsense_codes_are_refused_with_one_short_sentence(code):
    with pytest.raises(InvalidInput) as caught:
        decode(code)
    text = str(caught.value)
    assert text.endswith((".", "?")) and len(text) < 600


@settings(max_examples=50)
@given(st.one_of(st.text(max_size=40), st.lists(st.sampled_from(
    ["query_loss", "remove", "upweight", "one_step", ";", "alpha=", "eta=", "1", "0.1", "-", "e", "/", "exact"]),
    max_size=14).map("".join)))
def test_any_text_is_a_code_or_refused(text):
    try:
        scoring = decode(text)
    except InvalidInput:
        return
    assert decode(encode(scoring)) == scoring


OBJECTIVES = ("reoptimize", "local_search", "retrain")
THROUGH = {("replay", "infinitesimal"), ("replay", "infinitesimal_during")}
ROUTES = {
    "exact": set(itertools.product(("one_step", "unrolled", "trajectory"), ("add_occurrence",)))
    | {("one_step", "auxiliary"), ("local_response", "infinitesimal")} | THROUGH
    | set(itertools.product(OBJECTIVES, ("remove", "upweight", "relabel"))),
    "first_order": set(itertools.product(("one_step", "unrolled", "trajectory"), ("add_occurrence",))),
    "cholesky": set(itertools.product(OBJECTIVES, ("remove", "upweight", "relabel"))),
}
ROUTES |= {solver: ROUTES["cholesky"] | {("local_response", "infinitesimal")}
           for solver in ("cg", "cg_gauss_newton", "lissa", "arnoldi", "kfac", "ekfac", "tkfac", "shampoo", "datainf",
                          "astra", "logra", "factgrass")}
ROUTES |= {"cosine": {("one_step", "add_occurrence"), ("one_step", "auxiliary"), ("trajectory", "add_occurrence")},
           "adam": {("trajectory", "add_occurrence")}, "cosine_last_layer": {("one_step", "add_occurrence")},
           **{f"{name}_normalised": {("one_step", "add_occurrence")} for name in ("adam", "adafactor")},
           "trackstar": {("local_response", "infinitesimal")},
           "ntk": {("one_step", "auxiliary")}, "ntk_last_layer": {("one_step", "auxiliary")},
           "representer": {("one_step", "add_occurrence")},
           "trak": set(itertools.product(OBJECTIVES, ("remove",))), "less": {("trajectory", "add_occurrence")},
           "trak_fisher": {("local_response", "infinitesimal")}, "less_final": {("one_step", "add_occurrence")},
           "dvemb": THROUGH, "tracin_run": THROUGH, "in_run_shapley": THROUGH,
           "source": {("replay", "infinitesimal")}}
COMPLETE = {"upweight": {"alpha": 0.1}, "relabel": {"label": 1}, "one_step": {"eta": 0.1},
            "unrolled": {"eta": 0.1, "steps": 2}, "trajectory": {"eta": 0.1}}


@pytest.mark.parametrize("estimator", ROUTES)
def test_which_estimator_targets_what(estimator):
    """Every fitting pair is either in the table above or refused by name; Cholesky of a local response is exact."""
    for process, intervention in ROUTES["exact"]:
        pair = [{"kind": kind, **COMPLETE.get(kind, {})} for kind in (intervention, process)]
        if (process, intervention) in ROUTES[estimator]:
            scoring = Scoring.of("query_loss", *pair, estimator)
            assert scoring.exact == (estimator == "exact") and scoring.route is ESTIMATORS[estimator]
        else:
            said = f"`{estimator}` does not target `({process}|{intervention})`.*`exact`"
            with pytest.raises(InvalidInput, match=said):
                Scoring.of("query_loss", *pair, estimator)
    assert set(ROUTES) == {name for name, estimator in ESTIMATORS.items() if estimator.implies}


def test_the_estimator_is_part_of_the_digest_but_not_of_the_question():
    exact, lissa = (Scoring.of("query_loss", REMOVE, REOPTIMIZE, name) for name in ("exact", "lissa"))
    assert exact.digest != lissa.digest and exact.question == lissa.question and exact.latex == lissa.latex
    assert exact.specification == lissa.specification == Specification.of("query_loss", REMOVE, REOPTIMIZE)
    assert exact.title == exact.specification.title and lissa.title == f"{exact.title} · inverse Hessian (LiSSA)"
    parsed = Scoring.parse({"process": REOPTIMIZE, "intervention": REMOVE, "behavior": "query_loss"})
    assert parsed == exact and parsed.digest == exact.digest
    assert exact != exact.specification and exact.differing_axes(lissa) == ()


@pytest.mark.parametrize(("more", "said"), [
    ({"estimator": "exakt"}, "did you mean `exact`"),
    ({"estimator": None}, "estimator"),
    ({"estimators": "exact"}, "Unknown key `estimators`"),
])
def test_unknown_estimators(more, said):
    with pytest.raises(InvalidInput, match=said):
        Scoring.parse({"behavior": "query_loss", "intervention": REMOVE, "process": REOPTIMIZE, **more})
