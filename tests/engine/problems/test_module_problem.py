"""The problem of a torch module: what it takes, what it refuses, and the facts that a manifest holds."""

import pytest
import torch
from torch import nn

from engine.basics.errors import InvalidInput
from engine.models.recipe import Recipe
from engine.problems import ModuleProblem

N, QUERIES, FEATURES, CLASSES = 20, 5, 4, 3


def arrays():
    generator = torch.Generator().manual_seed(0)
    x, q = (torch.randn(count, FEATURES, generator=generator, dtype=torch.float64) for count in (N, QUERIES))
    return x, torch.arange(N) % CLASSES, q, torch.arange(QUERIES) % CLASSES


def layer():
    torch.manual_seed(1)
    return nn.Linear(FEATURES, CLASSES)


def build(**options):
    return ModuleProblem(layer(), *arrays(), **{"l2": 0.1, "dtype": "float64", **options})


def test_the_factual_loss_and_gradient_by_autograd():
    problem, (x, y, *_) = build(), arrays()
    weights = [parameter.detach().double().requires_grad_(True) for parameter in layer().parameters()]
    loss = nn.functional.cross_entropy(x @ weights[0].T + weights[1], y)
    loss = loss + 0.05 * sum(weight.square().sum() for weight in weights)
    gradient = torch.cat([part.flatten() for part in torch.autograd.grad(loss, weights)])
    value, found = problem.factual
    assert value == pytest.approx(loss.item(), rel=1e-12)
    torch.testing.assert_close(found, gradient, rtol=1e-10, atol=1e-12)
    assert problem.facts["factual_gradient_norm"] == pytest.approx(gradient.norm().item(), rel=1e-10)


def test_the_training_signal_is_softmax_minus_one_hot():
    problem = build()
    rows = torch.tensor([3, 0, 7])
    expected = problem.network.predict(problem.x[rows]).softmax(-1) - nn.functional.one_hot(problem.y[rows], CLASSES)
    torch.testing.assert_close(problem.training_signal(rows), expected, rtol=1e-10, atol=1e-12)


def test_a_loss_of_ones_own_is_used_and_known():
    def squared(logits, labels):
        return (logits - nn.functional.one_hot(labels, CLASSES)).square().sum(-1)

    problem = build(loss=squared)
    rows = torch.tensor([1])
    logits = problem.network.predict(problem.x[rows])
    torch.testing.assert_close(problem.training_signal(rows),
                               2 * (logits - nn.functional.one_hot(problem.y[rows], CLASSES)))
    assert problem.fingerprint != build().fingerprint


def test_candidates_share_the_model_and_make_another_problem():
    problem = build()
    other = problem.with_candidates(torch.tensor([4, 2]))
    assert other.candidates.tolist() == [4, 2] and len(problem.candidates) == N
    assert other.network is problem.network and other.fingerprint != problem.fingerprint
    assert other.memo("key", lambda: 1) == 1 and problem.memo("key", lambda: 2) == 1


def test_other_labels_leave_the_problem_itself_alone():
    problem = build()
    problem.factual, problem.memo("key", lambda: 1)
    other = problem.with_labels(torch.tensor([0]), 2)
    assert other.y[0] == 2 and problem.y[0] == 0
    assert other.memo("key", lambda: 2) == 2 and other.factual[0] != problem.factual[0]


def test_checkpoints_keep_the_selected_parameters():
    problem = build(parameters="weight")
    state = {name: value + 1 for name, value in layer().state_dict().items()}
    problem.keep_checkpoints([(state, 0.1), (layer().state_dict(), 0.05)])
    first, last = problem.checkpoints
    assert first.theta.shape == (FEATURES * CLASSES,) and (first.learning_rate, last.learning_rate) == (0.1, 0.05)
    torch.testing.assert_close(first.theta, problem.theta + 1, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(last.theta, problem.theta, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("change", "sentence"), [
    ({"l2": -1.0}, "l2 is -1.0; give zero or a positive number"),
    ({"dtype": "float16"}, "The precision `float16` is not known; use float32 or float64"),
    ({"parameters": "nothing"}, "No parameter's name matches `nothing`"),
    ({"device": "cuda:99"}, "The device `cuda:99` is not available"),
])
def test_options_that_make_no_sense_are_refused(change, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        build(**change)


@pytest.mark.parametrize(("change", "sentence"), [
    (lambda x, y, q, yq: (x, y[:-1], q, yq), "20 training inputs and 19 training labels"),
    (lambda x, y, q, yq: (x, y, q[:0], yq[:0]), "0 query inputs and 0 query labels"),
    (lambda x, y, q, yq: (x, y + 1, q, yq), "labels go up to 3, but the model has 3 classes"),
    (lambda x, y, q, yq: (x, y, q, yq - 1), "number the classes from 0"),
    (lambda x, y, q, yq: (x[:, :2], y, q[:, :2], yq), r"does not take inputs of shape \(2,\)"),
])
def test_data_that_do_not_fit_are_refused(change, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        ModuleProblem(layer(), *change(*arrays()))


def test_a_model_that_returns_no_class_logits_is_refused():
    with pytest.raises(InvalidInput, match="let it return class logits"):
        ModuleProblem(nn.Sequential(layer(), nn.Unflatten(1, (3, 1))), *arrays())


def test_weights_that_are_not_finite_are_refused():
    broken = layer()
    with torch.no_grad():
        broken.weight.fill_(float("nan"))
    problem = ModuleProblem(broken, *arrays())
    with pytest.raises(InvalidInput, match="training loss is not finite"):
        problem.facts  # noqa: B018
    with pytest.raises(InvalidInput, match="logits that are not finite"):
        problem.query_logits  # noqa: B018


@pytest.mark.parametrize("change", ["weights", "rate", "order", "number", "seed"])
def test_checkpoints_and_seed_are_part_of_the_fingerprint(change):
    """Scores along two trajectories of one model are never taken for the same."""
    def made(seed=0):
        torch.manual_seed(0)
        recipe = Recipe(epochs=2, batch_size=4, learning_rate=0.1)
        return ModuleProblem(torch.nn.Linear(3, 2), torch.eye(3), [0, 1, 0], torch.eye(3), [0, 1, 1], recipe=recipe,
                             seed=seed)

    def state(factor):
        return {name: factor * value for name, value in made().network.module.state_dict().items()}

    points = [(state(0.5), 0.1), (state(0.8), 0.05)]
    others = {"weights": [(state(0.6), 0.1), points[1]], "rate": [(points[0][0], 0.2), points[1]],
              "order": points[::-1], "number": points[:1], "seed": points}
    first, other = made(), made(seed=int(change == "seed"))
    first.keep_checkpoints(points)
    told = other.fingerprint
    other.keep_checkpoints(points if change == "seed" else others[change])
    assert first.fingerprint not in (told, other.fingerprint)
    other.keep_checkpoints(points)
    assert (other.fingerprint == first.fingerprint) == (change != "seed")


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(20, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.table(x).mean(1))


@pytest.mark.parametrize("kind, held", [(torch.int32, torch.int32), (torch.float64, torch.int64)])
def test_whole_numbers_reach_a_module_that_reads_tokens(kind, held):
    torch.manual_seed(0)
    module, x, y = Tokens(), torch.randint(0, 20, (9, 4)), torch.arange(9) % 3
    problem = ModuleProblem(module, x.to(kind), y.to(torch.uint8), x[:2].to(kind), y[:2], [1, 4])
    assert problem.x.dtype == held
    slopes = torch.autograd.grad(nn.functional.cross_entropy(module(x), y), list(module.parameters()))
    torch.testing.assert_close(problem.factual[1], torch.cat([part.flatten() for part in slopes]))


@pytest.mark.parametrize("kind", [torch.uint8, torch.float32])
def test_bytes_stay_bytes_only_where_a_module_takes_them(kind):
    class Pixels(nn.Linear):
        def forward(self, x):
            return super().forward(x.float() / 255 if x.dtype == torch.uint8 else x)

    x, y = torch.arange(32).reshape(8, 4).to(kind), torch.arange(8) % 3
    assert ModuleProblem(Pixels(4, 3), x, y, x[:2], y[:2]).x.dtype == kind
    assert ModuleProblem(nn.Linear(4, 3), x, y, x[:2], y[:2]).x.dtype == torch.float32


def test_candidates_are_rows():
    x, y = torch.randn(6, 4), torch.arange(6) % 3
    made = ModuleProblem(nn.Linear(4, 3), x, y, x[:2], y[:2], torch.tensor([1, 4], dtype=torch.uint8))
    assert made.candidates.tolist() == [1, 4]
    for wrong, said in (([True, False], "mask.nonzero"), ([0.5], "whole numbers"), ([6], "among 0 to 5"),
                        ([-1], "among 0 to 5"), ([1, 1], "twice")):
        with pytest.raises(InvalidInput, match=said):
            made.with_candidates(wrong)
