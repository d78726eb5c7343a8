"""Files as the real libraries wrote them (`tests/benchmarks/as_they_write.py`) are read with claim, axes and sign."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from engine.data.records import Record
from engine.external.files import read_table
from engine.external.guess import guess
from engine.external.header_row import Numbering
from engine.external.matching import CANDIDATES, QUERIES
from engine.external.reading import preview, references
from engine.models.causal import lora
from engine.models.causal.encoding import Encoder
from engine.models.causal.learning import LearningReader
from engine.models.causal.packed import Packing
from engine.models.causal.reader import response_loss
from engine.models.recipe import Recipe
from engine.problems import CausalProblem
from engine.question.specification import Specification
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.benchmarks.as_they_write import tiny
from tests.engine.single_thread import one_thread  # noqa: F401

WRITTEN = Path(__file__).parent / "written"
BERGSON = WRITTEN / "bergson"


@pytest.mark.parametrize(("file", "axes", "least"), [
    ("captum.pt", QUERIES, 0.99), ("dattri.pt", CANDIDATES, 0.9), ("pydvl.npy", QUERIES, 0.99),
    ("pairwise_scores.safetensors", QUERIES, 0.5), ("queries.mmap", CANDIDATES, 0.3)])
def test_what_a_library_wrote_is_read_with_its_claim_its_axes_and_its_sign(file, axes, least):
    small = tiny()
    table = read_table(WRITTEN / file, known=Numbering.of(small))
    seen = preview(small, table, compute(small, guess(table, file, type(small)).claim)[0])
    assert seen.certain and (seen.likely.axes, seen.likely.sign) == (axes, "plus") and seen.likely.agreement > least


def records(name):
    rows = map(json.loads, (BERGSON / f"{name}.jsonl").read_text().splitlines())
    return [Record(id=str(row), prompt=one["prompt"], response=one["completion"].removesuffix(" <eos>"))
            for row, one in enumerate(rows)]


def problem(parameters="layers:*_proj", train=None, **how):
    """The model that the programs scored, or as `train`(model, records) leaves it."""
    encoder = Encoder(AutoTokenizer.from_pretrained(BERGSON / "model"), 64)
    rows, queries = ([encoder.encode(record) for record in records(name)] for name in ("train", "queries"))
    packing = Packing.of([*rows, *queries])

    def build():
        return LearningReader(AutoModelForCausalLM.from_pretrained(BERGSON / "model"), packing)

    reader, x = build().double(), packing.pack(encoder, rows)
    if train:
        train(reader, x)
    return CausalProblem(reader, x, None, packing.pack(encoder, queries), None, dtype="float64", build=build,
                         parameters=lora.selection(reader, parameters), **how)


@pytest.fixture(scope="module")
def language():
    """Through the linear maps that the programs differentiate."""
    return problem()


def test_scores_of_a_language_model_by_bergson_are_told_by_what_is_computed_here(language):
    """Its EK-FAC against ours of the same question: the damping is not the same, and the order nearly is."""
    table = read_table(BERGSON)
    claim = guess(table, "runs/ekfac/scores", CausalProblem).claim.specification
    claim = Specification.of(claim.behavior, claim.intervention, {"kind": "local_response", "damping": 0.01})
    assert [one.estimator for one in references(claim, CausalProblem)] == ["cg_gauss_newton", "ekfac"]
    ours = compute(language, [references(claim, CausalProblem)[-1]])[0]
    seen = preview(language, table, ours)
    assert seen.certain and (seen.likely.axes, seen.likely.sign) == (CANDIDATES, "plus") and seen.likely.agreement > 0.7


def test_self_influence_is_one_score_for_each_example():
    table = read_table(WRITTEN / "captum_self.pt")
    assert table.values.shape == (1, 12) and np.isfinite(table.values).all()


@pytest.mark.parametrize(("file", "tokens"), [("bergson_gradients", 3), ("dattri_llm.npy", 1)])
def test_products_of_gradients_are_theirs(language, file, tokens):
    """⟨∇ℓ_q, ∇ℓ_k⟩ over the same linear maps. bergson 2.5.1 sums a loss over the tokens of a response, dattri-llm 0.1.0
    takes their mean, as we do."""
    ours = compute(language, [Scoring.of("response_loss", {"kind": "add_occurrence"}, {
        "kind": "one_step", "eta": 1.0}, "first_order")])[0].scored
    theirs = read_table(WRITTEN / file).values.T / tokens**2
    assert np.abs(theirs - ours).max() <= 1e-6 * np.abs(ours).max()


def test_metagradients_are_bergsons():
    """Its MAGIC is the derivative of a query's loss to a record's weight in the mean over n; ours is that of B, which
    is minus the loss, to a weight that is added to the mean. It computes in float32."""
    recipe = Recipe(epochs=3, batch_size=24, learning_rate=0.5, momentum=0.95)

    def train(reader, x):
        descent = torch.optim.SGD(reader.parameters(), lr=recipe.learning_rate, momentum=recipe.momentum)
        for _ in range(recipe.epochs):
            descent.zero_grad()
            response_loss(reader(x), torch.zeros(len(x), dtype=torch.long)).mean().backward()
            descent.step()

    trained = problem("all", train, recipe=recipe)
    ours = compute(trained, [Scoring.of("response_loss", {"kind": "infinitesimal"}, {"kind": "replay"})])[0].scored
    theirs = -trained.n * read_table(WRITTEN / "bergson_magic").values.T
    assert np.abs(theirs - ours).max() <= 5e-5 * np.abs(ours).max()
