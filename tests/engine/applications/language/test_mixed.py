"""A recipe of mixed precision on a CPU: bfloat16 in the passes where that is measured to gain, gradients as without."""

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.basics.noted import noting
from engine.models import precision
from engine.models.causal import lora, passes
from engine.models.causal.narrow import is_narrow
from engine.models.causal.readouts import mean_response_likelihood
from engine.models.gain import Gain


@pytest.fixture
def mixed_setting(plain_setting, tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    return Setting.parse({**plain_setting, "recipe": {**plain_setting["recipe"], "precision": "mixed"}})


@pytest.fixture
def fast(monkeypatch):
    monkeypatch.setattr(precision, "gain", lambda: Gain(matrices=4.8, convolutions=1.0))


@pytest.fixture
def mixed(fast, attribution, mixed_setting):
    """A training of the same seed in bfloat16, beside the shared one in float32."""
    found = Attribution(mixed_setting, 0)
    with noting() as told:
        found.train()
    assert told == {"bfloat16 (measured gain 4.8)"}
    return found


def test_matrices_are_bfloat16_all_else_and_attention_float32(mixed, monkeypatch):
    model = mixed.model
    assert is_narrow(model)
    narrow = {name for name, parameter in model.named_parameters() if parameter.dtype == torch.bfloat16}
    assert len(narrow) == len(lora.layers(model)) and all(name.endswith("_proj.base_layer.weight") for name in narrow)
    seen, own = [], torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention",
                        lambda query, *rest, **options: (seen.append((query.dtype, torch.is_autocast_enabled("cpu"))),
                                                         own(query, *rest, **options))[1])
    passes.read(model, mixed.encoder, mixed.encoded[:2], [mean_response_likelihood])
    assert set(seen) == {(torch.float32, False)} and len(seen) == 2 * mixed.depth
    assert mixed.where == "cpu bfloat16" and mixed.points[-1].weights[next(iter(mixed.sizes))].dtype == torch.float32


def test_gradients_are_those_of_float32_within_its_error(attribution, mixed):
    """Of all records at the same checkpoint."""
    point = attribution.points[-1]
    narrow, own = mixed.record_cache(point)["gradient"], attribution.record_cache(point)["gradient"]
    cosines = (narrow * own).sum(1) / np.linalg.norm(narrow, axis=1) / np.linalg.norm(own, axis=1)
    assert not np.array_equal(narrow, own) and cosines.min() > 0.995
    taus = [kendalltau(*rows).statistic for rows in zip(narrow @ narrow.T, own @ own.T, strict=True)]
    assert np.mean(taus) > 0.9


def test_where_it_does_not_gain_the_run_is_in_float32_and_another_one(monkeypatch, mixed_setting, fast):
    narrow = Attribution(mixed_setting, 0).digest
    monkeypatch.setattr(precision, "gain", lambda: Gain(matrices=1.1, convolutions=9.0))
    found = Attribution(mixed_setting, 0)
    assert found.where == "cpu" and not is_narrow(found.model) and found.digest != narrow
    assert found.passes.description == "float32, since bfloat16 is not faster here (measured gain 1.1)"


def test_a_recipe_of_full_precision_is_called_what_it_was(plain_setting):
    """Its digest and its sentence do not know of the other precision."""
    recipe = Setting.parse(plain_setting).recipe
    assert "precision" not in recipe.model_dump() and "bfloat16" not in recipe.sentence
    assert "bfloat16" in recipe.model_copy(update={"precision": "mixed"}).sentence
