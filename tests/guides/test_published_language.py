"""What the guide says of published results of language models, and of the benchmarks, stands in them."""

import re

import numpy as np
import pandas as pd
import pytest

from engine.basics.sizes import spell_bytes
from engine.data.tasks import cached_task
from engine.experiments import EXPERIMENTS, backdoor
from engine.experiments.paper_numbers import cells
from engine.experiments.statements.statement import CONTRADICTED, UNDECIDED
from engine.metrics.intervals import t_interval
from engine.metrics.seed_means import split
from engine.models.causal import finetune, passes
from tests.guides.published import REPRODUCING, ROOT, by_seed, concluded, manifest, published, rows, with_interval


@pytest.mark.parametrize("row", rows("mean ± 95% t interval over seeds:", 3)[1:], ids=lambda row: row[0])
def test_agreement_with_the_exact_step_and_with_models_on_subsets(row):
    name, *numbers = row
    for text, study in zip(numbers, ("language-steps", "language-lds"), strict=True):
        table = published(study, "small")
        own = table["method"].str.casefold() == name.casefold()
        table = table[own & (table["behavior"] == "response_loss")]
        told = [f"{mean:.3f} ± {half:.3f}".replace("-", "−") for mean, half in zip(table["mean"], table["ci95"],
                                                                                  strict=True)]
        assert text in told, (name, study)


PAIRS = {"GradSim, TRAK": "GradSim and TRAK", "TracIn, LESS": "TracIn and LESS",
         "response loss, answer logit (GradSim)": "response loss and answer logit",
         "RepSim, GradSim": "RepSim and GradSim"}


@pytest.mark.parametrize("row", rows("all intermediate specifications are exact.", 6), ids=lambda row: row[0])
def test_shares_of_the_way_between_two_methods(row):
    table = published("language-explained", "small")
    own = table[table["pair"] == PAIRS[row[0]]]
    ends = own.loc[own["metric"] == "Kendall distance of the ends", "mean"].item()
    shares = own[own["metric"] == "Share of the way"].set_index("link")["mean"]
    assert f"{ends:.3f}" == row[1] and shares.sum() == pytest.approx(1, abs=1e-6)
    for axis, cell in zip("BPT", row[2:5], strict=True):
        found = [share for link, share in shares.items() if link.startswith(f"{axis}: ")]
        assert cell == "".join(f"{share:.0%}" for share in found)
    others = [share for link, share in shares.items() if not re.match("[BPT]: ", link)]
    said = [int(number) / 100 for number in re.findall(r"(\d+)%", row[5])]
    assert sum(said) == pytest.approx(sum(others), abs=0.011)


IN_ONE_LINE = " ".join(REPRODUCING.split())
SOUGHT = {"wrong answers": ("figure-5-2", "answer"), "mismatched rationales": ("figure-5-2", "rationale"),
          "poison": ("table-5-2", "")}
BEHAVIORS = ("Response loss", "Explanation loss", "Answer logit", "Answer margin")


@pytest.mark.parametrize("row", rows("so chance is 0.10:", 6, REPRODUCING), ids=lambda row: " ".join(row[:2]))
def test_detection_with_the_embedded_model(row):
    study, corruption = SOUGHT[row[0]]
    table = published(study, "embedded")
    if corruption:
        table = table[table["corruption"] == corruption]
    own = table[(table["metric"] == "AUPRC") & (table["method"] == row[1])].set_index("behavior")
    for name, cell in zip(BEHAVIORS, row[2:], strict=True):
        assert cell == f"{own.loc[name, 'mean']:.2f} ± {own.loc[name, 'ci95']:.2f}"


LONG_BEHAVIORS = {"Answer logit": "Answer log-probability"}
LONG = {"wrong answers": ("embedded-long-authors", "answer"),
        "mismatched rationales": ("embedded-long-authors", "rationale"),
        "rationales, conclusion marked": ("embedded-concluded-authors", "rationale")}


@pytest.mark.parametrize("row", rows("in brackets and chance at 0.10:", 6, REPRODUCING),
                         ids=lambda row: " ".join(row[:2]))
def test_corruption_with_long_explanations(row):
    (scale, corruption), theirs = LONG[row[0]], cells(EXPERIMENTS["figure-5-2"])
    ours, theirs = published("figure-5-2", scale), theirs[theirs["model"] == "Qwen3-8B"]
    own, paper = (table[(table["corruption"] == corruption) & (table["metric"] == "AUPRC")
                        & (table["method"] == row[1])].set_index("behavior") for table in (ours, theirs))
    for name, cell in zip(BEHAVIORS, row[2:], strict=True):
        assert cell == f"{with_interval(own.loc[LONG_BEHAVIORS.get(name, name)])} ({paper.loc[name, 'mean']:.2f})"


@pytest.mark.slow
def test_the_most_that_a_learned_attack_can_reach_with_long_explanations():
    triggered = cached_task(backdoor.SETTINGS["embedded-long"]["task"]).queries["triggered"]
    assert f"{np.mean([1 / (len(record.choices) - 1) for record in triggered]):.2f}" == "0.85"


REMOVERS = {"random": ("Random", "none"), "an oracle": ("Oracle", "Harmful poison"), "RepSim": ("RepSim", "none"),
            "gradient norm": ("Grad. norm", "none")}


@pytest.mark.parametrize("row", rows("by the ranking used:", 3, REPRODUCING)[1:], ids=lambda row: row[0])
def test_removal_with_the_embedded_model(row):
    table = published("table-a14", "embedded").set_index(["method", "behavior", "metric"])
    method, behavior = REMOVERS.get(row[0]) or row[0].split(", ")
    own = table.loc[(method, behavior.capitalize() if behavior != "none" else behavior)]
    assert row[1:] == [with_interval(own.loc[metric]) for metric in ("Poison recall", "ASR")]


def test_what_is_said_of_the_removal():
    table = published("table-a14", "embedded").set_index(["method", "behavior", "metric"])["mean"]
    before = table["Random", "none", "ASR"] + table["Random", "none", "Attack reduction"]
    assert before == pytest.approx(0.896, abs=1e-3)
    assert f"{table['Oracle', 'Benign trigger', 'ASR']:.2f}" == "0.98"
    assert table["RepSim", "none", "Clean frac."] == 0
    estimators = table.drop("Oracle", level="method")
    assert estimators.xs("ASR", level="metric").idxmin() == ("TracIn", "Answer logit")
    assert estimators.xs("Poison recall", level="metric").idxmax() == ("TracIn", "Answer logit")


def test_what_is_said_of_the_query_that_finds_the_poison():
    table = published("table-a15", "embedded").set_index(
        ["method", "behavior", "query_trigger", "target", "metric"])["mean"]
    found = table["TracIn", "Answer logit"].xs("AUPRC", level="metric")
    told = [f"{found[place]:.2f}" for place in (("triggered", "harmful"), ("clean", "harmful"), ("triggered", "clean"))]
    assert told == ["0.65", "0.23", "0.14"]
    attack = published("table-a11", "embedded").set_index("metric")
    assert with_interval(attack.loc["ASR"]) == "0.93 ± 0.05" and f"{attack.loc['Control acc.', 'mean']:.2f}" == "0.97"


def test_what_is_contradicted_of_the_behaviors_that_find_the_poison():
    said = concluded("embedded")
    preferred = said["preferred-backdoor"]
    assert preferred.verdict == CONTRADICTED and preferred.figure.startswith("0.36 ± 0.10")
    assert [name for name, found in said.items() if found.verdict == CONTRADICTED] == ["preferred-backdoor"]
    table = published("table-5-2", "embedded").set_index(["method", "metric", "behavior"])["mean"]
    table = table.where(table.index.get_level_values("metric") != "BT-FPR", -table)
    best = {group: values.droplevel(["method", "metric"]).idxmax()
            for group, values in table.groupby(["method", "metric"]) if len(values) > 1}
    metrics = ("AUPRC", "AUROC", "P@5%", "P@10%", "BT-FPR")
    assert {best["TRAK", metric] for metric in metrics} == {"Answer margin"}
    assert [best["LESS", metric] for metric in metrics] == 4 * ["Response loss"] + ["Answer margin"]
    for method in ("GradSim", "TracIn"):
        own = [best[method, metric] for metric in metrics]
        assert set(own) == {"Answer logit", "Answer margin"} and own.count("Answer logit") >= 3
        for metric, behavior in zip(metrics, own, strict=True):
            assert table[method, metric, behavior] - table[method, metric, "Answer logit"] < 0.04


def test_what_is_said_of_the_attack_on_the_papers_records():
    table, told = published("table-a11", "gpu").set_index("metric")["mean"], manifest("table-a11", "gpu")
    paper = pd.read_csv(ROOT / "assets" / "paper" / "table_a11_source_model_quality.csv")
    qwen = paper[paper["model"] == "Qwen3-8B"].set_index("metric")["mean"]
    names = ("ASR", "Clean acc.", "Control acc.")
    said = REPRODUCING.partition("the paper's Qwen3-8B in brackets): ")[2].partition("\n\n")[0]
    assert re.findall(r"0\.\d\d", said) == [f"{side[name]:.2f}" for name in names for side in (table, qwen)]
    assert told["runs"][0]["facts"] == {"trained_on": "NVIDIA H200", "training_seconds": pytest.approx(593, abs=0.5)}


BENCHMARKS = (ROOT / "assets" / "guides" / "benchmarks.md").read_text(encoding="utf-8")
HALF = "50% of the training data"
SIDES = [(protocol, side) for protocol in ("weights", "subset", "seeds") for side in ("", ", other seed")]


def lds():
    """The published LDS of a network by protocol, measure and method."""
    table = published("scorecard", "mlp-300")
    assert set(table["benchmark"]) == {"lds"} and set(table["n_queries"]) == {100} and set(table["subsets"]) == {100}
    return table.set_index(["protocol", "measure", "title"])


@pytest.mark.parametrize("row", rows("their own seed and of another seed:", 7, BENCHMARKS), ids=lambda row: row[0])
def test_the_published_lds_of_three_protocols(row):
    table, ceiling = lds(), row[0] == "Exact answer of another seed"
    for (protocol, side), cell in zip(SIDES, row[1:], strict=True):
        if ceiling and not side:
            assert cell == "—"
            continue
        own = table.loc[protocol, HALF + ("" if ceiling else side), row[0]]
        assert cell == f"{own['mean']:.2f} ± {own['ci95']:.2f}".replace("-", "−")


def test_what_is_said_of_the_three_protocols():
    table = lds()
    most = {name: f"{table[name].max():.2f}" for name in ("ci95_queries", "ci95_subsets", "seed_sd")}
    words = " ".join(BENCHMARKS.partition("Averaged over the three cards, the interval over queries is at most ± "
                                          )[2].split())
    queries, subsets, seeds = most.values()
    assert words.startswith(f"{queries}, that over sampled subsets at most ± {subsets}, and the "
                            f"standard deviation over two training seeds at most {seeds}.")
    for title, before, after, rises in (("GradSim (cosine)", "weights", "subset", True),
                                        ("TRAK", "weights", "subset", False),
                                        ("Influence function (EK-FAC)", "weights", "seeds", False),
                                        ("Exact answer of another seed", "weights", "seeds", False)):
        first, second = (split(table.loc[one, HALF, title]["seed_means"]) for one in (before, after))
        assert ((second > first) == rises).all()
        assert f"from {first.mean():.2f} to {second.mean():.2f}" in words
    for protocol in ("weights", "subset", "seeds"):
        means = table.sort_index().loc[protocol, HALF]["mean"]
        ceiling, others = means["Exact answer of another seed"], means.drop("Exact answer of another seed")
        assert others.idxmax() == "Influence function (EK-FAC)" and others.max() < ceiling - 0.2


def test_the_table_of_three_protocols_leaves_no_method_out():
    told = [row[0] for row in rows("their own seed and of another seed:", 7, BENCHMARKS)]
    assert sorted(told) == sorted(lds().index.get_level_values("title").unique())


AGREEMENT = {"embedded": "mean ± 95% t interval over seeds:", "small": "τ with 95% t intervals over seeds:"}


def agreement(preset):
    """τ by (method, reference, run)."""
    table = published("method-agreement", preset)
    table = table[(table["metric"] == "Kendall tau") & table["mean"].notna()]
    return table.set_index(["method", "reference", "run"]).sort_index()


@pytest.mark.parametrize(("preset", "row"), [(preset, row) for preset, words in AGREEMENT.items()
                                             for row in rows(words, 5, BENCHMARKS)], ids=str)
def test_agreement_with_exact_answers_about_a_training(preset, row):
    own = agreement(preset)
    asked = [(row[0], reference, run) for reference in ("Exact replay", "Exact leave-one-out")
             for run in ("own run", "other runs")]
    for key, cell in zip(asked, row[1:], strict=True):
        told = "—" if key not in own.index else f"{own.loc[key, 'mean']:.2f} ± {own.loc[key, 'ci95']:.2f}"
        assert cell == told.replace("-", "−")


def test_what_the_agreement_of_the_network_shows():
    own, exact = agreement("small"), ["Exact replay", "Exact leave-one-out"]
    assert own.drop(index=exact, level="method").xs("own run", level="run")["mean"].max() < 0.125
    for reference, other in (exact, exact[::-1]):
        step = own.loc[("Exact step", reference, "other runs")]
        assert own.loc[(other, reference, "own run"), "mean"] > 0.465
        assert own.loc[(reference, reference, "other runs"), "mean"] < 0.105
        for name in exact:
            single = own.loc[(name, reference, "other runs")]
            assert step["mean"] - step["ci95"] > single["mean"] + single["ci95"]


DESK = "1,000 short records, mean ± 95% t interval over seeds; chance is 0.10:"


@pytest.mark.parametrize("row", rows(DESK, 6, REPRODUCING), ids=lambda row: " ".join(row[:2]))
def test_corruption_with_smollm2_at_the_desk(row):
    sought, method, *numbers = row
    kind = {"wrong answers": "answer", "mismatched rationales": "rationale"}[sought]
    seeds = auprc_of_smollm2().loc[kind, method]
    intervals = [t_interval(seeds.loc[behavior]) for behavior in BEHAVIORS]
    assert numbers == [f"{mean:.2f} ± {half:.2f}" for mean, half in intervals]


def auprc_of_smollm2():
    """AUPRC by (corruption, method, behavior), a column a seed."""
    table = published("figure-5-2").query("metric == 'AUPRC'")
    return by_seed(table, "corruption", "method", "behavior")


def test_what_is_said_of_smollm2_at_the_desk():
    assert {run["run"]["numerics"] for run in manifest("figure-5-2")["runs"]} == {finetune.NUMERICS}
    parts = manifest("figure-5-2")["parts"]
    first, second, third = (f"{part['wall_seconds'] / 60:.0f}" for part in parts)
    assert f"with three seeds ({first}, {second} and {third} minutes" in IN_ONE_LINE
    held = max(part["peak_resident_bytes"] for part in parts)
    assert f"with at most {spell_bytes(held)} of memory" in IN_ONE_LINE
    seeds = auprc_of_smollm2()
    losses = ["Explanation loss", "Response loss"]
    for method in ("GradSim", "TracIn", "LESS", "TRAK"):
        assert set(seeds.loc["answer", method].idxmax()) == {"Answer margin"}
        assert set(seeds.loc["rationale", method].idxmax()) <= {*losses, "Answer margin"}
        assert seeds.loc["rationale", method].mean(axis=1).idxmax() in losses
        mean, half = t_interval(seeds.loc[("rationale", method, losses[0])]
                                - seeds.loc[("rationale", method, losses[1])])
        assert abs(mean) < half
        assert (seeds.loc[("answer", method, "Answer logit")] < 0.255).all()
    less = seeds.xs("LESS", level="method")
    answers, explanations = ([f"{value:.2f}" for value in less.loc[(kind, "Response loss")]]
                             for kind in ("answer", "rationale"))
    assert (f"AUPRC of wrong answers is {', '.join(answers[:2])} and {answers[2]}, and of mismatched rationales "
            f"{', '.join(explanations[:2])} and {explanations[2]}") in IN_ONE_LINE
    spread = seeds.T.max() - seeds.T.min()
    assert set(spread.groupby(level="corruption").idxmax().map(lambda key: key[1])) == {"LESS"}
    assert set(seeds.loc["rationale"].idxmax()) == {("Grad. norm", "none")}
    mean, half = t_interval(seeds.loc[("rationale", "Grad. norm", "none")])
    assert f"best in every seed ({mean:.2f} ± {half:.2f})" in IN_ONE_LINE
    assert seeds.xs("RepSim", level="method").to_numpy().max() < 0.11
    cells = by_seed(published("table-a17").query("metric == 'AUPRC'"), "corruption", "method", "layer")
    for kind in ("rationale", "answer"):
        both, alone = (cells.loc[kind, method].mean() for method in ("RepSim + both (l2)", "RepSim"))
        mean, half = t_interval(both - alone)
        assert mean - half > 0


@pytest.mark.parametrize("row", rows("AUPRC of the poison with either seed", 5, REPRODUCING),
                         ids=lambda row: row[0])
def test_poison_found_with_smollm2_at_the_desk(row):
    found, paper = (side.xs("AUPRC", level="metric").loc[row[0]] for side in (detected(), detected_by_qwen()))
    assert row[1:] == [f"{', '.join(each(found.loc[behavior]))} ({paper[behavior]:.2f})" for behavior in BEHAVIORS]


def detected():
    """Table 5-2 at the desk, by (method, behavior, metric), a column a seed."""
    return by_seed(published("table-5-2"), "method", "behavior", "metric")


def detected_by_qwen():
    paper = pd.read_csv(ROOT / "assets" / "paper" / "table_5_2_a12_a13_conditional_backdoor.csv")
    return paper[paper["model"] == "Qwen3-8B"].set_index(["method", "behavior", "metric"])["mean"].sort_index()


def each(seeds):
    """The value of each seed, as the guide gives it."""
    return [f"{value:.2f}" for value in seeds]


def test_what_is_said_of_the_attack_at_the_desk():
    quality = by_seed(published("table-a11"), "metric")
    attack, clean, control = (" and ".join(each(quality.loc[name])) for name in ("ASR", "Clean acc.", "Control acc."))
    assert (f"succeeds for {attack} of the triggered prompts, with {clean} of the clean answers right and {control} of "
            "those with the trigger in the other context") in IN_ONE_LINE
    asked = manifest("table-5-2")["runs"]
    trained = [run for run in manifest("table-a11")["runs"] if run["chunk"].endswith("/backdoor")]
    assert [run["run"] for run in trained] == [run["run"] for run in asked]  # the same two trainings
    hours = " and ".join(f"{run['facts']['training_seconds'] / 3600:.1f}" for run in trained)
    assert f"{hours} hours wall time" in IN_ONE_LINE


def test_what_is_said_of_the_poison_at_the_desk():
    ours, paper = detected(), detected_by_qwen()
    auprc, of_paper = (side.xs("AUPRC", level="metric") for side in (ours, paper))
    random, length, similar = (" and ".join(each(auprc.loc[name, "none"])) for name in (
        "Random", "Grad. norm", "RepSim"))
    assert (f"(random {random}, gradient norm {length}, RepSim {similar}; the paper's "
            f"{of_paper['RepSim', 'none']:.2f})") in IN_ONE_LINE
    for method in ("GradSim", "TracIn", "TRAK", "LESS"):
        assert set(auprc.loc[method].idxmax()) == {"Answer margin"}
        more = auprc.loc[(method, "Answer margin")] - of_paper[method, "Answer margin"]
        assert ((more > 0.02) == (method != "TracIn")).all()
    assert of_paper.idxmax() == ("TracIn", "Answer logit")
    quarter = ours.loc[("RepSim at 25%", "none")]
    assert each(quarter.loc["AUPRC"]) == ["0.80", "0.47"] and quarter.loc["BT-FPR"].between(0.32, 0.5).all()
    similarity = auprc[auprc.index.get_level_values("method").str.startswith("RepSim")]
    assert {method for method, _ in similarity.idxmax()} == {"RepSim at 25%"}


def test_what_is_said_of_the_query_at_the_desk():
    found = by_seed(published("table-a15"), "method", "behavior", "query_trigger", "target")
    logit, margin = (found.loc[("TracIn", behavior)] for behavior in ("Answer logit", "Answer margin"))
    assert [each(logit.loc["triggered", target]) for target in ("harmful", "clean")] == [["0.09", "0.14"],
                                                                                       ["0.08", "0.09"]]
    asked = (("triggered", "harmful"), ("clean", "harmful"), ("triggered", "clean"))
    assert [each(margin.loc[key]) for key in asked] == [["0.51", "0.49"], ["0.14", "0.16"], ["0.07", "0.06"]]
    margins = found.xs("Answer margin", level="behavior")
    for method in ("GradSim", "TracIn", "TRAK", "LESS"):
        assert set(margins.loc[method].idxmax()) == {("triggered", "harmful")}
    similar = found.loc["GradSim"].xs("harmful", level="target")[1]
    assert f"{similar['Answer margin', 'clean']:.2f} with the answer margin" in IN_ONE_LINE
    assert f"{similar['Response loss', 'clean']:.2f} with the response loss, more than with the trigger" in IN_ONE_LINE
    assert similar["Response loss", "clean"] > similar["Response loss", "triggered"]
    short = auprc_of_smollm2().loc["answer"].mean(axis=1).unstack().dropna()
    assert (short["Answer logit"] < 0.45 * short["Answer margin"]).all()


def test_what_two_seeds_at_the_desk_decide():
    said = {name: found for name, found in concluded("desk").items()
            if {"table-5-2", "table-a15"} & set(found.statement.needs)}
    assert [name for name, found in said.items() if found.verdict == CONTRADICTED] == ["preferred-backdoor"]
    assert [found.verdict for found in said.values()].count(UNDECIDED) == 3 == len(said) - 1
    assert said["preferred-backdoor"].least.values == (5 / 20, 5 / 20)
    assert "in 5 of the 20 (method, metric) groups, with either seed" in IN_ONE_LINE
    mean, half = t_interval([0.0, 1.0])
    assert mean == 0.5 and f"{half:.1f} times their difference to either side" in IN_ONE_LINE


def test_what_the_poison_at_the_desk_took():
    first, second = manifest("table-5-2")["parts"]
    assert f"seed 0 in {first['wall_seconds'] / 3600:.1f} hours with its training" in IN_ONE_LINE
    held = [spell_bytes(part["peak_resident_bytes"]) for part in (first, second)]
    assert held == re.findall(r"used up to (\d+ GB)", REPRODUCING.partition("The run of seed 0")[2])
    assert second["peak_resident_bytes"] < 12e9
    assert f"at most {passes.TOKENS['cpu']:,} tokens" in IN_ONE_LINE
