"""Flags never reach a scorer, and bad evidence is refused with a sentence."""

import dataclasses
import inspect

import numpy as np
import pytest
from pydantic import ValidationError

from engine.applications.noisy_labels import augmented, scoring
from engine.applications.noisy_labels.channels import standardised
from engine.applications.noisy_labels.evidence import Evidence
from engine.applications.noisy_labels.scoring import suspicions
from engine.applications.noisy_labels.source import NoisySource, TrainedModel
from engine.basics.errors import InvalidInput
from engine.data.corruption import Flags
from tests.engine.applications.noisy_labels.sources import drawn, model, source

ALL = ("random", "repsim", "ntk", "gradsim", "tracin", "lissa", "confident", "augmented")


@pytest.mark.slow
def test_scores_do_not_change_when_flags_are_permuted():
    honest = drawn(n_train=80)
    shuffled = np.random.default_rng(1).permutation(honest.flags.noisy)
    lied = dataclasses.replace(honest, flags=Flags(shuffled, honest.flags.labels[::-1].copy()))
    assert (lied.flags.noisy != honest.flags.noisy).any()
    first, second = suspicions(honest.train(), ALL), suspicions(lied.train(), ALL)
    assert first.keys() == second.keys()
    for pair, values in first.items():
        np.testing.assert_array_equal(values, second[pair], err_msg=pair.title)


def test_no_type_that_a_scorer_takes_has_a_place_for_flags():
    assert {field.name for field in dataclasses.fields(Evidence)} == {"x", "y", "trusted_x", "trusted_y", "classes"}
    reachable, seen = [model(), model().refitting], set()
    while reachable:
        thing = reachable.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        assert not isinstance(thing, Flags) and type(thing).__name__ != "NoisyData"
        if type(thing).__module__.startswith(("engine", "builtins", "functools")) and not isinstance(thing, type):
            reachable += [*getattr(thing, "__dict__", {}).values()] if hasattr(thing, "__dict__") else []
            reachable += [*thing.values()] if isinstance(thing, dict) else list(thing) if isinstance(
                thing, (list, tuple)) else []
    for scorer in (scoring.suspicions, augmented.augmented_scores):
        assert inspect.get_annotations(scorer, eval_str=True)["model"] is TrainedModel


def test_a_scorer_refuses_flags_in_place_of_evidence():
    honest = model()
    with pytest.raises(TypeError, match="scorers take Evidence, not Flags"):
        TrainedModel(drawn().flags, honest.build, honest.module, (), honest.source)
    evidence = drawn().evidence
    with pytest.raises(TypeError, match="evidence must be arrays"):
        dataclasses.replace(evidence, y=drawn().flags)


@pytest.mark.parametrize("rate", [-0.1, 1.0, 2.0, True, float("nan")])
def test_a_noise_rate_outside_its_range(rate):
    with pytest.raises((InvalidInput, ValidationError)):
        NoisySource.parse({"noise": rate})


def test_bad_evidence():
    x, y = np.arange(12, dtype=np.float32).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])
    with pytest.raises(InvalidInput, match="no example of class 1; add at least one"):
        Evidence(x, y, x[:1] + 50, np.array([0]), 2)
    with pytest.raises(InvalidInput, match="all training examples are of one class|All training examples are of one"):
        Evidence(x, np.zeros(6, dtype=np.int64), x[:2], np.array([0, 0]), 2)
    with pytest.raises(InvalidInput, match=r"2 training examples are in the trusted set as well \(the first is row 1"):
        Evidence(x, y, x[[1, 2]], np.array([1, 0]), 2).check_apart()


def test_too_many_trusted_or_training_examples():
    with pytest.raises(InvalidInput, match="fewer than the 500 that the trusted set takes"):
        source(trusted=500).draw()
    with pytest.raises(InvalidInput, match="`n_train` is 5,000, but there are only"):
        source(n_train=5_000).draw()


def test_another_split_has_other_examples_under_the_same_mask():
    """The trusted set is that of its seed; the wrong positions, and by how many classes, stay."""
    first, second = drawn(), source(split=7, seed=3).draw()
    assert not set(second.rows) & set(second.trusted_rows)
    assert set(first.trusted_rows) != set(second.trusted_rows)
    np.testing.assert_array_equal(first.flags.noisy, second.flags.noisy)
    shift = [(one.evidence.y - one.flags.labels) % 10 for one in (first, second)]
    np.testing.assert_array_equal(*shift)
    np.testing.assert_array_equal(source(split=7).draw().rows, second.rows)


def test_channels_are_standardised_by_the_training_set():
    plain, scaled = drawn(), source(standardised=True).draw()
    mean, spread = plain.evidence.x.mean(), plain.evidence.x.std()
    for a, b in ((plain.evidence.x, scaled.evidence.x), (plain.evidence.trusted_x, scaled.evidence.trusted_x),
                 (plain.x_test, scaled.x_test)):
        np.testing.assert_allclose((a - mean) / spread, b, atol=1e-5)
    colours = np.random.default_rng(0).normal(size=(50, 3, 4, 4)) * np.array([1, 5, 0])[:, None, None] + 2
    first, other = standardised([colours[:40].astype(np.float32), colours[40:].astype(np.float32)])
    np.testing.assert_allclose(first.mean((0, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(first.std((0, 2, 3)), [1, 1, 0], atol=1e-5)
    assert abs(other.mean()) > 1e-3


def test_digests_stay_what_they_were_before_there_were_splits():
    assert not {"split", "standardised"} & set(source().model_dump(mode="json"))
    assert source(split=0).identity != source().identity != source(standardised=True).identity


def test_the_draw_is_disjoint_balanced_and_the_same_for_every_training_seed():
    first, second = drawn(), source(seed=7, model="mlp").draw()
    assert not set(first.rows) & set(first.trusted_rows)
    assert (np.bincount(first.evidence.trusted_y) == 4).all()
    np.testing.assert_array_equal(first.evidence.y, second.evidence.y)
    np.testing.assert_array_equal(first.flags.noisy, second.flags.noisy)
    assert first.fingerprint == second.fingerprint != source(mask=1).draw().fingerprint
    np.testing.assert_array_equal(first.dataset.y_train[first.rows], first.flags.labels)
