r"""Linear responses of the optimum: δf(q) = −x_qᵀ (H + damping·I)⁻¹ (x_k ⊗ s_k + common), paper Eq. 8 and 9.

With a Cholesky solve this is the exact `local_response`; with any other solver, or used for a finite
upweighting or removal, it is the inverse-Hessian approximation (Koh and Liang, 2017).
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.exact.objectives import linear_force, objectives
from engine.exact.response import Part, Response

COLUMN_BYTES = 512 << 20


def linear_responses(solve, problem, interventions, process, candidates: Tensor, options: Options) -> list[Response]:
    """One linear response an intervention: solve(problem, rhs (D, C, b), damping, options) -> Solution.

    The solve depends on the candidate alone where the force does, up to scale: upweighting at several α
    costs one solve.
    """
    damping = process.damping
    cache: dict[str, Response] = {}
    responses = []
    for place, intervention in enumerate(interventions):
        scale = getattr(intervention, "alpha", 1.0)
        key = "derivative" if intervention.kind in ("upweight", "infinitesimal") else intervention.model_dump_json()
        if key not in cache:
            unit = intervention.model_copy(update={"alpha": 1.0}) if intervention.kind == "upweight" else intervention
            cache[key] = _respond(solve, problem, unit, damping, candidates, options)
        base = cache[key]
        part = base.parts[0]
        responses.append(Response((Part(part.logits * scale, part.baseline, linear=True),), base.converged,
                                  base.residual, base.work))
        options.progress((place + 1) / len(interventions))
    return responses


def _respond(solve, problem, intervention, damping: float, candidates: Tensor, options: Options) -> Response:
    changes, converged, residuals, info = [], [], [], {}
    width = max(1, min(COLUMN_BYTES, options.budget // 8) // (8 * problem.parameters))
    for batch in candidates.split(width):
        options.check()
        terms = objectives(problem, intervention, batch)
        signal, common = linear_force(problem, terms)
        force = terms.inputs[:, None] * signal.T + common[:, :, None]
        solution = solve(problem, force, damping, options)
        d, c, b = force.shape
        change = -(problem.queries @ solution.x.reshape(d, c * b)).view(-1, c, b)
        changes.append(change.transpose(1, 2))
        converged.append(solution.converged)
        residuals.append(solution.residual)
        info = {key: max(info.get(key, value), value) for key, value in solution.info.items()}
    part = Part(torch.cat(changes, 1), problem.query_logits, linear=True)
    return Response((part,), torch.cat(converged), torch.cat(residuals), dict(info))
