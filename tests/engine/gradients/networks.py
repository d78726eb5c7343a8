"""Small networks with what makes per-example gradients hard, and naive loops that share no code with the engine."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from engine.problems.module import ModuleProblem

CLASSES = 3


class Twice(nn.Module):
    """One layer called twice, a tensor changed in place, and an unused parameter."""

    def __init__(self):
        super().__init__()
        self.shared, self.head = nn.Linear(6, 6), nn.Linear(6, CLASSES)
        self.unused = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return self.head(F.relu(self.shared(F.relu(self.shared(x), inplace=True)), inplace=True))


class Tied(nn.Module):
    """Two layers of one weight, a weight that is also used functionally, and a scale of its own."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(5, 5), nn.Linear(5, 5), nn.Linear(5, CLASSES)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(torch.tensor([1.3]))

    def forward(self, x):
        h = torch.tanh(self.second(torch.tanh(self.first(x))))
        return self.head(h) * self.scale + F.linear(h.square(), self.head.weight)


class Sequences(nn.Module):
    """Tokens, attention with its own functional weights, LayerNorm, and a layer that sees the sequence first."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(7, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm, self.wide, self.head = nn.LayerNorm(8), nn.Linear(8, 9), nn.Linear(9, CLASSES)

    def forward(self, x):
        h = self.tokens(x.long())
        h = self.norm(h + self.attention(h, h, h, need_weights=False)[0])
        return self.head(torch.tanh(self.wide(h.transpose(0, 1))).sum(0))


class Images(nn.Module):
    """Strides, dilation, groups, no bias, BatchNorm with statistics, and a view that wants its own layout."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(2, 4, 3, stride=2, padding=(1, 0))
        self.norm = nn.BatchNorm2d(4)
        self.second = nn.Conv2d(4, 4, 2, dilation=2, padding=1, bias=False)
        self.grouped = nn.Conv2d(4, 4, 3, padding="same", groups=2)
        self.head = nn.Linear(12, CLASSES)
        with torch.no_grad():
            self.norm.running_mean.normal_()
            self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        h = self.grouped(self.second(F.relu(self.norm(self.first(x)))))
        return self.head(F.max_pool2d(h, 2, ceil_mode=True).view(len(x), -1)[:, :12])


class Branching(nn.Module):
    """Control flow on the values, which vmap does not take."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 5), nn.Linear(5, CLASSES)

    def forward(self, x):
        return torch.cat([self.second(torch.tanh(self.first(row if row.sum() > 0 else -2 * row)))[None] for row in x])


class Cube(torch.autograd.Function):
    """x³ with a backward rule alone."""

    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(context, upstream):
        return 3 * context.saved_tensors[0]**2 * upstream


class Backwards(nn.Module):
    """An operator that has neither a forward rule nor one for vmap."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 5), nn.Linear(5, CLASSES)

    def forward(self, x):
        return self.second(Cube.apply(self.first(x)))


class Frozen(nn.Module):
    """A body that runs without gradients, a layer called by keyword, and a class token read out of a sequence."""

    def __init__(self):
        super().__init__()
        self.body, self.middle, self.head = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, CLASSES)

    def forward(self, x):
        with torch.no_grad():
            h = torch.tanh(self.body(x))
        return self.head(input=torch.tanh(self.middle(h))[:, 0])


def linear():
    return nn.Linear(6, CLASSES)


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, CLASSES))


def small_cnn():
    return nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(3, 4, 3),
                         nn.ReLU(), nn.Flatten(), nn.Linear(16, CLASSES))


def positions():
    """A layer over a sequence whose factored products are the cheaper ones: 2²·(9 + 9) < 9·9."""
    return nn.Sequential(nn.Linear(9, 9), nn.Tanh(), nn.Flatten(), nn.Linear(18, CLASSES))


ZOO = {
    "linear": (linear, (6,)), "mlp": (mlp, (2, 4)), "small_cnn": (small_cnn, (1, 8, 8)),
    "positions": (positions, (2, 9)), "twice": (Twice, (6,)), "tied": (Tied, (5,)), "sequences": (Sequences, (4,)),
    "images": (Images, (2, 9, 8)), "branching": (Branching, (4,)), "backwards": (Backwards, (4,)),
    "frozen": (Frozen, (2, 4)),
}


def problem(name="mlp", n=7, m=5, dtype="float64", **options):
    """A problem of one network of the zoo with random data."""
    build, shape = ZOO[name]
    torch.manual_seed(len(name))
    module, draw = build(), torch.Generator().manual_seed(1)
    inputs = [torch.rand(count, *shape, generator=draw) * 6 - 0.5 for count in (n, m)]
    if name == "sequences":
        inputs = [x.clamp(0, 6).floor() for x in inputs]
    labels = [torch.randint(CLASSES, (count,), generator=draw) for count in (n, m)]
    labels[0][:CLASSES] = torch.arange(CLASSES)
    return ModuleProblem(module, inputs[0], labels[0], inputs[1], labels[1], dtype=dtype, **options)


def signals(problem, seed=0):
    """s (m, C) for the queries."""
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(len(problem.queries), problem.classes, generator=draw).to(problem.theta)


def moved(problem, seed=0):
    """θ elsewhere, (P,)."""
    return problem.theta + 0.1 * directions(problem, 1, seed)[0]


def directions(problem, count, seed=3):
    """(count, P)."""
    return torch.randn(count, problem.parameters, generator=torch.Generator().manual_seed(seed)).to(problem.theta)


def loop(problem, x, value, theta=None):
    """∇ value(f_θ(x_i), i) example by example with `backward`, (len(x), P)."""
    module = copy.deepcopy(problem.network.module)
    own = dict(module.named_parameters())
    with torch.no_grad():
        for name, part in problem.network.unflatten(problem.theta if theta is None else theta).items():
            own[name].copy_(part)
    rows = []
    for i in range(len(x)):
        for parameter in module.parameters():
            parameter.requires_grad_(True).grad = None
        value(module(x[i:i + 1]), i).backward()
        rows.append(torch.cat([(torch.zeros_like(own[name]) if own[name].grad is None else own[name].grad).flatten()
                               for name in problem.network.names]))
    return torch.stack(rows)


def loop_losses(problem, rows, theta=None):
    return loop(problem, problem.x[rows], lambda logits, i: problem.loss(logits, problem.y[rows[i]][None]).sum(), theta)


def loop_behaviors(problem, x, signal, theta=None):
    return loop(problem, x, lambda logits, i: (logits[0] * signal[i]).sum(), theta)


def assert_close(found, expected, relative=1e-11):
    """|found − expected| ≤ relative·max|expected| anywhere, shapes equal."""
    assert found.shape == expected.shape
    worst, scale = (found - expected).abs().max().item(), expected.abs().max().item()
    assert scale > 0 and worst <= relative * scale, f"off by {worst:.1e} of {scale:.1e}"
