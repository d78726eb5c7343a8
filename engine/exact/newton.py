r"""Newton with preconditioned conjugate gradients, for many intervened softmax objectives at once.

Candidate k's objective is

    F_k(W) = (a/n) Σ_i ℓ(z_i; W) + (1/2) Σ_j λ_j ‖W_j‖² + (δ/2)‖W − W_D‖² + β_k logsumexp(u) − t_kᵀu,   u = Wᵀx_k,

which covers upweighting (a=1, β=α, t=α e_y), removal (β=−1/(n−1), a=n/(n−1), or −1/n, a=1) and relabelling
(β=0, t=(e_y' − e_y)/n). All candidates share the products with the training matrix, so the work is
a sequence of large matrix products.

Precision: the equation solved is ∇F_k = 0 in float64. The Newton direction only has to be good to a
few digits, so its Hessian products run in float32; the gradients run in float32 while they are
large and in float64 as soon as they are small. The reported gradient norm is always a float64 one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from engine.exact.preconditioner import CandidateTerms, Inverse, corrected, softmax_covariance

TOLERANCE = 1e-10
SINGLE_FLOOR = 1e-5
ROW_BYTES = 2 << 20
MOST_CG = 100
"""Conjugate-gradient steps of a Newton direction."""
# e^-45 is below every rounding error here; smaller float32 probabilities become denormal numbers, which
# slow the matrix products down a hundredfold.
LEAST_LOGIT = -45.0


@dataclass(frozen=True)
class TrainingData:
    """What every candidate shares: x (n, D) in both precisions, y (n,), l2 (D,), (H + δI)⁻¹, W_D (D, C) and δ."""

    x: Tensor
    x_single: Tensor
    y: Tensor
    l2: Tensor
    classes: int
    solve: Inverse
    factual: Tensor
    damping: float = 0.0


@dataclass(frozen=True)
class Objectives:
    """A batch of b intervened objectives: a (scalar), x_k (D, b), β (b,), t (C, b), all float64."""

    scale: float
    inputs: Tensor
    mass: Tensor
    target: Tensor

    def select(self, index: Tensor) -> Objectives:
        return Objectives(self.scale, self.inputs[:, index], self.mass[index], self.target[:, index])

    def candidate_gradient(self, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(loss (b,), ∂/∂u (C, b), probabilities (C, b)) of the candidates' own terms at W (D, C, b)."""
        u = torch.einsum("db,dcb->cb", self.inputs, weights)
        p = u.softmax(0)
        return self.mass * u.logsumexp(0) - (self.target * u).sum(0), self.mass * p - self.target, p


@dataclass
class NewtonWork:
    """How much was done, in passes over the training data for one candidate (4·n·D·C flops each)."""

    single_passes: int = 0
    double_passes: int = 0
    rounds: int = 0

    def count(self, dtype: torch.dtype, passes: int) -> None:
        if dtype == torch.float64:
            self.double_passes += passes
        else:
            self.single_passes += passes

    def add(self, other: NewtonWork) -> None:
        self.single_passes += other.single_passes
        self.double_passes += other.double_passes
        self.rounds = max(self.rounds, other.rounds)

    def flops(self, n: int, d: int, c: int) -> int:
        """Multiply-adds counted as two: 4·n·D·C for each pass."""
        return 4 * n * d * c * (self.single_passes + self.double_passes)


@dataclass(frozen=True)
class Optima:
    """W (D, C, b), ∇F_k there (D, C, b), its norms (b,), all float64, convergence flags (b,), and the work it took."""

    weights: Tensor
    gradient: Tensor
    gradient_norm: Tensor
    converged: Tensor
    work: NewtonWork = field(default_factory=NewtonWork)


@dataclass
class _Point:
    """F, ∇F and what the Hessian needs at W, for the b candidates evaluated."""

    value: Tensor
    gradient: Tensor
    norm: Tensor
    probabilities: Tensor
    own: Tensor

    def select(self, index: Tensor) -> _Point:
        return _Point(self.value[index], self.gradient[..., index], self.norm[index],
                      self.probabilities[..., index], self.own[:, index])


def _row_blocks(data: TrainingData, b: int, itemsize: int) -> tuple[range, int]:
    rows = max(64, ROW_BYTES // (itemsize * data.classes * b)) if data.x.device.type == "cpu" else 4096
    return range(0, len(data.x), rows), rows


def evaluate(data: TrainingData, objectives: Objectives, weights: Tensor, dtype: torch.dtype) -> _Point:
    """F_k, ∇F_k (float64, from products in `dtype`) and the training probabilities (float32) at W (D, C, b)."""
    d, c, b = weights.shape
    x = data.x if dtype == torch.float64 else data.x_single
    flat = weights.to(dtype).reshape(d, c * b)
    sums = flat.new_zeros(d, c * b)
    loss = flat.new_zeros(b, dtype=torch.float64)
    probabilities = weights.new_empty(len(x), c, b, dtype=torch.float32)
    starts, size = _row_blocks(data, b, flat.element_size())
    for start in starts:
        rows, y = x[start:start + size], data.y[start:start + size]
        logits = (rows @ flat).view(-1, c, b)
        index = y[:, None, None].expand(-1, 1, b)
        target = logits.gather(1, index)
        top = logits.amax(1, keepdim=True)
        p = logits.sub_(top).clamp_(min=LEAST_LOGIT).exp_()
        total = p.sum(1, keepdim=True)
        loss += (total.log() + top - target).sum((0, 1), dtype=torch.float64)
        p /= total
        probabilities[start:start + size] = p
        p.scatter_add_(1, index, p.new_tensor(-1.0).expand(index.shape))
        sums.addmm_(rows.T, p.view(-1, c * b))
    own_loss, own_gradient, own = objectives.candidate_gradient(weights)
    penalty, moved = data.l2[:, None, None] * weights, weights - data.factual[:, :, None]
    weight = objectives.scale / len(x)
    gradient = weight * sums.view(d, c, b).double() + penalty + objectives.inputs[:, None] * own_gradient
    gradient.add_(moved, alpha=data.damping)
    value = weight * loss + 0.5 * (penalty * weights).sum((0, 1)) + own_loss
    value = value + 0.5 * data.damping * moved.square().sum((0, 1))
    return _Point(value, gradient, gradient.flatten(0, 1).norm(dim=0), probabilities, own)


def _hessian_product(data: TrainingData, vectors: Tensor, probabilities: Tensor, scale: float, inputs: Tensor,
                     mass: Tensor, own: Tensor) -> Tensor:
    """∇²F_k·V for V (D, C, b), float32."""
    d, c, b = vectors.shape
    flat = vectors.reshape(d, c * b)
    sums = torch.zeros_like(flat)
    starts, size = _row_blocks(data, b, 4)
    for start in starts:
        rows, p = data.x_single[start:start + size], probabilities[start:start + size]
        u = (rows @ flat).view(-1, c, b).mul_(p)
        u.addcmul_(p, u.sum(1, keepdim=True), value=-1.0)
        sums.addmm_(rows.T, u.view(-1, c * b))
    u = torch.einsum("db,dcb->cb", inputs, vectors)
    u = own * (u - (own * u).sum(0))
    out = sums.view(d, c, b).mul_(scale / len(data.x))
    out += (data.l2.float() + data.damping)[:, None, None] * vectors
    if data.l2[-1] == 0:
        out[-1] += vectors[-1].mean(0)
    return out.add_(inputs[:, None] * (mass * u))


def centred(data: TrainingData, weights: Tensor) -> Tensor:
    """The same model with intercepts that add to zero, as θ_D's do; in place.

    F_k does not see one number added to every intercept, so rounding would drift along it unnoticed by the
    gradient norm, and would show in `query_logit`.
    """
    if data.l2[-1] == 0:
        weights[-1] -= weights[-1].mean(0)
    return weights


class _Directions:
    """Preconditioned conjugate gradients on ∇²F_k d = −∇F_k for b candidates at once, in float32.

    Candidates that are done leave the batch as soon as enough of them have gathered.
    """

    def __init__(self, data: TrainingData, objectives: Objectives, point: _Point, terms: CandidateTerms,
                 forcing: Tensor) -> None:
        self.data, self.scale, self.terms = data, objectives.scale, terms
        self.inputs, self.mass = objectives.inputs.float(), objectives.mass.float()
        self.own, self.probabilities = point.own.float(), point.probabilities
        self.correction = terms.correction(objectives.scale, objectives.mass, point.own.T)
        self.norm = point.norm.clamp_min(1e-300)
        self.residual = (-point.gradient / self.norm).float()
        self.solution, self.done = torch.zeros_like(self.residual), torch.empty_like(self.residual)
        self.direction = corrected(data.solve, terms, self.correction)(self.residual)
        self.energy = (self.residual * self.direction).sum((0, 1))
        self.target = forcing.float().square() * self.energy
        self.index = torch.arange(len(self.norm), device=self.norm.device)
        self.active = torch.ones_like(self.index, dtype=torch.bool)

    def step(self, work: NewtonWork) -> bool:
        """One iteration; whether some candidate goes on."""
        image = _hessian_product(self.data, self.direction, self.probabilities, self.scale, self.inputs, self.mass,
                                 self.own)
        work.count(torch.float32, len(self.index))
        curvature = (self.direction * image).sum((0, 1))
        length = torch.where(self.active & (curvature > 0), self.energy / curvature, torch.zeros_like(self.energy))
        self.solution += length * self.direction
        self.residual -= length * image
        z = corrected(self.data.solve, self.terms, self.correction)(self.residual)
        fresh = (self.residual * z).sum((0, 1))
        self.active &= (fresh > self.target) & (curvature > 0)
        count = int(self.active.sum())
        if count == 0:
            return False
        self.direction = z + (fresh / self.energy) * self.direction
        self.energy = fresh
        if count <= 0.7 * len(self.index):
            self._narrow(self.active.nonzero()[:, 0])
        return True

    def _narrow(self, keep: Tensor) -> None:
        """Go on with the candidates `keep` of the batch alone."""
        self.done[..., self.index] = self.solution
        self.index, self.active = self.index[keep], self.active[keep]
        self.energy, self.target = self.energy[keep], self.target[keep]
        self.solution, self.residual = self.solution[..., keep], self.residual[..., keep]
        self.direction, self.probabilities = self.direction[..., keep], self.probabilities[..., keep]
        self.inputs, self.mass, self.own = self.inputs[:, keep], self.mass[keep], self.own[:, keep]
        self.terms, self.correction = self.terms.select(keep), self.correction[keep]

    def solved(self) -> Tensor:
        """(D, C, b) float64."""
        self.done[..., self.index] = self.solution
        return self.done.double() * self.norm


def newton_direction(data: TrainingData, objectives: Objectives, point: _Point, terms: CandidateTerms,
                      forcing: Tensor, work: NewtonWork) -> Tensor:
    """−(∇²F)⁻¹∇F to relative error `forcing` (b,) in the preconditioned norm: (D, C, b) float64."""
    search = _Directions(data, objectives, point, terms, forcing)
    for _ in range(MOST_CG):
        if not search.step(work):
            break
    return search.solved()


def self_consistent_start(origin: Tensor, objectives: Objectives, terms: CandidateTerms) -> Tensor:
    """A first guess that treats everyone else linearly and the candidate itself exactly: W (D, C, b).

    With the others' response frozen at the factual Hessian, W = W_D − Z r(u), where r is the candidate's
    net force, r(u) = (a/n)(p(u) − p_D) − S(p_D)(u − u_D)/n + β p(u) − t, and its own logits satisfy
    u = u_D − M r(u): C equations a candidate, solved by damped Newton. origin is W_D, (D, C, b).
    """
    d, c, b = origin.shape
    u0 = torch.einsum("db,dcb->bc", objectives.inputs, origin)
    gram, mass, target = terms.gram.double(), objectives.mass, objectives.target.T
    old, n = terms.probabilities, terms.n
    old_curvature = softmax_covariance(old) / n
    identity = torch.eye(c, dtype=u0.dtype, device=u0.device)

    def force(u: Tensor) -> Tensor:
        p = u.softmax(1)
        own = objectives.scale / n * (p - old) - torch.einsum("bij,bj->bi", old_curvature, u - u0)
        return own + mass[:, None] * p - target

    u = u0.clone()
    for _ in range(50):
        fault = u - u0 + torch.einsum("bij,bj->bi", gram, force(u))
        jacobian = identity + gram @ terms.net_curvature(objectives.scale, mass, u.softmax(1))
        move = torch.linalg.solve_ex(jacobian, fault).result  # where that is singular: not finite
        u = u - move * (2.0 / move.abs().amax(1, keepdim=True).clamp_min(2.0))
        if move.abs().max() < 1e-8:
            break
    pushed = torch.bmm(terms.z, force(u).float()[:, :, None])[..., 0]
    start = origin - pushed.T.reshape(d, c, b).double()
    return torch.where(start.isfinite().all(0).all(0), start, origin)


def minimise(data: TrainingData, objectives: Objectives, start: Tensor, terms: CandidateTerms, *,
             tolerance: Tensor | float = TOLERANCE, max_rounds: int = 60,
             check: Callable[[], None] = lambda: None) -> Optima:
    """The optimum of every objective of the batch, from W = start (D, C, b).

    Newton steps with a line search. tolerance: the gradient norm to reach, one number or (b,). `check` is
    called once a round and may raise to cancel. A candidate whose search ends above the tolerance comes
    back with `converged` False and the norm where it ended.
    """
    goal = torch.as_tensor(tolerance, dtype=start.dtype, device=start.device).expand(start.shape[-1])
    search, work = _LineSearch(centred(data, start.clone()), goal), NewtonWork()
    while not search.finished.all() and work.rounds < max_rounds:
        work.rounds += 1
        check()
        for dtype in (torch.float32, torch.float64):
            index = search.due(dtype)
            if len(index) == 0:
                continue
            trial = search.trial(index)
            point = evaluate(data, objectives.select(index), trial, dtype)
            work.count(dtype, len(index))
            local = search.judge(index, trial, point, dtype)
            if len(local):
                taken, chosen = index[local], point if len(local) == len(index) else point.select(local)
                forcing = (0.3 * goal[taken] / chosen.norm).clamp(1e-4, 1e-2)
                direction = newton_direction(data, objectives.select(taken), chosen, terms.select(taken), forcing, work)
                search.aim(taken, chosen, centred(data, direction))
    unproven = (~search.precise).nonzero()[:, 0]
    if len(unproven):
        point = evaluate(data, objectives.select(unproven), search.base[..., unproven], torch.float64)
        search.norm[unproven], search.gradient[..., unproven] = point.norm, point.gradient
        work.count(torch.float64, len(unproven))
    return Optima(search.base, search.gradient, search.norm, search.norm <= goal, work)


class _LineSearch:
    """Where each of b candidates stands: its base point, its Newton step, and how much of it to try.

    A trial is taken where F falls enough (Armijo) or ‖∇F‖ shrinks by a tenth, and shortened
    otherwise. Candidates are evaluated in float32 until the gradient is small, then in float64.
    """

    def __init__(self, start: Tensor, tolerance: Tensor) -> None:
        b = start.shape[-1]
        self.tolerance = tolerance
        self.base, self.step, self.gradient = start, torch.zeros_like(start), torch.zeros_like(start)
        self.length, self.slope = start.new_ones(b), start.new_zeros(b)
        self.value, self.norm = start.new_full((b,), torch.inf), start.new_full((b,), torch.inf)
        self.precise = torch.zeros(b, dtype=torch.bool, device=start.device)
        self.finished = torch.zeros_like(self.precise)

    def due(self, dtype: torch.dtype) -> Tensor:
        """The unfinished candidates to be evaluated in `dtype`."""
        return (~self.finished & (self.precise == (dtype == torch.float64))).nonzero()[:, 0]

    def trial(self, index: Tensor) -> Tensor:
        return self.base[..., index] + self.length[index] * self.step[..., index]

    def judge(self, index: Tensor, trial: Tensor, point: _Point, dtype: torch.dtype) -> Tensor:
        """Take or shorten each trial; returns the positions within `index` that need a new direction."""
        good = (point.norm <= 0.9 * self.norm[index]) | torch.isinf(self.norm[index])
        good |= point.value <= self.value[index] + 1e-4 * self.length[index] * self.slope[index]
        self.length[index[~good]] *= 0.4
        stuck = index[~good & (self.length[index] < 1e-6)]
        if dtype == torch.float64:
            self.finished[stuck] = True
        else:
            self._start_over_precisely(stuck)
        taken = index[good]
        self.base[..., taken] = trial[..., good]
        self.gradient[..., taken] = point.gradient[..., good]
        self.norm[taken], self.value[taken] = point.norm[good], point.value[good]
        if dtype == torch.float64:
            self.finished[taken] = self.norm[taken] <= self.tolerance[taken]
        else:
            small = self.norm[taken] < SINGLE_FLOOR
            self.precise[taken] = small
            # A float32 norm this small is mostly rounding, so the first float64 trial is not measured against it.
            self.norm[taken[small]] = torch.inf
        return (good & ~self.finished[index]).nonzero()[:, 0]

    def _start_over_precisely(self, index: Tensor) -> None:
        """Where float32 finds no descent any more, its gradient is rounding: judge the base point in float64."""
        self.precise[index] = True
        self.step[..., index], self.length[index], self.norm[index] = 0.0, 1.0, torch.inf

    def aim(self, index: Tensor, point: _Point, direction: Tensor) -> None:
        """Set the next step of `index` to a full Newton direction."""
        self.step[..., index] = direction
        self.length[index] = 1.0
        self.slope[index] = (direction * point.gradient).sum((0, 1))
