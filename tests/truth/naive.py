"""Influence by the book, in float64: one example at a time, dense matrices, a training loop. Nothing of the engine.

A model is f(x; θ) with θ one flat vector; the training loss of an example is its cross-entropy.
"""

from __future__ import annotations

import copy
import math

import torch
from torch.func import functional_call


def log_probability(f, y):
    return f[y] - torch.logsumexp(f, 0)


def margin_to_all(f, y):
    others = torch.cat([f[:y], f[y + 1:]])
    return f[y] - torch.logsumexp(others, 0)


def margin_to_one(f, y):
    return f[y] - torch.cat([f[:y], f[y + 1:]]).max()


BEHAVIORS = {
    "query_loss": log_probability,
    "query_logit": lambda f, y: f[y],
    "soft_margin": margin_to_all,
    "hard_margin": margin_to_one,
    "probability": lambda f, y: log_probability(f, y).exp(),
    "correct": lambda f, y: (f.argmax() == y).double(),
}
SMOOTH = tuple(name for name in BEHAVIORS if name != "correct")


def llama(values, tokens, heads=2):
    """A Llama of one layer as its paper has it (Touvron et al. 2023), all in float64; the last token's class logits."""
    def norm(h, name):
        return h / (h.square().mean(-1, keepdim=True) + 1e-6).sqrt() * values[name]

    def turned(h):
        half = h.shape[-1] // 2
        angle = torch.arange(length)[:, None] / 10_000.0 ** (torch.arange(half, dtype=torch.float64) / half)
        cos, sin = angle.cos().repeat(1, 2), angle.sin().repeat(1, 2)
        return h * cos + torch.cat([-h[..., half:], h[..., :half]], -1) * sin

    layer, length = "body.layers.0.", tokens.shape[1]
    h = values["body.embed_tokens.weight"][tokens.long()]
    a = norm(h, layer + "input_layernorm.weight")
    q, k, v = ((a @ values[f"{layer}self_attn.{one}_proj.weight"].T).unflatten(-1, (heads, -1)).transpose(1, 2)
               for one in "qkv")
    scores = turned(q) @ turned(k).transpose(-1, -2) / q.shape[-1] ** 0.5
    scores = scores + torch.full((length, length), -torch.inf, dtype=torch.float64).triu(1)
    mixed = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
    h = h + mixed @ values[layer + "self_attn.o_proj.weight"].T
    a = norm(h, layer + "post_attention_layernorm.weight")
    gate, up, down = (values[f"{layer}mlp.{one}_proj.weight"].T for one in ("gate", "up", "down"))
    h = h + (torch.nn.functional.silu(a @ gate) * (a @ up)) @ down
    return norm(h, "body.norm.weight")[:, -1] @ values["head.weight"].T + values["head.bias"]


FORWARDS = {"LastToken": llama}
"""Models whose own code does not keep float64, by their class."""


class Naive:
    """The problem's model and data in plain float64."""

    def __init__(self, problem) -> None:
        module = copy.deepcopy(problem.network.module).double()
        self.forward = FORWARDS.get(type(module).__name__, lambda values, x: functional_call(module, values, (x,)))
        self.shapes = {name: value.shape for name, value in module.named_parameters()}
        self.theta = torch.cat([value.detach().flatten() for value in module.parameters()])
        self.x, self.y = problem.x.double(), problem.y.tolist()
        self.queries, self.labels = problem.queries.double(), problem.query_labels.tolist()
        self.candidates, self.l2, self.n = problem.candidates.tolist(), problem.l2, problem.n
        self.classes = problem.classes

    def unflat(self, theta):
        parts = theta.split([math.prod(shape) for shape in self.shapes.values()])
        return {name: part.view(shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)}

    def logits(self, x, theta):
        return self.forward(self.unflat(theta), x[None])[0]

    def loss(self, k, theta, label=None):
        return -log_probability(self.logits(self.x[k], theta), self.y[k] if label is None else label)

    def mean_loss(self, theta, scale=1.0):
        return scale * sum(self.loss(k, theta) for k in range(self.n)) / self.n

    def objective(self, theta):
        return self.mean_loss(theta) + 0.5 * self.l2 * theta @ theta

    def behavior(self, name, q, theta):
        return BEHAVIORS[name](self.logits(self.queries[q], theta), self.labels[q])

    def gradient(self, function, theta=None):
        at = (self.theta if theta is None else theta).clone().requires_grad_(True)
        return torch.autograd.grad(function(at), at)[0]

    def hessian(self, function, theta=None):
        at = (self.theta if theta is None else theta).clone().requires_grad_(True)
        slope, = torch.autograd.grad(function(at), at, create_graph=True)
        return torch.stack([torch.autograd.grad(value, at, retain_graph=True)[0] for value in slope])

    def differences(self, name, moved, base=None):
        """B(q; θ_k) − B(q; θ_D), (m, b), of one θ a candidate."""
        origin = self.theta if base is None else base
        return torch.stack([torch.stack([self.behavior(name, q, theta) - self.behavior(name, q, origin)
                                         for theta in moved]) for q in range(len(self.labels))]).detach().numpy()

    def directional(self, name, directions, theta=None):
        """∇B(q; θ)ᵀ v_k, (m, b), at θ_D where no θ is given."""
        slopes = torch.stack([self.gradient(lambda at, q=q: self.behavior(name, q, at), theta)
                              for q in range(len(self.labels))])
        return (slopes @ torch.stack(directions).T).numpy()

    def steps(self, k, eta, count, theta=None):
        """θ after `count` gradient steps on example k alone."""
        moved = (self.theta if theta is None else theta).clone()
        for _ in range(count):
            moved = moved - eta * self.gradient(lambda at: self.loss(k, at), moved)
        return moved

    def jacobian(self, x):
        return torch.stack([self.gradient(lambda theta, c=c: self.logits(x, theta)[c]) for c in range(self.classes)])

    def gauss_newton(self):
        total = self.l2 * torch.eye(len(self.theta), dtype=torch.float64)
        for k in range(self.n):
            jacobian, p = self.jacobian(self.x[k]), self.logits(self.x[k], self.theta).softmax(0).detach()
            total += jacobian.T @ (torch.diag(p) - torch.outer(p, p)) @ jacobian / self.n
        return total

    def trained(self, build, recipe, seed, weights=None, labels=None, over=None):
        """θ by stochastic gradient descent with momentum from the seed's initial weights, batch by batch.

        weights: how often each example counts. over: the size that a batch's sum is divided by; its members of
        weight above zero, or all of them where `over` is "all".
        """
        torch.manual_seed(seed)
        theta = torch.cat([value.detach().flatten() for value in build().double().parameters()])
        order, velocity = torch.Generator().manual_seed(seed), torch.zeros_like(theta)
        weights = [1.0] * self.n if weights is None else weights
        for epoch in range(recipe.epochs):
            for batch in torch.randperm(self.n, generator=order).split(recipe.batch_size):
                rows = [k for k in batch.tolist() if weights[k] != 0]
                size = len(batch) if over == "all" else len(rows)
                if not size:
                    continue

                def objective(at, rows=rows, size=size):
                    own = sum((weights[k] * self.loss(k, at, labels and labels[k]) for k in rows), at.sum() * 0)
                    return own / size + 0.5 * recipe.weight_decay * at @ at

                slope = self.gradient(objective, theta)
                velocity = slope if epoch == 0 and not velocity.any() else recipe.momentum * velocity + slope
                theta = theta - recipe.rate(epoch) * velocity
        return theta
