r"""Data value embeddings: the derivative of a training with H_t ≈ (1/|M_t|) Σ_{i ∈ M_t} ∇ℓ_i ∇ℓ_iᵀ (Wang et al. 2024).

    dB/dα = −n Σ_{t: k ∈ M_t} (η_t/|M_t|) ⟨Π_{s>t} (I − η_s H_s) ∇B(q; θ_T), ∇ℓ(z_k; θ_t)⟩

The recursion is that of `replay`, through the optimizer's own step, with penalty and memory as they are; what is
approximated are the Hessians of the loss alone, which are never formed. Their original scales by sums over batches, of
which this is the mean.
"""

from __future__ import annotations

from functools import partial

from engine.estimators.cost import Cost, through_steps
from engine.estimators.estimator import Estimator
from engine.estimators.named import of_run
from engine.exact.replay import replayed
from engine.exact.step_curvature import FISHER

DVEMB = Estimator(
    "dvemb", "data value embedding", False,
    "The derivative of the whole training run with every step's Hessian replaced by the products of its batch's "
    "gradients.",
    "Wang et al. 2024, data value embedding", routes={"replay": partial(replayed, curvature=FISHER)},
    needs=("gradients", "training"), named=(of_run("dvemb", "Data value embedding", "Wang et al. 2024"),),
    cost=Cost(through_steps(8), for_each_behavior=True),
)
