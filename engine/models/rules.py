r"""What optimizers do with a gradient, as pure functions of numbers: (θ_t, s_t, g_t) -> (θ_{t+1}, s_{t+1}).

    momentum   v_{t+1} = μ v_t + g_t + λ θ_t,        θ_{t+1} = θ_t − η_t v_{t+1}      (Polyak 1964; `torch.optim.SGD`)
    Nesterov   the same v,                           θ_{t+1} = θ_t − η_t (g_t + λ θ_t + μ v_{t+1})  (Nesterov 1983)
    AdamW      m_{t+1} = β₁ m_t + (1 − β₁) g_t,      v_{t+1} = β₂ v_t + (1 − β₂) g_t²
               θ_{t+1} = (1 − η_t λ) θ_t − η_t m̂/(√v̂ + ε)     (Loshchilov and Hutter 2019; `torch.optim.AdamW`)

with m̂ = m_{t+1}/(1 − β₁ᵗ⁺¹) and v̂ likewise; AdamW's gradient is first cut to the length `clip`. Everything is
differentiable: √v̂ has the derivative zero where v̂ is zero, as m̂ is zero there too and the update does not move.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.func import jvp, vjp, vmap

from engine.basics.errors import InvalidInput

State = tuple[Tensor, ...]
"""What an optimizer remembers, each (P,)."""
Moment = tuple[Tensor, ...]
"""θ and state, and before a step the gradient, each (P,)."""
Columns = tuple[Tensor, ...]
"""A small change of each, or a derivative by each, (r, P)."""
CLIPPED = 1e-6
"""What torch adds to a gradient's length before it divides by it."""


class Rule(ABC):
    """One step of an optimizer."""

    @property
    @abstractmethod
    def remembers(self) -> int:
        """How many vectors (P,) its state has; zeros before the first step."""

    @abstractmethod
    def step(self, theta: Tensor, state: State, gradient: Tensor, rate: float, count: int | Tensor
             ) -> tuple[Tensor, State]:
        """θ and state after step number `count` = 1, 2, … at a learning rate, from those before and the gradient of the
        batch's loss without penalty, each (P,)."""

    def fresh(self, theta: Tensor) -> State:
        """Before the first step."""
        return tuple(torch.zeros_like(theta) for _ in range(self.remembers))

    def forward(self, before: Moment, tangents: Columns, rate: float, count: int) -> Columns:
        """What a step makes of small changes (r, P) of θ, the state and the gradient: those of θ and the state."""
        return vmap(lambda own: jvp(self._stepped(rate, count), before, own)[1])(tangents)

    def back(self, before: Moment, cotangents: Columns, rate: float, count: int) -> Columns:
        """The transpose: of derivatives (r, P) by θ and state after the step, those by θ, state and gradient before."""
        pull = vjp(self._stepped(rate, count), *before)[1]
        return vmap(pull)(cotangents)

    @property
    @abstractmethod
    def penalty(self) -> float | Tensor:
        """λ of the penalty (λ/2)‖θ‖² whose gradient the steps add to that of the loss, one number or one an entry of θ
        (P,); 0 where the decay is no gradient of anything."""

    @property
    @abstractmethod
    def linear(self) -> bool:
        """Whether a step is linear in θ, the state and the gradient."""

    def flow(self, rate: float) -> tuple[float, float, bool]:
        """(how long a step at this rate goes with a flow, λ, whether the decay is scaled like a gradient): the flow is
        dθ = −D(g + λθ) dt where it is, else dθ = −(Dg + λθ) dt, with D of `scale`. Raises `InvalidInput` where no such
        flow is known."""
        raise InvalidInput("SOURCE models training as a flow with one update rule for all parameters, which Muon, "
                           "groups of parameters with different options and clipped SGD do not have; use `replay`, "
                           "which differentiates their steps.")

    def rate_of(self, rates: tuple[float, ...]) -> Any:
        """What `step` takes as the rate, from those of the groups of parameters; of a rule for all of them the first.
        """
        return rates[0]

    def scale(self, theta: Tensor, state: State, gradient: Tensor, count: int) -> Tensor | None:
        """D (P,), by which step number `count` multiplies the gradient of every parameter, held at what it is there;
        None where the rate alone does. theta, state: before the step."""
        return None

    def back_held(self, before: Moment, cotangents: Columns, rate: float, count: int, lag: bool = True) -> Columns:
        """`back` of the step whose D (`scale`) is held at what it is there; `back` itself where there is no D. lag:
        whether the gradient acts through its mean m̂, in later steps too, or at once and as a whole."""
        return self.back(before, cotangents, rate, count)

    def affine(self, theta: Tensor, state: State, rate: float) -> tuple[float, Tensor]:
        """(c, d (P,)) of a step θ + d − c g. Raises `InvalidInput` where a step is not affine in its gradient."""
        raise InvalidInput("A step of this optimizer is not affine in its gradient, so the joint second-order effect "
                           "of a batch's examples is not known; use `tracin_run`, its first order.")

    def _stepped(self, rate: float, count: int) -> Callable[..., Moment]:
        def run(*before: Tensor) -> Moment:
            theta, state = self.step(before[0], before[1:-1], before[-1], rate, count)
            return theta, *state

        return run


@dataclass(frozen=True)
class Momentum(Rule):
    """Gradient descent with momentum μ, Nesterov's or the plain one, and weight decay λ in the gradient."""

    momentum: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False
    linear: ClassVar[bool] = True

    @property
    def remembers(self) -> int:
        return 1 if self.momentum else 0

    def step(self, theta: Tensor, state: State, gradient: Tensor, rate: float, count: int | Tensor
             ) -> tuple[Tensor, State]:
        pull = gradient + self.weight_decay * theta
        if not self.momentum:
            return theta - rate * pull, ()
        velocity = self.momentum * state[0] + pull
        moved = pull + self.momentum * velocity if self.nesterov else velocity
        return theta - rate * moved, (velocity,)

    @property
    def penalty(self) -> float:
        return self.weight_decay

    def flow(self, rate: float) -> tuple[float, float, bool]:
        """η/(1 − μ): so far a gradient moves θ in the end, with either momentum."""
        return rate / (1 - self.momentum), self.weight_decay, True

    def affine(self, theta: Tensor, state: State, rate: float) -> tuple[float, Tensor]:
        pull = self.weight_decay * theta
        if self.nesterov:
            return rate * (1 + self.momentum), -rate * ((1 + self.momentum) * pull + self.momentum**2 * state[0])
        return rate, -rate * (self.momentum * state[0] + pull if self.momentum else pull)

    def forward(self, before: Moment, tangents: Columns, rate: float, count: int) -> Columns:
        """A step is linear in all of them."""
        theta, state = self.step(tangents[0], tangents[1:-1], tangents[-1], rate, count)
        return theta, *state

    def back(self, before: Moment, cotangents: Columns, rate: float, count: int) -> Columns:
        theta, *velocity = cotangents
        if self.nesterov:
            carried = velocity[0] - rate * self.momentum * theta
            pull = carried - rate * theta
            return theta + self.weight_decay * pull, self.momentum * carried, pull
        pull = sum(velocity, start=-rate * theta)
        return theta + self.weight_decay * pull, *(self.momentum * pull for _ in velocity), pull


@dataclass(frozen=True)
class AdamW(Rule):
    """Adam with weight decay λ and gradients of the length `clip` at most.

    decoupled: whether the decay is a step of its own, as in AdamW; else λθ is a part of the gradient (Kingma and Ba
    2015; `torch.optim.Adam`).
    """

    weight_decay: float = 0.0
    clip: float = float("inf")
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    decoupled: bool = True

    remembers: ClassVar[int] = 2
    linear: ClassVar[bool] = False

    @property
    def penalty(self) -> float:
        return 0.0 if self.decoupled else self.weight_decay

    def flow(self, rate: float) -> tuple[float, float, bool]:
        """η: a gradient's parts in all later means m̂ add up to the whole of it."""
        return rate, self.weight_decay, not self.decoupled

    def scale(self, theta: Tensor, state: State, gradient: Tensor, count: int) -> Tensor | None:
        """(what is left of a gradient's length)/(√v̂ + ε)."""
        left = self._cut(gradient)
        return left / self._spread(self._second(state, self._pull(theta, left * gradient)), count)

    def back_held(self, before: Moment, cotangents: Columns, rate: float, count: int, lag: bool = True) -> Columns:
        own, first, second = cotangents
        theta, *state, gradient = before
        left = self._cut(gradient)
        second_mean = self._second(tuple(state), self._pull(theta, left * gradient))
        moved = -rate * own / self._spread(second_mean, count)
        if lag:
            mean = first + moved / _whole(self.betas[0], count, moved)
            moved, first = (1 - self.betas[0]) * mean, self.betas[0] * mean
        else:
            first = torch.zeros_like(first)
        decayed = (1 - rate * self.weight_decay) * own if self.decoupled else own + self.weight_decay * moved
        return decayed, first, torch.zeros_like(second), left * moved

    def _pull(self, theta: Tensor, gradient: Tensor) -> Tensor:
        """What m and v are means of."""
        return gradient if self.decoupled else gradient + self.weight_decay * theta

    def _second(self, state: State, gradient: Tensor) -> Tensor:
        """v after a step."""
        return self.betas[1] * state[1] + (1 - self.betas[1]) * gradient.square()

    def _spread(self, second: Tensor, count: int | Tensor) -> Tensor:
        """√v̂ + ε of step number `count`."""
        return root(second / _whole(self.betas[1], count, second)) + self.epsilon

    def _cut(self, gradient: Tensor) -> Tensor:
        """The factor that shortens a gradient to the length `clip`, 1 for a shorter one."""
        if self.clip == float("inf"):
            return torch.ones_like(gradient[0])
        return cut(gradient, self.clip)

    def step(self, theta: Tensor, state: State, gradient: Tensor, rate: float, count: int | Tensor
             ) -> tuple[Tensor, State]:
        if self.clip < float("inf"):
            gradient = gradient * self._cut(gradient)
        gradient = self._pull(theta, gradient)
        first = self.betas[0] * state[0] + (1 - self.betas[0]) * gradient
        second = self._second(state, gradient)
        moved = first / _whole(self.betas[0], count, first) / self._spread(second, count)
        decay = 1 - rate * self.weight_decay if self.decoupled else 1.0
        return decay * theta - rate * moved, (first, second)


def cut(gradient: Tensor, length: float) -> Tensor:
    """The factor that shortens a gradient (P,) to a length as torch's `clip_grad_norm_` does, 1 for a shorter one."""
    return (length / (root(gradient.square().sum()) + CLIPPED)).clamp(max=1.0)


def _whole(beta: float, count: int | Tensor, like: Tensor) -> float | Tensor:
    """1 − βᵗ, computed in float64: it is a difference of nearly equal numbers."""
    return (1 - beta ** count.double()).to(like) if isinstance(count, Tensor) else 1 - beta**count


def root(x: Tensor) -> Tensor:
    """√x, with the derivative zero at zero."""
    there = x > 0
    return torch.where(there, torch.where(there, x, 1.0).sqrt(), 0.0)
