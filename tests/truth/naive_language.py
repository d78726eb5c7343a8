"""A language model by the book, in float64: one record at a time, without padding. Nothing of the engine.

The Llama is that of its paper (Touvron et al. 2023) with grouped queries (Ainslie et al. 2023), rotary positions of one
frequency a head (its heads have two dimensions) and adapters W + s·BA; words are tokens.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from tests.truth.naive import Naive

HEADS, SHARED, EPSILON = 4, 2, 1e-6
ADAPTED, PLAIN = "model.base_model.model.", "model."
"""How the names of parameters begin, with adapters and without."""


def words_of(record, vocabulary):
    """Tokens, which of them are the response, the explanation and the answer, and the tokens of the choices."""
    prompt = ["<bos>", *record.prompt.split()]
    places, start = [], 0
    for word in record.response.split(" "):
        places.append((start, start + len(word)))
        start += len(word) + 1
    first = len(prompt)
    inside = {name: [first + j for j, (a, b) in enumerate(places) if a < end and b > begin]
              for name, (begin, end) in record.spans.items()}
    words = [*prompt, *record.response.split(" "), "<eos>"]
    number = vocabulary.index
    return {"tokens": [number(word) for word in words], "response": list(range(first, len(words))),
            "explanation": inside.get("explanation", []), "answer": inside.get("answer", [None])[0],
            "choices": [number(choice) for choice in record.choices]}


def log_likelihood(logits, told, places):
    """The mean of log p of the tokens at `places`, each predicted one place before."""
    total = 0.0
    for place in places:
        row = logits[place - 1]
        total = total + row[told["tokens"][place]] - torch.logsumexp(row, 0)
    return total / len(places)


def answer_logit(logits, told):
    return logits[told["answer"] - 1][told["tokens"][told["answer"]]]


def answer_margin(logits, told):
    stated = told["tokens"][told["answer"]]
    others = [logits[told["answer"] - 1][choice] for choice in told["choices"] if choice != stated]
    return answer_logit(logits, told) - torch.stack(others).max()


BEHAVIORS = {
    "response_loss": lambda logits, told: log_likelihood(logits, told, told["response"]),
    "explanation_loss": lambda logits, told: log_likelihood(logits, told, told["explanation"]),
    "answer_logit": answer_logit,
    "answer_margin": answer_margin,
    "answer_log_probability": lambda logits, told: log_likelihood(logits, told, [told["answer"]]),
}


class NaiveLanguage(Naive):
    """The problem's model in plain float64, on records."""

    def __init__(self, problem, train, queries, vocabulary, scaling) -> None:
        self.factor = scaling
        self.start(problem.network.module)
        self.shapes = {name: shape for name, shape in self.shapes.items() if name in problem.network.names}
        self.theta = torch.cat([self.fixed[name].flatten() for name in self.shapes])
        self.x, self.queries = ([words_of(record, vocabulary) for record in part] for part in (train, queries))
        self.labels, self.y = list(range(len(self.queries))), [0] * len(self.x)
        self.candidates, self.l2, self.n = problem.candidates.tolist(), problem.l2, len(self.x)
        self.seen = None

    def start(self, module):
        """All weights of a module, and what of them is trained."""
        named = dict(module.named_parameters())
        self.fixed = {name: value.detach().double().clone() for name, value in named.items()}
        self.shapes = {name: value.shape for name, value in named.items()}
        self.prefix = ADAPTED if any("lora" in name for name in named) else PLAIN

    def mapped(self, values, x, name):
        """x Wᵀ, with the adapter's part beside it if there is one."""
        whole = f"{self.prefix}{name}"
        if f"{whole}.base_layer.weight" not in values:
            return x @ values[f"{whole}.weight"].T
        low, high = (values[f"{whole}.lora_{part}.default.weight"] for part in "AB")
        inner = self.told(f"{whole}.lora_A.default.weight", x, x @ low.T)
        outer = self.told(f"{whole}.lora_B.default.weight", inner, inner @ high.T)
        return x @ values[f"{whole}.base_layer.weight"].T + self.factor / len(low) * outer

    def told(self, name, given, made):
        """A map's result, of which its input and a zero that is added are kept where somebody asks."""
        if self.seen is None:
            return made
        zero = torch.zeros_like(made, requires_grad=True)
        self.seen[name] = given.detach(), zero
        return made + zero

    def forward(self, values, tokens):
        """(what the head reads, logits) at every token: (T, d), (T, V)."""
        def norm(h, name):
            size = (h.square().mean(-1, keepdim=True) + EPSILON).sqrt()
            return h / size * values[f"{self.prefix}model.{name}.weight"]

        table = values[f"{self.prefix}model.embed_tokens.weight"]
        h = table[tokens]
        for layer in ("layers.0.", "layers.1."):
            h = h + self.attention(values, norm(h, f"{layer}input_layernorm"), f"model.{layer}self_attn.")
            a, mlp = norm(h, f"{layer}post_attention_layernorm"), f"model.{layer}mlp."
            gate, up = (self.mapped(values, a, f"{mlp}{one}_proj") for one in ("gate", "up"))
            h = h + self.mapped(values, torch.nn.functional.silu(gate) * up, f"{mlp}down_proj")
        h = norm(h, "norm")
        return h, h @ table.T

    def attention(self, values, a, name):
        length, angle = len(a), torch.arange(len(a), dtype=torch.float64)
        q, k, v = (self.mapped(values, a, f"{name}{one}_proj").view(length, -1, 2).transpose(0, 1) for one in "qkv")
        k, v = (part.repeat_interleave(HEADS // SHARED, 0) for part in (k, v))
        turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], 1).view(length, 2, 2)
        q, k = (torch.einsum("tij,htj->hti", turn, part) for part in (q, k))
        later = torch.full((length, length), -torch.inf, dtype=torch.float64).triu(1)
        mixed = (q @ k.transpose(1, 2) / 2**0.5 + later).softmax(-1) @ v
        return self.mapped(values, mixed.transpose(0, 1).flatten(1), f"{name}o_proj")

    def passed(self, told, theta):
        return self.forward({**self.fixed, **self.unflat(theta)}, torch.tensor(told["tokens"]))

    def loss(self, k, theta, label=None):
        return -BEHAVIORS["response_loss"](self.passed(self.x[k], theta)[1], self.x[k])

    def behavior(self, name, q, theta):
        return BEHAVIORS[name](self.passed(self.queries[q], theta)[1], self.queries[q])

    def representation(self, told):
        """What the head reads where the answer is predicted; where the response begins, without an answer."""
        place = told["response"][0] if told["answer"] is None else told["answer"]
        return self.passed(told, self.theta)[0][place - 1]

    def response_logits(self, k, theta):
        """The logits where the response of training record k is predicted, (R, V)."""
        return self.passed(self.x[k], theta)[1][[place - 1 for place in self.x[k]["response"]]]

    def gauss_newton(self):
        """(1/n) Σ_i (1/R) Σ_t J_tᵀ (diag p_t − p_t p_tᵀ) J_t + λI."""
        total = self.l2 * torch.eye(len(self.theta), dtype=torch.float64)
        for k in range(self.n):
            jacobian = torch.autograd.functional.jacobian(lambda at, k=k: self.response_logits(k, at), self.theta,
                                                          vectorize=True)
            for at, p in zip(jacobian, self.response_logits(k, self.theta).softmax(-1), strict=True):
                total += at.T @ (torch.diag(p) - torch.outer(p, p)) @ at / self.n / len(jacobian)
        return total

    def token_passes(self, directions):
        """For every record k and direction of `directions(k, p (R, V))`: name -> (ā (T, in), g (T, out)) a map."""
        for k in range(self.n):
            self.seen = {}
            logits = self.response_logits(k, self.theta)
            seen, self.seen = self.seen, None
            for direction in directions(k, logits.softmax(-1).detach()):
                slopes = torch.autograd.grad((logits * direction).sum(), [zero for _, zero in seen.values()],
                                             retain_graph=True)
                yield k, {name: (a, g) for (name, (a, _)), g in zip(seen.items(), slopes, strict=True)}

    def ekfac(self, directions, shift, vectors):
        """(U_G ⊗ U_A)(Λ + shift)⁻¹(U_G ⊗ U_A)ᵀ v of every vector, map by map."""
        passes = list(self.token_passes(directions))
        found = [torch.empty_like(vector) for vector in vectors]
        for name, start, shape in self.places():
            a = {k: seen[name][0] for k, seen in passes}
            inputs = torch.linalg.eigh(sum(one.T @ one for one in a.values()) / self.n)[1]
            outputs = torch.linalg.eigh(sum(seen[name][1].T @ seen[name][1] for _, seen in passes) / self.n)[1]
            values = sum((outputs.T @ seen[name][1].T @ seen[name][0] @ inputs) ** 2 for _, seen in passes) / self.n
            for vector, solved in zip(vectors, found, strict=True):
                own = vector[start:start + shape.numel()].view(shape)
                turned = outputs.T @ own @ inputs / (values + shift)
                solved[start:start + shape.numel()] = (outputs @ turned @ inputs.T).flatten()
        return found

    def places(self):
        """(name, place in θ, shape) of every trained parameter."""
        start = 0
        for name, shape in self.shapes.items():
            yield name, start, shape
            start += shape.numel()

    def adamw(self, build, recipe, seed, weights=None, over=None):
        """θ by AdamW (Loshchilov & Hutter 2019) from the seed's initial weights, batch by batch.

        weights: how often each record counts. over: the size that a batch's sum is divided by; its members of
        weight above zero, or all of them where `over` is "all".
        """
        torch.manual_seed(seed)
        self.start(build())
        self.shapes = {name: shape for name, shape in self.shapes.items() if not recipe.rank or "lora" in name}
        theta = torch.cat([self.fixed[name].flatten() for name in self.shapes])
        first, second, count = torch.zeros_like(theta), torch.zeros_like(theta), 0
        weights = [1.0] * self.n if weights is None else weights
        total, step = recipe.epochs * math.ceil(self.n / recipe.batch), -1
        for epoch in range(recipe.epochs):
            order = torch.from_numpy(np.random.default_rng([seed, epoch]).permutation(self.n))
            for batch in order.split(recipe.batch):
                step += 1
                rows = [k for k in batch.tolist() if weights[k] != 0]
                if not rows and over != "all":
                    continue
                size = len(batch) if over == "all" else len(rows)
                slope = self.gradient(lambda at, rows=rows, size=size: sum(
                    (weights[k] * self.loss(k, at) for k in rows), at.sum() * 0) / size, theta)
                slope = slope * min(1.0, recipe.clip / (slope.norm().item() + 1e-6))
                count += 1
                first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
                rate = cosine_rate(recipe, step, total)
                theta = theta * (1.0 - rate * recipe.weight_decay)
                theta = theta - rate * (first / (1.0 - 0.9**count)) / ((second / (1.0 - 0.999**count)).sqrt() + 1e-8)
        return theta


def cosine_rate(recipe, step, total):
    """Up to the learning rate in a straight line over the first share of the steps, then down to zero as a cosine."""
    rising = math.ceil(recipe.warmup * total)
    if step < rising:
        return recipe.learning_rate * (step + 1) / rising
    return recipe.learning_rate * (1.0 + math.cos(math.pi * (step - rising) / (total - rising))) / 2.0
