"""The embedded models as they are shipped: small, whole, of this world, and as good as their manifests say."""

import json

import pytest
import torch

from engine.applications.language import embedded, pretraining, quality
from engine.applications.language.pretraining import Pretraining
from engine.data import world
from engine.data.tasks.wording import record
from engine.models.causal import catalogue, loading
from engine.models.causal.encoding import Encoder

LEAST = {catalogue.EMBEDDED_MODEL: 0.95, catalogue.LONG_MODEL: 0.95, catalogue.CONCLUDED_MODEL: 0.97}
"""Accuracy on held-out questions."""


@pytest.fixture(scope="module", params=catalogue.EMBEDDED)
def shipped(request):
    """(name, folder, manifest, how it was made)."""
    folder = catalogue.EMBEDDED_FOLDER / request.param
    manifest = json.loads((folder / pretraining.MANIFEST).read_text())
    return request.param, folder, manifest, Pretraining.parse(manifest["spec"])


@pytest.fixture(scope="module")
def loaded(shipped):
    return loading.load(shipped[0])


def test_they_need_no_folder_and_are_the_only_ones_there(monkeypatch):
    monkeypatch.delenv(loading.MODELS, raising=False)
    assert loading.available() == list(catalogue.EMBEDDED)
    assert all(loading.find(name).local for name in catalogue.EMBEDDED)


def test_it_is_small_and_of_this_world(shipped, loaded):
    _, folder, manifest, made = shipped
    model, tokenizer = loaded
    count = sum(weight.numel() for weight in model.parameters())
    assert count == manifest["parameters"] < 1_000_000 and (folder / "model.safetensors").stat().st_size <= 2_000_000
    assert manifest["world"] == world.content() and manifest["seconds"] > 0 and manifest["versions"]["torch"]
    assert tokenizer.get_vocab() == embedded.tokenizer(made.long).get_vocab()
    assert all(torch.isfinite(weight).all() for weight in model.parameters())


def test_it_is_made_as_the_command_makes_it(shipped):
    name, _, _, made = shipped
    assert made == pretraining.RECIPES[name]


def test_it_knows_the_world_as_its_manifest_says(shipped, loaded):
    """The same held-out questions, all of them, or the first 250 long ones."""
    name, _, manifest, made = shipped
    count = 2_500 if made.long else made.questions
    _, held = pretraining.divided(made.sampled(count), made.long)
    model, tokenizer = loaded
    encoder = Encoder(tokenizer, embedded.CONTEXT)
    encoded = [encoder.encode(record(question)) for question in held[:pretraining.CHECKED]]
    accuracy = quality.rate(model, encoder, encoded, 64)
    assert accuracy == pytest.approx(manifest["accuracy_held_out"], abs=0.02 if made.long else 2e-3)
    assert accuracy > LEAST[name]
