"""Who speaks against a label: against gradients by autograd, and over folds."""

import copy

import numpy as np
import torch

from engine.applications.noisy_labels.origin import IN_TURN
from engine.applications.noisy_labels.reasons import LabelReasonsRequest, against
from engine.jobs import run_job
from tests.engine.applications.noisy_labels.sources import drawn, model, source


def test_scores_are_products_of_last_layer_gradients():
    trained = model()
    network, evidence = copy.deepcopy(trained.module).eval().requires_grad_(), trained.evidence
    head = [module for module in network.modules() if isinstance(module, torch.nn.Linear)][-1]

    def gradient(x, y):
        loss = torch.nn.functional.cross_entropy(network(torch.tensor(x)[None]), torch.tensor([int(y)]))
        return torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(head.parameters()))]).double()

    queries, scores, negative, mean = against(trained)
    of_queries = torch.stack([gradient(*pair) for pair in zip(evidence.trusted_x, evidence.trusted_y, strict=True)])
    for row in (0, 17, 149):
        naive = (of_queries @ gradient(evidence.x[row], evidence.y[row])).numpy()
        assert np.allclose(scores[row], np.sort(naive)[:3], rtol=1e-3, atol=1e-6)
        assert np.allclose(naive[queries[row]], scores[row], rtol=1e-3, atol=1e-6)
        assert np.isclose(mean[row], naive.mean(), rtol=1e-3, atol=1e-6)
        assert abs(negative[row] - (naive < 0).mean()) <= 0.05


def test_folds_are_counted_and_judge_no_label_that_they_hold(tmp_path):
    request = LabelReasonsRequest(source=source(trusted_from=IN_TURN, folds=3, model="mlp", n_test=None))
    result = run_job(request.name, request.payload, tmp_path)
    found, noisy = request.answered(result), request.source.draw()
    assert found.queries.shape == found.scores.shape == (150, 3) and found.of == 2 and found.folds.max() <= 2
    assert (noisy.fold_of[found.queries] != noisy.fold_of[:, None]).all()
    assert (np.diff(found.scores, axis=1) >= 0).all() and drawn().fingerprint == LabelReasonsRequest(
        source=source()).source.draw().fingerprint
