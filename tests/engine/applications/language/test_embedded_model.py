"""The embedded model as it is shipped: small, whole, of this world, and as good as its manifest says."""

import json

import pytest
import torch

from engine.applications.language import embedded, pretraining, quality
from engine.applications.language.pretraining import Pretraining
from engine.data import world
from engine.data.tasks.wording import record
from engine.models.causal import catalogue, loading
from engine.models.causal.encoding import Encoder

FOLDER = catalogue.EMBEDDED_FOLDER / catalogue.EMBEDDED_MODEL
MANIFEST = json.loads((FOLDER / pretraining.MANIFEST).read_text())


@pytest.fixture(scope="module")
def loaded():
    return loading.load(catalogue.EMBEDDED_MODEL)


def test_it_needs_no_folder_and_is_the_only_one_there(monkeypatch):
    monkeypatch.delenv(loading.MODELS, raising=False)
    assert loading.available() == [catalogue.EMBEDDED_MODEL] and loading.find(catalogue.EMBEDDED_MODEL).local


def test_it_is_small_and_of_this_world(loaded):
    model, tokenizer = loaded
    count = sum(weight.numel() for weight in model.parameters())
    assert count == MANIFEST["parameters"] < 1_000_000 and (FOLDER / "model.safetensors").stat().st_size <= 2_500_000
    assert MANIFEST["world"] == world.content() and MANIFEST["seconds"] > 0 and MANIFEST["versions"]["torch"]
    assert tokenizer.get_vocab() == embedded.tokenizer().get_vocab()
    assert all(torch.isfinite(weight).all() for weight in model.parameters())


def test_it_knows_the_world_as_its_manifest_says(loaded):
    """The same held-out questions, all of them."""
    asked = Pretraining.parse(MANIFEST["spec"])
    _, held = pretraining.divided(world.load(asked.questions, asked.seed))
    model, tokenizer = loaded
    encoder = Encoder(tokenizer, embedded.CONTEXT)
    encoded = [encoder.encode(record(question)) for question in held[:pretraining.CHECKED]]
    accuracy = quality.rate(model, encoder, encoded, 64)
    assert accuracy == pytest.approx(MANIFEST["accuracy_held_out"], abs=2e-3) and accuracy > 0.95
