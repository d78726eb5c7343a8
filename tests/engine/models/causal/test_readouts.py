"""What behaviors read off the tokens of a record, where a model is all but certain of them."""

from types import SimpleNamespace

import pytest
import torch

from engine.models.causal.readouts import learned_likelihood, mean_response_likelihood

VOCABULARY, TOKENS = 50, 3


@pytest.mark.parametrize("read", [mean_response_likelihood, learned_likelihood])
def test_gradients_of_tokens_that_a_model_is_certain_of(read):
    """Log-odds of 10 to 30 in float32: read with all digits; as it is learned, by `log_softmax`, without."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(40, TOKENS, VOCABULARY, generator=generator)
    targets = torch.randint(VOCABULARY, (40, TOKENS), generator=generator)
    logits.scatter_add_(2, targets[..., None], torch.linspace(14, 34, 40)[:, None, None].expand(-1, TOKENS, 1))
    batch = SimpleNamespace(targets=targets, response=torch.ones(40, TOKENS, dtype=torch.bool))
    batch.scored = batch.response

    def pulled(at):
        leaf = at.requires_grad_()
        return torch.autograd.grad(read(leaf, batch).sum(), leaf)[0].gather(2, targets[..., None]).double()

    expected = pulled(logits.double())
    error = (pulled(logits) / expected - 1).abs()
    assert error.max() < 1e-5 if read is mean_response_likelihood else error.max() > 0.5
