"""The guide *Choosing a method* reads from the published leaderboard, and from nothing else."""

import numpy as np
import pandas as pd
import pytest

from engine.estimators import ESTIMATORS
from engine.scoring.named import NAMED
from tests.guides.published import ROOT, manifest, published, rows

GUIDE = (ROOT / "assets" / "guides" / "choosing-a-method.md").read_text(encoding="utf-8")
LOO = "query_loss/remove/retrain"
NETWORK, RECORDS, CIFAR, SMOLLM = "mlp-fashion", "records", "cnn-cifar", "smollm-lora"
TABLES = {NETWORK: rows("means ± 95% t interval over seeds:", 6, GUIDE),
          RECORDS: rows("look; ± is a 95% t interval over seeds:", 5, GUIDE),
          CIFAR: rows("Means ± 95% t interval over the seeds:", 6, GUIDE),
          SMOLLM: rows("interval over the queries:", 5, GUIDE)}
SIZES = ("{n_train} training {noun}, {n_candidates} candidates, {n_queries} queries, {models} subsets of half of the "
         "candidates, {seeds}damping {damping}.")


def board(preset: str = NETWORK) -> pd.DataFrame:
    return published("leaderboard", preset, keep_default_na=False, na_values={"mean": [""], "ci95": [""]})


def column(table: pd.DataFrame, name: str, against: str = "") -> pd.DataFrame:
    """By title, of a measure, or of agreement with one question."""
    own = table[(table["column"] == name) & ((table["against"] == against) | (name != "agreement"))]
    return own.drop_duplicates("title").set_index("title")


def cell(own: pd.DataFrame, title: str) -> str:
    if title not in own.index or pd.isna(own.loc[title, "mean"]):
        return "—"
    return f"{own.loc[title, 'mean'].round(2) + 0.0:.2f} ± {own.loc[title, 'ci95']:.2f}".replace("-", "−")


@pytest.mark.parametrize(("preset", "row"), [(preset, row) for preset, table in TABLES.items() for row in table],
                         ids=lambda part: part if isinstance(part, str) else part[0])
def test_every_cell_is_that_of_the_published_board(preset, row):
    table = board(preset)
    own = table[(table["column"] == "agreement") & (table["own"] == True)].set_index("title")  # noqa: E712
    loo = LOO.replace("query", "response") if preset in (RECORDS, SMOLLM) else LOO
    parts = [own, column(table, "agreement", loo), *(column(table, name) for name in ("lds", "lds_other", "qld"))]
    assert row[1:] == [cell(part, row[0]) for part in parts][:len(row) - 1]


@pytest.mark.parametrize("preset", TABLES)
def test_the_table_leaves_no_method_out_and_is_in_the_order_of_its_lds(preset):
    titles = [row[0] for row in TABLES[preset]]
    assert sorted(titles) == sorted(board(preset)["title"].unique())
    lds = [float(row[3].partition(" ")[0].replace("−", "-")) for row in TABLES[preset] if row[3] != "—"]
    assert lds == sorted(lds, reverse=True)


def value(table: pd.DataFrame, title: str, name: str = "lds") -> str:
    return f"{column(table, name, LOO).loc[title, 'mean']:.2f}"


def test_what_is_said_of_the_choice():
    table, words = board(), " ".join(GUIDE.split())
    own = table[(table["column"] == "agreement") & (table["own"] == True)].set_index("title")  # noqa: E712
    kernel, replay, other = "Neural tangent kernel", "Replay (metagradient)", "Exact answer of another seed"
    knn, steps = "KNN-Shapley (inputs)", "TracIn over all steps"
    lds = column(table, "lds")
    exact = {one.title for one in NAMED.values() if one.implied().exact}
    first, second = lds.drop(index=list(exact & set(lds.index)))["mean"].nlargest(2).index
    assert (first, second) == ("Data value embedding", "SOURCE")
    ends = [value(table, title) for title in lds.index if title.startswith("Influence function") or title == "DataInf"]
    for said in (
            f"a τ of {own.loc[kernel, 'mean']:.2f} with its own question and of {value(table, kernel, 'agreement')} "
            f"with leave-one-out; its LDS is {value(table, kernel)}.",
            f"has an LDS of {value(table, replay)} with models of the same seed and "
            f"{value(table, replay, 'lds_other')} with models of another. The exact answer of another seed has "
            f"{value(table, other, 'lds_other')}.",
            f"data value embedding with {value(table, first)} and SOURCE with {value(table, second)}. TracIn over all "
            f"steps, which also reads the whole run, has {value(table, steps)}.",
            f"which read only its end, have {min(ends)} to {max(ends)}.",
            f"reads no model, has {value(table, knn)}, GradSim {value(table, 'GradSim')}.",
            f"an LDS of {value(table, 'TRAK')} with the default, {value(table, 'TRAK, ridge rule loo')} with the ridge",
            f"and {cell(lds, 'TRAK, ridge rule gcv')} with that of generalised cross-validation.",
            f"have a τ of only {value(table, other, 'agreement')}, less than that of a run with its own replay "
            f"({value(table, replay, 'agreement')})."):
        assert said in words, said
    assert lds.loc[knn, "mean"] >= lds.loc["GradSim", "mean"]


def overlapping(rows: pd.DataFrame) -> float:
    """The fraction of pairs whose intervals overlap."""
    lower, upper = (rows["mean"] + sign * rows["ci95"] for sign in (-1, 1))
    below = np.less.outer(lower.to_numpy(), upper.to_numpy())
    return float(np.mean(below & below.T))


def test_what_is_said_of_the_language_model():
    table, words = board(RECORDS), " ".join(GUIDE.split())
    lds = column(table, "lds").dropna(subset=["mean"])
    rank = column(table, "agreement", LOO.replace("query", "response"))
    run = ["SOURCE", "Data value embedding", "TracIn over all steps"]
    others = lds.drop(index=["Leave-one-out"])
    assert list(others["mean"].nlargest(3).index) == run
    low = (lds["mean"] - lds["ci95"])[run].max()
    assert overlapping(others) > 0.5
    for said in (f"exact leave-one-out reaches {cell(lds, 'Leave-one-out')}",
                 f"data value embedding and TracIn over all steps have the highest means, {value(table, run[2])} to "
                 f"{value(table, run[0])}, and read the whole run; their intervals reach down to {low:.2f} or less.",
                 f"a τ of {rank.loc['Replay (metagradient)', 'mean']:.2f} with leave-one-out, and an LDS of "
                 f"{value(table, 'Replay (metagradient)')}.",
                 f"The LDS of BM25 is {cell(lds, 'BM25')}, that of text embeddings {cell(lds, 'Text embeddings')}, "
                 f"that of a random order {cell(lds, 'Random')}."):
        assert said in words, said
    refused = table[table["title"] == "Influence function (Gauss–Newton CG)"]
    assert refused["note"].str.startswith("It would take about").all() and refused["mean"].isna().all()


def test_what_is_said_of_smollm():
    table, words = board(SMOLLM), " ".join(GUIDE.split())
    lds, later = column(table, "lds"), column(table, "lds_other")
    assert overlapping(lds.dropna(subset=["mean"])) > 0.5
    assert (f"Leave-one-out has an LDS of {cell(lds, 'Leave-one-out')} with models of the same seed and of "
            f"{cell(later, 'Leave-one-out')} with models of another; the derivative of the run has "
            f"{cell(lds, 'Replay (metagradient)')} and {cell(later, 'Replay (metagradient)')}.") in words
    spec = manifest("leaderboard", SMOLLM)["spec"]
    assert spec["precision"] == "float32" and {f"{block}.self_attn" for block in range(26, 30)} == {
        name.rpartition(".")[0] for name in spec["source"]["recipe"]["targets"].split(",")}


SAID = {NETWORK: ("examples", "4 seeds, "), RECORDS: ("records", "3 seeds, "), CIFAR: ("examples", "3 seeds, "),
        SMOLLM: ("records", "1 seed, ")}


@pytest.mark.parametrize(("preset", "noun", "seeds"), [(preset, *SAID[preset]) for preset in TABLES])
def test_the_sizes_are_those_of_the_boards(preset, noun, seeds):
    record, words = manifest("leaderboard", preset), " ".join(GUIDE.split())
    spec = record["spec"]
    assert SIZES.format(noun=noun, seeds=seeds, **spec["source"], models=spec["sizes"]["models"],
                        damping=spec["damping"]) in words
    assert len(record["runs"]) == int(seeds[:1]) and spec["sizes"]["fractions"] == [0.5]


@pytest.mark.parametrize(("preset", "side"), [(NETWORK, 28), (CIFAR, 32)])
def test_what_is_said_of_the_network(preset, side):
    record, words = manifest("leaderboard", preset), " ".join(GUIDE.split())
    right = sum(run["query_accuracy"] for run in record["runs"]) / len(record["runs"])
    assert f"classifies {right:.0%} of the queries correctly" in words
    source, sizes = record["spec"]["source"], record["spec"]["sizes"]
    pixels = side // source["pool"]
    assert sizes["removed"] == [0.05] and sizes["fractions"] == [0.5] and f"at {pixels} × {pixels} pixels" in words


def test_what_is_said_of_the_convolutional_network():
    table, words = board(CIFAR), " ".join(GUIDE.split())
    own = table[(table["column"] == "agreement") & (table["own"] == True)].set_index("title")  # noqa: E712
    lds, rank = column(table, "lds"), column(table, "agreement", LOO)
    best, solver, replay = lds["mean"].idxmax(), "Influence function (CG)", "Replay (metagradient)"
    assert best == "Data value embedding"
    assert cell(rank, solver)[:4] == cell(rank, "TracIn")[:4]
    for said in (
            f"two seeds have a τ of {cell(rank, 'Exact answer of another seed')}, and those of one seed an LDS of "
            f"{cell(lds, 'Leave-one-out')}. The highest LDS is {cell(lds, best)}, of data value embedding.",
            f"a τ of {own.loc[solver, 'mean']:.2f} with its own question and TracIn of {own.loc['TracIn', 'mean']:.2f} "
            f"with its own; both have {cell(rank, 'TracIn')[:4]} with leave-one-out.",
            f"Replay has an LDS of {value(table, replay)} here and of {value(board(), replay)} on the two-layer "
            "network."):
        assert said in words, said


def test_every_method_stands_by_the_question_that_it_answers():
    for row in rows("## Which question", 3, GUIDE):
        kinds = set(row[1].replace("`", "").split(", "))
        named = {one for one in NAMED.values() if one.implies and {one.intervention, one.process} == kinds}
        for title in row[2].split(", "):
            assert any(title in one.title or title.split()[-1] in {"functions", "methods", "kernels"} for one in named)
    assert all(not ESTIMATORS[name].implies for name in ("knn_shapley", "bm25", "text_embedding", "gradient_norm",
                                                        "random"))
