"""Predicates of claims about studies of language models: corrupted records, and the backdoor."""

from __future__ import annotations

from engine.experiments import EXPERIMENTS
from engine.experiments.paper_numbers import cells
from engine.experiments.statements.language import ESTIMATORS
from engine.experiments.statements.statement import CONFIRMED, CONTRADICTED, UNDECIDED, Clause
from engine.metrics.intervals import t_interval
from tests.guides.claims.predicates import Found, auprc, claim, concluded, paper, three, two
from tests.guides.published import by_seed, published


@claim
def corruption_with_the_embedded_model() -> Found:
    said = concluded("embedded")
    assert said["reversed-by-corruption"].verdict == said["similarity-takes-benign"].verdict == CONFIRMED
    return two(*said["similarity-takes-benign"].least.interval())


CODE = "embedded-authors"


@claim
def preferences_by_the_authors_code() -> Found:
    named = concluded(CODE)["preferred-backdoor"]
    own = published("table-5-2", CODE).query("metric == 'AUPRC'").set_index(["behavior", "method"])["mean"]
    margin = own["Answer margin"] - own["Answer log-probability"]
    return two(*named.least.interval()) if named.verdict == CONTRADICTED and (margin > 0).all() else False


@claim
def trak_is_gradsim_by_the_authors_code() -> Found:
    own = published("table-5-2", CODE).query("metric == 'AUPRC'").set_index(["method", "behavior"])["mean"]
    theirs = cells(EXPERIMENTS["table-5-2"]).query("model == 'Qwen3-8B' and metric == 'AUPRC'").set_index(
        ["method", "behavior"])["mean"]
    return two(*(max(abs(table["TRAK", behavior] - table["GradSim", behavior])
                     for behavior in table["TRAK"].index) for table in (own, theirs)))


@claim
def poison_by_the_authors_code() -> Found:
    said = concluded(CODE)
    held = [said[key] for key in ("logit-beats-losses", "only-the-matching-query", "similarity-takes-benign")]
    return two(*held[-1].least.interval()) if {one.verdict for one in held} == {CONFIRMED} else False


LONG, MARKED = "embedded-long-authors", "embedded-concluded-authors"


def corrupted_with_long_explanations(scale: str = LONG) -> tuple[Clause, Clause]:
    """Wrong answers, and mismatched rationales, by the authors' code."""
    answers, rationales = concluded(scale)["reversed-by-corruption"].clauses
    return answers, rationales


def difference_in_the_paper(corruption: str, first: str, second: str) -> float:
    """Of Qwen3-8B's mean AUPRC over the estimators, from the authors' files."""
    theirs = cells(EXPERIMENTS["figure-5-2"]).query("model == 'Qwen3-8B' and metric == 'AUPRC'")
    mean = theirs[theirs["corruption"] == corruption].groupby("behavior")["mean"].mean()
    return mean[first] - mean[second]


@claim
def wrong_answers_with_long_explanations() -> Found:
    answers, _ = corrupted_with_long_explanations()
    paper = difference_in_the_paper("answer", "Answer logit", "Explanation loss")
    return two(*answers.interval(), paper) if answers.holds else False


@claim
def rationales_with_long_explanations() -> Found:
    _, rationales = corrupted_with_long_explanations()
    mean, half = rationales.interval()
    paper = difference_in_the_paper("rationale", "Explanation loss", "Answer margin")
    losses = by_seed(auprc("figure-5-2", LONG), "corruption", "behavior", "method").loc["rationale"]
    ahead = t_interval(losses.loc["Response loss"].mean() - losses.loc["Answer margin"].mean())
    return three(mean, half, paper, *ahead) if rationales.outcome(2) == "open" else False


@claim
def signals_with_long_explanations() -> Found:
    answers, rationales = concluded(LONG)["both-signals-help"].clauses
    return answers.holds and rationales.fails(2)


@claim
def rationales_with_marked_conclusions() -> Found:
    _, rationales = corrupted_with_long_explanations(MARKED)
    return three(*rationales.interval()) if rationales.holds else False


@claim
def estimators_with_marked_conclusions() -> Found:
    table = auprc("figure-5-2", MARKED).set_index(["corruption", "method", "behavior"])["mean"]["rationale"]
    return all(table[method, "Explanation loss"] > table[method, "Answer margin"] for method in ESTIMATORS)


@claim
def the_matching_query_finds_most() -> Found:
    return concluded("embedded")["only-the-matching-query"].verdict == CONFIRMED


@claim
def gradient_length_finds_explanations() -> Found:
    own = auprc("figure-5-2", "embedded")
    own = own[own["corruption"] == "rationale"].set_index("method")["mean"]
    return two(own["Grad. norm"]) if own.drop("Grad. norm").max() < own["Grad. norm"] else False


@claim
def the_answer_logit_beats_losses() -> Found:
    return concluded("embedded")["logit-beats-losses"].verdict == CONFIRMED


@claim
def the_best_pair_cuts_the_attack() -> Found:
    own = published("table-a14", "embedded", keep_default_na=False).set_index(["metric", "method", "behavior"])
    theirs = paper("table_a14_backdoor_removal_retraining").set_index(["metric", "method", "behavior"])
    for table, lowest in ((own, "Answer logit"), (theirs, "Answer margin")):
        mean = table["mean"].astype(float).drop(index="Oracle", level="method", errors="ignore")
        assert mean["ASR"].idxmin() == ("TracIn", lowest)
        assert mean["Poison recall"].idxmax() == ("TracIn", "Answer logit")
    found = concluded("embedded")["best-pair-cuts-attack"]
    open_ = {clause.title.rpartition(" − ")[2] for clause in found.clauses if not clause.holds}
    return found.verdict == UNDECIDED and open_ == {"LESS", "GradSim", "RepSim"}


@claim
def what_similarity_removes() -> Found:
    own = published("table-a14", "embedded", keep_default_na=False).set_index(["metric", "method", "behavior"])["mean"]
    recall = own["Poison recall"]
    assert own["Clean frac.", "RepSim", "none"] == 0
    alike = two(recall["RepSim", "none"]) == two(recall["TracIn", "Response loss"])
    return two(recall["RepSim", "none"]) if alike else False


@claim
def wrong_answers_of_smollm2() -> Found:
    own = auprc("figure-5-2")
    own = own[own["corruption"] == "answer"]
    seeds = by_seed(own, "method", "behavior")
    for method in ("GradSim", "TracIn", "LESS", "TRAK"):
        assert set(seeds.loc[method].idxmax()) == {"Answer margin"}
    assert seeds.xs("Answer logit", level="behavior").max(axis=None) <= 0.25
    text = paper("figures_text").set_index("quantity").loc["AUPRC, answer corruption, answer logit and answer margin, "
                                                           "Qwen3-8B"]
    return ["0.25", *two(float(text["value_low"]), float(text["value_high"]))]


@claim
def less_has_the_widest_intervals() -> Found:
    own = by_seed(auprc("figure-5-2"), "corruption", "method", "behavior")
    half = own.apply(lambda seeds: t_interval(seeds)[1], axis=1).xs("Response loss", level="behavior")
    assert {method for _, method in half.groupby(level=0).idxmax()} == {"LESS"}
    return two(*own.loc["answer", "LESS", "Response loss"], *own.loc["rationale", "LESS", "Response loss"])
