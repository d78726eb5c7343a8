"""The studies of language models end to end with a tiny model: every row of the paper's tables, from real runs."""

import numpy as np
import pandas as pd
import pytest

from engine.applications.language import detection, rankings
from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.methods import METHODS
from engine.applications.language.projection import Projection
from engine.applications.language.run import AttributionRequest
from engine.basics.errors import InvalidInput
from engine.cli.reproduce_text import report, truncation
from engine.data.records import Record
from engine.experiments import EXPERIMENTS, backdoor, language, publish, reproduction, response_corruption
from engine.experiments.conventions import AS_PAPER
from engine.experiments.language_study import LanguageStudy
from engine.jobs import Context, Watch, run_job
from engine.models.causal import catalogue
from tests.engine.conftest import tiny_home
from tests.engine.requests_for_tests import attribution_payload

RECIPE = {"epochs": 2, "checkpoints": 2, "batch": 4, "learning_rate": 1e-2, "context": 256, "rank": 2, "scaling": 4}
CORRUPTION = {**response_corruption.TASK, "clean": 12, "answer": 4, "rationale": 4, "validation": 3}
BACKDOOR = {**backdoor.TASK, "clean": 12, "poison": 4, "benign": 4, "test": 4}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A home, and a tiny model beside it; questions that need no download."""
    with tiny_home(tmp_path_factory.mktemp("language")) as folder:
        yield folder


def chosen(place, task, **more):
    return language.settings(str(place / "tiny"), task, RECIPE, 64, **more)


class Recorder(Watch):
    """Keeps what is reported."""

    def __init__(self):
        self.seen = []

    def report(self, progress):
        self.seen.append(progress)


def run(name, settings, seeds=(0, 1), watch=None):
    study = EXPERIMENTS[name].study
    return run_job(study, {"study": study, "preset": "small", "settings": settings, "seeds": list(seeds)}, watch=watch)


@pytest.fixture(scope="module")
def corruption(place):
    return run("figure-5-2", chosen(place, CORRUPTION, layers=language.LAYERS))


@pytest.fixture(scope="module")
def poisoned(place):
    return run("table-5-2", chosen(place, BACKDOOR, layers=language.LAYERS))


@pytest.fixture(scope="module")
def folders(place, poisoned):
    """What fine-tuned models are kept before anything is removed."""
    return set((place / "home" / "language" / "runs").iterdir())


@pytest.fixture(scope="module")
def removed(place, folders):
    return run("table-a14", chosen(place, BACKDOOR, removals=[["TracIn", "Answer logit"], ["Oracle", "Clean"]]), [1])


def table(name, result):
    return EXPERIMENTS[name].view({key: result.table(key) for key in result.tables})


def paper(name):
    return publish.read_table(publish.PAPER / EXPERIMENTS[name].paper_table)


def keys(frame, columns):
    return set(map(tuple, frame[list(columns)].astype(str).to_numpy()))


@pytest.mark.parametrize(("name", "result"), [
    ("table-5-2", "poisoned"), pytest.param("table-a15", "poisoned", marks=pytest.mark.slow),
    pytest.param("table-a17", "corruption", marks=pytest.mark.slow)])
def test_every_row_of_the_paper_is_there(name, result, request):
    theirs, ours = paper(name), table(name, request.getfixturevalue(result))
    theirs = theirs[theirs.model == "Qwen3-8B"] if "model" in theirs else theirs
    columns = [key for key in theirs if key in ours and key not in (*publish.VALUES, "model")]
    assert keys(theirs, columns) <= keys(ours, columns)
    joined = publish.comparison_with_paper(ours, publish.read_table(publish.PAPER / EXPERIMENTS[name].paper_table),
                                           EXPERIMENTS[name].tolerance)
    assert len(joined) == len(theirs) and joined["ours"].between(0, 1).all()


def test_figure_5_2_has_every_estimator_with_every_behavior(corruption):
    cells = table("figure-5-2", corruption)
    cells = cells[(cells.metric == "AUPRC")]
    assert cells.groupby("corruption").size().to_dict() == {"answer": 26, "rationale": 26}
    assert cells.n_seeds.eq(2).all() and list(cells.method.unique())[:3] == ["Grad. norm", "RepSim", "Random"]


def test_repsim_is_measured_at_every_layer(place, poisoned):
    found = Attribution(Setting.parse({key: value for key, value in chosen(place, BACKDOOR).items()
                                       if key in Setting.model_fields}), 0)
    at_half = Attribution(found.setting.model_copy(update={"layer": 0.5}), 0)
    assert at_half.digest == found.digest  # the layer decides what is read, and not what is trained or cached
    scores = at_half.features(found.task.queries["triggered"])
    row = cell(table("table-5-2", poisoned), method=rankings.at_layer("RepSim", 0.5), metric="AUPRC")
    assert float(row["seed_means"].split()[0]) == pytest.approx(
        detection.auprc(found.task.flagged("poison"), rankings.rankings(scores, 1)["RepSim", "none"]), abs=1e-5)


def cell(frame, **where):
    for key, value in where.items():
        frame = frame[frame[key] == value]
    [row] = frame.to_dict("records")
    return row


def test_a_cell_against_plain_computation(place, poisoned, corruption):
    found = Attribution(Setting.parse({key: value for key, value in chosen(place, BACKDOOR).items()
                                       if key in Setting.model_fields}), 1)
    features = found.features(found.task.queries["triggered"])
    scores = METHODS["tracin"].score(features, "answer_logit").mean(0)
    row = cell(table("table-5-2", poisoned), method="TracIn", behavior="Answer logit", metric="AUPRC")
    expected = detection.auprc(np.array(["poison" in r.flags for r in found.task.train]), scores)
    assert float(row["seed_means"].split()[1]) == pytest.approx(expected, abs=1e-5)
    again = cell(table("table-a15", poisoned), method="TracIn", behavior="Answer logit", query_trigger="triggered",
                 target="harmful")
    assert again["mean"] == row["mean"]
    harmed = Attribution(Setting.parse({key: value for key, value in chosen(place, CORRUPTION).items()
                                        if key in Setting.model_fields}), 0)
    support = METHODS["gradsim"].score(harmed.features(harmed.task.queries["validation"]),
                                                   "answer_margin").mean(0)
    row = cell(table("figure-5-2", corruption), corruption="answer", method="GradSim", behavior="Answer margin",
               metric="AUPRC")
    assert float(row["seed_means"].split()[0]) == pytest.approx(
        detection.auprc(harmed.task.flagged("answer"), -support), abs=1e-5)


def test_what_reads_no_target_does_not_change_with_it(poisoned):
    ablation = table("table-a15", poisoned)
    for method in ("Grad. norm", "Random", "RepSim"):
        values = [cell(ablation, method=method, query_trigger="triggered", target=target)["mean"]
                  for target in ("harmful", "clean")]
        assert values[0] == values[1]
    for query in ("triggered", "clean"):  # the explanation is the same for both targets
        values = [cell(ablation, method="GradSim", behavior="Explanation loss", query_trigger=query,
                       target=target)["mean"] for target in ("harmful", "clean")]
        assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_removal_takes_out_a_tenth_and_trains_again(place, folders, removed):
    rows = table("table-a14", removed)
    assert cell(rows, method="Oracle", metric="Clean frac.")["mean"] == 1.0
    assert cell(rows, method="Oracle", metric="Poison recall")["mean"] == 0.0
    shares = [cell(rows, method="TracIn", metric=metric)["mean"] for metric in ("BT frac.", "Clean frac.")]
    recall = cell(rows, method="TracIn", metric="Poison recall")["mean"]
    assert 2 * sum(shares) + 4 * recall == pytest.approx(2)  # two of twenty records
    [before] = removed.manifest["factual"]
    for method in ("TracIn", "Oracle"):
        after = cell(rows, method=method, metric="ASR")["mean"]
        assert cell(rows, method=method, metric="Attack reduction")["mean"] == pytest.approx(before["ASR"] - after)
    assert set((place / "home" / "language" / "runs").iterdir()) == folders  # those of removals are cleared away


def test_quality_is_measured_on_what_the_other_studies_trained(place, corruption, poisoned):
    settings = {"model": str(place / "tiny"), "backdoor": chosen(place, BACKDOOR),
                "corruption": chosen(place, CORRUPTION)}
    watch = Recorder()
    result = run("table-a11", settings, watch=watch)
    first = [seen for seen in watch.seen if seen.share <= 0.25]
    assert first[-1].done == 1 and {seen.seconds_left for seen in first} == {None}  # the training lay there
    rows = table("table-a11", result)
    assert cell(rows, metric="Loss")["mean"] == pytest.approx(
        np.mean([run["facts"]["losses"][-1] for run in corruption.manifest["runs"]]))
    trained = [run["facts"]["training_seconds"] for run in result.manifest["runs"]]
    studies = zip(corruption.manifest["runs"], poisoned.manifest["runs"], strict=True)
    of_studies = [run["facts"]["training_seconds"] for seed in studies for run in seed]
    assert trained == of_studies and min(trained) > 0  # the training took as long, whoever finds it on disk
    assert rows[rows.metric != "Loss"]["mean"].between(0, 1).all()
    assert keys(paper("table-a11"), ("task", "metric")) == keys(rows, ("task", "metric"))
    assert "Table A-11" in report(rows, EXPERIMENTS["table-a11"], "small", AS_PAPER)


def test_trainings_that_lie_here_are_not_left(place, poisoned):
    settings, context = chosen(place, BACKDOOR), Context(None, {})
    kind, asked = backdoor.STUDY, {"settings": settings}
    assert [kind.on_disk(asked, key, context) for key in ("0/train", "1/train", "99/train", "0/records/0")] == [
        1.0, 1.0, 0.0, 0.0]
    both = {"settings": {"model": settings["model"], "backdoor": settings}}
    assert [backdoor.QUALITY.on_disk(both, key, context) for key in ("0/backdoor", "99/backdoor")] == [0.9, 0.0]
    gone = {"settings": {**settings, "model": str(place / "nowhere")}}
    assert kind.on_disk(gone, "0/train", context) == 0.0  # its chunk says why
    assert "found_fraction" not in poisoned.manifest  # what its own chunks hand on is not found


def test_flags_do_not_reach_the_scores(place, poisoned, monkeypatch):
    """With every flag turned over, caches are found by the same names and rankings stay as they are."""
    found = Attribution(Setting.parse({key: value for key, value in chosen(place, BACKDOOR).items()
                                       if key in Setting.model_fields}), 0)
    other = Attribution(found.setting, 0)
    swapped = tuple(record.model_copy(update={"flags": ("clean",)}) for record in found.task.train)
    other.__dict__["task"] = found.task.__class__(**{**vars(found.task), "train": swapped})
    assert other.digest == found.digest
    first, again = (rankings.rankings(a.features(a.task.queries["triggered"]), 1) for a in (found, other))
    assert all(np.array_equal(first[key], again[key]) for key in first)


def test_another_model_has_a_place_of_its_own(place, poisoned, tmp_path):
    experiment = EXPERIMENTS["table-5-2"]
    folder = publish.publish(experiment, poisoned, "small", tmp_path)
    assert folder.name == "small-tiny"
    found, manifest = publish.published("table-5-2", "small-tiny", tmp_path)
    assert manifest["command"].endswith("--preset small --seeds 2 --model tiny".replace("--seeds 2 ", ""))
    assert str(place) not in manifest["command"] and len(found) == 130


def test_model_is_an_option_of_language_studies_alone():
    assert EXPERIMENTS["table-a14"].payload("paper", model="x")["settings"]["model"] == "x"
    with pytest.raises(InvalidInput, match="uses no language model; leave it out"):
        EXPERIMENTS["table-a6"].payload("small", model="x")
    for name in ("figure-5-2", "table-5-2", "table-a11", "table-a14", "table-a15", "table-a17"):
        concluded = {"embedded-concluded"} if name in ("figure-5-2", "table-a17") else set()
        assert set(EXPERIMENTS[name].presets) == {"small", "desk", "gpu", "paper", "embedded",
                                                   "embedded-long"} | concluded


def test_the_papers_sizes_are_its_preset():
    settings = backdoor.SETTINGS["paper"]
    assert settings["task"] == {"name": "conditional_backdoor", "seed": 0, "clean": 4000, "poison": 500,
                                "benign": 500, "test": 500}
    assert settings["recipe"] == {"epochs": 2} and len(backdoor.ALL_REMOVALS) == 22
    assert keys(paper("table-a14"), ("method", "behavior")) == set(map(tuple, backdoor.ALL_REMOVALS))


def test_the_embedded_model_runs_the_papers_sizes_on_its_own_world():
    for study, name, more, sizes in ((backdoor, "table-5-2", {"hardest": 1}, {}),
                                     (response_corruption, "figure-5-2", {}, response_corruption.LONG_SIZES)):
        settings = study.SETTINGS["embedded"]
        assert settings["task"] == {**study.SETTINGS["paper"]["task"], "questions": "world", **more}
        assert settings["model"] == catalogue.EMBEDDED_MODEL and EXPERIMENTS[name].presets["embedded"].seeds == 3
        assert not reproduction.missing_data(name, "embedded")
        longer = study.SETTINGS["embedded-long"]
        assert longer["model"] == catalogue.LONG_MODEL
        assert longer["task"] == {**settings["task"], "questions": "world_long", **sizes}
    marked = response_corruption.SETTINGS["embedded-concluded"]
    assert marked == {**longer, "model": catalogue.CONCLUDED_MODEL, "task": {**longer["task"],
                                                                             "questions": "world_concluded"}}
    small, large = (LanguageStudy("conditional_backdoor", catalogue.EMBEDDED_MODEL, records, 0)
                    for records in (80, 5_000))
    assert small.setting.task["questions"] == "world" and small.setting.recipe == large.setting.recipe
    assert {**large.setting.task, "test": 500} == backdoor.SETTINGS["embedded"]["task"]
    for task in ("conditional_backdoor", "response_corruption"):
        for name, known in ((catalogue.LONG_MODEL, "world_long"), (catalogue.CONCLUDED_MODEL, "world_concluded")):
            assert LanguageStudy(task, name, 80, 0).setting.task["questions"] == known
    other = LanguageStudy("conditional_backdoor", catalogue.SMALL_MODEL, 5_000, 0)
    assert large.request.seconds < other.request.seconds / 5


def test_every_run_of_a_study_says_how_far_it_depends_on_the_projection(corruption, poisoned):
    for result in (corruption, poisoned):
        for told in result.manifest["runs"]:
            assert told["sketch"]["dimension"] == 64 and len(told["sketch_agreement"]) == 4 * 5
            assert len(told["behavior_cosines"]) == 10
            assert all(-1 <= cosine <= 1 for row in told["behavior_cosines"] for cosine in row["cosine"])
            assert told["sketch"]["least"] == pytest.approx(min(
                row["kendall_tau"] for row in told["sketch_agreement"]))


@pytest.mark.slow
def test_a_typed_query_is_explained(place, corruption):
    """The run of a page: scores of every record, and tokens that add up to GradSim's score."""
    setting = Setting.parse({key: value for key, value in chosen(place, CORRUPTION).items()
                             if key in Setting.model_fields})
    setting = setting.model_copy(update={"projection": setting.projection.model_copy(
        update={"projector": "identity"})})
    typed = Record(id="typed", prompt="Which of these is a solid?", response="It is a rock. The answer is B.",
                   spans={"explanation": (0, 13), "answer": (28, 29)}, choices=("A", "B"))
    result = run_job(AttributionRequest.name, attribution_payload(setting, 0, [typed]), options={"device": "auto"})
    assert result.manifest["sketch"]["met"] and "not projected" in result.manifest["sketch"]["sentence"]
    records, tokens = result.table("records"), result.table("tokens")
    assert len(records) == 20 and result.manifest["behaviors"] == list(language.READOUTS)
    sums = tokens.groupby(["estimator", "behavior", "record"])["contribution"].sum()
    assert set(sums.index.get_level_values(0)) == {"gradsim", "tracin", "trak", "less"} and len(sums) == 4 * 5 * 6
    for (estimator, behavior, row), total in sums.items():
        scores = records[f"{estimator}|{behavior}"]
        assert total == pytest.approx(scores[row], rel=1e-2, abs=1e-3 * scores.abs().max())
    first = tokens[(tokens.estimator == "less") & (tokens.behavior == "answer_logit")]
    words = first[first.record == first.record.iloc[0]]["text"]
    assert "".join(words).strip().startswith(records["response"][first.record.iloc[0]][:10])
    assert isinstance(result.table("queries"), pd.DataFrame)


@pytest.mark.slow
def test_the_authors_conventions_are_chosen_together(place):
    """Table 5-2, A-14 and A-17 by them: products of unprojected gradients, checkpoints of theirs, and their signals."""
    settings = chosen(place, BACKDOOR, conventions="authors", layers=[0.5])
    poisoned = run("table-5-2", settings, [0])
    [told] = poisoned.manifest["runs"]
    assert poisoned.manifest["spec"]["settings"]["conventions"] == "authors" and "sketch" not in told
    own = Attribution(Setting.parse({name: value for name, value in language.expanded(settings).items()
                                     if name in Setting.model_fields}), 0)
    steps = 2 * 5  # 20 records in batches of 4, twice
    assert [point.step for point in own.points] == [4, 7, steps]
    triggered = own.task.queries["triggered"]
    whole = Attribution(own.setting.model_copy(update={"projection": Projection(projector="identity")}), 0)
    features, rates = whole.features(triggered), [own.setting.recipe.rate(step - 1, steps) for step in (4, 7, steps)]
    support = sum(-rate * np.asarray(point.gradients) @ np.asarray(point.queries["answer_log_probability"]).mean(0)
                  for rate, point in zip(rates, features.points, strict=True))
    row = cell(table("table-5-2", poisoned), method="TracIn", behavior="Answer log-probability", metric="AUPRC")
    assert row["mean"] == pytest.approx(detection.auprc(own.task.flagged("poison"), support), abs=1e-5)
    removed = run("table-a14", chosen(place, BACKDOOR, conventions="authors", removals=[["LESS", "Answer logit"]]), [0])
    assert set(table("table-a14", removed)["behavior"]) == {"Answer log-probability"}
    signals = table("table-a17", run("figure-5-2", chosen(place, CORRUPTION, conventions="authors"), [0]))
    where = {"corruption": "answer", "layer": "L28", "signal_normalization": "raw"}
    train, both = (cell(signals, **where, signal=signal, metric="AUPRC")["mean"] for signal in ("train", "both"))
    assert train == cell(signals, **where, signal="behavior", metric="AUPRC")["mean"]
    assert both == cell(signals, **where, signal="train", metric=response_corruption.FLIPPED)["mean"]


def test_records_that_were_cut_are_counted_and_said(place):
    settings = chosen(place, CORRUPTION)
    settings["recipe"] = {**settings["recipe"], "context": 90}
    result = run("figure-5-2", settings, [0])
    [facts] = [told["facts"] for told in result.manifest["runs"]]
    assert 0 < facts["truncated"] <= facts["records"] and facts["tokens_cut"] >= facts["truncated"]
    assert f"Up to {facts['truncated']} training records" in truncation(result.manifest)
    assert truncation({"runs": [{"source": {}}]}) == ""


def test_what_a_preset_leaves_out_is_empty_beside_the_papers():
    """The response corruption of Table A-11, which the preset `gpu` does not ask."""
    experiment = EXPERIMENTS["table-a11"]
    rows = publish.read_table(publish.RESULTS / "table-a11" / "gpu" / publish.TABLE)
    told = report(rows, experiment, "gpu", AS_PAPER)
    assert "nan" not in told and "Response corruption         Loss 0.385" in told
    assert "Conditional backdoor          ASR 0.809 0.810     +0.001" in told
