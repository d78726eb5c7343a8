"""What proves a claim by published results: predicates that are true, or give the numbers that it prints."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pandas as pd

from engine.experiments import EXPERIMENTS, publish
from engine.experiments.paper_numbers import cells
from engine.experiments.statements.statement import CONFIRMED, CONTRADICTED, UNDECIDED, Finding, adjusted_level
from engine.metrics.intervals import t_interval
from tests.guides import published as told
from tests.guides.published import ROOT, by_seed, manifest, published

Found = bool | list[str]
PREDICATES: dict[str, Callable[[], Found]] = {}
EXACT = ("Exact replay", "Exact leave-one-out")
STEPS = ("GradSim", "EK-FAC", "DataInf")


def claim(predicate: Callable[[], Found]) -> Callable[[], Found]:
    PREDICATES[predicate.__name__] = predicate
    return predicate


@cache
def concluded(scale: str) -> dict[str, Finding]:
    """What a scale says of every statement."""
    return told.concluded(scale)


def paper(name: str) -> pd.DataFrame:
    """A table of the paper."""
    return pd.read_csv(ROOT / "assets" / "paper" / f"{name}.csv", keep_default_na=False)


def beside(own: pd.DataFrame, theirs: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Means of ours and of the paper, row by row."""
    return own.merge(theirs, on=list(columns), suffixes=("", "_paper"))


def two(*values: float) -> list[str]:
    return [f"{value:.2f}".replace("-", "−") for value in values]


def three(*values: float) -> list[str]:
    return [f"{value:.3f}".replace("-", "−") for value in values]


def taus(name: str, preset: str = "small") -> pd.DataFrame:
    table = published(name, preset, keep_default_na=False)
    return table[table["metric"] == "Kendall tau"]


def agreement(preset: str) -> pd.DataFrame:
    """τ by (reference, run, method), a column a seed."""
    return by_seed(taus("method-agreement", preset), "reference", "run", "method")


@claim
def trajectory_methods_agree_more() -> Found:
    own, said = agreement("embedded"), []
    for reference in EXACT:
        seeds = own.loc[reference, "own run"]
        ends = seeds.loc[["GradSim", "DataInf", "Influence function (EK-FAC)"]].mean()
        mean, half = t_interval(seeds.loc[["LESS", "TracIn"]].mean() - ends)
        assert mean - half > 0
        said += two(mean, half)
    return said


@claim
def exact_answers_of_other_runs() -> Found:
    own = agreement("small").mean(axis=1)
    others = [own[reference, "other runs", name] for reference in EXACT for name in EXACT]
    methods = own.drop(index=list(EXACT), level="method").xs("own run", level="run")
    return two(min(others), max(others), methods.max())


@claim
def one_step_beside_exact_answers_of_another_run() -> Found:
    own, gains = agreement("small"), []
    for reference in EXACT:
        seeds = own.loc[reference, "other runs"]
        gains += [t_interval(seeds.loc["Exact step"] - seeds.loc[name]) for name in EXACT]
    assert all(mean - half > 0 for mean, half in gains)
    steps = [own.loc[reference, "other runs"].loc["Exact step"].mean() for reference in EXACT]
    return two(*steps, *min(gains))


def of_response(name: str) -> pd.DataFrame:
    table = published(name, "small", keep_default_na=False)
    return table[table["behavior"] == "response_loss"].set_index(["metric", "method"])


@claim
def exact_steps_of_other_behaviors() -> Found:
    own = of_response("language-steps").loc["Kendall tau", "mean"]
    return two(own["Exact step, explanation loss"], own["Exact step, answer logit"])


@claim
def an_exact_step_predicts_no_better() -> Found:
    own = of_response("language-lds").loc["LDS"]
    step = own.loc["Exact step", "mean"]
    return bool(((own.loc[list(STEPS), "mean"] - step).abs() < own.loc[list(STEPS), "ci95"]).all())


@claim
def models_on_halves_of_records() -> Found:
    source = manifest("language-lds", "small")["payload"]["settings"]["source"]
    return [str(source["n_train"]), str(source["n_queries"])]


@claim
def the_card_of_three_protocols() -> Found:
    told = manifest("scorecard", "mlp-300")
    settings, sizes = told["spec"], told["spec"]["sizes"]
    (source,) = settings["sources"]
    assert sizes["candidates"] == source["n_candidates"] == source["n_train"] and sizes["fractions"] == [0.5]
    assert (sizes["among"], sizes["seeds"], len(settings["protocols"]), len(told["seeds"])) == ("all", 2, 3, 3)
    return [str(source["n_train"]), str(source["n_queries"]), str(sizes["models"])]


@claim
def datainf_has_the_numbers_of_gradsim() -> Found:
    for name, metric in (("language-steps", "Kendall tau"), ("language-lds", "LDS")):
        own = of_response(name).loc[metric, "mean"]
        if abs(own["DataInf"] - own["GradSim"]) > 0.001:
            return False
    return True


@claim
def one_removal_under_two_seeds() -> Found:
    own = of_response("language-removal").loc[("Kendall tau", "Exact removal, another seed")]
    return three(own["mean"], own["ci95"])


@claim
def no_estimator_agrees_with_one_removal() -> Found:
    own = of_response("language-removal").loc["Kendall tau"]
    estimators = own.drop(["Exact removal, another seed", "Gradient norm", "BM25", "Random"])
    return len(estimators) >= 10 and bool((estimators["mean"].abs() < estimators["ci95"]).all())


@claim
def first_order_over_eta() -> Found:
    table = taus("language-curve")
    own = table[table["behavior"] == "response_loss"].set_index("eta")["mean"]
    return [part for eta in (0.01, 1.0, 3.0) for part in (*three(own[eta]), *([f"{eta:g}"] if eta < 1 else []))]


def explained() -> pd.DataFrame:
    return published("language-explained", "small", keep_default_na=False).set_index(["pair", "metric", "link"])


@claim
def shares_of_the_question() -> Found:
    shares = explained()["mean"].xs("Share of the way", level="metric")
    asked = shares[shares.index.get_level_values("link").str.match("[BPT]: ")].groupby("pair").sum()
    assert set(asked.index) == {"GradSim and TRAK", "response loss and answer logit", "RepSim and GradSim"}
    return [f"{100 * asked.min():.0f}", f"{100 * asked.max():.0f}"]


@claim
def departures_of_less() -> Found:
    shares = explained()["mean"].xs("Share of the way", level="metric")["TracIn and LESS"]
    assert list(shares.index.str.partition(" of B").get_level_values(0)) == ["Adam's updates", "normalised"]
    return [f"{100 * share:.0f}" for share in shares]


@claim
def distance_of_gradsim_and_trak() -> Found:
    ends = explained().loc[("GradSim and TRAK", "Kendall distance of the ends", "the whole way")]
    mean, half = float(ends["mean"]), float(ends["ci95"])
    return three(mean, half) if mean + half < 0.5 else False


@claim
def slack_of_gradsim_and_trak() -> Found:
    return [f"{explained().loc[('GradSim and TRAK', 'Slack', 'the whole way'), 'mean']:.3f}"]


@claim
def table_a6_is_near_the_papers() -> Found:
    own = beside(published("table-a6", "paper", keep_default_na=False),
                 paper("table_a6_fashionmnist_specification_mismatch"), "axis", "comparison", "parameter", "metric")
    off = (own["mean"] - own["mean_paper"]).abs().groupby(own["metric"]).max()
    ended = [run["convergence"] for run in manifest("table-a6", "paper")["runs"]]
    assert len(own) == 30 and ended
    return bool(off["Kendall tau"] <= 0.01 and off["Top-5% overlap"] <= 0.04)


@claim
def figure_4_beside_the_authors_curves() -> Found:
    experiment = EXPERIMENTS["figure-4"]
    joined = publish.comparison_with_paper(publish.published("figure-4", "paper")[0], cells(experiment),
                                           experiment.tolerance)
    joined = joined[joined["axis"] == "approximation"]
    over = {symbol: joined[joined["parameter"].str.startswith(symbol)] for symbol in ("eta", "alpha")}
    off = over["eta"].groupby("metric")["difference"].apply(lambda difference: difference.abs().max())
    first = over["alpha"].set_index(["metric", "parameter"]).loc["Kendall tau", "alpha=0.00001"]
    return [*three(off["Kendall tau"], first["ours"], first["paper"]), *two(off["Top-5% overlap"])]


@claim
def table_a7_is_near_the_papers() -> Found:
    own = beside(published("table-a7", keep_default_na=False), paper("table_a7_cifar10_specification_mismatch"),
                 "axis", "comparison", "parameter", "metric")
    own = own[own["metric"] == "Kendall tau"]
    off = (own["mean"] - own["mean_paper"]).abs().groupby(own["axis"]).max()
    return bool(len(own) == 7 and max(off["B"], off["T"]) <= 0.02 and off["P"] <= 0.04)


@claim
def statements_on_the_cnn() -> Found:
    said = concluded("desk")
    mismatch, grows = said["mismatch-exceeds-error-cnn"], said["error-grows-cnn"]
    assert mismatch.verdict == grows.verdict == UNDECIDED and mismatch.least.title == "P"
    assert grows.least.title == "query loss over α" and len(grows.clauses) == 4
    return [*three(*mismatch.least.interval()), *three(*grows.least.interval()), *two(grows.least.interval(0.9875)[1])]


@claim
def statements_on_the_cnn_when_pooled() -> Found:
    said, run = concluded("pooled"), manifest("figure-a1", "pooled")
    assert all(said[name].verdict == CONTRADICTED for name in ("mismatch-exceeds-error-cnn", "error-grows-cnn"))
    source = run["runs"][0]["source"]
    return len(run["seeds"]) == 4 and 25 < run["wall_seconds"] / 4 / 60 < 35 and [
        "16", "16", f"{source['n_train']:,}", str(source["n_candidates"])]


@claim
def approximations_of_the_cnn_when_pooled() -> Found:
    by_axis = {clause.title: clause.interval() for clause in concluded("pooled")["mismatch-exceeds-error-cnn"].clauses}
    assert max(by_axis["B"][0], by_axis["T"][0]) < 0
    return [number.removeprefix("−") for axis in "BT" for number in three(*by_axis[axis])]


@claim
def first_order_of_the_cnn() -> Found:
    own = [taus("figure-a2", scale).set_index(["parameter", "behavior"])["mean"]["eta=0.1", "query_loss"]
           for scale in ("pooled", "desk")]
    return two(*own)


@claim
def slopes_of_the_cnn() -> Found:
    norms = {scale: [run["factual"]["gradient_norm"] for run in manifest("figure-a1", scale)["runs"]]
             for scale in ("pooled", "desk")}
    return [*(f"{edge(norms['pooled']):.1f}" for edge in (min, max)), *two(min(norms["desk"]), max(norms["desk"]))]


@claim
def alpha_of_the_cnn_when_pooled() -> Found:
    least = concluded("pooled")["error-grows-cnn"].least
    assert least.title == "query loss over α" and least.interval()[0] < 0
    return [number.removeprefix("−") for number in three(*least.interval())]


def auprc(name: str, preset: str = "desk") -> pd.DataFrame:
    table = published(name, preset, keep_default_na=False)
    return table[table["metric"] == "AUPRC"]


@claim
def preferences_at_the_desk() -> Found:
    said = concluded("desk")
    opposite, share = said["opposite-preferences"], said["preferred-noisy-labels"].least.interval()
    assert opposite.verdict == CONFIRMED == said["preferred-noisy-labels"].verdict
    return [*two(*opposite.least.interval()), *(f"{100 * value:.0f}" for value in share)]


@claim
def agreement_at_the_desk() -> Found:
    said = concluded("desk")["shared-parts-agree"]
    assert said.verdict == CONFIRMED and said.seeds == 4
    return three(*said.least.interval())


@claim
def the_target_logit_when_pooled() -> Found:
    said = concluded("pooled")["steady-over-rates"]
    outcomes = [clause.outcome(10) for clause in said.clauses]
    return said.verdict == CONFIRMED and said.seeds == 8 and outcomes == ["holds"] * 10


@claim
def smallest_when_pooled() -> Found:
    least = concluded("pooled")["steady-over-rates"].least
    assert least.title == "ρ = 0.4, target logit − trusted loss"
    return ["0.4", *two(*least.interval()), f"{least.interval(adjusted_level(10))[1]:.2f}"]


@claim
def two_networks_when_pooled() -> Found:
    said = concluded("pooled")["steady-over-networks"]
    outcomes = [clause.outcome(4) for clause in said.clauses]
    return outcomes.count("holds") == 3 and len(outcomes) == 4 and all(clause.margin > 0 for clause in said.clauses)


@claim
def open_of_mobilenet() -> Found:
    said = concluded("pooled")["steady-over-networks"]
    assert said.least.title == "MobileNetV2, target logit − trusted loss" and said.least.outcome(4) != "holds"
    return two(*said.least.interval())


@claim
def too_few_right_of_mobilenet() -> Found:
    said = concluded("pooled")["steady-over-networks"]
    assert said.verdict == UNDECIDED
    own = [run["test_accuracy"] for run in manifest("table-a9", "pooled")["runs"]
           if "mobilenet" in run["source"]["model"]]
    return [f"{100 * sum(own) / len(own):.0f}"] if f"{sum(own) / len(own):.0%}" in said.why else False


@claim
def accuracy_when_pooled() -> Found:
    runs = manifest("table-a8", "pooled")["runs"]
    return [f"{100 * end([run[name] for run in runs]):.0f}" for name in ("test_accuracy", "observed_accuracy")
            for end in (min, max)]


@claim
def detection_when_pooled() -> Found:
    table = auprc("table-a8", "pooled").pivot_table(index=["method", "behavior"], columns="rho", values="mean")
    for method in ("GradSim", "LiSSA", "TracIn"):
        assert (table.loc[method].idxmax() == "Target logit").all()
    alone = table.loc["RepSim"].to_numpy()
    return two(alone.min(), alone.max())


@claim
def rates_beside_the_paper() -> Found:
    own = beside(auprc("table-a8").astype({"rho": float}), paper("table_a8_noisy_label_auprc_by_rho").astype(
        {"rho": float}), "rho", "method", "behavior").set_index(["method", "behavior", "rho"])
    pairs = [("TracIn", "Target logit"), ("LiSSA", "Trusted loss"), ("GradSim", "Trusted loss")]
    less = [(*pair, rate) for pair in pairs for rate, row in own.loc[pair].iterrows()
            if row["mean"] <= row["mean_paper"]]
    return ["0.4"] if less == [("GradSim", "Trusted loss", 0.4)] else False


def networks() -> pd.Series:
    return auprc("table-a9").set_index(["architecture", "method", "behavior"])["mean"]


@claim
def labels_learned_by_the_networks() -> Found:
    learned = sorted(run["observed_accuracy"] for run in manifest("table-a9")["runs"])
    assert len(learned) == 4 and learned[-2] < 0.9
    return ["16", *two(learned[-1]), "40", "100"]


@claim
def similarity_in_the_other_networks() -> Found:
    own = networks().drop("ResNet-18", level="architecture")
    alike = own.xs("RepSim", level="method").droplevel("behavior")
    for method in ("GradSim", "LiSSA"):
        if not (own.xs((method, "Target logit"), level=("method", "behavior"))
                > own.xs((method, "Trusted loss"), level=("method", "behavior"))).all():
            return False
    return two(alike.min(), alike.max())


@claim
def removal_by_lissa() -> Found:
    table = published("table-a10", keep_default_na=False)
    own = table[table["topk"] == "10%"].set_index(["method", "behavior"]).drop(index="Oracle", level="method")
    oracle = table[(table["topk"] == "10%") & (table["method"] == "Oracle")]["mean"].item()
    wrong, gain = own["wrong_removed"], own["mean"].drop(index="Random", level="method")
    assert wrong.idxmax() == ("LiSSA", "Target logit") and gain.idxmax() == ("LiSSA", "Hard margin")
    return two(wrong.max(), wrong["LiSSA", "Hard margin"], gain.max() - oracle)


@claim
def what_holds_at_the_small_scale() -> Found:
    digits, rates = (auprc(name, "small").set_index([column, "method", "behavior"])["mean"]
                     for name, column in (("table-a9", "architecture"), ("table-a8", "rho")))
    for own in (digits, rates):
        best = own.xs("TracIn", level="method").groupby(level=0).idxmax()
        assert {behavior for _, behavior in best} == {"Target logit"}
    table = published("table-a10", "small", keep_default_na=False)
    ten = table[table["topk"] == "10%"].set_index(["method", "behavior"])
    assert all(ten.loc[method, "mean"].max() > 0 for method in ("GradSim", "TracIn", "LiSSA"))
    random = ten.loc[("Random", "none")]
    cells = [digits["CNN", method, behavior] for method in ("TracIn", "LiSSA")
             for behavior in ("Target logit", "Trusted loss")]
    return [*two(*cells), "10", f"{-random['mean']:.1f}", f"{random['ci95']:.1f}"]


@claim
def what_does_not_at_the_small_scale() -> Found:
    own = auprc("table-5-1", "small").set_index(["method", "behavior"])
    logit = own.xs("Target logit", level="behavior").loc[["GradSim", "TracIn", "LiSSA"]]
    similar = own.loc[("RepSim", "none"), "mean"]
    assert all(own.loc[method, "mean"].idxmax() == "Target logit" for method in logit.index)
    assert ((logit["mean"] - similar).abs() < logit["ci95"]).all()
    table = published("table-a10", "small", keep_default_na=False)
    ten = table[table["topk"] == "10%"].set_index(["method", "behavior"]).drop(index="Random", level="method")
    assert (ten["mean"] < ten["ci95"]).all()
    read = [run["test_accuracy"] for run in manifest("table-5-1", "small")["runs"]]
    margin = ten.loc[("LiSSA", "Hard margin")]
    return [f"{100 * sum(read) / len(read):.0f}", *two(similar), "10", f"{margin['mean']:.1f}", f"{margin['ci95']:.1f}"]


@claim
def mixed_precision_beside_seeds() -> Found:
    own = taus("mixed-precision").set_index(["comparison", "method", "behavior"])["mean"]
    mixed, seeds = own["mixed against full"], own["full, another seed"]
    assert len(mixed) == 11 and (mixed > seeds).all()
    return ["2,000", *two(mixed.mean(), seeds.mean())]


@claim
def methods_depend_on_the_training() -> Found:
    best = [auprc("table-5-1", scale).set_index(["method", "behavior"])["mean"]["GradSim"].idxmax()
            for scale in ("paper", "small")]
    return best == ["Trusted loss", "Target logit"]


def beyond_cleanlab() -> pd.DataFrame:
    """How far methods are above the best of cleanlab's three, by (method, set)."""
    table = published("label-methods", "large", keep_default_na=False)
    return table[table["metric"] == "AUPRC beyond cleanlab"].set_index(["method", "set"])


@claim
def refitting_is_above_cleanlab() -> Found:
    own = beyond_cleanlab().loc["Reweighted refit"]
    above = int((own["mean"] - own["ci95"] > 0).sum())
    return ["0.03", str(int((own["mean"] >= 0.03).sum())), str(len(own)), str(above), str(len(own))]


@claim
def little_is_left_above_cleanlab() -> Found:
    """AUPRC is 1 at most; what held-out models know that are trained on right labels is in the other study."""
    own, table = beyond_cleanlab()["mean"], published("label-methods", "large", keep_default_na=False)
    auprc = table[table["metric"] == "AUPRC"].set_index(["set", "method"])["mean"]
    cleanlab = ("Confident learning", "Self-confidence", "Normalised margin")
    theirs = {title: max(auprc[title][name] for name in cleanlab) for title in own["Reweighted refit"].index}
    short = ["Digits, symmetric", "FashionMNIST, symmetric", "Wine, symmetric"]
    right = of_label_trials("AUPRC beyond cleanlab").loc[short[1], "Trained on right labels"]
    below = own["Reweighted refit"][own["Reweighted refit"] < 0.03]
    return sorted(below.index) == short and [
        "0.03", f"{1 - theirs[short[0]]:.3f}", f"{1 - theirs[short[2]]:.3f}", f"{right:.3f}"]


@claim
def the_weighed_consensus_is_above_cleanlab() -> Found:
    table = beyond_cleanlab()["mean"]
    own, recommended = table["Consensus"], table["Recommended by the trial"]
    return [str(int((own > 0).sum())), str(len(own)), str(int((own > recommended).sum())), str(len(own))]


def of_label_trials(metric: str) -> pd.DataFrame:
    """Means of the study of the trial and of verified rows, a row a set, a column a method."""
    table = published("label-trials", "small", keep_default_na=False)
    return table[table["metric"] == metric].set_index(["set", "method"])["mean"].unstack()


def _at_target(method: str) -> str:
    return str(int((of_label_trials("AUPRC beyond cleanlab")[method] >= 0.03).sum()))


@claim
def the_trial_recommends_nearly_the_best() -> Found:
    own = of_label_trials("AUPRC")
    near = own["Best by hindsight"] - own["Recommended by the trial"] < 0.01
    return ["0.01", str(int(near.sum())), str(len(own))]


@claim
def verified_rows_and_right_labels() -> Found:
    sets = str(len(of_label_trials("AUPRC")))
    methods = ("Reweighted refit", "Refit and self-influence", "Reweighted refit, with verified rows")
    return ["0.03", *(number for method in methods for number in (_at_target(method), sets))]


@claim
def right_labels_leave_little() -> Found:
    sets = len(of_label_trials("AUPRC"))
    return ["0.03", str(sets - int(_at_target("Trained on right labels"))), str(sets)]


@claim
def first_order_leaves_the_exact_step() -> Found:
    return concluded("paper")["error-grows-softmax"].verdict == CONFIRMED


@claim
def signs_and_taus_of_removal() -> Found:
    table = published("table-a6", "paper", keep_default_na=False)
    own = table[(table["axis"] == "P") & (table["parameter"] == "alpha=0.00001")].set_index("metric")["mean"]
    return two(own["Kendall tau"]) if own["Sign agreement"] < 0.8 else False


@claim
def inverse_hessian_at_the_smallest_weight() -> Found:
    table = taus("figure-4", "paper")
    own = table[(table["curve"] == "alpha") & (table["axis"] == "approximation")]
    at = own["parameter"].str.partition("=")[2].astype(float)
    return bool((own.loc[at == at.min(), "mean"] > 0.99).all())


@claim
def first_order_of_a_language_model_over_eta() -> Found:
    own = taus("language-curve").pivot(index="behavior", columns="eta", values="mean")
    return bool((own.diff(axis=1).iloc[:, 1:] < 0).all(axis=None))


@claim
def smallest_average_precision() -> Found:
    sought, records = 500, 5_000
    last = range(records - sought + 1, records + 1)
    worst = sum(found / rank for found, rank in enumerate(last, 1)) / sought
    table = paper("table_a17_signal_augmented_response_corruption")
    own = table[(table["metric"] == "AUPRC") & table["method"].str.contains(r"\+ train")]["mean"].astype(float)
    return [f"{worst:.3f}", "500", "5,000"] if f"{own.min():.3f}" == f"{worst:.3f}" else False


@claim
def removal_by_less_in_the_paper() -> Found:
    own = paper("table_a14_backdoor_removal_retraining").set_index(["metric", "method", "behavior"])
    attack, recall = (own.loc[(metric, "LESS", "Response loss")] for metric in ("ASR", "Poison recall"))
    return two(float(attack["mean"]), float(attack["spread"]), float(recall["mean"]))


@claim
def weights_of_the_paper() -> Found:
    table = paper("table_a6_fashionmnist_specification_mismatch")
    return len(set(table.loc[table["axis"] == "P", "parameter"])) == 5


@claim
def benign_triggers_in_the_paper() -> Found:
    """The shares among the 500 records that Table A-14 removes are the values of BT-FPR in Table 5-2."""
    removed = paper("table_a14_backdoor_removal_retraining").query("metric == 'BT frac.'")
    table = paper("table_5_2_a12_a13_conditional_backdoor")
    found = table[(table["metric"] == "BT-FPR") & (table["model"] == "Qwen3-8B")]
    own = beside(removed, found, "method", "behavior")
    return ["500"] if len(own) == 19 and (own["mean"].astype(float) == own["mean_paper"].astype(float)).all() else False


@claim
def first_order_of_a_network_over_eta() -> Found:
    table = taus("figure-a2", "desk")
    own = table[table["curve"] == "eta"].assign(eta=lambda rows: rows["parameter"].str.partition("=")[2].astype(float))
    curves = own.pivot(index="behavior", columns="eta", values="mean")
    return bool("query_logit" in curves.index and (curves.diff(axis=1).iloc[:, 1:] < 0).all(axis=None))
