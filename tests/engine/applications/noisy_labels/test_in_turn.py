"""Labels without a trusted set: every part held out in turn, against a loop over models, examples and queries."""

import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from engine.applications.noisy_labels.folds import check_folds, fold_of
from engine.applications.noisy_labels.held_out import HeldOutRequest
from engine.applications.noisy_labels.judge import Judge, judge
from engine.applications.noisy_labels.origin import IN_TURN
from engine.applications.noisy_labels.own import own_source, usual
from engine.applications.noisy_labels.pairs import METHODS, SEARCHED, Pair
from engine.applications.noisy_labels.search import SuspicionRequest, fold_chunks, fold_named
from engine.applications.noisy_labels.source import NoisySource
from engine.basics.errors import InvalidInput
from engine.data import load, uploads
from engine.jobs import run_job
from engine.models.training import train
from tests.engine.applications.noisy_labels.sources import RECIPE, source, suspicion
from tests.engine.requests_for_tests import suspicion_payload


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """Digits without a trusted set: the source, what was drawn, and what was found."""
    chosen = source(trusted_from=IN_TURN, folds=3, n_train=90, model="mlp")
    home = tmp_path_factory.mktemp("in_turn")
    methods = (*SEARCHED, "refitted")
    found = SuspicionRequest.loaded(run_job(SuspicionRequest.name, suspicion_payload(chosen, methods), home))
    return chosen, chosen.draw(), found


def test_suspicion_is_the_mean_over_the_models_that_were_trained_on_a_label(searched):
    chosen, drawn, found = searched
    y, parts = drawn.evidence.y, fold_of(drawn.evidence.y, 3, chosen.mask)
    asked = {Pair("GradSim", behavior): METHODS["gradsim"].scoring(behavior)
             for behavior in ("Trusted loss", "Hard margin")}
    for pair, scoring in asked.items():
        by_hand = [[] for _ in y]
        for fold in range(3):
            rows = [row for row in range(len(y)) if parts[row] != fold]
            for row, value in zip(rows, suspicion(drawn.without(fold).train(), scoring), strict=True):
                by_hand[row].append(value)
        assert {len(values) for values in by_hand} == {2}
        expected = np.array([np.mean(values) for values in by_hand])
        # the fast path leaves out a positive factor, the size of the step
        ratio = found.suspicion[pair] / expected
        assert np.allclose(ratio, np.median(ratio), rtol=2e-3) and np.median(ratio) > 0
    assert {pair.method for pair in found.suspicion} == {METHODS[name].title for name in (*SEARCHED, "refitted")}
    assert all(values.shape == (90,) and np.isfinite(values).all() for values in found.suspicion.values())


def test_what_is_said_of_an_example_comes_from_the_model_that_has_not_seen_it(searched):
    import torch

    chosen, drawn, found = searched
    parts = fold_of(drawn.evidence.y, 3, chosen.mask)
    for fold in range(3):
        rest, held = parts != fold, parts == fold
        model = train(drawn.build, torch.tensor(drawn.evidence.x[rest]), torch.tensor(drawn.evidence.y[rest]),
                      RECIPE, chosen.seed).module
        with torch.no_grad():
            p = model(torch.tensor(drawn.evidence.x[held])).softmax(-1).numpy()
        assert np.allclose(found.probability[held], p.max(-1), atol=1e-5)
        assert np.allclose(found.own[held], p[np.arange(held.sum()), drawn.evidence.y[held]], atol=1e-5)
        assert not np.isin(found.nearest[held], np.flatnonzero(held)).any()
    assert found.facts["test_accuracy"] == np.mean(found.predicted == drawn.evidence.y)
    assert "No label is trusted: each of 90 is scored by 2 models" in found.facts["trusted_from"]


def test_folds_are_stratified_and_a_scarce_class_is_a_sentence():
    y = np.repeat([0, 1, 2], [12, 8, 4])
    parts = fold_of(y, 4, 0)
    assert all(np.bincount(y[parts == fold], minlength=3).tolist() == [3, 2, 1] for fold in range(4))
    assert (parts != fold_of(y, 4, 1)).any()
    with pytest.raises(InvalidInput, match="The class `rare` has 4 examples"):
        check_folds(y, 5, ("a", "b", "rare"))


def test_digests_of_other_sources_stay():
    told = source().model_dump(mode="json")
    assert "folds" not in told and "trusted_from" not in told
    assert NoisySource.parse(source(trusted_from=IN_TURN, folds=3).model_dump(mode="json")).folds == 3


def test_a_folder_without_verified_labels_is_searched_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    path = tmp_path / "mine.zip"
    with zipfile.ZipFile(path, "w") as packed:
        for label, name in enumerate(("cat", "dog")):
            for place in range(7):
                picture = io.BytesIO()
                Image.new("RGB", (9, 9), (40 * label, 10 * place, 90)).save(picture, "PNG")
                packed.writestr(f"{name}/{place}.png", picture.getvalue())
        packed.writestr("wrong_labels.txt", "cat/0.png\ndog/3.png\n")
    chosen = own_source(path, {})
    drawn = chosen.draw()
    assert chosen.in_turn and chosen.folds == 5 and len(drawn.rows) == 14 and len(drawn.y_test) == 0
    wrong = {drawn.dataset.files[row] for row in drawn.rows[drawn.flags.noisy]}
    assert wrong == {"cat/0.png", "dog/3.png"} and drawn.evidence.x.shape[1:] == (3, 32, 32)
    assert usual(load(uploads.keep_path(path)))["model"] == "pretrained"


@pytest.mark.parametrize(("accuracy", "examples", "chance", "weak"), [
    (0.9, 200, 0.1, False), (0.12, 200, 0.1, True), (0.25, 20, 0.1, True), (0.25, 2_000, 0.1, False),
    (0.9, 200, 0.88, True)])
def test_a_judge_that_hardly_beats_chance_is_told(accuracy, examples, chance, weak):
    found = Judge(accuracy, examples, chance, verified=True)
    assert found.is_weak == weak and ("Train for more epochs" in found.sentence) == weak
    z, p, n = 1.959964, accuracy, examples  # Wilson 1927
    half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert found.lowest == pytest.approx((p + z**2 / (2 * n) - half) / (1 + z**2 / n), abs=1e-6)


def test_the_judge_knows_what_it_was_measured_on(searched):
    _, drawn, found = searched
    told = judge(drawn, found.facts["test_accuracy"])
    assert told.examples == 90 and not told.verified and "right or wrong" in told.sentence
    assert told.chance == np.bincount(drawn.evidence.y).max() / 90


def test_parts_that_a_reader_sees_are_counted_from_one():
    source = NoisySource(dataset="digits", trusted_from=IN_TURN, folds=3)
    assert SuspicionRequest(source=source).chunks[:3] == ["fold 1", "fold 2", "fold 3"]
    assert [fold_named(chunk) for chunk in fold_chunks(3)] == [0, 1, 2]
    assert HeldOutRequest(source=source).chunks[0] == "fold 1"
