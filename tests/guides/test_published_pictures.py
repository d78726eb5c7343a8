"""What the guide says of published results of networks of pictures stands in them."""

import re

import pandas as pd
import pytest

from engine.experiments import EXPERIMENTS, poison, poison_attacks, publish
from engine.experiments.noisy_labels import ARCHITECTURES
from engine.experiments.statements.statement import CONFIRMED, UNDECIDED
from engine.metrics.intervals import t_interval
from tests.guides.published import (
    NOISY_LABELS,
    POISON,
    REPRODUCING,
    ROOT,
    by_seed,
    concluded,
    manifest,
    published,
    rows,
)


@pytest.mark.parametrize("row", rows("0.47):", 4, REPRODUCING), ids=lambda row: row[0])
def test_noisy_labels_at_the_desk(row):
    table = published("table-5-1")
    own = table[table["metric"] == "AUPRC"].set_index(["method", "behavior"])["mean"]
    assert row[1:] == [f"{own[row[0], name]:.2f}" for name in ("Trusted loss", "Target logit", "Hard margin")]
    assert max(row[1:]) == row[{"GradSim": 1, "TracIn": 2, "LiSSA": 1}[row[0]]], "the preferred behavior"


SIDE_BY_SIDE = ("Confident learning", "Self-confidence", "Normalised margin", "Reweighted refit",
                "Self-influence by removal", "Recommended by the trial", "Consensus")


@pytest.mark.parametrize("row", rows("of the paired difference over seeds:", 9, NOISY_LABELS), ids=lambda row: row[0])
def test_methods_that_find_wrong_labels(row):
    table = published("label-methods", "large", keep_default_na=False)
    own = table[(table["set"] == row[0]) & (table["behavior"] == "none")].set_index(["metric", "method"])
    auprc, beyond = own.loc["AUPRC"]["mean"], own.loc["AUPRC beyond cleanlab", "Reweighted refit"]
    assert row[1:8] == [f"{auprc[name]:.2f}" if name in auprc else "" for name in SIDE_BY_SIDE]
    assert row[8] == f"{beyond['mean']:+.3f} ± {beyond['ci95']:.3f}".replace("-", "−")


CLEANLAB, WITH = SIDE_BY_SIDE[:3], ", with verified rows"


@pytest.mark.parametrize("row", rows("on the right label of every row.", 9, NOISY_LABELS), ids=lambda row: row[0])
def test_what_the_trial_and_verified_rows_add(row):
    table = published("label-trials", "small", keep_default_na=False)
    own = table[(table["set"] == row[0]) & (table["metric"] == "AUPRC")].set_index("method")["mean"]
    best, known = (max(own[name + given] for name in CLEANLAB) for given in ("", WITH))
    others = [own[name] for name in ("Reweighted refit", "Refit and self-influence", "Recommended by the trial",
                                     "Best by hindsight")]
    expected = [best, *others, known, own["Reweighted refit" + WITH], own["Trained on right labels"]]
    assert row[1:] == [f"{value:.2f}" for value in expected]


@pytest.mark.parametrize("row", rows("the mean over three seeds:", 5, POISON), ids=lambda row: row[0])
def test_methods_that_find_poisons(row):
    table = published("poison", "small")
    own = table[(table["what"] == row[0]) & (table["metric"] == "AUPRC") & (table["among"] == "predicted class first")]
    means = own.set_index(["attack", "queries"])["mean"]
    assert row[1:] == [f"{means[attack, queries]:.3f}" for attack in ("patch, 1%", "patch, 0.5%") for queries in (1, 5)]


def test_attacks_and_models_without_suspects():
    guide, kinds = " ".join(POISON.split()), ("as trained", "without the suspects")
    table = published("poison", "small").set_index(["attack", "what", "metric"])
    for attack in ("patch, 1%", "patch, 0.5%"):
        by_kind = [table.loc[attack, what, "attack success"]["seed_means"].split() for what in kinds]
        seeds = [" · ".join(f"{float(seed):.1%}" for seed in each) for each in by_kind]
        assert "{} before and {} after".format(*seeds) in guide
        change = table.loc[attack, kinds[1], "accuracy change"]
        written = f"{change['mean']:+.3f} ± {change['ci95']:.3f}".replace("-", "−")
        assert f"by {written} at {attack.removeprefix('patch, ')}" in guide
    settings = manifest("poison", "small")["payload"]["settings"]
    assert settings["rows"] == 10_000 and settings["recipe"]["epochs"] == 12
    assert settings["cases"] == {"patch, 0.5%": ["patch", 0.005], "patch, 1%": ["patch", 0.01]}


@pytest.mark.parametrize("row", rows("poisons with right labels:", 3, POISON), ids=lambda row: row[0])
def test_methods_that_find_poisons_with_right_labels(row):
    table = published("poison", "right-labels")
    own = table[(table["what"] == row[0]) & (table["metric"] == "AUPRC") & (table["among"] == "predicted class first")]
    means = own.set_index("queries")["mean"]
    assert row[1:] == [f"{means[queries]:.3f}" for queries in (1, 5)]


def test_right_labels_and_models_without_suspects():
    guide, kinds = " ".join(POISON.split()), ("as trained", "without the suspects")
    table = published("poison", "right-labels").set_index(["what", "metric"])
    seeds = [" · ".join(f"{float(seed):.1%}" for seed in table.loc[kind, "attack success"]["seed_means"].split())
             for kind in kinds]
    assert "{} before and {} after".format(*seeds) in guide
    change = table.loc[kinds[1], "accuracy change"]
    assert f"by {change['mean']:+.3f} ± {change['ci95']:.3f}".replace("-", "−") in guide
    settings = manifest("poison", "right-labels")["payload"]["settings"]
    assert settings["recipe"]["epochs"] == 24 and settings["cases"] == {"right labels, 2%": ["right labels", 0.02]}
    assert (poison_attacks.ENSEMBLE, poison_attacks.RADIUS, poison.CLEAN_EPOCHS) == (3, 0.5, 6)


@pytest.mark.parametrize("row", rows("with a trigger:", 3, POISON), ids=lambda row: row[0])
def test_methods_that_find_planted_records(row):
    means = published("poison-records", "small").set_index(["what", "metric", "queries"])["mean"]
    assert row[1:] == [f"{means[row[0], 'AUPRC', queries]:.3f}" for queries in (1, 5)]


def test_planted_records_and_models_without_suspects():
    guide = " ".join(POISON.split())
    table = published("poison-records", "small").set_index(["what", "metric"])
    kinds = ("as trained", "without the suspects of one query", "without the suspects of five",
             "without random records")
    by_kind = [" · ".join(f"{float(seed):.0%}" for seed in table.loc[kind, "attack success"]["seed_means"].split())
               for kind in kinds]
    assert "{} as trained, {} without the suspects of one query, {} without the suspects of five, {} without".format(
        *by_kind) in guide
    assert table.loc[kinds[1], "removed"]["seed_means"].split()[0] == "0.000000", "no group stands apart"
    before, _, after, _ = (table.loc[kind, "accuracy"]["mean"] for kind in kinds)
    assert f"{before:.3f} before and {after:.3f} after" in guide
    runs = manifest("poison-records", "small")["runs"]
    assert {one["poisons"] for one in runs} == {100} and {one["queries"] for one in runs} == {10}


BEST_BEHAVIORS = ("Trusted loss", "Target logit", "Hard margin")


def judged(name: str, file: str) -> pd.DataFrame:
    """A table at the paper's scale beside the paper's, with what lies within its tolerance."""
    return publish.comparison_with_paper(publish.read_table(publish.RESULTS / name / "paper" / publish.TABLE),
                                         publish.read_table(publish.PAPER / file), EXPERIMENTS[name].tolerance
                                         ).dropna(subset=["within"])


@pytest.mark.parametrize("row", rows("in brackets (random 0.20, RepSim 0.22):", 4, REPRODUCING), ids=lambda row: row[0])
def test_noisy_labels_at_the_papers_scale(row):
    table = judged("table-5-1", "table_5_1_noisy_label_rho02.csv")
    auprc = table[table["metric"] == "AUPRC"].set_index(["method", "behavior"])
    assert row[1:] == [f"{auprc.loc[(row[0], name), 'ours']:.2f} ({auprc.loc[(row[0], name), 'paper']:.2f})"
                       for name in BEST_BEHAVIORS]
    ours, theirs = (auprc.loc[row[0], side] for side in ("ours", "paper"))
    if row[0] == "GradSim":
        assert (ours.idxmax(), theirs.idxmax()) == ("Trusted loss", "Hard margin")
        assert theirs["Hard margin"] - theirs["Trusted loss"] == pytest.approx(0.001)
    else:
        assert ours.idxmax() == theirs.idxmax()


def test_what_is_said_of_noisy_labels_at_the_papers_scale():
    table = judged("table-5-1", "table_5_1_noisy_label_rho02.csv")
    outside = table[~table["within"].astype(bool)]
    assert (len(table), len(outside)) == (60, 5) and (outside["difference"] < 0).all()
    assert set(zip(outside["method"], outside["behavior"], strict=True)) == {
        ("TracIn", "Trusted loss"), ("TracIn", "Hard margin")}
    augmented = judged("table-a16", "table_a16_signal_augmented_noisy_label_rho02.csv")
    assert (len(augmented), int(augmented["within"].sum())) == (75, 73)
    alone = table[table["metric"] == "AUPRC"].set_index("method")["ours"]
    assert [f"{alone[name]:.2f}" for name in ("Random", "RepSim")] == ["0.20", "0.22"]
    told = manifest("table-5-1", "paper")
    assert (told["device"], round(told["wall_seconds"] / 2), told["seeds"]) == ("NVIDIA H200", 225, [0, 1])
    said = concluded("paper")["opposite-preferences"]
    assert said.verdict == CONFIRMED and said.figure == "+0.105 ± 0.007"
    assert min(outside["ci95"] / outside["ours"]) > 0.4, "they differ widely"


MEASURES = ("Kendall tau", "Top-5% overlap", "Sign agreement")


@pytest.mark.parametrize("row", rows("500 queries, the paper's in brackets:", 6, REPRODUCING), ids=lambda row: row[0])
def test_the_cnn_at_the_desk(row):
    comparison, _, alpha = row[0].partition(", α = ")
    parameter = f"alpha={alpha}" if alpha else ""
    table, paper = (pd.read_csv(ROOT / "assets" / path, keep_default_na=False) for path in (
        "results/table-a7/desk/results.csv", "paper/table_a7_cifar10_specification_mismatch.csv"))
    own, theirs = (frame[(frame["comparison"] == comparison) & (frame["parameter"] == parameter)].set_index("metric")
                   for frame in (table, paper))
    assert row[1:3] == [f"{own[name].iloc[0]:,}" for name in ("n_train", "n_candidates")]
    told = [f"{own.loc[name, 'mean']:.2f} ({theirs.loc[name, 'mean']:.2f})".replace("-", "−") for name in MEASURES]
    assert row[3:] == told


def test_what_is_said_of_the_cnn_at_the_desk():
    drift, curves = (published(name) for name in ("figure-a1", "figure-a2"))
    told = manifest("table-a7")
    runs = told["runs"]
    signs = drift[(drift["curve"] == "drift") & (drift["metric"] == "Sign agreement")]["mean"]
    assert [f"{value:.2f}" for value in signs] == ["0.32", "0.40"]
    tau = curves[curves["metric"] == "Kendall tau"].set_index(["parameter", "behavior"])["mean"]
    assert [f"{tau['eta=0.1', name]:.2f}" for name in ("query_loss", "query_logit")] == ["0.89", "0.95"]
    assert [f"{tau[f'alpha={alpha}', 'query_loss']:.2f}" for alpha in ("0.001", "0.1")] == ["0.03", "0.17"]
    assert tau.xs("eta=0.0001", level="parameter").min() > 0.995
    assert f"{sum(run['factual']['test_accuracy'] for run in runs) / len(runs):.0%}" == "58%"
    assert f"{max(run['convergence']['largest_gradient_norm'] for run in runs):.1f}" == "5.2"
    assert f"{max(run['searched']['solver']['largest_residual'] for run in runs):.2f}" == "0.08"
    assert [sum(run["searched"]["solver"][key] for run in runs) for key in ("kept", "of")] == [1, 30]
    assert all(run["solver"]["kept"] == run["solver"]["of"] == 4 for run in runs)
    assert (told["seeds"], round(told["wall_seconds"] / 3 / 60)) == ([0, 1, 2], 154)
    table = published("table-a7", keep_default_na=False).set_index(["comparison", "parameter", "metric"])
    half = table.xs("Kendall tau", level="metric")["ci95"]
    assert [f"{half[name, parameter]:.2f}" for name, parameter in (
        ("query loss vs. query logit", ""), ("exact one-step vs. inverse-Hessian", ""),
        ("upweighting vs. local LOO", "alpha=0.001"))] == ["0.01", "0.02", "0.18"]
    said = [found for found in concluded("desk").values() if found.statement.needs[0] == "figure-a1"]
    assert [found.verdict for found in said] == [UNDECIDED, UNDECIDED]
    assert [re.search("([+−]0[.]...) ± (0[.]...)", found.figure).groups() for found in said] == [
        ("+0.065", "0.066"), ("−0.137", "0.074")]
    assert ["mean: P" in said[0].counted, "mean: query loss over α" in said[1].counted] == [True, True]


RATES = ("TracIn", "Target logit"), ("LiSSA", "Trusted loss"), ("GradSim", "Trusted loss")


@pytest.mark.parametrize("row", rows("the reason was not examined:", 4, REPRODUCING), ids=lambda row: row[0])
def test_rates_of_wrong_labels_at_the_desk(row):
    table = published("table-a8")
    own = table[(table["metric"] == "AUPRC") & (table["rho"] == float(row[0]))]
    own = own.set_index(["method", "behavior"])["mean"]
    paper = pd.read_csv(ROOT / "assets" / "paper" / "table_a8_noisy_label_auprc_by_rho.csv")
    paper = paper[paper["rho"] == float(row[0])].set_index(["method", "behavior"])["mean"]
    assert row[1:] == [f"{own[pair]:.2f} ({paper[pair]:.2f})" for pair in RATES]
    assert own.drop([("Random", "none"), ("RepSim", "none"), ("NTK", "none")]).idxmax() == RATES[0]
    best = {name: own[name].idxmax() for name in ("TracIn", "LiSSA", "GradSim")}
    assert best == {"TracIn": "Target logit", "GradSim": "Trusted loss",
                    "LiSSA": "Hard margin" if row[0] == "0.4" else "Trusted loss"}


@pytest.mark.parametrize("row", rows("network predicts\nafter training:", 6, REPRODUCING), ids=lambda row: row[0])
def test_networks_at_the_desk(row):
    table, paper = (pd.read_csv(ROOT / "assets" / path, keep_default_na=False) for path in (
        "results/table-a9/desk/results.csv", "paper/table_a9_noisy_label_auprc_by_architecture.csv"))
    own, theirs = (frame[frame["architecture"] == row[0]].set_index(["method", "behavior"])["mean"]
                   for frame in (table, paper))
    runs = manifest("table-a9")["runs"]
    learned = {ARCHITECTURES[run["source"]["model"]]: run["observed_accuracy"] for run in runs}
    pairs = (*RATES, ("RepSim", "none"))
    assert row[1:] == [f"{learned[row[0]]:.2f}", *(f"{own[pair]:.2f} ({theirs[pair]:.2f})" for pair in pairs)]
    best = {name: own[name].idxmax() for name in ("TracIn", "LiSSA", "GradSim")}
    assert best["TracIn"] == theirs["TracIn"].idxmax() == "Target logit"
    assert theirs["LiSSA"].idxmax() != "Target logit" and theirs["GradSim"].idxmax() != "Target logit"
    gains = {name: own[name, "Target logit"] - own[name, "Trusted loss"] for name in ("LiSSA", "GradSim")}
    assert (min(gains.values()) > 0) == (max(gains.values()) > 0) == (own["RepSim", "none"] > 0.5) == (
        row[0] != "ResNet-18")
    if row[0] == "MobileNetV2":
        assert own["LiSSA", "Target logit"] == pytest.approx(own["TracIn", "Target logit"], abs=0.005)


PICTURES = {"random": ("Random", "none"), "an oracle": ("Oracle", "none")}


@pytest.mark.parametrize("row", rows("its difference from random removal, seed by seed:", 4, REPRODUCING),
                         ids=lambda row: row[0])
def test_removal_of_pictures_at_the_desk(row):
    seeds, wrong = removal_of_pictures("10%")
    method, behavior = PICTURES.get(row[0]) or row[0].split(", ")
    own = method, behavior.capitalize() if behavior != "none" else behavior
    told = [interval(seeds.loc[own]), interval(seeds.loc[own] - seeds.loc[PICTURES["random"]])]
    assert row[1:] == [f"{wrong[own]:.2f}", told[0], told[1] if method != "Random" else ""]


def removal_of_pictures(share):
    """Of Table A-10: the change of accuracy by (method, behavior), a column a seed, and the share that was wrong."""
    table = published("table-a10", keep_default_na=False)
    own = table[table["topk"] == share]
    return by_seed(own, "method", "behavior"), own.set_index(["method", "behavior"])["wrong_removed"]


def interval(values):
    mean, half = t_interval(values)
    return f"{mean:+.2f} ± {half:.2f}".replace("-", "−")


def test_what_is_said_of_removal_at_the_desk():
    guide, told = " ".join(REPRODUCING.split()), manifest("table-a10")
    minutes = [part["wall_seconds"] / 60 for part in told["parts"]]
    read = [run["test_accuracy"] for run in told["runs"]]
    assert (f"with five seeds ({min(minutes):.0f} to {max(minutes):.0f} minutes each on one shared core). "
            f"The models classify {100 * min(read):.0f} to {max(read):.0%}") in guide
    gains, wrong = removal_of_pictures("10%")
    beside = gains - gains.loc[PICTURES["random"]]
    named = [PICTURES["an oracle"], ("LiSSA", "Hard margin"), ("GradSim", "Hard margin"), ("TracIn", "Target logit")]
    assert (beside.loc[named] > 0).all(axis=None)
    target, trusted = named[3], ("TracIn", "Trusted loss")
    for values, decided in [*((beside.loc[pair], True) for pair in named), (beside.loc[trusted], False),
                            (gains.loc[target] - gains.loc[trusted], False)]:
        mean, half = t_interval(values)
        assert (mean - half > 0) == decided
    assert wrong.drop("Oracle").idxmax() != gains.mean(axis=1).drop("Oracle").idxmax() == named[1]
    above = gains.mean(axis=1)[named[1]] - gains.mean(axis=1)[named[0]]
    assert f"the largest mean gain, {above:.2f} points above the oracle's" in guide
    small = removal_of_pictures("1%")[0]
    for pair in small.index.drop(PICTURES["random"]):
        a, b = t_interval(small.loc[pair] - small.loc[PICTURES["random"]])
        assert a - b < 0 < a + b
