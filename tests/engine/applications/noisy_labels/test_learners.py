"""Searches judged by regressions: on features of pictures and texts, and on the columns of a table."""

import io
import zipfile

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.linear_model import LogisticRegression

from engine.applications.noisy_labels.learners import learner
from engine.applications.noisy_labels.own import own_source
from engine.applications.noisy_labels.pairs import Pair
from engine.applications.noisy_labels.retraining import retrained_accuracy
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import NoisySource
from engine.basics.options import Options
from engine.data import load
from engine.jobs import run_job
from engine.models.pretrained.pictures import picture_features
from engine.models.pretrained.texts import text_features
from engine.problems.families.pretrained import pretrained_features
from tests.engine.requests_for_tests import suspicion_payload

SENTENCES = {"refund": ("I want my money back for order {}", "please refund the amount I paid, case {}"),
             "praise": ("the staff were lovely, thank you, ticket {}", "great service, I am very happy number {}")}
WRONG = (3, 21)


@pytest.fixture
def texts(tmp_path):
    """Forty texts in two classes, two of them with the wrong label, as JSONL."""
    rows = [(SENTENCES[label][index % 2].format(index), label) for index in range(20) for label in SENTENCES]
    frame = pd.DataFrame(rows, columns=["message", "label"])
    frame.loc[list(WRONG), "label"] = frame.loc[list(WRONG), "label"].map({"refund": "praise", "praise": "refund"})
    frame.to_json(tmp_path / "texts.jsonl", orient="records", lines=True)
    return tmp_path / "texts.jsonl"


def test_wrong_labels_of_texts_are_the_first_suspects(texts, tmp_path):
    source = own_source(texts, {})
    assert source.model == "pretrained" and source.in_turn and source.folds == 5
    scored = SuspicionRequest.loaded(run_job(SuspicionRequest.name, suspicion_payload(source), tmp_path / "home"))
    names = [source.draw().dataset.files[row] for row in source.draw().rows]
    first = np.argsort(-scored.suspicion[Pair("Confident learning")])[:2]
    assert {names[row] for row in first} == {f"row {row}" for row in WRONG}
    assert not any(pair.method == "TracIn" for pair in scored.suspicion)
    assert scored.facts["test_accuracy"] == pytest.approx(38 / 40)


def test_features_of_texts_stand_beside_the_columns(texts):
    dataset = load(own_source(texts, {}).dataset)
    rows = np.array([2, 0])
    read = pretrained_features(dataset, "train", rows)
    assert np.allclose(read[:, -256:], text_features([dataset.texts[0][row] for row in rows]))
    assert np.allclose(read[:, :-256], dataset.features("train", rows), atol=1e-6)


def test_short_texts_are_read_where_there_is_nothing_else(tmp_path):
    frame = pd.DataFrame({"item": [f"blue case {index}" for index in range(12)], "label": ["a", "b"] * 6})
    frame.to_csv(tmp_path / "short.csv", index=False)
    assert len(load(own_source(tmp_path / "short.csv", {}).dataset).texts[0]) == 9


def test_pictures_are_judged_by_their_features(tmp_path):
    path = tmp_path / "mine.zip"
    with zipfile.ZipFile(path, "w") as packed:
        for label, name in enumerate(("red", "blue")):
            for index in range(6):
                picture = io.BytesIO()
                Image.new("RGB", (9, 9), (40 + 150 * label, 10 * index, 200 - 150 * label)).save(picture, "PNG")
                packed.writestr(f"{name}/{index}.png", picture.getvalue())
    drawn = own_source(path, {"folds": 2}).draw()
    assert drawn.source.model == "pretrained" and drawn.evidence.x.shape[1:] == (3, 32, 32)
    read = drawn.read(Options()).evidence.x
    assert read.shape == (12, 1280) and np.allclose(read.mean(0), 0, atol=1e-4)
    model = drawn.without(0).train()
    assert model.evidence.x.shape == (6, 1280) and model.problem.parameters == 2 * 1281
    assert drawn.fingerprint == own_source(path, {"model": "cnn"}).draw().fingerprint, "a review belongs to both"


def test_features_of_photographs_are_of_their_files_and_not_of_the_small_pictures(tmp_path):
    photos = np.random.default_rng(0).integers(0, 255, (4, 170, 200, 3), dtype=np.uint8)
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as packed:
        for index, photo in enumerate(photos):
            file = io.BytesIO()
            Image.fromarray(photo).save(file, "PNG")
            packed.writestr(f"mine/{'ab'[index % 2]}/{index}.png", file.getvalue())
    dataset = own_source(tmp_path / "mine.zip", {"folds": 2}).draw().dataset
    files = (*dataset.files, *dataset.test_files)
    row = dataset.files.index("a/2.png") if "a/2.png" in dataset.files else 0
    original = photos[int(files[row].split("/")[1][0])]
    resized = np.asarray(Image.fromarray(original).resize((160, 160), Image.Resampling.BILINEAR, reducing_gap=2.0))
    assert dataset.image_shape == (64, 64, 3)
    np.testing.assert_allclose(pretrained_features(dataset, "train", np.array([row])), picture_features(resized[None]))


def test_a_table_is_judged_by_its_columns_and_trained_again_without_rows(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    frame = pd.DataFrame(x, columns=list("abc")).assign(label=np.where(x[:, 0] > 0, "up", "down"),
                                                         split=["train"] * 40 + ["test"] * 20)
    frame.to_csv(tmp_path / "table.csv", index=False)
    drawn = own_source(tmp_path / "table.csv", {"trusted": 2}).draw()
    assert drawn.source.model == "logistic"
    read, penalty = drawn.read(Options()), drawn.recipe(Options()).weight_decay
    kept = np.arange(40) >= 5
    x, y = read.evidence.x[kept], read.evidence.y[kept]
    reference = LogisticRegression(C=2 / (penalty * 35), max_iter=1000).fit(x, y)
    assert retrained_accuracy(drawn, range(5), {}) == pytest.approx(reference.score(read.x_test, read.y_test))
    assert retrained_accuracy(drawn, [], {}) > 0.8


def test_sources_of_networks_are_written_as_before():
    assert "penalty" not in NoisySource().model_dump() and learner("cnn") is learner("mlp")
    assert learner("pretrained").passes is False and learner("logistic").folds == 5
