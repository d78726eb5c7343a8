"""bergson's EK-FAC scores of a tiny Llama by a naive loop over its records: which of its conventions are not ours.

Every linear map has factors A of its inputs and G of its outputs' derivatives, summed over records and positions, and
the second moment Λ of records' gradients in their eigenbasis, (1/n) Σ_i (U_Gᵀ g_i U_A)². Theirs, as it was run: the
labels of the data (the empirical Fisher matrix), A without the last position of a record, and as damping a tenth of a
map's own mean eigenvalue. Ours: labels of the model, all positions, and one damping for all maps.
"""

import json

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau
from transformers import AutoModelForCausalLM, AutoTokenizer

from engine.curvature import loss_roots
from engine.external.files import read_table
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.external.test_written import BERGSON, language  # noqa: F401
from tests.engine.single_thread import one_thread  # noqa: F401

TOKENS, VOCABULARY, DAMPING = 3, 16, 0.01
"""Of every response, and the damping of our local response."""
BEFORE_LAST, ALL = -1, None
"""Up to which position a record counts in A."""
THEIRS = read_table(BERGSON).values.T


def records(name):
    """Records as tokens, with the position of the first token of the response."""
    tokenizer = AutoTokenizer.from_pretrained(BERGSON / "model")
    rows = [json.loads(line) for line in (BERGSON / f"{name}.jsonl").read_text().splitlines()]
    return [(torch.tensor([tokenizer(f"{row['prompt']} {row['completion']}")["input_ids"]]),
             len(tokenizer(row["prompt"])["input_ids"])) for row in rows]


@pytest.fixture(scope="module")
def model():
    return AutoModelForCausalLM.from_pretrained(BERGSON / "model").double()


def seen(model, ids, first, read):
    """Map -> (inputs (T, in), output gradients (T, out)) of every scalar of read(logits (R, V), labels (R,))."""
    maps = {name: part for name, part in model.model.named_modules() if isinstance(part, torch.nn.Linear)}
    calls = {}
    hooks = [part.register_forward_hook(lambda _, x, y, name=name: calls.update({name: (x[0], y)}))
             for name, part in maps.items()]
    logits = model(input_ids=ids).logits[0, first - 1:-1]
    for hook in hooks:
        hook.remove()
    for value in read(logits, ids[0, first:]):
        slopes = torch.autograd.grad(value, [y for _, y in calls.values()], retain_graph=True)
        yield {name: (x[0].detach(), g[0]) for (name, (x, _)), g in zip(calls.items(), slopes, strict=True)}


def of_data(logits, labels):
    """The loss, summed over the response."""
    return [torch.nn.functional.cross_entropy(logits, labels, reduction="sum")]


def of_model(logits, _labels):
    """√p_tc times the loss at label c of token t alone, for every c and t: their second moment is the Fisher matrix."""
    return (-logits.detach().softmax(1).sqrt() * logits.log_softmax(1)).flatten()


def own_mean(values):
    return 0.1 * values.mean()


def one_for_all(_values):
    """Ours: the mean over the tokens of a response has 1/TOKENS of the Gauss–Newton matrix of the sum."""
    return TOKENS * DAMPING


def gradients(model, name):
    """Map -> gradients (n, out, in) of the summed loss."""
    rows = [next(seen(model, *record, of_data)) for record in records(name)]
    return {key: torch.stack([row[key][1].T @ row[key][0] for row in rows]) for key in rows[0]}


def scores(model, read=of_data, damping=own_mean, last=BEFORE_LAST):
    """(queries, records): Σ over maps ⟨∇ℓ_q, (Λ + damping)⁻¹ ∇ℓ_k⟩ in the eigenbasis; what is left out is theirs."""
    rows = [one for record in records("train") for one in seen(model, *record, read)]
    own, queries, total = gradients(model, "train"), gradients(model, "queries"), 0
    for name, each in own.items():
        inputs, outputs = zip(*(row[name] for row in rows), strict=True)
        a, g = (torch.linalg.eigh(sum(part[:last].T @ part[:last] for part in parts)).eigenvectors
                for parts in (inputs, outputs))
        values = sum((g.T @ (after.T @ before) @ a).square() for before, after in zip(inputs, outputs, strict=True))
        values = values / len(each)
        left, right = (g.T @ one @ a for one in (queries[name], each))
        total = total + torch.einsum("qoi,koi->qk", left / (values + damping(values)), right)
    return total.detach().numpy()


def tau(found):
    """With their scores."""
    return float(np.mean([kendalltau(x, y).statistic for x, y in zip(found, THEIRS, strict=True)]))


def test_their_conventions_give_their_scores(model):
    assert np.abs(scores(model) - THEIRS).max() <= 1e-5 * np.abs(THEIRS).max()


@pytest.mark.slow
def test_our_conventions_give_our_scores(model, language, monkeypatch):  # noqa: F811
    """Where every label is summed over, in place of ten that are sampled."""
    monkeypatch.setattr(loss_roots, "EXACT_OUTPUTS", TOKENS * VOCABULARY)
    ours = compute(language, Scoring.of("response_loss", {"kind": "infinitesimal"}, {
        "kind": "local_response", "damping": DAMPING}, "ekfac"))[0].scored
    naive = scores(model, of_model, one_for_all, ALL) / TOKENS
    assert np.abs(naive - ours).max() <= 1e-6 * np.abs(ours).max()


@pytest.mark.slow
def test_the_labels_are_most_of_the_difference(model):
    """What the guide says of each convention alone, and of all three."""
    alone = [tau(scores(model, **{name: ours})) for name, ours in (("read", of_model), ("damping", one_for_all),
                                                                 ("last", ALL))]
    assert [f"{value:.2f}" for value in (*alone, tau(scores(model, of_model, one_for_all, ALL)))] == [
        "0.80", "0.91", "0.95", "0.80"]
