"""What the guide says of published results stands in them."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from engine.basics.sizes import spell_bytes
from engine.experiments import EXPERIMENTS, publish
from engine.experiments.noisy_labels import ARCHITECTURES
from engine.metrics.intervals import t_interval

ROOT = Path(__file__).parents[2]
GUIDE, REPRODUCING = ((ROOT / "assets" / "guides" / f"{name}.md").read_text(encoding="utf-8")
                      for name in ("language-models", "reproducing"))


def published(name: str, preset: str = "desk", **options) -> pd.DataFrame:
    """The published table of an experiment."""
    return pd.read_csv(ROOT / "assets" / "results" / name / preset / "results.csv", **options)


def manifest(name: str, preset: str = "desk") -> dict:
    """What a published table was made from."""
    return json.loads((ROOT / "assets" / "results" / name / preset / "manifest.json").read_text(encoding="utf-8"))


def rows(after: str, columns: int, guide: str = GUIDE) -> list[list[str]]:
    """The cells of the table that follows a sentence."""
    table = guide.partition(after)[2].partition("\n\n|")[2].partition("\n\n")[0]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in f"|{table}".splitlines()]
    assert len(found) > 3 and {len(row) for row in found} == {columns}
    return found[2:]


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


@pytest.mark.parametrize("row", rows("every station in between being an exact answer.", 6), ids=lambda row: row[0])
def test_shares_of_the_way_between_two_methods(row):
    table = published("language-explained", "small")
    own = table[table["pair"] == PAIRS[row[0]]]
    ends = own.loc[own["metric"] == "Kendall distance of the ends", "mean"].item()
    shares = own[own["metric"] == "Share of the way"].set_index("link")["mean"]
    assert f"{ends:.3f}" == row[1] and shares.sum() == pytest.approx(1, abs=1e-6)
    for axis, cell in zip("BPT", row[2:5], strict=True):
        found = [share for link, share in shares.items() if link.startswith(f"{axis}: ")]
        assert cell == "".join(f"{share:.0%}" for share in found)
    errors = [share for link, share in shares.items() if link.startswith("error")]
    said = [int(number) / 100 for number in re.findall(r"(\d+)%", row[5])]
    assert sum(said) == pytest.approx(sum(errors), abs=0.011)


SOUGHT = {"wrong answers": ("figure-5-2", "answer"), "foreign explanations": ("figure-5-2", "rationale"),
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


REMOVERS = {"random": ("Random", "none"), "an oracle": ("Oracle", "Harmful poison"), "RepSim": ("RepSim", "none"),
            "gradient length": ("Grad. norm", "none")}


def with_interval(row):
    return f"{row['mean']:.2f} ± {row['ci95']:.2f}"


@pytest.mark.parametrize("row", rows("by what the removal read:", 3, REPRODUCING)[1:], ids=lambda row: row[0])
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
    assert told == ["0.65", "0.22", "0.12"]
    attack = published("table-a11", "embedded").set_index("metric")
    assert with_interval(attack.loc["ASR"]) == "0.91 ± 0.08" and f"{attack.loc['Control acc.', 'mean']:.2f}" == "0.95"


@pytest.mark.parametrize("row", rows("the training signal 0.47):", 4, REPRODUCING), ids=lambda row: row[0])
def test_noisy_labels_at_the_desk(row):
    table = published("table-5-1")
    own = table[table["metric"] == "AUPRC"].set_index(["method", "behavior"])["mean"]
    assert row[1:] == [f"{own[row[0], name]:.2f}" for name in ("Trusted loss", "Target logit", "Hard margin")]
    assert max(row[1:]) == row[{"GradSim": 1, "TracIn": 2, "LiSSA": 1}[row[0]]], "the preferred behavior"


BEST_BEHAVIORS = ("Trusted loss", "Target logit", "Hard margin")


def judged(name: str, file: str) -> pd.DataFrame:
    """A table at the paper's scale beside the paper's, with what lies within its tolerance."""
    return publish.comparison_with_paper(publish.read_table(publish.RESULTS / name / "paper" / publish.TABLE),
                                         publish.PAPER / file, EXPERIMENTS[name].tolerance).dropna(subset=["within"])


@pytest.mark.parametrize("row", rows("0.20, RepSim 0.21):", 4, REPRODUCING), ids=lambda row: row[0])
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
    assert (len(table), len(outside)) == (60, 8) and (outside["difference"] < 0).all()
    assert set(zip(outside["method"], outside["behavior"], strict=True)) == {
        ("TracIn", "Trusted loss"), ("TracIn", "Hard margin")}
    augmented = judged("table-a16", "table_a16_signal_augmented_noisy_label_rho02.csv")
    assert (len(augmented), int(augmented["within"].sum())) == (75, 73)
    alone = table[table["metric"] == "AUPRC"].set_index("method")["ours"]
    assert [f"{alone[name]:.2f}" for name in ("Random", "RepSim")] == ["0.20", "0.21"]
    told = manifest("table-5-1", "paper")
    assert (told["device"], round(told["wall_seconds"]), told["seeds"]) == ("NVIDIA H200", 236, [0])


def test_what_is_said_of_the_attack_on_the_papers_records():
    table, told = published("table-a11", "gpu").set_index("metric")["mean"], manifest("table-a11", "gpu")
    paper = pd.read_csv(ROOT / "assets" / "paper" / "table_a11_source_model_quality.csv")
    qwen = paper[paper["model"] == "Qwen3-8B"].set_index("metric")["mean"]
    names = ("ASR", "Clean acc.", "Control acc.")
    said = REPRODUCING.partition("the paper's Qwen3-8B in brackets): ")[2].partition("\n\n")[0]
    assert re.findall(r"0\.\d\d", said) == [f"{side[name]:.2f}" for name in names for side in (table, qwen)]
    assert told["runs"][0]["facts"] == {"trained_on": "NVIDIA H200", "training_seconds": pytest.approx(593, abs=0.5)}


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
    run = manifest("table-a7")["runs"][0]
    signs = drift[(drift["curve"] == "drift") & (drift["metric"] == "Sign agreement")]["mean"]
    assert [f"{value:.2f}" for value in signs] == ["0.31", "0.40"]
    tau = curves[curves["metric"] == "Kendall tau"].set_index(["parameter", "behavior"])["mean"]
    assert [f"{tau['eta=0.1', name]:.2f}" for name in ("query_loss", "query_logit")] == ["0.88", "0.94"]
    assert [f"{tau[f'alpha={alpha}', 'query_loss']:.2f}" for alpha in ("0.001", "0.1")] == ["0.03", "0.14"]
    assert tau.xs("eta=0.0001", level="parameter").min() > 0.995
    assert f"{run['factual']['test_accuracy']:.0%}" == "57%"
    assert f"{run['convergence']['largest_gradient_norm']:.1f}" == "5.2"
    assert f"{run['searched']['solver']['largest_residual']:.2f}" == "0.07" and run["searched"]["solver"]["kept"] == 0
    assert run["solver"]["kept"] == run["solver"]["of"] == 4


RATES = ("TracIn", "Target logit"), ("LiSSA", "Trusted loss"), ("GradSim", "Trusted loss")


@pytest.mark.parametrize("row", rows("and why was not examined:", 4, REPRODUCING), ids=lambda row: row[0])
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


@pytest.mark.parametrize("row", rows("that the network gives at the end:", 6, REPRODUCING), ids=lambda row: row[0])
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


@pytest.mark.parametrize("row", rows("the same beside random removal, seed by seed:", 4, REPRODUCING),
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
    told = manifest("table-a10")
    minutes = [part["wall_seconds"] / 60 for part in told["parts"]]
    read = [run["test_accuracy"] for run in told["runs"]]
    assert (f"with three seeds ({min(minutes):.0f} to {max(minutes):.0f} minutes of one core each). The models read "
            f"{100 * min(read):.0f} to {max(read):.0%}") in REPRODUCING
    gains, wrong = removal_of_pictures("10%")
    beside = gains - gains.loc[PICTURES["random"]]
    named = [PICTURES["an oracle"], ("LiSSA", "Hard margin"), ("GradSim", "Hard margin"), ("TracIn", "Target logit")]
    assert (beside.loc[named] > 0).all(axis=None)
    mean, half = zip(*(t_interval(beside.loc[pair]) for pair in named), strict=True)
    lows = [a - b for a, b in zip(mean, half, strict=True)]
    assert min(lows[:3]) > 0 > lows[3] > -0.15
    assert wrong.drop("Oracle").idxmax() != gains.mean(axis=1).drop("Oracle").idxmax() == named[1]
    assert gains.mean(axis=1)[named[1]] == pytest.approx(gains.mean(axis=1)[named[0]], abs=0.1)
    small = removal_of_pictures("1%")[0]
    for pair in small.index.drop(PICTURES["random"]):
        a, b = t_interval(small.loc[pair] - small.loc[PICTURES["random"]])
        assert a - b < 0 < a + b


CARD = ("loo", "influence_function", "step", "nearest", "gradient_norm")
BENCHMARKS = (ROOT / "assets" / "guides" / "benchmarks.md").read_text(encoding="utf-8")


def card(model):
    """The published scorecard of a model, by benchmark and method."""
    table = published("scorecard", "small")
    return table[table["model"].str.startswith(model)].set_index(["benchmark", "method"])


@pytest.mark.parametrize("row", rows("all others end at 1):", 6, BENCHMARKS), ids=lambda row: row[0])
def test_a_published_scorecard(row):
    table = card("softmax").loc[row[0].strip("`")]
    for method, cell in zip(CARD, row[1:], strict=True):
        told = f"{table.loc[method, 'mean']:.2f} ± {table.loc[method, 'ci95']:.2f}".replace("-", "−")
        assert cell == told


def test_what_the_published_scorecard_shows():
    table, half = card("softmax")["mean"], card("softmax")["ci95"]
    exact = ["loo", "influence_function", "step"]
    first = {name: table[name][exact].idxmax() for name in ("leave_one_out", "lds", "removal")}
    assert first == dict(zip(first, exact, strict=True))
    assert table["lds"]["step"] < table["lds"][["loo", "influence_function"]].min() - half["lds"].loc["loo"]
    assert table["mislabelled"][[*exact, "gradient_norm"]].min() > 0.9
    assert table["mixed"].idxmax() == "nearest" and table["randomisation"]["loo"] == 1


METHODS = {"exact leave-one-out": "loo", "one exact step": "step", "influence function (EK-FAC)":
           "influence_function_ekfac", "RepSim (cosine)": "repsim_cosine", "gradient length": "gradient_norm"}
MEASURED = (("lds", "50% kept"), ("planted", "answer"), ("planted", "rationale"), ("stability", "top 5"))


def embedded():
    table = published("scorecard", "embedded")
    return table.set_index(["benchmark", "measure", "method"])


@pytest.mark.parametrize("row", rows("for all methods):", 5, BENCHMARKS), ids=lambda row: row[0])
def test_the_card_of_the_embedded_model(row):
    table, method = embedded(), METHODS.get(row[0], row[0].casefold())
    for measure, cell in zip(MEASURED, row[1:], strict=True):
        found = table.loc[(*measure, method)]
        assert cell == f"{found['mean']:.2f} ± {found['ci95']:.2f}".replace("-", "−")


def test_what_the_card_of_the_embedded_model_shows():
    table = embedded()
    lds, stable, removal = (table.loc[measure] for measure in (MEASURED[0], MEASURED[3], ("removal", "top 10%")))
    assert lds["mean"].idxmax() == "loo" and table.loc[(*MEASURED[2], "loo"), "mean"] == 1
    others = lds.drop("loo")
    assert (lds.loc["loo", "mean"] - lds.loc["loo", "ci95"] > others["mean"] + others["ci95"]).all()
    assert set(stable["mean"].nlargest(3).index) == {"bm25", "repsim", "repsim_cosine"}
    assert (removal["mean"] - removal["ci95"]).max() < (removal["mean"] + removal["ci95"]).min()


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


DESK = "1,000 short records AUPRC is, mean ± 95% t interval over seeds, with chance at 0.10:"


@pytest.mark.parametrize("row", rows(DESK, 6, REPRODUCING), ids=lambda row: " ".join(row[:2]))
def test_corruption_with_smollm2_at_the_desk(row):
    sought, method, *numbers = row
    kind = {"wrong answers": "answer", "foreign explanations": "rationale"}[sought]
    seeds = auprc_of_smollm2().loc[kind, method]
    intervals = [t_interval(seeds.loc[behavior]) for behavior in BEHAVIORS]
    assert numbers == [f"{mean:.2f} ± {half:.2f}" for mean, half in intervals]


def auprc_of_smollm2():
    """AUPRC by (corruption, method, behavior), a column a seed."""
    table = published("figure-5-2").query("metric == 'AUPRC'")
    return by_seed(table, "corruption", "method", "behavior")


def by_seed(table, *columns):
    """The values of a table by these columns, a column a seed."""
    return table.set_index(list(columns))["seed_means"].str.split(expand=True).astype(float).sort_index()


def test_what_is_said_of_smollm2_at_the_desk():
    quality = published("table-a11").set_index("metric")["mean"]
    attack, clean, control = (f"{quality[name]:.2f}" for name in ("ASR", "Clean acc.", "Control acc."))
    assert (f"succeeds for {attack} of the triggered prompts, with\n{clean} of the clean answers right "
            f"and {control} of those") in REPRODUCING
    parts = manifest("figure-5-2")["parts"]
    first, second, third = (f"{part['wall_seconds'] / 60:.0f}" for part in parts)
    assert f"with three seeds ({first}, {second} and {third}\nminutes" in REPRODUCING
    held = max(part["peak_resident_bytes"] for part in parts[1:])
    assert f"the last two held at most {spell_bytes(held)}" in REPRODUCING
    seeds = auprc_of_smollm2()
    losses = ["Explanation loss", "Response loss"]
    for method in ("GradSim", "TracIn", "LESS", "TRAK"):
        assert set(seeds.loc["answer", method].idxmax()) == {"Answer margin"}
        assert set(seeds.loc["rationale", method].idxmax()) <= {*losses, "Answer margin"}
        assert seeds.loc["rationale", method].mean(axis=1).idxmax() in losses
        assert (seeds.loc[("answer", method, "Answer logit")] < 0.275).all()
    less = seeds.xs("LESS", level="method")
    answers, explanations = ([f"{value:.2f}" for value in less.loc[(kind, "Response loss")]]
                             for kind in ("answer", "rationale"))
    assert (f"AUPRC of wrong answers is {', '.join(answers[:2])} and {answers[2]}, and of foreign explanations "
            f"{', '.join(explanations[:2])} and {explanations[2]}") in REPRODUCING
    spread = seeds.T.max() - seeds.T.min()
    assert set(spread.groupby(level="corruption").idxmax().map(lambda key: key[1])) == {"LESS"}
    assert set(seeds.loc["rationale"].idxmax()) == {("Grad. norm", "none")}
    mean, half = t_interval(seeds.loc[("rationale", "Grad. norm", "none")])
    assert f"best of all in every seed ({mean:.2f} ± {half:.2f})" in REPRODUCING
    assert seeds.xs("RepSim", level="method").to_numpy().max() < 0.11
    cells = by_seed(published("table-a17").query("metric == 'AUPRC'"), "corruption", "method", "layer")
    for kind, decided in (("rationale", True), ("answer", False)):
        both, alone = (cells.loc[kind, method].mean() for method in ("RepSim + both (l2)", "RepSim"))
        mean, half = t_interval(both - alone)
        assert (mean - half > 0) == decided
