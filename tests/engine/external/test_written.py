"""Files as the real libraries wrote them (`tests/benchmarks/as_they_write.py`) are read with claim, axes and sign."""

import json
from pathlib import Path

import numpy as np
import pytest
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


@pytest.fixture(scope="module")
def language():
    """The model that bergson scored, through the linear maps that it differentiates."""
    encoder = Encoder(AutoTokenizer.from_pretrained(BERGSON / "model"), 64)
    train, queries = ([encoder.encode(record) for record in records(name)] for name in ("train", "queries"))
    packing = Packing.of([*train, *queries])
    reader = LearningReader(AutoModelForCausalLM.from_pretrained(BERGSON / "model"), packing)
    return CausalProblem(reader, packing.pack(encoder, train), None, packing.pack(encoder, queries), None,
                         parameters=lora.selection(reader, "layers:*_proj"), dtype="float64")


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
