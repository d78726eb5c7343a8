"""Inverse-Hessian solvers for the curvature of a torch module, one a file; each returns its residual."""

from engine.hessians.network.arnoldi import ARNOLDI
from engine.hessians.network.cg import CG, GAUSS_NEWTON_CG
from engine.hessians.network.datainf import DATAINF
from engine.hessians.network.ekfac import EKFAC
from engine.hessians.network.lissa import LISSA
from engine.hessians.solution import InverseHessian, Solution
from engine.registry import Registry

NETWORK_HESSIANS: Registry[InverseHessian] = Registry("inverse-Hessian solver")
for _solver in (CG, GAUSS_NEWTON_CG, LISSA, ARNOLDI, EKFAC, DATAINF):
    NETWORK_HESSIANS.add(_solver.name, _solver)

__all__ = ["NETWORK_HESSIANS", "InverseHessian", "Solution"]
