"""Inverse-Hessian solvers for the curvature of a torch module, one a file; each returns its residual."""

from engine.basics.registry import Registry
from engine.curvature.network.arnoldi import ARNOLDI
from engine.curvature.network.cg import CG, GAUSS_NEWTON_CG
from engine.curvature.network.datainf import DATAINF
from engine.curvature.network.ekfac import EKFAC
from engine.curvature.network.lissa import LISSA
from engine.curvature.solution import InverseHessian, Solution

NETWORK_HESSIANS: Registry[InverseHessian] = Registry("inverse-Hessian solver")
for _solver in (CG, GAUSS_NEWTON_CG, LISSA, ARNOLDI, EKFAC, DATAINF):
    NETWORK_HESSIANS.add(_solver.name, _solver)

__all__ = ["NETWORK_HESSIANS", "InverseHessian", "Solution"]
