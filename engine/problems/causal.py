r"""The problem of a causal language model: records are its units, and what behaviors read off their tokens its outputs.

With f(x) ∈ R^J one column a behavior (`engine.question.token_behaviors`) and ℓ = −f_0, minus the log-likelihood of the
response per token, the objective of the adapters (or of all parameters) θ is L_D(θ) = (1/n) Σ_i ℓ(z_i; θ), as it is for
any other network; steps, retraining and derivatives are the same code.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.curvature.hessian import Hessian
from engine.models.causal.reader import TokenReader, response_loss
from engine.models.causal.readouts import READOUTS
from engine.models.network import Network
from engine.problems.module import BATCH, ModuleProblem
from engine.problems.problem import Arraylike
from engine.question.behavior import Behavior
from engine.question.token_behaviors import TOKEN_BEHAVIORS

ANSWER = "answer_logit"
"""The readout that the label-free loss of a similarity raises."""


class CausalProblem(ModuleProblem):
    """A `TokenReader` with packed records: x_train (n, width), x_query (m, width), whole numbers.

    There are no labels: what a record states is part of its tokens, so that no example can be relabelled. The other
    arguments are those of `ModuleProblem`; parameters: a regular expression for the names of the trained ones.

    Raises as `ModuleProblem` does.
    """

    kind, noun, reads = "causal", "a language model", "tokens"
    offers = frozenset({"gradients", "representations"})
    curvatures = (Hessian,)
    unoffered = frozenset({"relabel", "reoptimize", "cg", "lissa", "arnoldi", "local_response/exact"})

    def __init__(self, module: nn.Module | Network, x_train: Arraylike, y_train: Arraylike | None, x_query: Arraylike,
                 y_query: Arraylike | None, candidates: Arraylike | None = None, **options) -> None:
        none = (torch.zeros(len(x), dtype=torch.long) for x in (x_train, x_query))
        super().__init__(module, x_train, next(none), x_query, next(none), candidates,
                         **{"loss": response_loss, **options})

    @property
    def input_dtype(self) -> torch.dtype:
        """Tokens are whole numbers."""
        return torch.int64

    @property
    def reader(self) -> TokenReader:
        return cast(TokenReader, self.network.module)

    def _checked_classes(self) -> int:
        if not len(self.x) or not len(self.queries):
            raise InvalidInput("There are no records; give at least one to train on and one to ask about.")
        return len(READOUTS)

    def _check_selection(self) -> None:
        """Any parameters may be trained."""

    def check_behavior(self, behavior: Behavior) -> None:
        super().check_behavior(behavior)
        lacking = self.memo("lacking", self._lacking)[behavior.name]
        if len(lacking):
            raise InvalidInput(f"The behavior `{behavior.name}` is read off a part of the response that query "
                               f"{lacking[0]} does not have; choose `response_loss`, or other queries.")

    def _lacking(self) -> dict[str, list[int]]:
        batch = self.reader.packing.unpack(self.queries)
        return {name: (~readout.there(batch)).nonzero()[:, 0].tolist() for name, readout in READOUTS.items()}

    def check_label(self, label: int) -> None:
        raise InvalidInput("A record has no label that could be another one: what it states is its text; remove it, "
                           "or change the text.")

    def prepare(self) -> None:
        self.facts, self.query_logits  # noqa: B018 - trains

    @property
    def probabilities(self) -> Tensor:
        raise InvalidInput("A language model gives records no class probabilities; read `answer_margin`.")

    def representations(self, x: Tensor) -> Tensor:
        """What the model's head reads where the prompt ends, (b, d)."""
        with torch.no_grad():
            return torch.cat([self.reader.representation(part) for part in x.split(BATCH // 8)])

    def raised(self) -> Tensor:
        """The label-free loss raises the logit of the stated answer."""
        column = [behavior.name for behavior in TOKEN_BEHAVIORS].index(ANSWER)
        found = torch.zeros_like(self.query_logits)
        found[:, column] = 1.0
        return found

    def accuracy(self, x: Arraylike | None = None, y: Arraylike | None = None) -> float:
        """The share of records whose stated answer has the largest logit of all choices: of the queries, or of x."""
        outputs = self.query_logits if x is None else self.outputs(self._inputs(x))
        column = [behavior.name for behavior in TOKEN_BEHAVIORS].index("answer_margin")
        return (outputs[:, column] > 0).double().mean().item()
